package defaults

import (
	"fmt"
	"math"
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

// peers returns a value of a library's classifier on each split that was measured with it: a run may have
// been resumed where other libraries are installed.
func (t tableResult) peers(name string, of func(*result, *peer) float64) (all []float64) {
	for _, r := range t {
		if p := r.peer(name); p != nil {
			all = append(all, of(r, p))
		}
	}
	return all
}

// differences returns the AUC of the default models less that of the library that leaves the least of it, on
// the splits that have the library: not all need have it.
func (t tableResult) differences() (least []float64) {
	lowest := math.Inf(1)
	for _, name := range allPeers {
		values := t.peers(name, func(r *result, p *peer) float64 { return r.AUC - p.AUC })
		if mean := metric.MeanInterval(values).Estimate; mean < lowest { // of no values it is NaN
			least, lowest = values, mean
		}
	}
	return least
}

// peerNames returns the libraries that any split was measured with.
func peerNames(all []tableResult) (names []string) {
	for _, name := range allPeers {
		if slices.ContainsFunc(all, func(t tableResult) bool {
			return slices.ContainsFunc(t, func(r *result) bool { return r.peer(name) != nil })
		}) {
			names = append(names, name)
		}
	}
	return names
}

// absent is the cell of a table for a library that no split of it was measured with.
const absent = "–"

// report returns the results as tables and sentences.
func (p *plan) report(results []*result) *report.Report {
	all := byTable(results)
	list := &report.Report{Findings: findings(all), Notes: p.notes(results)}
	if len(all) == 0 {
		return list
	}
	names := peerNames(all)
	scores := func(caption string, own func(*result) float64, other func(*peer) float64) *cli.Table {
		t := &cli.Table{Caption: caption, Header: []string{"table", "Tandem"}, Words: 1}
		t.Header = append(t.Header, names...)
		for _, one := range all {
			name := one[0].Table
			if one[0].Tuned {
				name += "*"
			}
			row := []string{name, report.Mean(one.values(own))}
			for _, name := range names {
				cell := absent
				values := one.peers(name, func(_ *result, p *peer) float64 { return other(p) })
				if len(values) > 0 {
					cell = report.Mean(values)
				}
				row = append(row, cell)
			}
			t.Rows = append(t.Rows, row)
		}
		return t
	}
	auc := scores("AUC on the test rows, means over the splits that each has, and the least difference to "+
		"one of the others, split by split, with its 95 % interval; * the defaults' rules were chosen on "+
		"it, among others",
		func(r *result) float64 { return r.AUC }, func(p *peer) float64 { return p.AUC })
	auc.Header = append(auc.Header, "difference")
	for i, one := range all {
		differences := one.differences()
		text := report.PlusMinus(metric.MeanInterval(differences))
		if len(differences) == 1 {
			text = report.Minus(fmt.Sprintf("%+.4f", differences[0]))
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
	names := peerNames(all)
	for _, name := range names {
		t.Header = append(t.Header, name+" s")
	}
	for _, one := range all {
		var chosen []string
		for _, r := range one {
			chosen = append(chosen, fmt.Sprintf("%s %d %d",
				strings.ReplaceAll(r.Model, model.LogisticRegression, "logistic"), r.Epochs, len(r.Derived)))
		}
		longest := func(seconds []float64) string {
			if len(seconds) == 0 {
				return absent
			}
			return fmt.Sprintf("%.1f", slices.Max(seconds))
		}
		row := []string{one[0].Table, report.Thousands(one[0].Rows), report.Thousands(one[0].TestPositives),
			strings.Join(chosen, ", "), longest(one.values(func(r *result) float64 { return r.Seconds }))}
		for _, name := range names {
			row = append(row, longest(one.peers(name, func(_ *result, p *peer) float64 { return p.Seconds })))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// findings returns a sentence for each demand, with the tables that miss it. Those beside a library are of
// the tables and splits that have it.
func findings(all []tableResult) []string {
	demand := func(what string, all []tableResult, holds func(tableResult) bool) string {
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
	var list []string
	for _, name := range peerNames(all) {
		ahead := func(t tableResult) float64 {
			lead := t.peers(name, func(r *result, p *peer) float64 { return r.AUC - p.AUC })
			return metric.MeanInterval(lead).Estimate // NaN of none
		}
		its := slices.DeleteFunc(slices.Clone(all), func(t tableResult) bool { return math.IsNaN(ahead(t)) })
		list = append(list,
			demand(fmt.Sprintf("AUC at least that of %s less %v", name, margin), its,
				func(t tableResult) bool { return ahead(t) >= -margin }),
			demand("AUC above that of "+name, its, func(t tableResult) bool { return ahead(t) > 0 }))
	}
	return append(list,
		demand("Log loss below that of a constant guess on every split", all,
			every(func(r *result) bool { return r.LogLoss < r.Constant })),
		demand(fmt.Sprintf("Chosen and trained within %d s", secondsMost), all,
			every(func(r *result) bool { return r.Seconds < secondsMost })))
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) []string {
	list := []string{"A split for each seed, 20 % of the rows, drawn; census income and Frappe have test " +
		"files, so their seeds differ in the training alone. Columns as inferred: whole numbers that " +
		"repeat are ids on all sides. Numbers are standardised by the training rows."}
	if len(results) > 0 {
		var versions []string
		for _, name := range allPeers {
			version, splits := "", 0
			for _, r := range results {
				if one := r.peer(name); one != nil {
					version, splits = name+" "+one.Version, splits+1
				}
			}
			if splits > 0 && splits < len(results) {
				version += fmt.Sprintf(" (on %d of %d splits)", splits, len(results))
			}
			if splits > 0 {
				versions = append(versions, version)
			}
		}
		list = append(list, "The others: "+strings.Join(versions, ", ")+
			"; all at their defaults, but for 1,000 iterations of the regression at most.")
	}
	return append(list, report.Absent(p.Tables, p.folder, func(t table) bool {
		return slices.ContainsFunc(results, func(r *result) bool { return r.Table == t.Name })
	})...)
}
