package disturbed

import (
	"fmt"
	"math"
	"slices"

	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// The goals: what a prediction must reach.
const (
	stepErrorMost = 0.05 // median error of a step with delays, as a share
	rankLeast     = 0.95 // rank correlation of the steps with delays
	lossErrorMost = 0.05 // median error of the lost share of the throughput
	skillMost     = 0.3  // error ÷ error of the null model
)

// signLeast is the smallest real change, as a share, whose sign is compared: less is noise of the machine.
const signLeast = 0.03

// slower reports whether one role is slower than the others.
func (d *disturbance) slower() bool { return len(d.Slow) > 0 && !d.Base }

// at returns the cell of a disturbance and a mode, by their numbers.
func (r *results) at(p *plan, d, mode int) *cell { return r.Cells[d*len(p.Modes)+mode] }

// step returns the median seconds of a step over rounds, on which a round of a busy machine has no effect.
func step(rounds []float64) float64 { return report.Median(rounds) }

// error returns the relative error of the predicted step.
func (c *cell) error() float64 { return step(c.Simulated)/step(c.Real) - 1 }

// spread returns half the range of the real steps over their median.
func (c *cell) spread() float64 {
	return (slices.Max(c.Real) - slices.Min(c.Real)) / 2 / step(c.Real)
}

// skill is how good predictions of a kind are: the median sizes of their errors and of those of the null
// model, and of how many trends the sign is right.
type skill struct {
	error, null     float64
	right, trends   int
	real, simulated []float64 // what is ranked
}

// ratio returns the error as a part of the null model's.
func (s *skill) ratio() float64 { return s.error / s.null }

// rank returns the rank correlation of what was predicted and what was measured.
func (s *skill) rank() float64 { return judge.Spearman(s.real, s.simulated) }

// trend counts a relative change, unless the real one is too small to have a sign.
func (s *skill) trend(real, simulated float64) {
	if math.Abs(real) < signLeast {
		return
	}
	s.trends++
	if real*simulated > 0 {
		s.right++
	}
}

// delays judges the steps with delays. The null model says that every mode takes the real time of sync with
// the same delay, so it says nothing of sync itself. Trends are those from sync to another mode, and from a
// delay to the next.
func (r *results) delays(p *plan) *skill {
	s := &skill{}
	var errors, nulls []float64
	var before []*cell // with a shorter delay, by mode
	for d := range p.Disturbances {
		if p.Disturbances[d].Delay == 0 {
			continue
		}
		sync := r.at(p, d, 0)
		var now []*cell
		for mode := range p.Modes {
			c := r.at(p, d, mode)
			now = append(now, c)
			errors = append(errors, math.Abs(c.error()))
			s.real, s.simulated = append(s.real, step(c.Real)), append(s.simulated, step(c.Simulated))
			if mode > 0 {
				nulls = append(nulls, math.Abs(step(sync.Real)/step(c.Real)-1))
				s.trend(step(c.Real)/step(sync.Real)-1, step(c.Simulated)/step(sync.Simulated)-1)
			}
			if before != nil {
				s.trend(step(c.Real)/step(before[mode].Real)-1,
					step(c.Simulated)/step(before[mode].Simulated)-1)
			}
		}
		before = now
	}
	s.error, s.null = report.Median(errors), report.Median(nulls)
	return s
}

// losses returns the shares of the throughput that a mode loses under a disturbance.
func (r *results) losses(p *plan, d, mode int) (real, simulated float64) {
	base := d
	for !p.Disturbances[base].Base {
		base--
	}
	healthy, c := r.at(p, base, mode), r.at(p, d, mode)
	return 1 - step(healthy.Real)/step(c.Real), 1 - step(healthy.Simulated)/step(c.Simulated)
}

// slow judges the loss by slow roles. The null model says that nothing is lost. Trends are those from the run
// without a slower role to the run with one.
func (r *results) slow(p *plan) *skill {
	s := &skill{}
	var errors, nulls []float64
	for d := range p.Disturbances {
		if !p.Disturbances[d].slower() {
			continue
		}
		for mode := range p.Modes {
			real, simulated := r.losses(p, d, mode)
			errors, nulls = append(errors, math.Abs(simulated-real)), append(nulls, math.Abs(real))
			s.real, s.simulated = append(s.real, real), append(s.simulated, simulated)
			s.trend(real, simulated)
		}
	}
	s.error, s.null = report.Median(errors), report.Median(nulls)
	return s
}

func (p *plan) report(r *results) *report.Report {
	delays, slow := r.delays(p), r.slow(p)
	return &report.Report{
		Findings: []string{
			fmt.Sprintf("Delays: median error of a step %s %% (goal %g), rank correlation %.2f (goal %.2f), "+
				"sign right in %d of %d trends: %s.", percent(delays.error), 100*stepErrorMost, delays.rank(),
				rankLeast, delays.right, delays.trends,
				met(delays.error <= stepErrorMost && delays.rank() >= rankLeast &&
					delays.right == delays.trends)),
			fmt.Sprintf("Slow roles: median error of the lost throughput %s points (goal %g), sign right in "+
				"%d of %d: %s.", percent(slow.error), 100*lossErrorMost, slow.right, slow.trends,
				met(slow.error <= lossErrorMost && slow.right == slow.trends)),
			fmt.Sprintf("Skill, the error ÷ that of the null model: %.2f with delays (null %s %%), %.2f "+
				"with slow roles (null %s points); the limit is %g.", delays.ratio(), percent(delays.null),
				slow.ratio(), percent(slow.null), skillMost),
		},
		Notes: append([]string{
			fmt.Sprintf("The simulator has the means of the times of work of the sync run without "+
				"disturbance and of that with all roles × %g, and the CPU times of these runs, in every "+
				"round. It has no time of a step, and nothing of the other cells.", base),
			"Real and simulated runs have the same rows, and each message is late by the same time in both.",
			"The spread is half the range of the real steps over their median, over rounds. It is large on " +
				"a machine with other load.",
			fmt.Sprintf("A trend has a sign if the real change is at least %g %%.", 100*signLeast),
		}, report.FewSeedsNote(p.Rounds, "rounds", "a spread")...),
		Quantities: []report.Quantity{
			quantity("delay-error", "median error of a step with delays", delays.error),
			quantity("delay-skill", "error ÷ null model's, delays", delays.ratio()),
			quantity("slow-error", "median error of the throughput lost by slow roles", slow.error),
			quantity("slow-skill", "error ÷ null model's, slow roles", slow.ratio()),
		},
		Tables: []cli.Table{r.skillTable(delays, slow), r.delayTable(p), r.slowTable(p)},
		Figures: []report.Figure{
			figure("delays", "Step with late messages", "ms", p, func(d, mode int) (real, simulated float64) {
				c := r.at(p, d, mode)
				return 1e3 * step(c.Real), 1e3 * step(c.Simulated)
			}, func(d *disturbance) bool { return d.Delay > 0 }),
			figure("slow-roles", "Throughput lost by slow roles", "%",
				p, func(d, mode int) (real, simulated float64) {
					real, simulated = r.losses(p, d, mode)
					return 100 * real, 100 * simulated
				}, (*disturbance).slower),
		},
	}
}

// met says whether a goal is met.
func met(goal bool) string {
	if goal {
		return "the goal is met"
	}
	return "the goal is missed"
}

func quantity(name, what string, value float64) report.Quantity {
	q := report.Quantity{Name: name, What: what, Over: report.OverNothing}
	q.Estimate, q.Low, q.High = value, value, value
	return q
}

func (r *results) skillTable(delays, slow *skill) cli.Table {
	t := cli.Table{
		Caption: "Skill: median error ÷ that of the null model",
		Header:  []string{"disturbance", "error", "null", "skill", "rank", "signs right"}, Words: 1,
	}
	for _, x := range []struct {
		name, unit string
		skill      *skill
	}{{"delays", "%", delays}, {"slow roles", "points", slow}} {
		s := x.skill
		t.Rows = append(t.Rows, []string{x.name, percent(s.error) + " " + x.unit,
			percent(s.null) + " " + x.unit, fmt.Sprintf("%.2f", s.ratio()),
			report.Minus(fmt.Sprintf("%.2f", s.rank())), fmt.Sprintf("%d of %d", s.right, s.trends)})
	}
	return t
}

func (r *results) delayTable(p *plan) cli.Table {
	t := cli.Table{
		Caption: "Step in ms, medians over rounds. Null: the error if every mode took the real time of\n" +
			"sync under the same disturbance",
		Header: []string{"disturbance, mode", "real\n(ms)", "±\n(%)", "simulated\n(ms)", "error\n(%)",
			"null\n(%)"},
		Words: 1,
	}
	for d := range p.Disturbances {
		if p.Disturbances[d].slower() {
			continue
		}
		t.Rows = append(t.Rows, []string{p.Disturbances[d].Name, "", "", "", "", ""})
		for mode, name := range p.Modes {
			c, null := r.at(p, d, mode), "–"
			if mode > 0 {
				null = signed(step(r.at(p, d, 0).Real)/step(c.Real) - 1)
			}
			t.Rows = append(t.Rows, []string{"  " + name, milliseconds(step(c.Real)), percent(c.spread()),
				milliseconds(step(c.Simulated)), signed(c.error()), null})
		}
	}
	return t
}

func (r *results) slowTable(p *plan) cli.Table {
	t := cli.Table{
		Caption: "Lost share of the throughput in %, and its error in points",
		Header:  []string{"slow role, mode", "real", "±", "simulated", "error"}, Words: 1,
	}
	for d := range p.Disturbances {
		if !p.Disturbances[d].slower() {
			continue
		}
		t.Rows = append(t.Rows, []string{p.Disturbances[d].Name, "", "", "", ""})
		for mode, name := range p.Modes {
			real, simulated := r.losses(p, d, mode)
			t.Rows = append(t.Rows, []string{"  " + name, signed(real), percent(r.at(p, d, mode).spread()),
				signed(simulated), signed(simulated - real)})
		}
	}
	return t
}

// figure shows simulated by real values of the cells of some disturbances, a colour for each mode.
func figure(name, title, unit string, p *plan, of func(d, mode int) (real, simulated float64),
	shows func(d *disturbance) bool) report.Figure {
	f := report.Figure{Name: name, Title: title, X: report.Axis{Label: "real (" + unit + ")"},
		Y: report.Axis{Label: "simulated (" + unit + ")"}}
	least, most := math.Inf(1), math.Inf(-1)
	for mode, text := range p.Modes {
		line := report.Line{Name: text, Color: mode, Scatter: true}
		for d := range p.Disturbances {
			if shows(&p.Disturbances[d]) {
				real, simulated := of(d, mode)
				line.Points = append(line.Points, report.Exact(real, simulated))
				least, most = min(least, real, simulated), max(most, real, simulated)
			}
		}
		f.Lines = append(f.Lines, line)
	}
	f.Lines = append(f.Lines, report.Line{Guide: true, Color: len(p.Modes),
		Points: []report.Point{report.Exact(least, least), report.Exact(most, most)}})
	return f
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.2f", seconds*1e3) }
func percent(share float64) string        { return fmt.Sprintf("%.1f", share*100) }
func signed(share float64) string         { return report.Minus(fmt.Sprintf("%+.1f", share*100)) }
