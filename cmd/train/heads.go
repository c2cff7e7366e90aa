package main

import (
	"fmt"
	"io"
	"slices"

	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/train"
)

// head is the result for one label of a run, as means over seeds.
type head struct {
	Label       string           `json:"label"`
	AUC         float64          `json:"auc"`
	AUCInterval *metric.Interval `json:"auc_interval,omitempty"` // 95 %, with several seeds
	LogLoss     float64          `json:"log_loss"`
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
		var aucs []float64
		for _, result := range results {
			aucs = append(aucs, result.Heads[i].AUC)
			one.LogLoss += result.Heads[i].LogLoss / float64(len(results))
		}
		interval := metric.MeanInterval(aucs)
		one.AUC = interval.Estimate
		if len(results) > 1 {
			one.AUCInterval = &interval
		}
		out = append(out, one)
	}
	return out
}

// oracle returns the results of the true probabilities of generated test rows on each label, or
// nil for other data.
func oracle(data *datasets.Dataset) []train.Head {
	if data.TestProbability == nil {
		return nil
	}
	truth := make([]float32, len(data.TestProbability))
	for i, p := range data.TestProbability {
		truth[i] = float32(p)
	}
	return train.Heads(truth, data.Schema.Labels, data.Test)
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
	fmt.Fprintf(w, "\nBy label; above is %s\n", r.Runs[0].Heads[0].Label)
	table := cli.Table{Header: []string{"mode", "label", "AUC", "log loss"}, Words: 2}
	add := func(mode string, one head) {
		line := row{AUC: one.AUC, AUCInterval: one.AUCInterval}
		table.Rows = append(table.Rows, []string{mode, one.Label, line.aucText(),
			fmt.Sprintf("%.4f", one.LogLoss)})
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
