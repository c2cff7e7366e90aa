package processes

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results as tables, a figure and sentences.
func (p *plan) report(results []*result) *report.Report {
	r := &report.Report{Findings: findings(results), Settings: p, Data: results,
		Figures: []report.Figure{sharesFigure(results)},
		Notes: []string{
			fmt.Sprintf("%d cores; %d embedding workers, %d embedding PSs and a data loader beside the "+
				"ranks.", runtime.NumCPU(), p.Roles.EmbeddingWorkers, p.Roles.EmbeddingPSs),
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

// ratesTable returns the rates of a mode, with the shares of the in-process rate.
func (p *plan) ratesTable(mode string, results []*result) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("%s: thousand samples/s, medians of %d rounds, and shares of the in-process "+
			"rate (goals: %.0f %% colocated, %.0f %% apart)", mode, p.Rounds, 100*goalColocated,
			100*goalApart),
		Header: []string{"ranks", "batch"}, Words: 2,
	}
	for i, way := range ways() {
		t.Header = append(t.Header, way)
		if i > 0 {
			t.Header = append(t.Header, "share")
		}
	}
	for _, r := range results {
		row := []string{strconv.Itoa(r.Ranks), strconv.Itoa(r.Batch)}
		for i, w := range r.Ways {
			row = append(row, fmt.Sprintf("%.1f", report.Median(w.SamplesPerSecond)/1e3))
			if i > 0 {
				share := r.share(w)
				row = append(row, percent(share)+" "+verdict(share >= goalShare(w.Way)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// costTable returns what a step costs in each way. Of returns the values by round, empty if unknown.
func costTable(caption string, results []*result, of func(w *wayResult) []float64) cli.Table {
	t := cli.Table{Caption: caption, Header: append([]string{"mode", "ranks", "batch"}, ways()...), Words: 3}
	for _, r := range results {
		row := []string{r.Mode, strconv.Itoa(r.Ranks), strconv.Itoa(r.Batch)}
		for _, w := range r.Ways {
			if values := of(w); len(values) > 0 {
				row = append(row, fmt.Sprintf("%.1f", report.Median(values)))
			} else {
				row = append(row, "–")
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// share returns the share of the in-process rate, the median of the rounds.
func (r *result) share(w *wayResult) float64 { return report.Median(r.shares(w)) }

// shares returns the shares of the in-process rate by round. What slows all ways of a round cancels.
func (r *result) shares(w *wayResult) []float64 {
	shares := make([]float64, len(w.SamplesPerSecond))
	for i := range shares {
		shares[i] = w.SamplesPerSecond[i] / r.Ways[0].SamplesPerSecond[i]
	}
	return shares
}

// findings returns a sentence for each goal of a placement.
func findings(results []*result) (list []string) {
	for i, way := range ways()[1:] {
		of := func(r *result) *wayResult { return r.Ways[i+1] }
		reached, worst := judge(results, func(r *result) (float64, float64) {
			return r.share(of(r)), goalShare(way)
		})
		list = append(list, fmt.Sprintf("%s: %d of %d cases keep %s of the in-process rate. Lowest: %s, "+
			"%v.", way, reached, len(results), percent(goalShare(way)), percent(worst.share(of(worst))),
			worst))
		counted := slices.DeleteFunc(slices.Clone(results), func(r *result) bool {
			return r.Ranks != goalSwitchesRanks || len(of(r).Switches) == 0
		})
		if len(counted) == 0 {
			continue
		}
		reached, worst = judge(counted, func(r *result) (float64, float64) {
			return -report.Median(of(r).Switches), -goalSwitches
		})
		list = append(list, fmt.Sprintf("%s: %d of %d cases with %d ranks have at most %.0f context "+
			"switches a step. Most: %.0f, %v.", way, reached, len(counted), goalSwitchesRanks, goalSwitches,
			report.Median(of(worst).Switches), worst))
	}
	return list
}

// judge returns the number of results whose value reaches its goal, and the one with the lowest value.
func judge(results []*result, value func(r *result) (reached, goal float64)) (ok int, worst *result) {
	lowest := math.Inf(1)
	for _, r := range results {
		reached, goal := value(r)
		if reached >= goal {
			ok++
		}
		if reached < lowest {
			worst, lowest = r, reached
		}
	}
	return ok, worst
}

// sharesFigure returns a bar for each case and placement.
func sharesFigure(results []*result) report.Figure {
	f := report.Figure{Name: "shares", Title: "Rate in processes ÷ rate in one process",
		X: report.Axis{Label: "share (thick mark: goal; thin line: smallest to largest of a round)"}}
	for i, way := range ways()[1:] {
		for _, r := range results {
			shares := r.shares(r.Ways[i+1])
			f.Bars = append(f.Bars, report.Bar{Name: way + ", " + r.String(), Color: i,
				Value: report.Median(shares), Low: slices.Min(shares), High: slices.Max(shares),
				Target: goalShare(way)})
		}
	}
	return f
}

// percent returns a share in percent.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// verdict returns whether a goal is reached.
func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "short"
}
