// Package pace holds what distinguishes one training algorithm from another:
// the rules that say who may read ahead of whom (Rule, one file per
// algorithm), the bounds on staleness that follow from them, and the Meter
// that measures the staleness that really occurred.
//
// Rules are pure functions. The state machines of package role call them. All
// other code asks a rule for facts, never for its name.
package pace

import "sort"

// Rule is one algorithm.
type Rule interface {
	// Name is the mode's name in job files and reports.
	Name() string
	// Validate reports settings out of range.
	Validate() error
	// MayIssue reports whether a rank may issue the lookup of its next step
	// while outstanding of its earlier batches are not yet acknowledged by all
	// their PSs. Where it refuses, it refuses every larger number.
	MayIssue(outstanding int) bool
	// EveryPS reports whether a lookup and a put go to every PS, owner of
	// any of the batch's rows or not.
	EveryPS() bool
	// InStep reports whether a PS works step by step: it serves the lookups of
	// a step only after it has closed the step before, and closes a step when it
	// has the puts of every rank, or of those that count.
	InStep() bool
	// Exact reports whether a run has the values of sequential training, bit for
	// bit. Its ranks must divide the groups of a global batch: see job.Job.
	Exact() bool
	// Dense says how the replicas of the dense network are kept together.
	Dense() DenseSync
	// OverlapSync reports whether a bucket of dense gradients is reduced (DS)
	// while later buckets are still in backward (BC); with dense servers, whether
	// the parameters of a step are pulled before the push of the step before is
	// acknowledged.
	OverlapSync() bool
	// Lead returns how many steps a rank may be ahead of the slowest rank's clock
	// when it starts FC, and asks for the parameters to start it with; the clock is
	// the number of its pushes that are acknowledged. Unbounded: no clock is kept.
	Lead() int
	// Bounds returns the bounds on staleness that the rule promises for a
	// number of ranks.
	Bounds(ranks int) Bounds
}

// Depth returns the number of batches that a rank may have outstanding under a rule
// and a data loader that deals out up to window batches ahead, ≥ 1.
func Depth(r Rule, window int) int {
	return 1 + sort.Search(window-1, func(i int) bool { return !r.MayIssue(i + 1) })
}

// Weigher is a Rule under which a stale gradient of a row counts for less.
type Weigher interface {
	Rule
	// Weight returns the factor, in [0, 1], on the learning rate of a gradient whose
	// row was updated missed times between the read that the gradient was computed
	// from and now.
	Weight(missed int) float32
}

// DenseSync says how the replicas of the dense network are kept together. Packages role and work have one
// type each for a strategy, which does it; drivers and reports ask the other fields only.
type DenseSync struct {
	Strategy Strategy
	// Servers says that dense PSs hold the parameters. Otherwise the ranks hold replicas.
	DensePSs bool
	// Own says that every rank steps a replica of its own. If neither Own nor Servers is set, replicas are
	// always equal, and the ranks of one process may share one.
	Own bool
	// Coordinator says that the run has a coordinator.
	Coordinator bool
	// Quorum is the number of ranks whose gradients make a step; those of the other ranks are dropped. 0: all
	// ranks.
	Quorum int32
	// Buffered says that servers acknowledge gradients on arrival, and apply them later.
	Buffered bool
	// Batches is the number of local batches whose gradients are one, and Tolerance how many global steps
	// they may be late (see GBA); 0 elsewhere.
	Batches, Tolerance int32
	// Every is the number of steps of a rank between two averages, ≥ 1; 0 where replicas are not averaged.
	Every int32
}

// Strategy names a way to keep replicas together.
type Strategy string

// The ways to keep replicas together; a mode that needs another declares it in its own file.
const (
	Reduced  Strategy = "reduced"  // gradients of every step are summed over ranks, in lock step
	Served   Strategy = "served"   // dense PSs hold the parameters; ranks pull them, and push gradients
	Averaged Strategy = "averaged" // every rank trains its own; all are averaged every so often, in the background
)

// Bounds are upper bounds on what a read of rows, or a push of dense gradients, may
// have missed. Unbounded stands for no bound.
type Bounds struct {
	Own      int // earlier steps of the same rank, applied after the read
	Cross    int // earlier steps of any one other rank, applied after the read
	Inflight int // other batches outstanding anywhere at the read
	Dense    int // updates of a dense PS's shard between a rank's pull and its push of one step
}

// Unbounded is larger than any staleness that a run can show.
const Unbounded = 1<<31 - 1
