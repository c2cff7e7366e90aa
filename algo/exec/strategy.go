package exec

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

// denseStrategy is the numeric side of a way to train the dense network with several ranks, which a mode's rule
// names. A strategy is a file of this package, strategy_NAME.go, which adds its constructor to denseStrategies.
//
// A strategy embeds replicas, or another strategy, and overrides what differs. Methods about a role are called in the
// lane of that role. No code outside the strategies asks which one is in use.
type denseStrategy interface {
	rankWork
	reductions
	denseServing
	holding
	// applyRows is ApplyStep: it gives the rows of several puts their optimizer steps.
	applyRows(s *rowShard, w role.Work, puts []batchPut) error
}

// rankWork is the dense work of NN workers.
type rankWork interface {
	// replica returns what a rank trains; nil if the rank is in another process.
	replica(rank int32) *model.Replica
	// load is for Forward, before it runs: it puts the parameters that dense PSs have answered, by PS, into a
	// rank's replica. There are none unless the rule has dense PSs.
	load(rank int32, pulled [][]float32) error
	// gradients is for Backward, once it has run: it returns what the handle of the rank's dense gradients holds
	// from then on. While Backward runs, the handle holds replica.Gradients, whose buckets may be fed.
	gradients(w role.Work) *model.Vector
	// apply is DenseApply: the optimizer step of a rank's replica with gradients, or sums of them over ranks.
	apply(w role.Work, gradients *model.Vector) error
	// snapshot is Snapshot: a copy of a rank's replica for an averaging round.
	snapshot(rank int32) (*model.Vector, error)
	// average is Average: given is what snapshot has returned for the round, sum that of all ranks.
	average(rank int32, given, sum *model.Vector) error
}

// reductions is the all-reduces over ranks.
type reductions interface {
	// newSum returns where the sum of a step, or averaging round, goes. It may be the vector of an earlier one
	// once no rank can read that any more.
	newSum(step int32) *model.Vector
	// reduce puts the sum of a bucket into sum, with the last bucket also the statistics. given is what the ranks
	// here have handed over, in rank order, nil for a rank that adds nothing; c sums over all ranks.
	reduce(sum *model.Vector, given []*model.Vector, bucket int32, c Collective) error
}

// denseServing is the work of dense PSs.
type denseServing interface {
	// readShard is ReadDense: a copy of the parameters of a dense PS, with what travels beside them.
	readShard(server int32) ([]float32, error)
	// pushOf returns what a dense PS is sent of what gradients has returned.
	pushOf(gradients *model.Vector, server int32) []float32
	// applyPush is ApplyPush: one optimizer step of a dense PS for what ranks have sent it.
	applyPush(server int32, pushes [][]float32) error
	// checkShard returns an error unless values can be the payload of a message, of kind Params or Push.
	checkShard(m msg.Message, values []float32) error
	// servers returns the number of dense PSs.
	servers() int
}

// holding says which roles hold the network.
type holding interface {
	// holders returns the roles that hold the network between them.
	holders() []msg.Address
	// weights returns what a role holds; nil if it holds nothing or is in another process.
	weights(at msg.Address) *model.Weights
	// join returns the network that the values of all holders make, which are in the order of holders. They are
	// scratch afterwards.
	join(parts []model.Values) model.Values
}

// denseConfig is what a strategy is made from.
type denseConfig struct {
	training *job.Job
	rule     pace.Rule
	engine   model.Engine
	here     func(msg.Address) bool
	pool     gemm.Pool // runs an optimizer step that all ranks wait for
}

// denseStrategies has the constructor of every strategy.
var denseStrategies = map[pace.Strategy]func(denseConfig) (denseStrategy, error){}

// newDenseStrategy returns the strategy that a rule names.
func newDenseStrategy(c denseConfig) (denseStrategy, error) {
	name := c.rule.Dense().Strategy
	build := denseStrategies[name]
	if build == nil {
		return nil, fmt.Errorf("exec: mode %s keeps the network by strategy %q, which no file of package exec defines", c.rule.Name(), name)
	}
	return build(c)
}
