package pace

import "fmt"

// Hybrid is Persia's algorithm: embeddings asynchronous within a bound, the
// dense network synchronous. A rank issues the lookup of a step only while at
// most Staleness of its earlier batches are outstanding; lookups and puts
// never wait for other batches; the dense gradients of every step are
// all-reduced in lock step.
//
// Persia's setting embedding_staleness = s is Staleness = s − 1.
type Hybrid struct {
	Staleness int // τ ≥ 0
	Overlap   HybridOverlap
}

// HybridOverlap distinguishes the two hybrid rows of the paper's Gantt chart.
type HybridOverlap string

// What hybrid may overlap.
const (
	// HybridNaive overlaps GE and PEG with the dense work of other batches.
	HybridNaive HybridOverlap = "none"
	// HybridDS also reduces buckets of dense gradients (DS) during BC.
	HybridDS HybridOverlap = "ds"
)

var hybridMode = Mode{
	Name: "hybrid", Overlaps: []string{"none", "ds"},
	New: func(s Settings) Rule { return Hybrid{s.Staleness, HybridOverlap(s.Overlap)} },
}

// Name implements Rule.
func (Hybrid) Name() string { return "hybrid" }

// Validate implements Rule.
func (h Hybrid) Validate() error {
	if err := checkStaleness(h.Staleness); err != nil {
		return err
	}
	if h.Overlap != HybridNaive && h.Overlap != HybridDS {
		return fmt.Errorf("pace: hybrid cannot overlap %q; want none or ds", string(h.Overlap))
	}
	return nil
}

// MayIssue implements Rule.
func (h Hybrid) MayIssue(outstanding int) bool { return outstanding <= h.Staleness }

// EveryPS implements Rule: a PS that owns none of the ids is left alone.
func (Hybrid) EveryPS() bool { return false }

// InStep implements Rule.
func (Hybrid) InStep() bool { return false }

// Exact implements Rule.
func (Hybrid) Exact() bool { return false }

// Dense implements Rule.
func (Hybrid) Dense() DenseSync { return DenseSync{Strategy: Reduced} }

// Lead implements Rule: the all-reduce keeps ranks in lock step.
func (Hybrid) Lead() int { return Unbounded }

// OverlapSync implements Rule.
func (h Hybrid) OverlapSync() bool { return h.Overlap == HybridDS }

// Bounds implements Rule.
//
// Own follows from MayIssue. Cross: when rank r reads for step k, it has
// finished at least one step ≥ k−τ−1, whose dense synchronisation every rank
// q had to join; q had then read for that step, so of q's steps before it at
// most τ were missing, and τ+1 more lie between it and k.
func (h Hybrid) Bounds(ranks int) Bounds {
	return asynchronousBounds(h.Staleness, ranks, 2*h.Staleness+1)
}
