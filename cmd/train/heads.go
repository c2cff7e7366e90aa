package main

import (
	"fmt"
	"io"
	"slices"

	"tandem/algo/exec/evaluation"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/train"
)

// head is the result for one label of a run, as means over seeds.
type head struct {
	Label string `json:"label"`
	measures
}

// measures are scores as means over seeds.
type measures struct {
	evaluation.Scores
	AUCInterval *metric.Interval `json:"auc_interval,omitempty"` // 95 %, with several seeds
	R2Interval  *metric.Interval `json:"r2_interval,omitempty"`  // 95 %, with several seeds
}

// measuresOf returns the means of scores of networks with a model.Spec's loss.
func measuresOf(loss string, scores []evaluation.Scores) (m measures, gains []float64) {
	n := float64(len(scores))
	for _, s := range scores {
		gains = append(gains, s.Score())
		m.LogLoss, m.RMSE = m.LogLoss+s.LogLoss/n, m.RMSE+s.RMSE/n
	}
	interval, to := metric.MeanInterval(gains), &m.AUCInterval
	if loss == model.SquaredLoss {
		m.R2, to = interval.Estimate, &m.R2Interval
	} else {
		m.AUC = interval.Estimate
	}
	if len(scores) > 1 {
		*to = &interval
	}
	return m, gains
}

// gainText returns AUC or R², with its interval if there is one.
func (m *measures) gainText() string {
	for _, interval := range []*metric.Interval{m.AUCInterval, m.R2Interval} {
		if interval != nil {
			return fmt.Sprintf("%.4f ± %.4f", m.Score(), (interval.High-interval.Low)/2)
		}
	}
	return fmt.Sprintf("%.4f", m.Score())
}

// errorText returns log loss or RMSE.
func (m *measures) errorText() string {
	if m.RMSE > 0 {
		return fmt.Sprintf("%.4g", m.RMSE)
	}
	return fmt.Sprintf("%.4f", m.LogLoss)
}

// heads returns the results for the labels of a run, or nil for a single label, whose results
// are those of the run.
func heads(results []*train.Result) []head {
	if len(results[0].Heads) < 2 {
		return nil
	}
	var out []head
	for i, first := range results[0].Heads {
		one := head{Label: first.Label}
		var scores []evaluation.Scores
		for _, result := range results {
			scores = append(scores, result.Heads[i].Scores)
		}
		one.measures, _ = measuresOf(results[0].Job.Model.Loss, scores)
		out = append(out, one)
	}
	return out
}

// oracle returns the results of the true probabilities of generated test rows on each label, or nil for other
// data. By squared loss, too, none better are expected of a model.
func oracle(data *datasets.Dataset, loss string) []train.Head {
	if data.TestProbability == nil {
		return nil
	}
	truth := make([]float32, len(data.TestProbability))
	for i, p := range data.TestProbability {
		truth[i] = float32(p)
	}
	return train.Heads(loss, truth, data.Schema.Labels, data.Test)
}

// firstLabel returns the first label of every row, by which modes are compared.
func firstLabel(data *datasets.Dataset) []float32 {
	return batch.Column(data.Test.Labels, len(data.Schema.Labels), 0)
}

// writeHeads prints the labels of every run, if there are several.
func (r *report) writeHeads(w io.Writer) error {
	if len(r.Runs[0].Heads) == 0 {
		return nil
	}
	unit := ""
	if r.ConstantRMSE > 0 {
		unit = "; RMSE in units of each label"
	}
	fmt.Fprintf(w, "\nBy label; above is %s%s\n", r.Runs[0].Heads[0].Label, unit)
	gain, err := evaluation.ScoreNames(r.job.Model.Loss)
	table := cli.Table{Header: []string{"mode", "label", gain, err}, Words: 2}
	add := func(mode string, one head) {
		table.Rows = append(table.Rows, []string{mode, one.Label, one.gainText(), one.errorText()})
	}
	for _, line := range slices.Concat(r.Runs, r.Baselines) {
		for _, one := range line.Heads {
			add(line.Mode, one)
		}
	}
	for _, one := range r.OracleHeads {
		add("best reachable", one)
	}
	return table.WriteText(w)
}
