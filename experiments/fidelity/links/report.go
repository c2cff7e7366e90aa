package links

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(r *results) *report.Report {
	return &report.Report{
		Findings: r.findings(), Notes: p.notes(r), Tables: []cli.Table{r.cellTable(), r.trendTable()},
		Figures: []report.Figure{p.figure(r)},
	}
}

func (c *result) cell() cell { return cell{c.Rate, c.Mode, c.Ranks} }

// error returns the relative error of the prediction.
func (c *result) error() float64 { return c.Simulated/c.StepSeconds - 1 }

// contains reports whether the interval contains what was measured.
func (c *result) contains() bool {
	return c.Interval[0] <= c.StepSeconds && c.StepSeconds <= c.Interval[1]
}

// wireError returns the error of the null model that divides the bytes of the busiest link by its rate.
func (c *result) wireError() float64 { return c.BusiestBytes/float64(c.Rate)/c.StepSeconds - 1 }

// find returns a cell; nil if there is none.
func (r *results) find(c cell) *result {
	i := slices.IndexFunc(r.Cells, func(x *result) bool { return x.cell() == c })
	if i < 0 {
		return nil
	}
	return r.Cells[i]
}

// sync returns the cell of sync with the rate and the ranks of a cell.
func (r *results) sync(c *result) *result { return r.find(cell{c.Rate, job.Sync, c.Ranks}) }

// accuracy is how good predictions of all cells are, and the null models.
type accuracy struct {
	median, wire, sync float64 // medians of the sizes of errors; sync without the cells of sync
	rank               float64
	contained          int
}

func (r *results) accuracy() (a accuracy) {
	var errors, wire, sync, real, simulated []float64
	for _, c := range r.Cells {
		errors, wire = append(errors, math.Abs(c.error())), append(wire, math.Abs(c.wireError()))
		if c.Mode != job.Sync {
			sync = append(sync, math.Abs(r.sync(c).StepSeconds/c.StepSeconds-1))
		}
		real, simulated = append(real, c.StepSeconds), append(simulated, c.Simulated)
		if c.contains() {
			a.contained++
		}
	}
	a.median, a.wire, a.sync = report.Median(errors), report.Median(wire), report.Median(sync)
	a.rank = judge.Spearman(real, simulated)
	return a
}

// skill returns the median error ÷ that of the better null model.
func (a *accuracy) skill() float64 { return a.median / min(a.wire, a.sync) }

// What differs between the cells of a trend.
const (
	ofRanks = "number of ranks"
	ofRate  = "rate"
	ofMode  = "mode"
)

// trend is the change from one cell to another that differs in one thing.
type trend struct {
	kind            string // what differs
	from, to        *result
	real, simulated float64 // ratio of the times of a step
}

// visible is the least change of a real step that repetitions do not hide: they differ by at most 2 %
// (24 cells, 2026-11).
const visible = 0.03

// trends returns all changes between neighbouring rates, between the numbers of ranks, and from sync to the
// other modes.
func (r *results) trends() (list []trend) {
	add := func(kind string, from, to *result) {
		if from != nil && to != nil {
			list = append(list, trend{kind, from, to, to.StepSeconds / from.StepSeconds,
				to.Simulated / from.Simulated})
		}
	}
	for _, c := range r.Cells {
		more, faster, other := c.cell(), c.cell(), c.cell()
		more.Ranks *= 4
		add(ofRanks, c, r.find(more))
		faster.Rate *= 2
		add(ofRate, c, r.find(faster))
		other.Mode = job.Sync
		if c.Mode != job.Sync {
			add(ofMode, r.find(other), c)
		}
	}
	return list
}

// shows reports whether the real change is visible, and right whether the simulated one has its sign.
func (t *trend) shows() bool { return math.Abs(t.real-1) >= visible }
func (t *trend) right() bool { return (t.real > 1) == (t.simulated > 1) }

func (r *results) cellTable() cli.Table {
	t := cli.Table{
		Caption: "Time of a step. Wire: error of the bytes of the busiest link ÷ its rate.\n" +
			"Sync: error if the mode took the time of sync",
		Header: []string{"cell", "real\n(ms)", "simulated\n(ms)", "interval\n(ms)", "contains", "error\n(%)",
			"wire\n(%)", "sync\n(%)"},
		Words: 1,
	}
	for _, c := range r.Cells {
		sync := "–"
		if c.Mode != job.Sync {
			sync = percent(r.sync(c).StepSeconds/c.StepSeconds - 1)
		}
		contains := map[bool]string{true: "yes", false: "no"}[c.contains()]
		t.Add(c.cell().String(), milliseconds(c.StepSeconds), milliseconds(c.Simulated),
			milliseconds(c.Interval[0])+"–"+milliseconds(c.Interval[1]), contains, percent(c.error()),
			percent(c.wireError()), sync)
	}
	return t
}

