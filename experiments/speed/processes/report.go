package processes

import (
	"fmt"
	"slices"
	"strconv"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/internal/cli"
)

// report returns the results as tables, a figure and sentences.
func (p *plan) report(results []*result) *report.Report {
	roles := fmt.Sprintf("%d embedding workers, %d embedding PSs and a data loader beside the ranks.",
		p.Roles.EmbeddingWorkers, p.Roles.EmbeddingPSs)
	if cores := results[0].Cores; cores > 0 {
		roles = fmt.Sprintf("%d cores; %s", cores, roles)
	}
	r := &report.Report{Findings: findings(results), Figures: []report.Figure{sharesFigure(results)},
		Notes: []string{
			roles,
			"A rate is that of training, without the start of processes and the evaluation. Context " +
				"switches and CPU time are those of all threads, with those of the host, which is this " +
				"process.",
			"In sync all trainings of a case had the same bits; in hybrid their losses on the test rows " +
				"agreed to 5 %.",
		}}
	if p.Rounds < roundsFull {
		r.Notes = append(r.Notes, fmt.Sprintf("Only %d rounds: run without --quick, which has at least %d, "+
			"before trusting a share.", p.Rounds, roundsFull))
	}
	for _, mode := range []string{job.Hybrid, job.Sync} {
		of := slices.DeleteFunc(slices.Clone(results), func(r *result) bool { return r.Mode != mode })
		r.Tables = append(r.Tables, p.ratesTable(mode, of))
	}
	r.Tables = append(r.Tables,
		costTable("Context switches of a step", results, func(w *wayResult) []float64 { return w.Switches }),
		costTable("CPU time of a step, all cores: ms", results,
			func(w *wayResult) []float64 { return w.CPU }))
	return r
}

// column is a column of a table with a line for each case.
type column = turns.Column[*result]

// sizes are the columns that name a case of a mode.
func sizes() []column {
	return []column{
		{Name: "ranks", Of: func(r *result) string { return strconv.Itoa(r.Ranks) }},
		{Name: "batch", Of: func(r *result) string { return strconv.Itoa(r.Batch) }},
	}
}

// medianText returns the median of values divided by a unit, or a dash if there are none.
func medianText(values []float64, unit float64) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", report.Median(values)/unit)
}

// ratesTable returns the rates of a mode, with the shares of the in-process rate.
func (p *plan) ratesTable(mode string, results []*result) cli.Table {
	var values []column
	for i, way := range ways() {
		values = append(values, column{Name: way, Of: func(r *result) string {
			return medianText(r.Ways[i].SamplesPerSecond, 1e3)
		}})
		if i == 0 {
			continue
		}
		values = append(values, column{Name: "share", Of: func(r *result) string {
			share, verdict := r.share(i).Median, "short"
			if share >= goalShare(way) {
				verdict = "ok"
			}
			return turns.Percent(share) + " " + verdict
		}})
	}
	return turns.Table(fmt.Sprintf("%s: thousand samples/s, medians of %d rounds, and shares of the in-process "+
		"rate (goals: %.0f %% colocated, %.0f %% apart)", mode, p.Rounds, 100*goalColocated, 100*goalApart),
		results, sizes(), values)
}

// costTable returns what a step costs in each way. Of returns the values by round, empty if unknown.
func costTable(caption string, results []*result, of func(w *wayResult) []float64) cli.Table {
	mode := column{Name: "mode", Of: func(r *result) string { return r.Mode }}
	var values []column
	for i, way := range ways() {
		values = append(values, column{Name: way, Of: func(r *result) string {
			return medianText(of(r.Ways[i]), 1)
		}})
	}
	return turns.Table(caption, results, append([]column{mode}, sizes()...), values)
}

// share returns the share of the in-process rate that a way keeps, over the rounds.
func (r *result) share(way int) turns.Spread {
	return turns.Range(turns.Ratios(r.Ways[way].SamplesPerSecond, r.Ways[0].SamplesPerSecond))
}

// findings returns a sentence for each goal of a placement.
func findings(results []*result) (list []string) {
	for i, way := range ways() {
		if i == 0 {
			continue
		}
		var shares, switches []turns.Goal
		for _, r := range results {
			share := r.share(i).Median
			shares = append(shares, turns.Goal{Text: fmt.Sprintf("%s, %v", turns.Percent(share), r),
				Reached: share, Target: goalShare(way)})
			if counted := r.Ways[i].Switches; r.Ranks == goalSwitchesRanks && len(counted) > 0 {
				median := report.Median(counted)
				switches = append(switches, turns.Goal{Text: fmt.Sprintf("%.0f, %v", median, r),
					Reached: -median, Target: -goalSwitches})
			}
		}
		for _, t := range turns.Tallies(shares) {
			list = append(list, fmt.Sprintf("%s: %d of %d cases keep %s of the in-process rate. Lowest: %s.",
				way, t.Reached, t.All, turns.Percent(goalShare(way)), t.Lowest.Text))
		}
		for _, t := range turns.Tallies(switches) {
			list = append(list, fmt.Sprintf("%s: %d of %d cases with %d ranks have at most %.0f context "+
				"switches a step. Most: %s.", way, t.Reached, t.All, goalSwitchesRanks, goalSwitches,
				t.Lowest.Text))
		}
	}
	return list
}

// sharesFigure returns a bar for each case and placement.
func sharesFigure(results []*result) report.Figure {
	f := report.Figure{Name: "shares", Title: "Rate in processes ÷ rate in one process",
		X: report.Axis{Label: "share (thick mark: goal; thin line: smallest to largest of a round)"}}
	for i, way := range ways()[1:] {
		for _, r := range results {
			f.Bars = append(f.Bars, r.share(i+1).Bar(way+", "+r.String(), i, goalShare(way)))
		}
	}
	return f
}
