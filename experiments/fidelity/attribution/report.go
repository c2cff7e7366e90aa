package attribution

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/sim/predict"
)

// report returns the results of a plan as tables, a figure and sentences.
func (p *plan) report(r *results) *report.Report {
	return &report.Report{
		Findings: p.findings(r), Notes: p.notes(),
		Tables:  []cli.Table{jobTable(r), intervalTable(r)},
		Figures: []report.Figure{gainFigure(r)},
	}
}

// percent returns a share or a change in percent.
func percent(x float64) string { return report.Minus(fmt.Sprintf("%.1f %%", 100*x)) }

// jobTable has a line per random job.
func jobTable(r *results) cli.Table {
	t := cli.Table{
		Caption: "Random jobs: the three largest bottlenecks with their share of the critical path → gain " +
			"of doubling them, and the largest change by doubling another resource",
		Header: []string{"job", "first", "second", "third", "another", "verdict"}, Words: 6,
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		cells := make([]string, named+1) // the last is another resource
		for k, b := range j.Bottlenecks[:min(named, len(j.Bottlenecks))] {
			cells[k] = fmt.Sprintf("%s %s", b.Resource, percent(b.Share))
		}
		largest := 0.0
		for _, g := range j.Gains {
			at := place(j.Bottlenecks, g.Resource)
			if at < 0 || at >= named {
				if at = named; math.Abs(g.Gain) <= math.Abs(largest) {
					continue
				}
				largest = g.Gain
			}
			cells[at] = fmt.Sprintf("%s %s → %s", g.Resource, percent(g.Share), percent(g.Gain))
		}
		verdict := "ok"
		if len(j.Faults) > 0 {
			verdict = "misjudged"
		}
		t.Rows = append(t.Rows, slices.Concat([]string{short(j.Name)}, cells, []string{verdict}))
	}
	return t
}

// short returns the name of a job without the parameters that were set.
func short(name string) string {
	for _, key := range []string{", embedding-ps.count", ", inside.latency"} {
		name, _, _ = strings.Cut(name, key)
	}
	return name
}

// intervalTable has a line per interval.
func intervalTable(r *results) cli.Table {
	t := cli.Table{
		Caption: "Intervals, the 1st to the 99th percentile over the box, and truths at other points of it " +
			"(samples/s, or a ratio)",
		Header: []string{"prediction", "middle", "interval", "high/low", "range of others", "high/low",
			"over seeds (CI95)", "truths inside", "verdict"},
		Words: 1,
	}
	for i := range r.Intervals {
		x := &r.Intervals[i]
		seeds := ""
		if x.CI95 != nil {
			seeds = ends(*x.CI95)
		}
		verdict := "ok"
		switch {
		case !x.enough():
			verdict = "too few inside"
		case !x.narrow():
			verdict = "too wide"
		}
		t.Rows = append(t.Rows, []string{x.Name, report.Three(x.Mid),
			ends(x.Interval), report.Three(x.Interval.Width()), ends(x.Range), report.Three(x.Range.Width()),
			seeds,
			fmt.Sprintf("%d of %d", x.Inside, len(x.Truths)), verdict})
	}
	return t
}

// ends returns an interval in words.
func ends(i predict.Interval) string { return report.Three(i.Low) + "–" + report.Three(i.High) }

// gainFigure has a point for each resource of each job.
func gainFigure(r *results) report.Figure {
	f := report.Figure{
		Name:  "gains",
		Title: "Gain of doubling a resource, by its share of the critical path",
		X:     report.Axis{Label: "share of the critical path (%)"},
		Y:     report.Axis{Label: "gain of throughput (%)"},
	}
	first := report.Line{Name: "first bottleneck", Scatter: true}
	others := report.Line{Name: "other resource", Scatter: true, Color: 1}
	for i := range r.Jobs {
		for _, g := range r.Jobs[i].Gains {
			line := &others
			if place(r.Jobs[i].Bottlenecks, g.Resource) == 0 {
				line = &first
			}
			line.Points = append(line.Points, report.Exact(100*g.Share, 100*g.Gain))
		}
	}
	f.Lines = []report.Line{others, first}
	f.X.Ticks = []float64{0, 20, 40, 60, 80, 100}
	f.Y.Ticks = f.X.Ticks
	return f
}

// passed returns the number of jobs without faults.
func (r *results) passed() (n int) {
	for i := range r.Jobs {
		if len(r.Jobs[i].Faults) == 0 {
			n++
		}
	}
	return n
}

// findings returns both results in sentences.
func (p *plan) findings(r *results) []string {
	passed := r.passed()
	verdict := ""
	if float64(passed) < jobsGoal*float64(len(r.Jobs)) {
		verdict = "Missed: "
	}
	first := map[string]bool{}
	var misjudged []string
	for i := range r.Jobs {
		j := &r.Jobs[i]
		first[j.Bottlenecks[0].Resource] = true
		if len(j.Faults) > 0 {
			misjudged = append(misjudged, fmt.Sprintf("Misjudged: %s: %s.", j.Name,
				strings.Join(j.Faults, "; ")))
		}
	}
	list := slices.Concat([]string{fmt.Sprintf("%s%d of %d random jobs name what binds them; the target is "+
		"%.0f %%. %d different resources are first.", verdict, passed, len(r.Jobs), 100*jobsGoal,
		len(first))}, misjudged)
	enough, narrow, inside, truths := 0, 0, 0, 0
	for i := range r.Intervals {
		x := &r.Intervals[i]
		inside += x.Inside
		truths += len(x.Truths)
		if x.enough() {
			enough++
		}
		if x.narrow() {
			narrow++
		}
	}
	verdict = ""
	if enough < len(r.Intervals) || narrow < len(r.Intervals) {
		verdict = "Missed: "
	}
	return append(list, fmt.Sprintf("%s%d of %d intervals contain at least 28 of 30 truths (all together %d of "+
		"%d), and %d are no wider than the range of %s other points.", verdict, enough, len(r.Intervals),
		inside, truths, narrow, report.Thousands(p.Others)))
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes() []string {
	return []string{
		"A resource is a group of parameters that can be bought or improved as a whole. Doubling cores " +
			"makes them as many again, and each twice as fast; doubling a network, all its cards.",
		fmt.Sprintf("Both runs of a comparison have the same factors of jitter, and %d measured steps, or "+
			"more with few GPUs.", p.Steps),
		"An interval of the central 98 % misses one truth of fifty by its definition, and a few more " +
			"because its ends are estimated from 256 samples: of 30 truths, 28 or more are inside 96 times " +
			"of 100.",
	}
}
