package phase

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
)

// edges returns the ends of cells around values on a logarithmic axis, after adding a number to each.
func edges(values []float64, add float64) []float64 {
	n := len(values)
	logs := make([]float64, n)
	for i, v := range values {
		logs[i] = math.Log(v + add)
	}
	ends := make([]float64, n+1)
	for i := range ends {
		switch {
		case n == 1:
			ends[i] = logs[0] + float64(2*i-1)/2
		case i == 0:
			ends[i] = logs[0] - (logs[1]-logs[0])/2
		case i == n:
			ends[i] = logs[n-1] + (logs[n-1]-logs[n-2])/2
		default:
			ends[i] = (logs[i-1] + logs[i]) / 2
		}
		ends[i] = math.Exp(ends[i]) - add
	}
	return ends
}

// levels are the losses at which colours change.
func levels() []float64 { return []float64{0.0005, 0.001, 0.002, 0.004, 0.008, 0.016} }

// heat returns the parts that both figures share.
func (r *result) heat(d *diagram) *report.Heat {
	taus := make([]float64, len(d.taus))
	for i, tau := range d.taus {
		taus[i] = float64(tau)
	}
	low, high := edges(d.alphas, 0), edges(taus, 1)
	h := &report.Heat{
		X: report.HeatAxis{Label: "most frequent id: share of rows, α", Ticks: d.alphas,
			Low: low[0], High: low[len(low)-1]},
		Y: report.HeatAxis{Label: "delay, τ (steps)", Ticks: taus, Low: high[0],
			High: high[len(high)-1]},
		Levels: levels(),
	}
	return h
}

// panel returns the cells of an optimizer at a rate.
func (r *result) panel(d *diagram, kind string, multiple float64, text bool) report.HeatPanel {
	taus := make([]float64, len(d.taus))
	for i, tau := range d.taus {
		taus[i] = float64(tau)
	}
	x, y := edges(d.alphas, 0), edges(taus, 1)
	p := report.HeatPanel{Title: title(kind)}
	for i, alpha := range d.alphas {
		for k, tau := range d.taus {
			c := d.at(kind, multiple, alpha, tau)
			one := report.HeatCell{
				XLow: x[i], XHigh: x[i+1], YLow: y[k], YHigh: y[k+1], Value: c.judged().Estimate,
				Marked: c.region() == loss,
			}
			if text {
				one.Text = report.Milli(one.Value)
			}
			p.Cells = append(p.Cells, one)
		}
		for _, b := range r.Boundaries {
			if kind == opt.SGD && b.Multiple == multiple && b.Alpha == alpha {
				at := min(max(float64(b.Delay)+0.5, y[0]), y[len(y)-1])
				p.Line = append(p.Line, [2]report.Point{report.Exact(x[i], at), report.Exact(x[i+1], at)})
			}
		}
	}
	return p
}

// figure returns the diagram at the tuned rates, with the columns of public data.
func (r *result) figure() report.Figure {
	d := newDiagram(r.Cells)
	h := r.heat(d)
	h.Columns, h.Series = 2, dataSets(r.Columns)
	h.Label = lossLabel
	h.Mark = markText()
	h.Line = r.lineName()
	var points []report.HeatPoint
	for _, c := range r.Columns {
		h.X.Low, h.X.High = min(h.X.Low, c.Top/1.15), max(h.X.High, c.Top*1.08)
		points = append(points, report.HeatPoint{Series: slices.Index(h.Series, c.Data), Point: report.Point{
			X: c.Top, Y: r.Lateness.longest(), Low: r.Lateness.shortest(), High: r.Lateness.worst(),
		}})
	}
	for _, kind := range r.kinds() {
		p := r.panel(d, kind, tuned, true)
		p.Points = points
		h.Panels = append(h.Panels, p)
	}
	return report.Figure{Name: "phase", Title: "What late rows cost at the tuned rate", Heat: h}
}

// lossLabel says what the colours of a diagram at the tuned rates mean.
const lossLabel = "AUC lost, to fresh rows or to\nthe lag control, whichever is\nless (in cells: × 1000)"

// markText explains the mark of a cell that loses.
func markText() string { return fmt.Sprintf("both losses above %g,\nintervals exclude 0", margin) }

// lineName returns the name of the predicted boundary, if there is one.
func (r *result) lineName() string {
	if len(r.Boundaries) == 0 {
		return ""
	}
	return "predicted: SGD is unstable\nabove (from fresh training)"
}

// rateFigure returns the diagram at all rates, a row of panels each.
func (r *result) rateFigure() report.Figure {
	d := r.rateDiagram()
	h := r.heat(d)
	h.Columns, h.Line = len(r.kinds()), r.lineName()
	h.Label = "AUC lost, as in the first\nfigure (no lag control at\nother rates)"
	h.Mark = markText()
	for _, multiple := range r.multiples() {
		for _, kind := range r.kinds() {
			p := r.panel(d, kind, multiple, false)
			p.Title += fmt.Sprintf(", rate × %g", multiple)
			h.Panels = append(h.Panels, p)
		}
	}
	return report.Figure{Name: "phase-rates", Title: "What late rows cost by rate", Heat: h}
}
