package reference

import (
	"math"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
	"tandem/algo/rng"
)

// coin is a source of one id whose label is 1 as often as 0.
func coin(steps int) *exectest.Columns {
	b := &batch.Batch{Samples: 2 * steps, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
	for i := range b.Samples {
		b.Slots[0].IDs = append(b.Slots[0].IDs, 1)
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(i+1))
		b.Labels = append(b.Labels, float32(i%2))
	}
	return &exectest.Columns{Size: 2, All: b, Fields: oneSlot()}
}

func oneSlot() batch.Schema {
	return batch.Schema{Slots: []batch.Slot{{Name: "id", Dim: 1}}, Labels: []string{"click"}, PrefixBits: 8}
}

// convex is logistic regression by gradient descent on rows; the bias is not trained.
func convex(rowRate float64, spec delay.Spec) job.Job {
	t := job.Default()
	t.Training.Mode, t.Training.Delay = job.Sequential, spec
	t.Roles.Ranks, t.Training.Groups, t.Training.GlobalBatch = 1, 1, 2
	t.Model.Spec = model.Spec{Kind: model.LogisticRegression}
	t.Rows.Optimizer = opt.RowSpec{Kind: opt.SGD, Rate: rowRate}
	t.Model.Optimizer = opt.DenseSpec{Kind: opt.SGD, Rate: 1e-30, Schedule: opt.Schedule{Decay: opt.NoDecay}}
	t.Rows.Init = 0.1
	return t
}

// Levin and May, Theoretical Population Biology 9 (1976), 178–187:
// w_{k+1} = w_k − a·w_{k−τ} tends to 0 if and only if 0 < a < 2·cos(τπ/(2τ+1)),
// that is 2, 1, 0.618 … for τ = 0, 1, 2: the largest step that a delay allows
// falls as 1/τ, as in the bounds on delayed gradient descent since (Arjevani,
// Shamir, Srebro, ALT 2020).
//
// Here w is the row of one id whose label is a fair coin. Its gradient is σ(w) − ½, which is w/4 near the
// optimum 0, so that a = rate/4. Below the limit w dies out, down to what single precision can distinguish
// from a fair coin; above, it swings ever wider until σ bends.
func TestLevinMayLargestStepUnderDelay(t *testing.T) {
	const steps = 3000
	for _, tau := range []int{0, 1, 2, 5, 10} {
		limit := 2 * math.Cos(float64(tau)*math.Pi/float64(2*tau+1))
		for _, share := range []float64{0.95, 1.05} {
			d := mustNewDelayed(t, convex(4*limit*share, delay.Spec{Kind: delay.Exactly, Steps: tau}),
				coin(steps))
			start := math.NaN()
			size := 0.0 // the largest |w| in the last tenth
			for step := range steps {
				if err := d.Step(step); err != nil {
					t.Fatal(err)
				}
				for _, values := range d.Rows()[0].All() {
					w := math.Abs(float64(values[0]))
					if step == 0 {
						start = w
					}
					if step >= steps*9/10 {
						size = max(size, w)
					}
				}
			}
			t.Logf("τ = %2d, %.2f of the limit: |w| from %.2g to %.2g", tau, share, start, size)
			if share < 1 && size > start/1000 || share > 1 && size < 10*start {
				t.Errorf("τ = %d, %.2f of the limit: |w| from %v to %v", tau, share, start, size)
			}
		}
	}
}

// everyFew is a source of one id a step, each of which returns after period steps.
func everyFew(steps, period int) *exectest.Columns {
	b := &batch.Batch{Samples: 2 * steps, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
	draw := rng.New(1, "labels")
	for i := range b.Samples {
		b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(i/2%period))
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(i+1))
		b.Labels = append(b.Labels, float32(draw.IntN(2)))
	}
	return &exectest.Columns{Size: 2, All: b, Fields: oneSlot()}
}

// Lian and others, Persia, KDD 2022, the theorem on convergence: staleness costs in proportion to α, the
// largest frequency of an id, because a late update matters only to steps that read the same row. In the
// limit: if no id returns within the delay, delayed training equals sequential training bit for bit, although
// every read misses τ updates; if ids return one step earlier, it does not.
func TestPersiaDelayCostsNothingWhereIdsDoNotMeet(t *testing.T) {
	const steps, tau = 200, 7
	for period, free := range map[int]bool{tau: false, tau + 1: true, 50: true} {
		source := everyFew(steps, period)
		want := mustNewReference(t, convex(0.5, delay.Spec{}), source)
		mustStepReference(t, want, steps)
		got := mustNewDelayed(t, convex(0.5, delay.Spec{Kind: delay.Exactly, Steps: tau}), source)
		for step := range steps {
			if err := got.Step(step); err != nil {
				t.Fatal(err)
			}
		}
		if err := got.Finish(); err != nil {
			t.Fatal(err)
		}
		own, missed := got.Staleness().Own, got.Missed()
		if own.Max() != tau || same(got.Sequential, want) != free || (missed.Max() == 0) != free {
			t.Errorf("ids back after %d steps, τ = %d: own staleness %d, missed updates %d, equal bits %t",
				period, tau, own.Max(), missed.Max(), same(got.Sequential, want))
		}
	}
}

// The same claim between the limits: an id that is in each batch with probability α misses τα updates on
// average under a delay of τ. Over the n gradients of an id, that mean has a standard deviation below
// √(τ·τα/n), since each update is counted by τ reads; the test allows five.
func TestPersiaMissedUpdatesAreDelayTimesFrequency(t *testing.T) {
	const steps, tau = 20_000, 8
	for _, alpha := range []float64{0.5, 0.1, 0.02} {
		draw := rng.New(3, "frequency")
		b := &batch.Batch{Samples: 2 * steps, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
		n := 0
		for i := range b.Samples {
			if i%2 == 0 && draw.Float64() < alpha {
				b.Slots[0].IDs = append(b.Slots[0].IDs, 1)
				n++
			}
			b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(len(b.Slots[0].IDs)))
			b.Labels = append(b.Labels, float32(draw.IntN(2)))
		}
		d := mustNewDelayed(t, convex(0.01, delay.Spec{Kind: delay.Exactly, Steps: tau}),
			&exectest.Columns{Size: 2, All: b, Fields: oneSlot()})
		for step := range steps {
			if err := d.Step(step); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
		missed := d.Missed()
		want := tau * alpha
		t.Logf("α = %.2f: %.4f updates missed, τα = %.4f", alpha, missed.Mean(), want)
		if off := math.Abs(missed.Mean() - want); off > 5*math.Sqrt(tau*want/float64(n)) ||
			missed.Count() != uint64(n) {
			t.Errorf("α = %.2f: %d gradients missed %.4f updates on average, want %.4f", alpha,
				missed.Count(), missed.Mean(), want)
		}
	}
}
