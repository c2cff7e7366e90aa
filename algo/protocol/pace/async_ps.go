package pace

import "fmt"

// AsyncPS is fully asynchronous training with parameter servers for both parts of the model, as in XDL and
// PaddlePaddle. Embeddings are asynchronous as in Hybrid. Before FC a rank pulls the current dense parameters
// of every dense PS. After BC it pushes its mean gradient divided by the number of ranks, and each dense PS
// applies the push at once. No rank waits for another rank.
type AsyncPS struct {
	Staleness int // τ ≥ 0 of the embeddings
	Overlap   PullOverlap
}

// PullOverlap is the time at which a rank pulls parameters.
type PullOverlap string

// The values of PullOverlap.
const (
	// PullAfterPush pulls when the last push is acknowledged and the embeddings are here: a rank sees all its
	// own updates.
	PullAfterPush PullOverlap = "none"
	// PullEarly pulls when backward has ended, before the push is acknowledged and the embeddings are here.
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
		return fmt.Errorf("pace: modes with dense PSs cannot overlap %q; want none or pull",
			string(a.Overlap))
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

// Bounds implements Rule. Ranks do not wait for each other, so Cross and Dense have no bound.
func (a AsyncPS) Bounds(ranks int) Bounds {
	b := asynchronousBounds(a.Staleness, ranks, Unbounded)
	if ranks > 1 || a.Overlap == PullEarly {
		b.Dense = Unbounded
	}
	return b
}

// asynchronousBounds returns the bounds of rules with asynchronous embeddings: Own and Inflight follow from
// MayIssue, and cross is the bound if there is another rank.
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
