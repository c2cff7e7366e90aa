package cluster

import (
	"crypto/sha256"
	"math"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
)

// Sync promises the bits of sequential training for any order of what happens at one instant.
func TestSyncDoesNotDependOnTies(t *testing.T) {
	source := samples{steps: 9, size: 32, last: 3}
	q, err := reference.NewSequential(numeric(job.Sequential, 1), source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for step := range source.Steps() {
		if err := q.Step(step); err != nil {
			t.Fatal(err)
		}
	}
	want := bitsOf(q.Dense().Digest(), q.Rows()...)
	for _, ranks := range []int{2, 8} {
		for ties := range uint64(8) {
			_, n := simulate(t, hosts(2, 3), numeric(job.Sync, ranks), source, Options{ties: ties},
				func(*serial) {})
			if got := bitsOf(n.Model().DenseDigest(), n.Model().Tables()...); got != want {
				t.Errorf("%d ranks, ties by seed %d: %x, sequential has %x", ranks, ties, got, want)
			}
		}
	}
}

// In every mode, any order of what happens at one instant keeps the contract and the bounds on staleness, and
// hardly changes the time of a step. The order is another one for each seed, or this test proves nothing.
func TestEveryModeBearsAnyTies(t *testing.T) {
	seeds := 3
	if *long {
		seeds = 12
	}
	for _, mode := range job.Modes()[1:] { // sequential has no roles
		j := training(mode, 4)
		j.Roles.DensePSs = 2
		rule, err := j.Rule()
		if err != nil {
			t.Fatal(err)
		}
		b := rule.Bounds(j.Roles.Ranks)
		orders := map[string]bool{}
		var even Result
		for ties := range uint64(seeds) {
			s, d := small(), digest{sha256.New()}
			s.Unfold = true
			a := run(t, s, j, Options{ties: ties, check: true, Observer: d, WarmUp: 12, Measured: 24})
			orders[string(d.Sum(nil))] = true
			if ties == 0 {
				even = a
			}
			if a.Staleness.Own.Max() > b.Own || a.Staleness.Cross.Max() > b.Cross ||
				a.Staleness.Inflight.Max() > b.Inflight {
				t.Errorf("%s, ties by seed %d: staleness own %d, cross %d, inflight %d; promised %+v", mode,
					ties, a.Staleness.Own.Max(), a.Staleness.Cross.Max(), a.Staleness.Inflight.Max(), b)
			}
			change := a.StepTime.Seconds()/even.StepTime.Seconds() - 1
			t.Logf("%s, ties by seed %d: step %v, %+.3f %%", mode, ties, a.StepTime, 100*change)
			if math.Abs(change) > 0.01 {
				t.Errorf("%s, ties by seed %d: step %v instead of %v", mode, ties, a.StepTime, even.StepTime)
			}
		}
		if len(orders) != seeds {
			t.Errorf("%s: %d seeds give %d different runs", mode, seeds, len(orders))
		}
	}
}
