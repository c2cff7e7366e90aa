package pace

import "fmt"

// Hybrid is Persia's algorithm (Lian and others, KDD 2022): embeddings are asynchronous within a bound, and
// the dense network is synchronous. A rank issues the lookup of a step only while at most Staleness of its
// earlier batches are outstanding. Lookups and puts do not wait for other batches. The dense gradients of
// every step are all-reduced in lock step.
//
// Persia's setting embedding_staleness = s corresponds to Staleness = s − 1.
type Hybrid struct {
	Staleness int // τ ≥ 0
	Overlap   HybridOverlap
}

// HybridOverlap selects one of the two hybrid schedules in the Gantt chart of the paper.
type HybridOverlap string

// The values of HybridOverlap.
const (
	// HybridNaive does not overlap DS with BC. GE and PEG overlap FC, BC and DS of other batches.
	HybridNaive HybridOverlap = "none"
	// HybridDS overlaps also DS with BC of the same batch.
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

// EveryPS implements Rule. A PS that owns no row of a batch receives no message about it.
func (Hybrid) EveryPS() bool { return false }

// InStep implements Rule.
func (Hybrid) InStep() bool { return false }

// Exact implements Rule.
func (Hybrid) Exact() bool { return false }

// Dense implements Rule.
func (Hybrid) Dense() DenseSync { return DenseSync{Strategy: Reduced} }

// Lead implements Rule. The all-reduce keeps ranks in lock step without clocks.
func (Hybrid) Lead() int { return Unbounded }

// OverlapSync implements Rule.
func (h Hybrid) OverlapSync() bool { return h.Overlap == HybridDS }

// Bounds implements Rule.
//
// Own follows from MayIssue. Cross: when rank r reads for step k, it has finished a step j ≥ k−τ−1. Every
// rank q took part in the dense synchronisation of step j and had then read for step j, so at most τ of the
// steps of q before j were missing. At most τ+1 steps are between j and k. The sum is 2τ+1.
func (h Hybrid) Bounds(ranks int) Bounds {
	return asynchronousBounds(h.Staleness, ranks, 2*h.Staleness+1)
}
