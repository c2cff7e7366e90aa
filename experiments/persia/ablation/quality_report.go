package ablation

import (
	"fmt"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// table has the differences in AUC, a line for each form of each data set.
func (q *quality) table(list []*accuracy) cli.Table {
	t := cli.Table{
		Caption: "AUC of a lossy training − AUC of the exact one, in thousandths, ± half the 95 % " +
			"interval; * different, = equivalent within 1, each after Holm's adjustment",
		Header: append([]string{"data", "lossy"}, q.Modes...), Words: 2,
	}
	for _, a := range list {
		for i, f := range q.Forms {
			name := ""
			if i == 0 {
				name = a.DataSet
			}
			row := []string{name, f.Name}
			for m := range q.Modes {
				row = append(row, milliText(a.Losses[m][i]))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// milliText returns a difference in thousandths, with two decimals and the mark of its verdict.
func milliText(c *judge.Comparison) string {
	mark := map[metric.Verdict]string{metric.Different: " *", metric.Equivalent: " ="}[c.Verdict]
	estimate := report.Minus(strings.Replace(fmt.Sprintf("%.2f", 1000*c.AUC.Estimate), "-0.00", "0.00", 1))
	return fmt.Sprintf("%s ± %.2f%-2s", estimate, 500*(c.AUC.High-c.AUC.Low), mark)
}

// levels has the AUC of the exact training beside simpler and better predictions.
func (q *quality) levels(list []*accuracy) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("AUC of the exact training in %s, mean over seeds ± half the 95 %% interval, "+
			"and its learning rates; test rows; a constant guess has 0.5, no model exceeds the oracle",
			q.Modes[0]),
		Header: []string{"data", "exact", "logistic", "oracle", "rows", "network", "test"}, Words: 1,
	}
	for _, a := range list {
		oracle, edge := "", ""
		if a.Oracle != nil {
			oracle = report.Mean(a.Oracle)
		}
		if a.AtEdge {
			edge = "!"
		}
		t.Rows = append(t.Rows, []string{a.DataSet, report.Level(a.Exact.AUC), report.Mean(a.Logistic.AUC),
			oracle, report.Digits(a.Rates.Rows, 2), report.Digits(a.Rates.Dense, 2) + edge,
			report.Thousands(a.TestRows)})
	}
	return t
}

// finding returns the sentence on all forms: how many are equivalent, which are not, and the lowest end of an
// interval.
func (q *quality) finding(list []*accuracy) string {
	var lowest *judge.Comparison
	count := map[metric.Verdict]int{}
	var others []string
	for _, a := range list {
		for _, losses := range a.Losses {
			for _, c := range losses {
				count[c.Verdict]++
				if c.Verdict != metric.Equivalent {
					others = append(others, fmt.Sprintf("%s, %s %s (%s)", c.Data, c.Treated,
						report.PlusMinus(c.AUC), c.Verdict))
				}
				if lowest == nil || c.AUC.Low < lowest.AUC.Low {
					lowest = c
				}
			}
		}
	}
	return fmt.Sprintf("AUC of lossy less exact training, %d comparisons: %d equivalent within %g, %d "+
		"different, %d inconclusive. Not equivalent: %s. The lowest end of an interval is of %s, %s: %s.",
		len(list)*len(q.Modes)*len(q.Forms), count[metric.Equivalent], metric.EquivalenceMargin,
		count[metric.Different], count[metric.Inconclusive], orNothing(others), lowest.Data, lowest.Treated,
		report.PlusMinus(lowest.AUC))
}

// quantities returns every difference.
func (q *quality) quantities(list []*accuracy) (quantities []report.Quantity) {
	for _, a := range list {
		for m, mode := range q.Modes {
			for i, f := range q.Forms {
				quantities = append(quantities, report.Quantity{
					Name: f.ID + "-less-exact-" + mode + "-" + report.Slug(a.DataSet),
					What: fmt.Sprintf("AUC with %s − AUC of exact training, %s, %s", f.Name, mode, a.DataSet),
					Over: report.OverSeeds, Interval: a.Losses[m][i].AUC,
				})
			}
		}
	}
	return quantities
}

// notes returns what a reader needs to judge the differences in AUC.
func (q *quality) notes(list []*accuracy, seeds int) []string {
	diverged := 0
	for _, a := range list {
		diverged += a.Diverged
	}
	rates := fmt.Sprintf("All forms train at the rates %g (rows) and %g (network), which are not tuned.",
		nominal.Rows, nominal.Dense)
	if q.Rates != nil {
		rates = "All forms train at the tuned rates of the exact training in sync; ! says that the best " +
			"candidate is at an end of the grid. A precision has no tuned rates of its own."
	}
	notes := []string{
		fmt.Sprintf("Trainings run in the simulated cluster persia-paper, %d ranks, τ = %d, one epoch, a "+
			"network %v over rows of dimension %d, Adagrad for rows, Adam for the network. In hybrid, "+
			"smaller messages also arrive earlier, so rows have slightly other staleness; in sync only the "+
			"precision differs.", q.Job.Roles.Ranks, q.Job.Training.Prefetch-1, q.Job.Model.Top,
			q.Job.Model.EmbeddingDim),
		rates,
		"Wire fp16 casts embeddings and their gradients, as Persia's code; scaled blocks multiply 128 " +
			"neighbouring values by a power of two before the cast, which keeps small ones. Rows in half " +
			"precision are rounded at random; optimizer state, sums and the dense network's gradients and " +
			"parameters stay fp32.",
		fmt.Sprintf("%d trainings diverged and count as a guess of ½.", diverged),
	}
	return append(notes, report.FewSeedsNote(seeds, "seeds", "an interval")...)
}
