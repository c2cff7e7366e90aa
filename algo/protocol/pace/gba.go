package pace

import "fmt"

// GBA is global batch aggregation (Su and others, NeurIPS 2022): asynchronous training in which gradients
// take effect in global batches. A global batch is as large as in synchronous training, so the
// hyperparameters of synchronous training remain valid. PSs hold parameters and rows, and no rank waits for
// another, as in AsyncPS. A PS collects the gradients of Batches local batches and applies them as one
// gradient: this is a global step.
//
// Local batch i, counted over all ranks in the order in which the data loader deals them out, has token
// ⌊i/Batches⌋: the global step to which the batch would belong in synchronous training. A PS drops a gradient
// if its global step is more than Tolerance after the token.
type GBA struct {
	AsyncPS
	Batches   int // M ≥ 1: local batches in a global one
	Tolerance int // ι ≥ 0
}

var gbaMode = Mode{
	Name: "gba", Overlaps: []string{"none", "pull"},
	Settings: []Setting{
		{
			Name: "batches", Default: Ranks(0), Min: Fixed(1), Max: Fixed(1_000_000),
			Doc: "local batches in a global batch",
		},
		{
			Name: "tolerance", Default: Fixed(3), Min: Fixed(0), Max: Fixed(1_000_000_000),
			Doc: "global steps that a gradient may be late",
		},
	},
	New: func(s Settings) Rule {
		return GBA{AsyncPS{s.Staleness, PullOverlap(s.Overlap)}, s.Values["batches"], s.Values["tolerance"]}
	},
}

// GlobalBatches is Served, but PSs apply gradients by global batches.
const GlobalBatches Strategy = "global-batches"

// Name implements Rule.
func (GBA) Name() string { return "gba" }

// Validate implements Rule.
func (g GBA) Validate() error {
	if g.Batches < 1 || g.Tolerance < 0 {
		return fmt.Errorf("pace: gba with batches = %d, tolerance = %d; want batches ≥ 1, tolerance ≥ 0",
			g.Batches, g.Tolerance)
	}
	return g.AsyncPS.Validate()
}

// EveryPS implements Rule. Every PS counts the local batches of a global batch.
func (GBA) EveryPS() bool { return true }

// Dense implements Rule.
func (g GBA) Dense() DenseSync {
	return DenseSync{
		Strategy: GlobalBatches, DensePSs: true, Buffered: true, Batches: int32(g.Batches),
		Tolerance: int32(g.Tolerance),
	}
}

// Token returns the token of a batch.
func (g GBA) Token(ranks, rank, step int32) int64 {
	return (int64(step)*int64(ranks) + int64(rank)) / int64(g.Batches)
}

// Counts reports whether a gradient with a token counts at a global step of a PS.
func (g GBA) Counts(token, globalStep int64) bool { return globalStep-token <= int64(g.Tolerance) }

// Bounds implements Rule. A PS acknowledges a put on arrival. A read therefore misses the earlier batches of
// the rank that are outstanding, and those that wait at the PS for the rest of their global batch, at most
// Batches − 1.
func (g GBA) Bounds(ranks int) Bounds {
	b := g.AsyncPS.Bounds(ranks)
	b.Own = min(b.Own+g.Batches-1, Unbounded)
	b.Dense = Unbounded
	return b
}
