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
	jobs, sentences := jobReport(r)
	intervals, sentence := p.intervalReport(r.Intervals)
	return &report.Report{
		Findings: append(sentences, sentence),
		Tables:   []cli.Table{jobs, intervals},
		Figures:  []report.Figure{gainFigure(r.Jobs)},
		Notes: []string{
			"A resource is a group of parameters that can be bought or improved as a whole. Doubling cores " +
				"makes them as many again, and each twice as fast; doubling a network, all its cards.",
			fmt.Sprintf("Both runs of a comparison have the same factors of jitter, and %d measured steps, "+
				"or more with few GPUs.", p.Steps),
			"An interval of the central 98 % misses one truth of fifty by its definition, and a few more " +
				"because its ends are estimated from 256 samples: of 30 truths, 28 or more are inside 96 " +
				"times of 100.",
		},
	}
}

// percent returns a share or a change in percent.
func percent(x float64) string { return report.Minus(fmt.Sprintf("%.1f %%", 100*x)) }

// jobReport returns a table with a line per random job, and what is found about them.
func jobReport(r *results) (t cli.Table, sentences []string) {
	t = cli.Table{
		Caption: "Random jobs: the three largest bottlenecks with their share of the critical path → gain " +
			"of doubling them, and the largest change by doubling another resource",
		Header: []string{"job", "first", "second", "third", "another", "verdict"}, Words: 6,
	}
	first := map[string]bool{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		first[j.Bottlenecks[0].Resource] = true
		verdict := "ok"
		if len(j.Faults) > 0 {
			verdict = "misjudged"
			sentences = append(sentences, fmt.Sprintf("Misjudged: %s: %s.", j.Name,
				strings.Join(j.Faults, "; ")))
		}
		// Without the parameters that were set.
		name, _, _ := strings.Cut(j.Name, ", embedding-ps.count")
		name, _, _ = strings.Cut(name, ", inside.latency")
		t.Rows = append(t.Rows, slices.Concat([]string{name}, j.cells(), []string{verdict}))
	}
	verdict := ""
	if float64(r.passed()) < jobsGoal*float64(len(r.Jobs)) {
		verdict = "Missed: "
	}
	return t, slices.Insert(sentences, 0, fmt.Sprintf("%s%d of %d random jobs name what binds them; the "+
		"target is %.0f %%. %d different resources are first.", verdict, r.passed(), len(r.Jobs),
		100*jobsGoal, len(first)))
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

// cells describe the named bottlenecks of a job, and the other resource that changes most.
func (j *jobResult) cells() []string {
	cells := make([]string, named+1)
	for k, b := range j.Bottlenecks[:min(named, len(j.Bottlenecks))] {
		cells[k] = fmt.Sprintf("%s %s", b.Resource, percent(b.Share)) // cannot be bought
	}
	largest := 0.0
	for _, g := range j.Gains {
		at := place(j.Bottlenecks, g.Resource)
		if at < 0 || at >= named {
			if math.Abs(g.Gain) <= largest {
				continue
			}
			at, largest = named, math.Abs(g.Gain)
		}
		cells[at] = fmt.Sprintf("%s %s → %s", g.Resource, percent(g.Share), percent(g.Gain))
	}
	return cells
}

// intervalReport returns a table with a line per interval, and what is found about them.
func (p *plan) intervalReport(list []intervalResult) (cli.Table, string) {
	t := cli.Table{
		Caption: "Intervals, the 1st to the 99th percentile over the box, and truths at other points of it " +
			"(samples/s, or a ratio)",
		Header: []string{"prediction", "middle", "interval", "high/low", "range of others", "high/low",
			"over seeds (CI95)", "truths inside", "verdict"},
		Words: 1,
	}
	ends := func(i predict.Interval) string { return report.Three(i.Low) + "–" + report.Three(i.High) }
	enough, narrow, inside, truths := 0, 0, 0, 0
	for i := range list {
		x := &list[i]
		inside += x.Inside
		truths += len(x.Truths)
		verdict := "ok"
		if x.narrow() {
			narrow++
		} else {
			verdict = "too wide"
		}
		if x.enough() {
			enough++
		} else {
			verdict = "too few inside"
		}
		seeds := ""
		if x.CI95 != nil {
			seeds = ends(*x.CI95)
		}
		t.Rows = append(t.Rows, []string{x.Name, report.Three(x.Mid), ends(x.Interval),
			report.Three(x.Interval.Width()), ends(x.Range), report.Three(x.Range.Width()), seeds,
			fmt.Sprintf("%d of %d", x.Inside, len(x.Truths)), verdict})
	}
	verdict := ""
	if enough < len(list) || narrow < len(list) {
		verdict = "Missed: "
	}
	return t, fmt.Sprintf("%s%d of %d intervals contain at least 28 of 30 truths (all together %d of %d), "+
		"and %d are no wider than the range of %s other points.", verdict, enough, len(list), inside, truths,
		narrow, report.Thousands(p.Others))
}

// gainFigure has a point for each resource of each job.
func gainFigure(jobs []jobResult) report.Figure {
	ticks := []float64{0, 20, 40, 60, 80, 100}
	first := report.Line{Name: "first bottleneck", Scatter: true}
	others := report.Line{Name: "other resource", Scatter: true, Color: 1}
	for i := range jobs {
		for _, g := range jobs[i].Gains {
			line := &others
			if place(jobs[i].Bottlenecks, g.Resource) == 0 {
				line = &first
			}
			line.Points = append(line.Points, report.Exact(100*g.Share, 100*g.Gain))
		}
	}
	return report.Figure{
		Name:  "gains",
		Title: "Gain of doubling a resource, by its share of the critical path",
		X:     report.Axis{Label: "share of the critical path (%)", Ticks: ticks},
		Y:     report.Axis{Label: "gain of throughput (%)", Ticks: ticks},
		Lines: []report.Line{others, first},
	}
}
