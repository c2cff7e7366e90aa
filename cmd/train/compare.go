package main

import (
	"fmt"

	"tandem/algo/exec/evaluation"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
)

// comparison is the difference in AUC, or in R² with squared loss, paired by seed, between a mode and the
// first mode trained.
type comparison struct {
	Mode      string          `json:"mode"`
	Against   string          `json:"against"`
	Score     string          `json:"score"`      // AUC or R²
	OverSeeds metric.Interval `json:"difference"` // 95 %, from the differences of all seeds
	// OverRows is the 95 % interval by a paired bootstrap of the test rows, with the first seed.
	OverRows metric.Interval `json:"difference_bootstrap"`
	Verdict  string          `json:"verdict"` // on the union of the two
}

// resamples is the number of resamples of the bootstrap: enough for the second digit of an
// interval.
const resamples = 500

// compare fills the comparisons, which need several seeds.
func (r *report) compare() {
	r.Comparisons = []comparison{}
	if r.Seeds < 2 {
		return
	}
	score, _ := evaluation.ScoreNames(r.job.Model.Loss)
	overRows := metric.WeightedAUCDifference
	if r.job.Model.Loss == model.SquaredLoss {
		overRows = metric.RSquaredDifference
	}
	first := r.Runs[0]
	for _, line := range r.Runs[1:] {
		differences := make([]float64, r.Seeds)
		for i := range differences {
			differences[i] = line.scores[i] - first.scores[i]
		}
		c := comparison{Mode: line.Mode, Against: first.Mode, Score: score,
			OverSeeds: metric.MeanInterval(differences),
			OverRows:  overRows(line.predicted, first.predicted, r.labels, r.weights, resamples, r.Seed)}
		union := metric.Interval{
			Estimate: c.OverSeeds.Estimate, Low: min(c.OverSeeds.Low, c.OverRows.Low),
			High: max(c.OverSeeds.High, c.OverRows.High),
		}
		c.Verdict = metric.Judge(union, metric.EquivalenceMargin).String()
		r.Comparisons = append(r.Comparisons, c)
	}
}

// String prints the comparison on one line.
func (c comparison) String() string {
	return fmt.Sprintf("%s of %s less that of %s: %+.5f; 95 %% over seeds %+.5f to %+.5f; of the first "+
		"seed %+.5f, over test rows %+.5f to %+.5f: %s",
		c.Score, c.Mode, c.Against, c.OverSeeds.Estimate, c.OverSeeds.Low, c.OverSeeds.High,
		c.OverRows.Estimate, c.OverRows.Low, c.OverRows.High, c.Verdict)
}
