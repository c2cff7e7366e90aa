package defaults

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/numeric/model"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results as tables and sentences.
func (p *plan) report(results []*result) *report.Report {
	quality := cli.Table{
		Caption: "AUC and log loss (nats) on the test rows at defaults, means over seeds, beside " +
			"scikit-learn's logistic regression (sk) and a constant guess; difference in AUC and the " +
			"paired standard error by the draw of the test rows; * the defaults' rules were chosen on " +
			"it, among others",
		Header: []string{"table", "AUC", "sk", "AUC − sk", "s.e.", "log loss", "guess"}, Words: 1,
	}
	choices := cli.Table{
		Caption: "What held-back rows chose, by seed, and the longest time of both; positives are test rows",
		Header:  []string{"table", "rows", "positives", "models", "epochs", "s"}, Words: 1,
	}
	four := func(v float64) string { return fmt.Sprintf("%.4f", v) }
	for _, r := range results {
		name := r.Table
		if r.Tuned {
			name += "*"
		}
		quality.Add(name, report.Mean(r.AUC), four(r.PeerAUC),
			report.Minus(fmt.Sprintf("%+.4f", r.difference())), four(r.StandardError), report.Mean(r.LogLoss),
			four(r.Constant))
		models := slices.Compact(slices.Sorted(slices.Values(r.Models)))
		choices.Add(r.Table, report.Thousands(r.Rows), report.Thousands(r.TestPositives),
			strings.ReplaceAll(strings.Join(models, ", "), model.LogisticRegression, "logistic"),
			strings.Trim(fmt.Sprint(r.Epochs), "[]"), fmt.Sprintf("%.1f", slices.Max(r.Seconds)))
	}
	return &report.Report{Findings: findings(results), Notes: p.notes(results),
		Tables: []cli.Table{quality, choices}}
}

// findings returns a sentence for each demand, with the tables that miss it.
func findings(results []*result) []string {
	demand := func(what string, holds func(*result) bool) string {
		var missed []string
		for _, r := range results {
			if !holds(r) {
				missed = append(missed, r.Table)
			}
		}
		if missed == nil {
			return fmt.Sprintf("%s: on all of %d tables.", what, len(results))
		}
		return fmt.Sprintf("%s: on %d of %d tables, not on %s.", what, len(results)-len(missed), len(results),
			strings.Join(missed, ", "))
	}
	return []string{
		demand("AUC at least scikit-learn's less 0.02 or twice the standard error",
			func(r *result) bool { return r.difference() >= -r.margin() }),
		demand("Log loss below that of a constant guess under every seed",
			func(r *result) bool { return slices.Max(r.LogLoss) < r.Constant }),
		demand(fmt.Sprintf("Chosen and trained within %d s", secondsMost),
			func(r *result) bool { return slices.Max(r.Seconds) < secondsMost }),
	}
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) []string {
	list := []string{"One split of each table for all seeds, 20 % of the rows, drawn; census income and " +
		"Frappe have test files. Columns as inferred: whole numbers that repeat are ids on both sides. " +
		"Numbers are standardised by the training rows."}
	if len(results) > 0 {
		list = append(list, fmt.Sprintf("scikit-learn %s: LogisticRegression(C=1, max_iter=1000), lbfgs.",
			results[0].Peer.Sklearn))
	}
	return append(list, report.Absent(p.Tables, p.folder, func(t table) bool {
		return slices.ContainsFunc(results, func(r *result) bool { return r.Table == t.Name })
	})...)
}
