package judge

import (
	"math"
	"testing"

	"tandem/algo/metric"
	"tandem/algo/rng"
)

// On shared test rows, the interval of seeds and rows together contains the true difference as often as it
// claims, and the interval over seeds alone does not.
//
// Positive rows score higher by 1 than negative ones, with normal noise of variance 1, so AUC is Φ(1/√(2v))
// at variance v. The reference adds noise of variance ½ to each row, the same under every seed, and of ¼ or
// ½, by a coin of the seed, that is drawn under each seed. The true difference is the mean over the coin.
func TestIntervalOverSeedsAndRowsCovers(t *testing.T) {
	const trials, rows, seeds, resamples = 150, 300, 5, 80
	auc := func(v float64) float64 { return 0.5 * math.Erfc(-1/math.Sqrt(2*v)/math.Sqrt2) }
	truth := auc(1) - (auc(1.75)+auc(2))/2
	missed, missedAlone := 0, 0
	for trial := range uint64(trials) {
		s := rng.New(trial, "coverage")
		labels, treated, shared := make([]float32, rows), make([]float32, rows), make([]float64, rows)
		for row := range rows {
			labels[row] = float32(row % 2)
			treated[row] = float32(s.NormFloat64() + float64(row%2))
			shared[row] = float64(treated[row]) + float64(math.Sqrt(0.5)*s.NormFloat64())
		}
		c := &Comparison{LogLosses: make([]float64, seeds)}
		var a, b [][]float32
		for range seeds {
			spread := math.Sqrt(0.25 * float64(1+s.IntN(2)))
			reference := make([]float32, rows)
			for row := range rows {
				reference[row] = float32(shared[row] + float64(spread*s.NormFloat64()))
			}
			a, b = append(a, treated), append(b, reference)
			c.AUCs = append(c.AUCs, metric.AUC(treated, labels)-metric.AUC(reference, labels))
		}
		c.RowDeviation = metric.AUCRowDeviation(a, b, labels, resamples, trial)
		Judge([]*Comparison{c})
		if truth < c.AUC.Low || truth > c.AUC.High {
			missed++
		}
		if alone := metric.MeanInterval(c.AUCs); truth < alone.Low || truth > alone.High {
			missedAlone++
		}
	}
	t.Logf("missed the truth in %d of %d trials, over seeds alone in %d", missed, trials, missedAlone)
	// 5 % are 7.5, with a deviation of 2.7.
	if missed > 16 {
		t.Errorf("missed the truth in %d of %d trials", missed, trials)
	}
	if missedAlone < 2*16 {
		t.Errorf("the interval over seeds alone missed only %d times: the test shows nothing", missedAlone)
	}
}
