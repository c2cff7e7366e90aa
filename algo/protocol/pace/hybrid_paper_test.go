package pace_test

import (
	"strings"
	"testing"

	"tandem/algo/protocol/pace"
)

// These tests check claims of Lian et al., "Persia: An Open, Hybrid System Scaling Deep Learning-based
// Recommenders up to 100 Trillion Parameters", KDD 2022 (arXiv 2111.05897), section "hybrid training
// algorithm", and of the code that the authors published (DataLoader, embedding_staleness).

// persia is the rule in the published code: a rank has a semaphore with embedding_staleness permits. A batch
// acquires one just before its lookup and releases it when its put is answered.
type persia struct{ permits int }

func (p persia) mayIssue(outstanding int) bool { return p.permits-outstanding > 0 }

// Persia's embedding_staleness = s corresponds to τ = s−1: both rules allow the same lookups.
func TestPaperEmbeddingStalenessIsOneMoreThanTau(t *testing.T) {
	for s := 1; s <= 64; s++ {
		rule := pace.Hybrid{Staleness: s - 1, Overlap: pace.HybridNaive}
		for outstanding := range 2 * s {
			if want := (persia{s}).mayIssue(outstanding); rule.MayIssue(outstanding) != want {
				t.Errorf("embedding_staleness %d, %d outstanding: may issue = %t, want %t", s, outstanding,
					!want, want)
			}
		}
	}
}

// embedding_staleness = 1 makes every rank strictly serial: read, train, put. Its reads miss no step of its
// own. They may miss one step of another rank: a rank reads for step k after its own step k−1 is applied,
// when the put of step k−1 of another rank, which took part in the DS of step k−1, may still be in flight.
// With one rank this is sequential training.
func TestPaperStalenessOneIsSerialPerRank(t *testing.T) {
	rule := pace.Hybrid{Staleness: 0, Overlap: pace.HybridNaive}
	if !rule.MayIssue(0) || rule.MayIssue(1) {
		t.Errorf("may issue with 0 outstanding: %t, with 1: %t; want true, false", rule.MayIssue(0),
			rule.MayIssue(1))
	}
	if got, want := rule.Bounds(8), (pace.Bounds{Own: 0, Cross: 1, Inflight: 7}); got != want {
		t.Errorf("bounds %+v, want %+v", got, want)
	}
	if got, want := rule.Bounds(1), (pace.Bounds{}); got != want {
		t.Errorf("bounds of one rank %+v, want %+v", got, want)
	}
}

// Without embedding_staleness there is no semaphore: there are no bounds, and lookups do not wait.
func TestPaperUnsetStalenessIsUnbounded(t *testing.T) {
	rule := pace.Hybrid{Staleness: pace.Unbounded, Overlap: pace.HybridDS}
	if err := rule.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, outstanding := range []int{0, 1, 1000, pace.Unbounded} {
		if !rule.MayIssue(outstanding) {
			t.Errorf("with %d outstanding: may not issue", outstanding)
		}
	}
	for _, ranks := range []int{1, 2, 1 << 14} {
		want := pace.Bounds{Own: pace.Unbounded, Cross: pace.Unbounded, Inflight: pace.Unbounded}
		if got := rule.Bounds(ranks); got != want {
			t.Errorf("%d ranks: bounds %+v, want %+v", ranks, got, want)
		}
	}
}

// Embeddings are asynchronous: a PS does not wait until a step is complete, and receives no message about a
// batch without rows on the PS.
func TestPaperEmbeddingsAreAsynchronous(t *testing.T) {
	rule := pace.Hybrid{Staleness: 3, Overlap: pace.HybridNaive}
	if rule.InStep() || rule.EveryPS() {
		t.Errorf("in step %t, every PS %t; want false, false", rule.InStep(), rule.EveryPS())
	}
}

// In the second hybrid row of the Gantt chart DS overlaps BC, in the first it does not.
func TestPaperOptimisedHybridOverlapsSync(t *testing.T) {
	naive, optimised := pace.Hybrid{Overlap: pace.HybridNaive}, pace.Hybrid{Overlap: pace.HybridDS}
	if naive.OverlapSync() || !optimised.OverlapSync() {
		t.Errorf("overlap: naive %t, optimised %t; want false, true", naive.OverlapSync(),
			optimised.OverlapSync())
	}
}

// Own: at most τ earlier batches are outstanding at the read, and all others are applied: τ.
//
// Cross: at the read for step k at most τ of the steps below k are outstanding, so a step j ≥ k−τ−1 is done,
// and rank q took part in its DS. When q read for step j, at most τ of its earlier steps were missing, so all
// steps below k−2τ−1 were applied. The read misses at most the steps k−2τ−1 … k−1 of q: 2τ+1.
//
// Inflight: every rank may have τ+1 batches outstanding, and the reader's own batch does not count: N(τ+1)−1.
func TestHybridBounds(t *testing.T) {
	for _, c := range []struct {
		staleness, ranks int
		want             pace.Bounds
	}{
		{0, 2, pace.Bounds{Own: 0, Cross: 1, Inflight: 1}},
		{1, 2, pace.Bounds{Own: 1, Cross: 3, Inflight: 3}},
		{1, 1, pace.Bounds{Own: 1, Cross: 0, Inflight: 1}}, // there is no other rank to miss
		{9, 64, pace.Bounds{Own: 9, Cross: 19, Inflight: 639}},
	} {
		rule := pace.Hybrid{Staleness: c.staleness, Overlap: pace.HybridNaive}
		if got := rule.Bounds(c.ranks); got != c.want {
			t.Errorf("τ = %d, %d ranks: %+v, want %+v", c.staleness, c.ranks, got, c.want)
		}
	}
}

// Bounds are never negative, and grow with τ and the number of ranks up to Unbounded.
func TestHybridBoundsDoNotOverflow(t *testing.T) {
	for _, ranks := range []int{1, 2, 64, 1 << 20} {
		last := pace.Bounds{}
		for staleness := 1; staleness <= pace.Unbounded; staleness = staleness*3 + 1 {
			b := pace.Hybrid{Staleness: staleness, Overlap: pace.HybridNaive}.Bounds(ranks)
			if b.Own < last.Own || b.Cross < last.Cross || b.Inflight < last.Inflight ||
				b.Inflight > pace.Unbounded {
				t.Fatalf("%d ranks, τ = %d: %+v after %+v", ranks, staleness, b, last)
			}
			last = b
		}
	}
}

func TestHybridValidate(t *testing.T) {
	for _, c := range []struct {
		rule pace.Hybrid
		want string // part of the error; "" for none
	}{
		{pace.Hybrid{Staleness: 0, Overlap: pace.HybridNaive}, ""},
		{pace.Hybrid{Staleness: 9, Overlap: pace.HybridDS}, ""},
		{pace.Hybrid{Staleness: -1, Overlap: pace.HybridDS}, "staleness -1; want 0 or more"},
		{pace.Hybrid{Staleness: 1}, `overlap ""; want none or ds`},
		{pace.Hybrid{Staleness: 1, Overlap: "ids"}, `overlap "ids"; want none or ds`},
	} {
		checkError(t, c.rule, c.rule.Validate(), c.want)
	}
}

// checkError fails unless err contains want, or is nil if want is empty.
func checkError(t *testing.T, rule pace.Rule, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%+v: error %v, want %q", rule, err, want)
	}
}
