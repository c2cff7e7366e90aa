package staleness

import (
	"fmt"
	"strconv"

	"tandem/experiments/report"
	"tandem/internal/cli"
)

// variantTable returns a table with a line per variant and a line for the oracle.
func variantTable(results []*dataSetResult) cli.Table {
	t := cli.Table{
		Caption: "AUC and log loss on the test rows, mean over seeds; no model exceeds the oracle",
		Header: []string{
			"data",
			"variant",
			"AUC ± 95 %",
			"log loss ± 95 % (nats)",
			"training rows",
			"test rows",
		},
		Words: 2,
	}
	line := func(r *dataSetResult, name string, auc, logLoss []float64) {
		t.Rows = append(t.Rows, []string{r.DataSet, name, report.Level(auc), report.Level(logLoss),
			report.Thousands(r.TrainRows), report.Thousands(r.TestRows)})
	}
	for _, r := range results {
		if r.Oracle != nil {
			line(r, "oracle", r.Oracle.AUC, r.Oracle.LogLoss)
		}
		for _, a := range r.Variants {
			line(r, a.Variant.String(), a.AUC, a.LogLoss)
		}
	}
	return t
}

// stalenessTable returns a table of the earlier steps that reads missed, with a line per hybrid variant.
func (p plan) stalenessTable(results []*dataSetResult) cli.Table {
	t := cli.Table{
		Caption: "Staleness of reads in steps, all seeds: own = missed earlier steps of the same " +
			"rank, cross = of another rank",
		Header: []string{"data", "τ", "own mean", "own p99", "own max/bound",
			"cross mean", "cross p99", "cross max/bound", "own reached τ"},
		Words: 1,
	}
	for _, r := range results {
		for _, a := range r.Variants[firstHybrid:] {
			bound := p.bounds(a.Variant)
			yes := "yes"
			if !reachedBound(a) {
				yes = "no"
			}
			t.Rows = append(t.Rows, []string{r.DataSet, strconv.Itoa(*a.Variant.Tau),
				fmt.Sprintf("%.2f", a.Own.Mean()), strconv.Itoa(a.Own.Quantile(0.99)),
				fmt.Sprintf("%d/%d", a.Own.Max(), bound.Own),
				fmt.Sprintf("%.2f", a.Cross.Mean()), strconv.Itoa(a.Cross.Quantile(0.99)),
				fmt.Sprintf("%d/%d", a.Cross.Max(), bound.Cross), yes})
		}
	}
	return t
}
