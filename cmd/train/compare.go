package main

import (
	"fmt"

	"tandem/algo/metric"
)

// comparison is the difference in AUC, paired by seed, between a mode and the first mode trained.
type comparison struct {
	Mode      string          `json:"mode"`
	Against   string          `json:"against"`
	OverSeeds metric.Interval `json:"auc_difference"` // 95 %, from the differences of all seeds
	// OverRows is the 95 % interval by a paired bootstrap of the test rows, with the first seed.
	OverRows metric.Interval `json:"auc_difference_bootstrap"`
	Verdict  string          `json:"verdict"` // on the union of the two
}

// resamples is the number of resamples of the bootstrap: enough for the second digit of an
// interval.
const resamples = 500

// uncompared says why modes that have several seeds are not compared; "" if they are.
func (r *report) uncompared() string {
	if r.Seeds < 2 || len(r.Runs) < 2 || r.classes {
		return ""
	}
	return "Modes are not compared: that takes rows that count the same, with labels 0 and 1."
}

// compare fills the comparisons, which need several seeds and labels of two classes.
func (r *report) compare(labels []float32) {
	r.Comparisons = []comparison{}
	if r.Seeds < 2 || !r.classes { // the bootstrap draws rows of classes
		return
	}
	for _, line := range r.Runs[1:] {
		differences := make([]float64, r.Seeds)
		for i := range differences {
			differences[i] = line.aucs[i] - r.Runs[0].aucs[i]
		}
		c := comparison{
			Mode: line.Mode, Against: r.Runs[0].Mode, OverSeeds: metric.MeanInterval(differences),
			OverRows: metric.AUCDifference(line.predicted, r.Runs[0].predicted, labels, resamples, r.Seed),
		}
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
	return fmt.Sprintf("AUC of %s less that of %s: %+.5f; 95 %% over seeds %+.5f to %+.5f, over test rows "+
		"%+.5f to %+.5f: %s",
		c.Mode, c.Against, c.OverSeeds.Estimate, c.OverSeeds.Low, c.OverSeeds.High, c.OverRows.Low,
		c.OverRows.High, c.Verdict)
}
