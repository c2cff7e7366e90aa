package cluster

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/pace"
)

// density returns the density of a lognormal variable of mean and σ.
func density(mean, sigma, x float64) float64 {
	if x <= 0 {
		return 0
	}
	z := (math.Log(x/mean) + sigma*sigma/2) / sigma
	return math.Exp(-z*z/2) / (x * sigma * math.Sqrt(2*math.Pi))
}

// expectedMaximum returns the mean of the largest of n independent sums F + B, where F and B are lognormal
// with common σ and means f and b:
//
//	∫₀^∞ 1 − G(x)^n dx, where G′ is the convolution of the densities of F and B
//
// by the trapezoidal rule on a grid of step 1/400 of the mean of the sum, up to 6 times that mean.
func expectedMaximum(n int, f, b, sigma float64) float64 {
	const points, perMean = 2400, 400
	step := (f + b) / perMean
	first, second := make([]float64, points), make([]float64, points)
	for i := range points {
		first[i], second[i] = density(f, sigma, step*float64(i)), density(b, sigma, step*float64(i))
	}
	mean, distribution, before := step/2, 0.0, 0.0
	for i := 1; i < points; i++ {
		sum := 0.0
		for k := range i + 1 {
			sum += first[k] * second[i-k]
		}
		distribution += (before + sum*step) / 2 * step
		before = sum * step
		mean += (1 - math.Pow(min(distribution, 1), float64(n))) * step
	}
	return mean
}

// In sync mode a step takes as long as the slowest rank: with independent times of its N ranks, the expected
// maximum of N draws, an order statistic, on top of what all ranks do together. Here forward and backward of
// a rank have lognormal factors of their own. Everything else takes the same time in every step, which a run
// without jitter shows.
//
// The mean time of the slowest rank must be within 1 % of theory. Its standard error is 0.3 to 0.4 %. With
// -long, four times as many steps halve both.
//
// Source: David, Nagaraja, "Order Statistics" (2003), section 3.1: E max = ∫ 1 − G^N.
func TestSyncStepIsTheExpectedMaximum(t *testing.T) {
	layout, w := quiet(t)
	s := small()
	s.System = "tandem" // its host threads take next to nothing
	more, tolerance := 1, 0.01
	if *long {
		more, tolerance = 4, 0.005
	}
	for _, c := range []struct {
		ranks, steps int
		sigma        float64
	}{{2, 3000, 0.3}, {8, 2000, 0.2}, {32, 500, 0.3}} {
		j := training(job.Sync, c.ranks)
		j.Training.Overlap, j.Training.GlobalBatch = "none", 16_384*c.ranks
		simulate := func(o Options) Result {
			o.WarmUp = 8
			a, err := Run(hardwareOf(t, s), j, layout, w, o)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		even := simulate(Options{Measured: 8})
		forward, backward := even.StageTimes[pace.FC].Seconds(), even.StageTimes[pace.BC].Seconds()
		rest := even.StepTime.Seconds() - forward - backward
		want := expectedMaximum(c.ranks, forward, backward, c.sigma)
		step := simulate(Options{Measured: more * c.steps, Jitter: c.sigma, Seed: 1}).StepTime
		got := step.Seconds() - rest
		t.Logf("%d ranks, σ = %v: the slowest takes %.4f of the mean, theory %.4f, %+.2f %%; %.0f %% of a "+
			"step", c.ranks, c.sigma, got/(forward+backward), want/(forward+backward), 100*(got/want-1),
			100*got/step.Seconds())
		if math.Abs(got/want-1) > tolerance {
			t.Errorf("%d ranks, σ = %v: the slowest takes %v s, want %v s", c.ranks, c.sigma, got, want)
		}
	}
}
