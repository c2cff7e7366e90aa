package pace

import "fmt"

// AsyncPS is fully asynchronous training with parameter servers for both parts
// of the model, as XDL and PaddlePaddle run it. Embeddings are those of Hybrid.
// Before FC a rank pulls the dense parameters, shard by shard, in whatever state
// they are; after BC it pushes its mean gradient divided by the number of ranks,
// and each dense PS applies a push at once. No rank ever waits for another.
type AsyncPS struct {
	Staleness int // τ ≥ 0 of the embeddings
	Overlap   PullOverlap
}

// PullOverlap says whether a rank pulls before its last push is acknowledged.
type PullOverlap string

// When a rank pulls.
const (
	// PullAfterPush waits for the acknowledgement of the push, and for the
	// embeddings: a rank sees all its own updates.
	PullAfterPush PullOverlap = "none"
	// PullEarly pulls as soon as backward has ended, while the push and the
	// embeddings are still on their way.
	PullEarly PullOverlap = "pull"
)

var asyncPSMode = Mode{
	Name: "async-ps", Overlaps: []string{"none", "pull"},
	New: func(s Settings) Rule { return AsyncPS{s.Staleness, PullOverlap(s.Overlap)} },
}

// Name implements Rule.
func (AsyncPS) Name() string { return "async-ps" }

// Validate implements Rule.
func (a AsyncPS) Validate() error {
	if err := checkStaleness(a.Staleness); err != nil {
		return err
	}
	if a.Overlap != PullAfterPush && a.Overlap != PullEarly {
		return fmt.Errorf("pace: asynchronous servers cannot overlap %q; want none or pull", string(a.Overlap))
	}
	return nil
}

// MayIssue implements Rule.
func (a AsyncPS) MayIssue(outstanding int) bool { return outstanding <= a.Staleness }

// EveryPS implements Rule.
func (AsyncPS) EveryPS() bool { return false }

// InStep implements Rule.
func (AsyncPS) InStep() bool { return false }

// Exact implements Rule.
func (AsyncPS) Exact() bool { return false }

// Dense implements Rule.
func (AsyncPS) Dense() DenseSync { return DenseSync{Strategy: Served, DensePSs: true} }

// OverlapSync implements Rule.
func (a AsyncPS) OverlapSync() bool { return a.Overlap == PullEarly }

// Lead implements Rule.
func (AsyncPS) Lead() int { return Unbounded }

// Bounds implements Rule. Nothing holds a fast rank back, so what it misses of
// a slow one has no bound.
func (a AsyncPS) Bounds(ranks int) Bounds {
	b := asynchronousBounds(a.Staleness, ranks, Unbounded)
	if ranks > 1 || a.Overlap == PullEarly {
		b.Dense = Unbounded
	}
	return b
}

// asynchronousBounds are the bounds where embeddings are asynchronous: what
// follows from MayIssue, and cross if there is another rank.
func asynchronousBounds(staleness, ranks, cross int) Bounds {
	if staleness >= Unbounded/(2*ranks+2) {
		return Bounds{Own: Unbounded, Cross: Unbounded, Inflight: Unbounded}
	}
	if ranks == 1 {
		cross = 0
	}
	return Bounds{Own: staleness, Cross: cross, Inflight: ranks*(staleness+1) - 1}
}

func checkStaleness(staleness int) error {
	if staleness < 0 {
		return fmt.Errorf("pace: staleness %d; want 0 or more", staleness)
	}
	return nil
}
