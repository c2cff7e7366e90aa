package modules

import (
	"fmt"
	"strings"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/internal/cli"
)

// report returns the results as a table, a figure and sentences.
func (p *plan) report(results []*result) *report.Report {
	t := cli.Table{Caption: fmt.Sprintf("Thousand samples/s and µs of all cores a sample, medians of %d "+
		"rounds", p.Rounds), Header: []string{"case", "way", "rate", "µs"}, Words: 2}
	r := &report.Report{Findings: findings(results), Figures: []report.Figure{figure(results)}}
	for _, one := range results {
		for _, w := range one.Ways {
			t.Add(one.name(), w.Way, fmt.Sprintf("%.1f", report.Median(w.SamplesPerSecond)/1e3),
				fmt.Sprintf("%.1f", report.Median(w.CPU)))
		}
	}
	r.Tables = append(r.Tables, t)
	if len(results) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("The script ran on %v; the machine has %d cores.",
			results[0].PyTorch, results[0].Cores))
	}
	return r
}

// comparison is a ratio of a result, larger is better.
type comparison struct {
	name   string
	ratios func(r *result) []float64 // none if a way was not measured
	goal   float64                   // 0: none
}

func comparisons() []comparison {
	rates := func(a, b string) func(r *result) []float64 {
		return func(r *result) []float64 {
			if len(r.way(a).SamplesPerSecond) == 0 || len(r.way(b).SamplesPerSecond) == 0 {
				return nil
			}
			return turns.Ratios(r.way(a).SamplesPerSecond, r.way(b).SamplesPerSecond)
		}
	}
	return []comparison{
		{"rate of 1 rank ÷ script, 1 thread", rates(rank1, script1), goalRate},
		{"the same by processor time", func(r *result) []float64 {
			return turns.Ratios(r.way(script1).CPU, r.way(rank1).CPU)
		}, 0},
		{"rate of 2 ranks ÷ script, 2 threads", rates(rank2, script2), 0},
		{"rate of 2 ranks ÷ 1 rank", rates(rank2, rank1), goalRanks},
	}
}

// way returns the measurements of a way, which are empty if it was not measured.
func (r *result) way(name string) *wayResult {
	for _, w := range r.Ways {
		if w.Way == name {
			return w
		}
	}
	return &wayResult{}
}

// between returns the shares of a pass that are spent between processes, by round.
func between(alone, ofTandem []float64) []float64 {
	shares := turns.Ratios(alone, ofTandem)
	for i, share := range shares {
		shares[i] = 1 - share
	}
	return shares
}

func twoDigits(v float64) string { return fmt.Sprintf("%.2f", v) }

// findings returns a sentence for each comparison, and one for what is spent between processes.
func findings(results []*result) (list []string) {
	sentence := func(what string, values func(r *result) []float64, text func(float64) string) {
		var parts []string
		for _, r := range results {
			if v := values(r); len(v) > 0 {
				parts = append(parts, turns.Range(v).Text(text)+" for "+r.name())
			}
		}
		if parts != nil {
			list = append(list, what+": "+strings.Join(parts, "; ")+".")
		}
	}
	for _, c := range comparisons() {
		what := strings.ToUpper(c.name[:1]) + c.name[1:]
		if c.goal > 0 {
			what += fmt.Sprintf(" (goal %g)", c.goal)
		}
		sentence(what, c.ratios, twoDigits)
	}
	percent := func(v float64) string { return fmt.Sprintf("%.1f", 100*v) }
	sentence(fmt.Sprintf("Percent of a pass between processes (goal at most %g)", 100*goalBetween),
		func(r *result) []float64 { return between(r.PassAlone.Wall, r.PassOfTandem.Wall) }, percent)
	sentence("The same by processor time",
		func(r *result) []float64 { return between(r.PassAlone.CPU, r.PassOfTandem.CPU) }, percent)
	return list
}

// figure returns a bar for each comparison of each case.
func figure(results []*result) report.Figure {
	f := report.Figure{Name: "ratios", Title: "Trainings with a module beside a script of PyTorch",
		X: report.Axis{Label: "ratio (thick mark: goal; thin line: smallest to largest of a round)"}}
	for i, c := range comparisons() {
		for _, r := range results {
			if ratios := c.ratios(r); len(ratios) > 0 {
				f.Bars = append(f.Bars, turns.Range(ratios).Bar(c.name+", "+r.Name, i, c.goal))
			}
		}
	}
	return f
}
