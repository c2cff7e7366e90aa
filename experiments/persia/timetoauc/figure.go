package timetoauc

import (
	"fmt"
	"slices"
	"strings"

	"tandem/experiments/internal/report"
)

// figures returns the figures of a network. Those of a second network have its name in theirs.
func (p *plan) figures(r *results, n *networkResult, m measured) []report.Figure {
	suffix := ""
	if n != r.Networks[0] {
		suffix = "-" + n.Network
	}
	list := []report.Figure{p.bars(n, m, "options"+suffix)}
	for _, c := range p.Clusters {
		name := strings.ToLower(c.Name) + suffix
		if m.name == "time" {
			list = append(list, p.curves(r, n, c, "curve-"+name))
		} else if f := p.byGPUs(n, c, m, "dollars-"+name); f.Lines != nil {
			list = append(list, f)
		}
	}
	return slices.DeleteFunc(list, func(f report.Figure) bool { return f.Bars == nil && f.Lines == nil })
}

// bars returns every option that reaches the target beside the best one.
func (p *plan) bars(n *networkResult, m measured, name string) report.Figure {
	f := report.Figure{Name: name}
	best := p.best(n, m)
	if best == nil {
		return f
	}
	f.Title = fmt.Sprintf("Network %s: %s to the target ÷ that of %v", n.Network, m.name, best[0])
	f.X.Label = fmt.Sprintf("ratio to the %s option, 95 %% of the next training", m.better)
	for _, o := range n.comparable() {
		v := m.ratio(o, best[0])
		f.Bars = append(f.Bars, report.Bar{Name: o.String(), Color: slices.Index(p.Modes, o.Mode),
			Value: v.Estimate, Low: v.Low, High: v.High})
	}
	return f
}

// curvePoints is about the number of points of a curve in a figure.
const curvePoints = 15

// curves returns the AUC by simulated time on a cluster: of the fewest GPUs dashed, of the next number as
// lines, of the most as points.
func (p *plan) curves(r *results, n *networkResult, c rented, name string) report.Figure {
	f := report.Figure{Name: name, Title: fmt.Sprintf("Network %s on %s", n.Network, c.Long),
		X: report.Axis{Label: "simulated time (ms)", LogPlusOne: true,
			Ticks: []float64{0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000}},
		Y: report.Axis{Label: "mean AUC of the test rows"},
	}
	last := 0.0
	for i, gpus := range p.GPUs {
		for k, mode := range p.Modes {
			line := report.Line{Name: fmt.Sprintf("%s, %d GPUs", mode, gpus), Color: k,
				Guide: i == 0 && len(p.GPUs) > 1, Scatter: i > 1}
			curve := n.find(c.Name, gpus, mode).Curve
			every := max(1, len(curve)/curvePoints)
			for k := every - 1; k < len(curve); k += every {
				line.Points = append(line.Points, report.Exact(curve[k].Seconds*1e3, curve[k].AUC))
				last = max(last, curve[k].Seconds*1e3)
			}
			if line.Points != nil {
				f.Lines = append(f.Lines, line)
			}
		}
	}
	f.X.Ticks = upTo(f.X.Ticks, last)
	goal := 0.0
	for _, t := range r.Target {
		goal += t / float64(len(r.Target))
	}
	f.Lines = append(f.Lines, report.Line{Name: "target", Color: report.Grey, Guide: true,
		Points: []report.Point{report.Exact(0, goal), report.Exact(last, goal)}})
	return f
}

// micro is the number of units of a figure in a dollar: an axis that begins at 0 needs numbers above 1.
const micro = 1e6

// byGPUs returns the cost on a cluster by the number of GPUs; without lines for one number.
func (p *plan) byGPUs(n *networkResult, c rented, m measured, name string) report.Figure {
	f := report.Figure{Name: name,
		Title: fmt.Sprintf("Network %s on %s: %s to the target", n.Network, c.Long, m.name),
		X:     report.Axis{Label: "GPUs", LogPlusOne: true},
		Y:     report.Axis{Label: "millionths of a dollar", LogPlusOne: true},
	}
	if len(p.GPUs) < 2 {
		return f
	}
	for tick := 1e1; tick < 1e10; tick *= 10 {
		f.Y.Ticks = append(f.Y.Ticks, tick)
	}
	last := 0.0
	for _, gpus := range p.GPUs {
		f.X.Ticks = append(f.X.Ticks, float64(gpus))
	}
	for k, mode := range p.Modes {
		line := report.Line{Name: mode, Color: k}
		for _, gpus := range p.GPUs {
			if to := m.to(&n.find(c.Name, gpus, mode).price); to != nil {
				// a little apart, so that error bars do not hide each other
				x := float64(gpus) * (1 + 0.04*float64(k))
				line.Points = append(line.Points, report.Point{X: x, Y: to.Estimate * micro,
					Low: to.Low * micro, High: to.High * micro})
				last = max(last, to.High*micro)
			}
		}
		if line.Points != nil {
			f.Lines = append(f.Lines, line)
		}
	}
	f.Y.Ticks = upTo(f.Y.Ticks, last)
	return f
}

// upTo returns the ticks up to the first that is not below a value.
func upTo(ticks []float64, last float64) []float64 {
	for i, t := range ticks {
		if t >= last {
			return ticks[:i+1]
		}
	}
	return ticks
}
