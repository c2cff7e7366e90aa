package pace

import "sort"

// Rule is one training algorithm with its settings. Its methods are pure functions, safe for concurrent use.
type Rule interface {
	// Name returns the name of the mode in job files and reports.
	Name() string
	// Validate returns an error that names the first setting out of range.
	Validate() error
	// MayIssue reports whether a rank may issue the lookup of its next step while outstanding of its earlier
	// batches are not acknowledged by all their PSs. If it returns false for a number, it does so for every
	// larger number.
	MayIssue(outstanding int) bool
	// EveryPS reports whether lookups and puts go to every embedding PS, including those that own no row of
	// the batch.
	EveryPS() bool
	// InStep reports whether an embedding PS works step by step. Such a PS closes a step when it has the puts
	// of every rank, or of every rank whose gradients count, and serves the lookups of a step after it has
	// closed the previous step.
	InStep() bool
	// Exact reports whether a run has the same bits as sequential training. The number of ranks must then
	// divide the number of groups of a global batch (package job).
	Exact() bool
	// Dense returns how the ranks keep the parameters of the dense network together.
	Dense() DenseSync
	// OverlapSync reports whether DS overlaps BC: whether a bucket of dense gradients is reduced while
	// backward computes later buckets. With dense PSs it reports whether a rank pulls the parameters of a
	// step before its push of the previous step is acknowledged.
	OverlapSync() bool
	// Lead returns the largest number of steps by which a rank that pulls parameters and starts FC may be
	// ahead of the slowest rank's clock. The clock of a rank is the number of its acknowledged pushes.
	// Unbounded means that the mode has no clocks.
	Lead() int
	// Bounds returns the bounds on staleness that the rule promises with a number of ranks.
	Bounds(ranks int) Bounds
}

// Depth returns the number of batches, at least 1, that a rank may have outstanding under a rule, with a data
// loader that deals out up to window batches ahead.
func Depth(r Rule, window int) int {
	return 1 + sort.Search(window-1, func(i int) bool { return !r.MayIssue(i + 1) })
}

// Weigher is a Rule that reduces the effect of stale row gradients.
type Weigher interface {
	Rule
	// Weight returns the factor, in [0, 1], on the learning rate of a row gradient. missed is the number of
	// updates of the row since the read from which the gradient was computed. Several goroutines may call it
	// at the same time.
	Weight(missed int) float32
}

// DenseSync describes how the ranks keep the parameters of the dense network together. Packages role and
// exec/dense implement each Strategy. Drivers and reports use the other fields only.
type DenseSync struct {
	Strategy Strategy
	// DensePSs reports whether dense PSs hold the parameters. Otherwise the ranks hold replicas.
	DensePSs bool
	// Own reports whether every rank optimises its own replica. If neither Own nor DensePSs is true, all
	// replicas are always equal, and the ranks of one process may share one.
	OwnReplicas bool
	// Coordinator reports whether the run has a coordinator.
	Coordinator bool
	// Quorum is the number of ranks whose gradients count in a step; those of the other ranks are dropped. 0
	// means all ranks.
	Quorum int32
	// Buffered reports whether PSs acknowledge gradients on arrival and apply them later.
	Buffered bool
	// Batches is the number of local batches in a global batch, and Tolerance the number of global steps that
	// a gradient may be late (GBA); 0 in other modes.
	Batches, Tolerance int32
	// Every is the number of steps of a rank between two averages of the replicas, ≥ 1; 0 in modes without
	// averages.
	Every int32
}

// Strategy is the name of a way to keep the dense parameters of the ranks together.
type Strategy string

// The strategies that several modes share. A mode with a strategy of its own declares it in its file.
const (
	Reduced  Strategy = "reduced"  // all-reduce of the gradients of every step
	Served   Strategy = "served"   // ranks pull parameters from dense PSs and push gradients
	Averaged Strategy = "averaged" // replicas, averaged in the background at intervals
)

// Bounds are upper bounds on the staleness of a read of rows, or of a push of dense gradients. Each field has
// its own unit. Unbounded means that there is no bound.
type Bounds struct {
	Own      int // earlier steps of the same rank that are applied after the read
	Cross    int // earlier steps of any one other rank that are applied after the read
	Inflight int // other batches that are outstanding on any rank at the read
	Dense    int // updates of a dense PS between the pull and the push of a rank in one step
}

// Unbounded is larger than the staleness of any read or push of a run.
const Unbounded = 1<<31 - 1
