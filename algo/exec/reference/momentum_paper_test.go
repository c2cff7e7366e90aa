package reference

import (
	"math"
	"testing"

	"tandem/algo/protocol/delay"
)

// pathOf returns the row of one id over a number of steps, divided by its initial value, where each gradient
// removes a share of the value that it was computed from, after a delay of geometric distribution.
func pathOf(t *testing.T, share, meanDelay float64, steps int, seed uint64) []float64 {
	t.Helper()
	job := convex(4*share, delay.Spec{Kind: delay.Geometric, Mean: meanDelay})
	job.Rows.Init, job.Training.Seed = 0.01, seed
	d := mustNewDelayed(t, job, coin(steps))
	path := []float64{1}
	start := math.NaN()
	for step := range steps {
		if err := d.Step(step); err != nil {
			t.Fatal(err)
		}
		for _, values := range d.Rows()[0].All() {
			w := float64(values[0])
			if step == 0 { // the row is as old as its first gradient, which may have been applied already
				start = w
				if len(d.pendingRows) == 0 {
					start = w / (1 - share)
				}
			}
			path = append(path, w/start)
		}
	}
	return path
}

// Mitliagkas, Zhang, Hadjis, Ré, "Asynchrony begets momentum", Allerton 2016, theorem 2: with M asynchronous
// workers, whose staleness is geometric with mean M − 1, the expected parameters follow gradient descent with
// momentum 1 − 1/M and 1/M of the step:
//
//	E w_{t+1} = E w_t + (1 − 1/M)·(E w_t − E w_{t−1}) − (a/M)·E w_t
//
// Here w is the row of one id whose label is a fair coin. Its gradient is σ(w) − ½, which is w/4 near the
// optimum 0, to 1e-5 of it for |w| ≤ 0.01, so that a = rate/4. The mean is over runs with different delays;
// at every step it must be within five of its standard errors of theory, which chance exceeds in one of 10⁴
// such tests. Gradient descent with 1/M of the step and no momentum must be further away at some step.
func TestMitliagkasGeometricStalenessIsMomentum(t *testing.T) {
	const steps, runs, share = 40, 1000, 0.5
	for _, workers := range []float64{2, 4, 8} {
		sum, squares := make([]float64, steps+1), make([]float64, steps+1)
		for run := range uint64(runs) {
			for step, w := range pathOf(t, share, workers-1, steps, run) {
				sum[step] += w
				squares[step] += w * w
			}
		}
		momentum := 1 - 1/workers
		want, before, plain := 1.0, 1.0, 1.0
		farthest, plainFarthest := 0.0, 0.0 // in standard errors
		for step := 1; step <= steps; step++ {
			want, before = want+momentum*(want-before)-share/workers*want, want
			plain -= share / workers * plain
			mean := sum[step] / runs
			standardError := math.Sqrt((squares[step]/runs - mean*mean) / runs)
			farthest = max(farthest, math.Abs(mean-want)/standardError)
			plainFarthest = max(plainFarthest, math.Abs(mean-plain)/standardError)
			if math.Abs(mean-want) > 5*standardError {
				t.Errorf("%v workers, step %d: E w = %.4f ± %.4f, momentum %.3f gives %.4f", workers, step,
					mean, standardError, momentum, want)
			}
		}
		t.Logf("%v workers: at most %.1f standard errors from momentum %.3f, %.0f from none", workers,
			farthest, momentum, plainFarthest)
		if plainFarthest < 20 {
			t.Errorf("%v workers: the paths do not distinguish momentum %.3f from none", workers, momentum)
		}
	}
}
