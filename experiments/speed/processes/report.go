package processes

import (
	"fmt"
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
		r.Tables = append(r.Tables, p.ratesTable(mode, results))
	}
	r.Tables = append(r.Tables,
		costTable("Context switches of a step", results, func(w *wayResult) []float64 { return w.Switches }),
		costTable("CPU time of a step, all cores: ms", results,
			func(w *wayResult) []float64 { return w.CPU }))
	return r
}

// ratesTable returns the rates of a mode, with the shares of the in-process rate.
func (p *plan) ratesTable(mode string, results []*result) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("%s: thousand samples/s, medians of %d rounds, and shares of the in-process "+
			"rate (goals: %.0f %% colocated, %.0f %% apart)", mode, p.Rounds, 100*goalColocated,
			100*goalApart),
		Header: []string{"ranks", "batch", inProcess, job.Colocated, "share", job.Apart, "share"}, Words: 2,
	}
	for _, r := range results {
		if r.Mode != mode {
			continue
		}
		row := []string{strconv.Itoa(r.Ranks), strconv.Itoa(r.Batch)}
		for i, w := range r.Ways {
			row = append(row, fmt.Sprintf("%.1f", report.Median(w.SamplesPerSecond)/1e3))
			if share := r.share(i).Median; share >= goalShare(w.Way) && i > 0 {
				row = append(row, turns.Percent(share)+" ok")
			} else if i > 0 {
				row = append(row, turns.Percent(share)+" short")
			}
		}
		t.Add(row...)
	}
	return t
}

// costTable returns what a step costs in each way. Of returns the values by round, empty if unknown.
func costTable(caption string, results []*result, of func(w *wayResult) []float64) cli.Table {
	t := cli.Table{Caption: caption, Header: append([]string{"mode", "ranks", "batch"}, ways()...), Words: 3}
	for _, r := range results {
		row := []string{r.Mode, strconv.Itoa(r.Ranks), strconv.Itoa(r.Batch)}
		for _, w := range r.Ways {
			cell := "–"
			if values := of(w); len(values) > 0 {
				cell = fmt.Sprintf("%.1f", report.Median(values))
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
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
