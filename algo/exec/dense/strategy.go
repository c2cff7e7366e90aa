// Package dense keeps the dense network of several ranks together: by all-reduced gradients, by dense PSs, or by
// averaged replicas.
//
// The rule of a mode names a pace.Strategy; New returns its Strategy, which the executor asks for everything that
// concerns the dense network. Package role has the same strategies as state machines, without numbers.
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

// Strategy is the numeric side of a way to train the dense network with several ranks, which a mode's rule
// names. A strategy is a file of this package, and a case of New.
//
// A strategy embeds replicas, or another strategy, and overrides what differs. Methods about a role are called in the
// lane of that role. No code outside the strategies asks which one is in use.
type Strategy interface {
	Replicas
	Reductions
	Servers
	Holders
	// applyRows is ApplyStep: it gives the rows of several puts their optimizer steps.
	ApplyRows(s *embedding.Shard, w role.Work, puts []embedding.BatchPut) error
}

// Replicas is the dense work of NN workers.
type Replicas interface {
	// replica returns what a rank trains; nil if the rank is in another process.
	Replica(rank int32) *model.Replica
	// load is for Forward, before it runs: it puts the parameters that dense PSs have answered, by PS, into a
	// rank's replica. There are none unless the rule has dense PSs.
	LoadPulled(rank int32, pulled [][]float32) error
	// gradients is for Backward, once it has run: it returns what the handle of the rank's dense gradients holds
	// from then on. While Backward runs, the handle holds replica.Gradients, whose buckets may be fed.
	Gradients(w role.Work) *model.Vector
	// apply is DenseApply: the optimizer step of a rank's replica with gradients, or sums of them over ranks.
	ApplyGradients(w role.Work, gradients *model.Vector) error
	// snapshot is Snapshot: a copy of a rank's replica for an averaging round.
	Snapshot(rank int32) (*model.Vector, error)
	// average is Average: given is what snapshot has returned for the round, sum that of all ranks.
	Average(rank int32, given, sum *model.Vector) error
}

// reductions is the all-reduces over ranks.
type Reductions interface {
	// newSum returns where the sum of a step, or averaging round, goes. It may be the vector of an earlier one
	// once no rank can read that any more.
	NewSum(step int32) *model.Vector
	// reduce puts the sum of a bucket into sum, with the last bucket also the statistics. given is what the ranks
	// here have handed over, in rank order, nil for a rank that adds nothing; c sums over all ranks.
	Reduce(sum *model.Vector, given []*model.Vector, bucket int32, c Collective) error
}

// Servers is the work of dense PSs.
type Servers interface {
	// readShard is ReadDense: a copy of the parameters of a dense PS, with what travels beside them.
	ReadShard(server int32) ([]float32, error)
	// pushOf returns what a dense PS is sent of what gradients has returned.
	PushTo(gradients *model.Vector, server int32) []float32
	// applyPush is ApplyPush: one optimizer step of a dense PS for what ranks have sent it.
	ApplyPushes(server int32, pushes [][]float32) error
	// checkShard returns an error unless values can be the payload of a message, of kind Params or Push.
	CheckShard(m msg.Message, values []float32) error
	// servers returns the number of dense PSs.
	ServerCount() int
}

// holding says which roles hold the network.
type Holders interface {
	// holders returns the roles that hold the network between them.
	HolderRoles() []msg.Address
	// weights returns what a role holds; nil if it holds nothing or is in another process.
	Weights(at msg.Address) *model.Weights
	// join returns the network that the values of all holders make, which are in the order of holders. They are
	// scratch afterwards.
	Join(parts []model.Values) model.Values
}

// Config is what a strategy is made from.
type Config struct {
	Job    *job.Job
	Rule   pace.Rule
	Engine model.Engine
	Here   func(msg.Address) bool
	Pool   gemm.Pool // runs an optimizer step that all ranks wait for
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
		return nil, fmt.Errorf("dense: no constructor of strategy %q, which mode %s names", name, c.Rule.Name())
	}
}
