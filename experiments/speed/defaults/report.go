package defaults

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/metric"
	"tandem/algo/numeric/model"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// tableResult is the results on all splits of a table.
type tableResult []*result

// byTable returns the results of each table.
func byTable(results []*result) (all []tableResult) {
	for _, r := range results {
		at := slices.IndexFunc(all, func(t tableResult) bool { return t[0].Table == r.Table })
		if at < 0 {
			all = append(all, tableResult{r})
			continue
		}
		all[at] = append(all[at], r)
	}
	return all
}

// values returns a value of each split.
func (t tableResult) values(of func(*result) float64) (all []float64) {
	for _, r := range t {
		all = append(all, of(r))
	}
	return all
}

// peers returns the number of peers that every split has.
func (t tableResult) peers() int { return len(t[0].Peers) }

// best returns the index of the peer with the highest mean AUC.
func (t tableResult) best() (index int) {
	highest := 0.0
	for i := range t.peers() {
		auc := metric.MeanInterval(t.values(func(r *result) float64 { return r.Peers[i].AUC })).Estimate
		if auc > highest {
			index, highest = i, auc
		}
	}
	return index
}

// difference returns the AUC of the default models less that of the best peer, over splits.
func (t tableResult) difference() metric.Interval {
	i := t.best()
	return metric.MeanInterval(t.values(func(r *result) float64 { return r.AUC - r.Peers[i].AUC }))
}

// report returns the results as tables and sentences.
func (p *plan) report(results []*result) *report.Report {
	all := byTable(results)
	list := &report.Report{Findings: findings(all), Notes: p.notes(results)}
	if len(all) == 0 {
		return list
	}
	scores := func(caption string, own func(*result) float64, other func(*peer) float64) *cli.Table {
		t := &cli.Table{Caption: caption, Header: []string{"table", "Tandem"}, Words: 1}
		for _, peer := range all[0][0].Peers {
			t.Header = append(t.Header, peer.Name)
		}
		for _, one := range all {
			name := one[0].Table
			if one[0].Tuned {
				name += "*"
			}
			row := []string{name, report.Mean(one.values(own))}
			for i := range one.peers() {
				row = append(row, report.Mean(one.values(func(r *result) float64 {
					return other(&r.Peers[i])
				})))
			}
			t.Rows = append(t.Rows, row)
		}
		return t
	}
	auc := scores("AUC on the test rows, means over splits, and the difference to the best of the others "+
		"with its 95 % interval over splits; * the defaults' rules were chosen on it, among others",
		func(r *result) float64 { return r.AUC }, func(p *peer) float64 { return p.AUC })
	auc.Header = append(auc.Header, "difference")
	for i, one := range all {
		text := report.PlusMinus(one.difference())
		if len(one) == 1 {
			text = report.Minus(fmt.Sprintf("%+.4f", one.difference().Estimate))
		}
		auc.Rows[i] = append(auc.Rows[i], text)
	}
	loss := scores("Log loss (nats) on the test rows, means over splits, and that of a constant guess",
		func(r *result) float64 { return r.LogLoss }, func(p *peer) float64 { return p.LogLoss })
	loss.Header = append(loss.Header, "guess")
	for i, one := range all {
		loss.Rows[i] = append(loss.Rows[i], report.Mean(one.values(func(r *result) float64 {
			return r.Constant
		})))
	}
	list.Tables = append(list.Tables, *auc, *loss, choices(all))
	return list
}

// choices returns the table of what was chosen, and of the time that it took.
func choices(all []tableResult) cli.Table {
	t := cli.Table{Caption: "What held-back rows chose, by split: model, epochs and number of derived " +
		"slots; and the longest time of choosing and training, beside those of the others",
		Header: []string{"table", "rows", "positives", "chosen", "s"}, Words: 1}
	for _, peer := range all[0][0].Peers {
		t.Header = append(t.Header, peer.Name+" s")
	}
	for _, one := range all {
		var chosen []string
		for _, r := range one {
			chosen = append(chosen, fmt.Sprintf("%s %d %d",
				strings.ReplaceAll(r.Model, model.LogisticRegression, "logistic"), r.Epochs, len(r.Derived)))
		}
		longest := func(of func(*result) float64) string {
			return fmt.Sprintf("%.1f", slices.Max(one.values(of)))
		}
		row := []string{one[0].Table, report.Thousands(one[0].Rows), report.Thousands(one[0].TestPositives),
			strings.Join(chosen, ", "), longest(func(r *result) float64 { return r.Seconds })}
		for i := range one.peers() {
			row = append(row, longest(func(r *result) float64 { return r.Peers[i].Seconds }))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// findings returns a sentence for each demand, with the tables that miss it.
func findings(all []tableResult) []string {
	demand := func(what string, holds func(tableResult) bool) string {
		var missed []string
		for _, t := range all {
			if !holds(t) {
				missed = append(missed, t[0].Table)
			}
		}
		if missed == nil {
			return fmt.Sprintf("%s: on all of %d tables.", what, len(all))
		}
		return fmt.Sprintf("%s: on %d of %d tables, not on %s.", what, len(all)-len(missed), len(all),
			strings.Join(missed, ", "))
	}
	every := func(holds func(*result) bool) func(tableResult) bool {
		return func(t tableResult) bool {
			return !slices.ContainsFunc(t, func(r *result) bool { return !holds(r) })
		}
	}
	return []string{
		demand(fmt.Sprintf("AUC at least that of the best of the others less %v", margin),
			func(t tableResult) bool { return t.difference().Estimate >= -margin }),
		demand("AUC above that of all others",
			func(t tableResult) bool { return t.difference().Estimate > 0 }),
		demand("Log loss below that of a constant guess on every split",
			every(func(r *result) bool { return r.LogLoss < r.Constant })),
		demand(fmt.Sprintf("Chosen and trained within %d s", secondsMost),
			every(func(r *result) bool { return r.Seconds < secondsMost })),
	}
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) []string {
	list := []string{"A split for each seed, 20 % of the rows, drawn; census income and Frappe have test " +
		"files, so their seeds differ in the training alone. Columns as inferred: whole numbers that " +
		"repeat are ids on all sides. Numbers are standardised by the training rows."}
	if len(results) > 0 {
		var versions []string
		for _, peer := range results[0].Peers {
			versions = append(versions, peer.Name+" "+peer.Version)
		}
		list = append(list, "The others: "+strings.Join(versions, ", ")+
			"; all at their defaults, but for 1,000 iterations of the regression at most.")
	}
	return append(list, report.Absent(p.Tables, p.folder, func(t table) bool {
		return slices.ContainsFunc(results, func(r *result) bool { return r.Table == t.Name })
	})...)
}