func (r *results) trendTable() cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Changes of the time of a step, of which at least %.0f %% count", 100*visible),
		Header:  []string{"from", "to", "real\n(%)", "simulated\n(%)", "sign"},
		Words:   2,
	}
	for _, x := range r.trends() {
		sign := "–"
		if x.shows() {
			sign = map[bool]string{true: "right", false: "wrong"}[x.right()]
		}
		t.Add(x.from.cell().String(), x.to.cell().String(), percent(x.real-1), percent(x.simulated-1), sign)
	}
	return t
}

// findings returns the errors beside the null models, and the signs of trends.
func (r *results) findings() []string {
	a := r.accuracy()
	met := func(reached bool) string { return map[bool]string{true: "reached", false: "missed"}[reached] }
	list := []string{
		fmt.Sprintf("Of %d cells the median error of a step is %.1f %%, rank correlation %s; the goal, "+
			"%.0f %%, is %s. The intervals of %d contain what was measured.", len(r.Cells), 100*a.median,
			report.Minus(fmt.Sprintf("%.2f", a.rank)), 100*errorMost, met(a.median <= errorMost),
			a.contained),
		fmt.Sprintf("Null models: bytes of the busiest link ÷ its rate %.1f %%, the time of sync "+
			"%.1f %%. The skill, the error ÷ that of the better one, is %.2f.", 100*a.wire, 100*a.sync,
			a.skill()),
	}
	if better := min(a.wire, a.sync); better < nullLeast {
		list = append(list, fmt.Sprintf("A null model is better than the %.0f %% that these cells were "+
			"meant to ask for.", 100*nullLeast))
	}
	for _, kind := range []string{ofRanks, ofRate, ofMode} {
		shown, right := 0, 0
		for _, x := range r.trends() {
			if x.kind == kind && x.shows() {
				shown++
				if x.right() {
					right++
				}
			}
		}
		if shown > 0 {
			list = append(list, fmt.Sprintf("Trends with the %s: %d changes of at least %.0f %%, the sign "+
				"is right in %d.", kind, shown, 100*visible, right))
		}
	}
	return list
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(r *results) []string {
	var one, both []float64
	for _, c := range r.Cells {
		one = append(one, c.Link.OneWay/float64(c.Rate))
		both = append(both, c.Link.BothWays/float64(c.Rate))
	}
	return []string{
		fmt.Sprintf("A program receives %.1f %% of the rate of a link by plain TCP (Reno) while nothing "+
			"goes the other way, and %.1f %% while as much does: medians. The prediction takes the latter.",
			100*report.Median(one), 100*report.Median(both)),
		fmt.Sprintf("A step is the difference of runs of %d and of %d steps, each once, divided by the "+
			"difference of their steps.", p.Long, p.Short),
		"All ranks share the cores, and the prediction divides them. On a busy machine the cells of the " +
			"highest rate suffer first.",
	}
}

// figure shows simulated by real step times.
func (p *plan) figure(r *results) report.Figure {
	f := report.Figure{
		Name: "step-time", Title: "Time of a step over slow links, predicted without any fit",
		X: report.Axis{Label: "real (ms)"}, Y: report.Axis{Label: "simulated (ms; bars: interval)"},
	}
	most := 0.0
	for i, mode := range p.Modes {
		l := report.Line{Name: mode, Color: i, Scatter: true}
		for _, c := range r.Cells {
			if c.Mode == mode {
				l.Points = append(l.Points, report.Point{X: 1e3 * c.StepSeconds, Y: 1e3 * c.Simulated,
					Low: 1e3 * c.Interval[0], High: 1e3 * c.Interval[1]})
				most = max(most, 1e3*c.StepSeconds, 1e3*c.Simulated)
			}
		}
		f.Lines = append(f.Lines, l)
	}
	f.Lines = append(f.Lines, report.Line{Name: "simulated = real", Color: report.Grey, Guide: true,
		Points: []report.Point{report.Exact(0, 0), report.Exact(most, most)}})
	return f
}

func milliseconds(seconds float64) string { return report.Digits(1e3*seconds, 3) }
func percent(share float64) string        { return report.Minus(fmt.Sprintf("%+.1f", 100*share)) }
