package reference

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/delay"
)

// delayed returns a training with delays of rows and network.
func delayed(rows, dense delay.Spec) job.Job {
	t := exectest.Job(2, 1)
	t.Training.Mode, t.Training.Delay, t.Training.DelayDense = job.Sequential, rows, dense
	return t
}

// listed returns delays step by step.
func listed(delays []int) delay.Spec {
	text := "delay\n" + strings.Trim(strings.ReplaceAll(fmt.Sprint(delays), " ", "\n"), "[]")
	s := delay.Spec{Kind: delay.Traced, File: "test"}
	if err := s.Load(func(string) ([]byte, error) { return []byte(text), nil }); err != nil {
		panic(err)
	}
	return s
}

func mustNewDelayed(t testing.TB, training job.Job, source batch.Source) *Delayed {
	t.Helper()
	d, err := NewDelayed(training, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func same(a, b *Sequential) bool {
	return a.Dense().Digest() == b.Dense().Digest() && a.Rows()[0].Digest() == b.Rows()[0].Digest()
}

// A delay of 0 is sequential training, bit for bit, after every step.
func TestExactlyZeroIsSequential(t *testing.T) {
	source := exectest.NewColumns(16*8, 16)
	none, zero := delay.Spec{}, delay.Spec{Kind: delay.Exactly}
	for _, specs := range [][2]delay.Spec{{none, none}, {zero, zero}, {none, zero}} {
		want := mustNewReference(t, delayed(none, none), source)
		got := mustNewDelayed(t, delayed(specs[0], specs[1]), source)
		for step := range source.Steps() {
			if err := want.Step(step); err != nil {
				t.Fatal(err)
			}
			if err := got.Step(step); err != nil {
				t.Fatal(err)
			}
			if !same(got.Sequential, want) {
				t.Fatalf("delays %v: step %d differs", specs, step)
			}
		}
		if s, missed := got.Staleness(), got.Missed(); s.Own.Max() != 0 || s.Dense.Max() != 0 ||
			missed.Max() != 0 {
			t.Errorf("delays %v: own %d, dense %d, missed %d", specs, s.Own.Max(), s.Dense.Max(),
				missed.Max())
		}
	}
}

// For any delays of rows and network, the read of step j sees exactly the updates of the steps i with i + dᵢ
// < j, in the order in which they became visible. The plain form searches all steps every time.
func TestReadsSeeWhatIsDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 8).Draw(t, "steps")
		draw := func(name string) []int {
			return rapid.SliceOfN(rapid.IntRange(0, 4), steps, steps).Draw(t, name)
		}
		rows, dense := draw("rows"), draw("dense")
		source := exectest.NewColumns(16*steps, 16)
		training := delayed(listed(rows), listed(dense))
		got, err := NewDelayed(training, source, backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := NewSequential(training, source, backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		var all []gradients
		for j := range steps + 5 { // in the last ones, what is left lands
			if j < steps {
				if !same(got.Sequential, plain) {
					t.Fatalf("the read of step %d finds other parameters", j)
				}
				if err := got.Step(j); err != nil {
					t.Fatal(err)
				}
				g, err := plain.compute(j)
				if err != nil {
					t.Fatal(err)
				}
				g.keep(plain.Rows())
				g.dense, g.stats = slices.Clone(g.dense), slices.Clone(g.stats)
				all = append(all, g)
			}
			for i, g := range all {
				if i+rows[i] == j {
					if err := plain.applyRows(g); err != nil {
						t.Fatal(err)
					}
				}
				if i+dense[i] == j {
					plain.applyDense(g)
				}
			}
		}
		if err := got.Finish(); err != nil {
			t.Fatal(err)
		}
		if !same(got.Sequential, plain) {
			t.Fatal("Finish leaves other parameters")
		}
	})
}

// The read of step j misses #{i < j: i + dᵢ ≥ j} updates. Their sum over a run of K steps is the sum of the
// delays, each cut at the end of the run: the update of step i is missed by the reads i+1 … min(i+dᵢ, K−1).
func TestStalenessIsThatOfTheDelays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const steps = 12
		delays := rapid.SliceOfN(rapid.IntRange(0, 15), steps, steps).Draw(t, "delays")
		source := exectest.NewColumns(16*steps, 16)
		d, err := NewDelayed(delayed(listed(delays), delay.Spec{}), source, backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		missed, sum := make([]uint64, steps), 0
		for j := range steps {
			m := 0
			for i := range j {
				if i+delays[i] >= j {
					m++
				}
			}
			missed[m]++
			sum += min(delays[j], steps-1-j)
			if err := d.Step(j); err != nil {
				t.Fatal(err)
			}
		}
		own, total := d.Staleness().Own, 0
		for value, count := range own.All() {
			if missed[value] != count {
				t.Fatalf("staleness %d: %d times, want %d", value, count, missed[value])
			}
			total += value * int(count)
		}
		if total != sum || own.Count() != steps {
			t.Fatalf("%d reads missed %d updates, want %d and %d", own.Count(), total, steps, sum)
		}
	})
}

// at-most τ: no read misses more than τ updates, nor more than have been made; and the rows count the updates
// that they missed.
func TestAtMostBoundsWhatReadsMiss(t *testing.T) {
	source := exectest.NewColumns(16*40, 16)
	for _, most := range []int{0, 1, 5, 100} {
		spec := delay.Spec{Kind: delay.AtMost, Steps: most}
		d := mustNewDelayed(t, delayed(spec, spec), source)
		for step := range source.Steps() {
			if len(d.pendingRows) > min(step, most) {
				t.Fatalf("τ = %d: the read of step %d misses %d", most, step, len(d.pendingRows))
			}
			if err := d.Step(step); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
		own, dense, missed := d.Staleness().Own, d.Staleness().Dense, d.Missed()
		// While a gradient is under way, up to τ earlier and up to τ later ones land.
		if own.Max() > most || dense.Max() > 2*most || missed.Max() > 2*most {
			t.Errorf("τ = %d: own %d, dense %d, missed %d", most, own.Max(), dense.Max(), missed.Max())
		}
		if most > 0 && (own.Max() == 0 || dense.Max() == 0 || missed.Max() == 0) {
			t.Errorf("τ = %d: nothing is missed", most)
		}
		if dense.Count() != uint64(source.Steps()) {
			t.Errorf("%d updates of the network, want %d", dense.Count(), source.Steps())
		}
	}
}

func mustNewReference(t testing.TB, training job.Job, source batch.Source) *Sequential {
	t.Helper()
	q, err := NewSequential(training, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// mustStepReference trains the reference on its first steps.
func mustStepReference(t testing.TB, q *Sequential, steps int) {
	t.Helper()
	for step := range steps {
		if err := q.Step(step); err != nil {
			t.Fatal(err)
		}
	}
}
