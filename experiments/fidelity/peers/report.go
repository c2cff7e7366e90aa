package peers

import (
	"fmt"
	"slices"
	"strings"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(r *results) *report.Report {
	if r.Absent != "" {
		return &report.Report{Findings: []string{"Skipped: " + r.Absent + "."}}
	}
	return &report.Report{
		Findings: r.findings(), Notes: p.notes(r),
		Tables:  []cli.Table{p.speedTable(r)},
		Figures: []report.Figure{r.ratioFigure()},
	}
}

// ratio returns Tandem's events per second ÷ SimGrid's, over the rounds.
func (r *caseResult) ratio() turns.Spread { return turns.Range(turns.Ratios(r.SimGrid, r.Tandem)) }

// speedTable returns the events per second of both sides.
func (p *plan) speedTable(r *results) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Events per second at %s flows: median (smallest–largest) of %d rounds",
			report.Thousands(flowCount), p.Rounds),
		Header: []string{"network", "links", "in flight", "Tandem (k/s)", "SimGrid (k/s)", "SimGrid's way",
			"ratio", "largest error", "verdict"},
		Words: 1,
	}
	for _, c := range r.Cases {
		verdict := fmt.Sprintf("ok (≥ %d)", ratioGoal)
		if c.ratio().Median < ratioGoal {
			verdict = fmt.Sprintf("short of %d", ratioGoal)
		}
		ways := slices.Compact(slices.Sorted(slices.Values(c.Ways)))
		t.Add(c.Name, report.Thousands(c.Links), report.Thousands(c.InFlight), c.rates(c.Tandem),
			c.rates(c.SimGrid), strings.Join(ways, " or "), c.ratio().Text(short), scientific(c.Error),
			verdict)
	}
	return t
}

// rates returns wall times as thousands of events per second. Each flow starts and ends.
func (r *caseResult) rates(seconds []float64) string {
	rates := make([]float64, len(seconds))
	for i, s := range seconds {
		rates[i] = 2 * float64(r.Flows) / s / 1e3
	}
	return turns.Range(rates).Text(short)
}

// short returns a number with about three digits.
func short(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// scientific returns a number with two digits and its power of ten.
func scientific(v float64) string { return report.Minus(fmt.Sprintf("%.1e", v)) }

// ratioFigure has a bar for each case of the speed test.
func (r *results) ratioFigure() report.Figure {
	f := report.Figure{Name: "ratios", Title: "Events per second of Tandem ÷ those of SimGrid, 3,000 flows",
		X: report.Axis{Label: "ratio (thick mark: target; thin line: smallest to largest of a round)"}}
	for _, c := range r.Cases {
		f.Bars = append(f.Bars, c.ratio().Bar(c.Name, 0, ratioGoal))
	}
	return f
}

// findings returns the errors and the ratios in sentences.
func (r *results) findings() []string {
	flows, above, largest := 0, 0, 0.0
	for _, n := range r.Networks {
		flows += n.Flows
		largest = max(largest, n.Error)
		if n.Error > errorMost {
			above++
		}
	}
	accuracy := fmt.Sprintf("On %d random networks with %s flows, the time of every flow is within %s of "+
		"SimGrid's; the bound is %s.", len(r.Networks), report.Thousands(flows), scientific(largest),
		scientific(errorMost))
	if above > 0 {
		accuracy = fmt.Sprintf("Missed: on %d of %d random networks, the time of a flow differs from "+
			"SimGrid's by more than %s, at most by %s.", above, len(r.Networks), scientific(errorMost),
			scientific(largest))
	}
	var ratios []float64
	var missed []string
	for _, c := range r.Cases {
		ratios = append(ratios, c.ratio().Median)
		if c.ratio().Median < ratioGoal {
			missed = append(missed, fmt.Sprintf("Missed: %s: %s × SimGrid's events per second, target %d.",
				c.Name, c.ratio().Text(short), ratioGoal))
		}
	}
	speed := fmt.Sprintf("At %s flows, Tandem handles %s to %s times the events per second of SimGrid; the "+
		"target, %d, is reached on %d of %d networks.", report.Thousands(flowCount),
		short(slices.Min(ratios)), short(slices.Max(ratios)), ratioGoal, len(ratios)-len(missed), len(ratios))
	return append([]string{accuracy, speed}, missed...)
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(r *results) []string {
	notes := []string{
		fmt.Sprintf("SimGrid %s as its package is compiled, with %s.", r.Version,
			strings.Join(p.Options[1:], " ")),
		"The error of a flow is the difference of the times between its start and its end, divided by " +
			"SimGrid's. Tandem rounds ends up to a nanosecond.",
		"Both sides share bandwidth only: latencies are 0. Tandem's caller adds latency and the cost per " +
			"message, and SimGrid's factors for them are off. One flow for several equal transfers " +
			"(multiplicity) has no counterpart in SimGrid's routes and is checked elsewhere, by tests.",
		"A limit on the rate of a flow is a further link of its own in SimGrid, which ignores limits of " +
			"flows between hosts.",
		fmt.Sprintf("Wall times are of the simulation alone, on one core, without reading or building the "+
			"network. Tandem runs its event queue and its network. SimGrid runs flows that timers start, "+
			"without actors. In each round it runs in up to %d ways, and the fastest counts; a way that "+
			"takes more than twice the time of the fastest in the first round is left out of the others.",
			len(p.Ways)),
		"A ratio is the median over rounds of both sides' times in the same round. Draw conclusions only " +
			"from a run on an idle machine.",
	}
	return append(notes, report.FewSeedsNote(p.Rounds, "rounds", "a ratio")...)
}
