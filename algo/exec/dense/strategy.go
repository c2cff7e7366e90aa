package dense

import (
	"fmt"

	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

// Strategy computes what one way of training the dense network with several ranks needs. Each implementation
// is a file of this package and a case of New; it embeds replicas, or another strategy, and overrides what
// differs.
//
// A method that concerns a role is called in the lane of that role. No caller asks which strategy is in use.
type Strategy interface {
	Replicas
	Reductions
	Servers
	Holders
	// BeginAt sets the number of global steps before the run, whose steps count from 0. No role may have
	// work.
	BeginAt(step int)
	// ApplyRows computes work of kind role.ApplyStep: the optimizer steps of the rows of several puts.
	ApplyRows(s *embedding.Shard, w role.Work, puts []embedding.BatchPut) error
}

// Replicas is the work of NN workers on the dense network.
type Replicas interface {
	// Replica returns the replica that a rank trains, or nil if the rank is in another process.
	Replica(rank int32) model.Replica
	// LoadPulled copies the parameters that a rank has pulled, one slice for each dense PS, into the rank's
	// replica. It is called before every forward pass; pulled is empty unless the rule has dense PSs.
	LoadPulled(rank int32, pulled [][]float32) error
	// Gradients returns what the handle of a rank's dense gradients holds after a backward pass. During the
	// pass the handle holds Replica.Gradients, so that finished buckets can be reduced.
	Gradients(w role.Work) *model.Vector
	// ApplyGradients computes work of kind role.DenseApply: the optimizer step of a rank's replica, from its
	// own gradients or from their sum over ranks.
	ApplyGradients(w role.Work, gradients *model.Vector) error
	// Snapshot computes work of kind role.Snapshot: it copies a rank's replica for an averaging round.
	Snapshot(rank int32) (*model.Vector, error)
	// Average computes work of kind role.Average: given is the copy that Snapshot returned for the round, sum
	// is the sum of the copies of all ranks.
	Average(rank int32, given, sum *model.Vector) error
}

// Reductions is the all-reduce over ranks: of gradients, or of copies of replicas.
type Reductions interface {
	// NewSum returns the destination of the sum of a step or averaging round. It may return the vector of an
	// earlier one, once no rank can read that any more.
	NewSum(step int32) *model.Vector
	// Reduce writes the sums of some buckets to sum; with the last bucket, also the statistics. Given holds
	// the vectors of the ranks of this process, in rank order, nil for a rank that contributes nothing; c
	// sums over all ranks.
	Reduce(sum *model.Vector, given []*model.Vector, b Buckets, c Collective) error
}

// Buckets are consecutive buckets of a network, from First to Last, which are reduced together. Their
// parameters are consecutive too.
type Buckets struct{ First, Last int32 }

// span returns the range of the parameters.
func (b Buckets) span(l *model.Layout) model.Bucket {
	return model.Bucket{Lo: l.Buckets[b.Last].Lo, Hi: l.Buckets[b.First].Hi}
}

// atEnd reports whether they include the last bucket.
func (b Buckets) atEnd(l *model.Layout) bool { return int(b.Last) == len(l.Buckets)-1 }

// Servers is the work of dense PSs.
type Servers interface {
	// ReadShard computes work of kind role.ReadDense: a copy of a dense PS's parameters, followed on dense-ps
	// 0 by the running statistics.
	ReadShard(server int32) ([]float32, error)
	// PushTo returns the part of a push, as Gradients returned it, that goes to a dense PS.
	PushTo(gradients *model.Vector, server int32) []float32
	// ApplyPushes computes work of kind role.ApplyPush: the optimizer steps of a dense PS for the pushes of
	// ranks.
	ApplyPushes(server int32, pushes [][]float32) error
	// CheckShard returns an error unless values can be the payload of a message of kind msg.Params or
	// msg.Push.
	CheckShard(m msg.Message, values []float32) error
	// ServerCount returns the number of dense PSs.
	ServerCount() int
}

// Holders says which roles hold the dense network.
type Holders interface {
	// HolderRoles returns the roles that together hold the network.
	HolderRoles() []msg.Address
	// Weights returns what a role holds, or nil if it holds nothing or is in another process.
	Weights(at msg.Address) model.Weights
	// Export returns a copy of what one of the HolderRoles, which is in this process, holds.
	Export(at msg.Address) (Part, error)
	// Import replaces what a rank or a dense PS of this process holds by its share of the network that parts
	// make up. CheckParts must accept the parts. Import does nothing for a role that holds nothing.
	Import(at msg.Address, parts []Part) error
	// Join returns the network that the values of all holders make up, given in the order of HolderRoles. It
	// overwrites the parts.
	Join(parts []model.Values) model.Values
}

// Config has the arguments of New.
type Config struct {
	Job    *job.Job
	Rule   pace.Rule    // of the job's mode
	Engine model.Engine // of the job's network
	// Here reports whether a role is in this process; of other roles a strategy keeps nothing.
	Here func(msg.Address) bool
	Pool gemm.Pool // shares an optimizer step for which all ranks wait; nil: none
	// Trainer makes the replicas of ranks; nil: they are in the memory of the host.
	Trainer model.Trainer
	// Rows are the embedding rows of which every rank's replica holds a share; nil: PSs have them.
	Rows *model.RowsConfig
}

// New returns the strategy that the rule of a mode names.
func New(c Config) (Strategy, error) {
	switch name := c.Rule.Dense().Strategy; name {
	case pace.Reduced:
		return newReduced(c)
	case pace.FirstRanks:
		return newFirstRanks(c)
	case pace.Averaged:
		return newAveraged(c)
	case pace.AveragedInStep:
		return newAveragedInStep(c)
	case pace.Served:
		// Every rank pushes once a step: its share of the mean gradient, and schedules count steps.
		return newServed(c, c.Job.Roles.Ranks, c.Job.Roles.Ranks)
	case pace.GlobalBatches:
		return newGlobalBatches(c)
	default:
		return nil, fmt.Errorf("dense: no constructor of strategy %q, which mode %s names", name,
			c.Rule.Name())
	}
}
