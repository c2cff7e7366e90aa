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

// heat returns what all figures share: axes, colours, and marks of cells that lose.
func (d *diagram) heat(label string) *report.Heat {
	x, y := edges(d.alphas, 0), edges(d.taus, 1)
	return &report.Heat{
		X: report.HeatAxis{Label: "most frequent id: share of rows, α", Ticks: d.alphas,
			Low: x[0], High: x[len(x)-1]},
		Y:      report.HeatAxis{Label: "delay, τ (steps)", Ticks: d.taus, Low: y[0], High: y[len(y)-1]},
		Levels: []float64{0.0005, 0.001, 0.002, 0.004, 0.008, 0.016}, Label: label,
		Mark: fmt.Sprintf("both losses above %g,\nintervals exclude 0", margin),
	}
}

// The texts of the key: what colours mean at the tuned rates, and the predicted boundary.
const (
	lossLabel = "AUC lost, to fresh rows or to\nthe lag control, whichever is\nless (in cells: × 1000)"
	lineName  = "predicted: SGD is unstable\nabove (from fresh training)"
)

// panel adds the cells of an optimizer at a rate, with the boundary of SGD.
func (r *result) panel(h *report.Heat, d *diagram, kind string, multiple float64) *report.HeatPanel {
	x, y := edges(d.alphas, 0), edges(d.taus, 1)
	p := report.HeatPanel{Title: title(kind)}
	for i, alpha := range d.alphas {
		for k, tau := range d.taus {
			c := d.at(kind, multiple, alpha, tau)
			p.Cells = append(p.Cells, report.HeatCell{
				XLow: x[i], XHigh: x[i+1], YLow: y[k], YHigh: y[k+1], Value: c.judged().Estimate,
				Text: report.Milli(c.judged().Estimate), Marked: c.region() == loss,
			})
		}
		for _, b := range r.Boundaries {
			if kind == opt.SGD && b.Multiple == multiple && b.Alpha == alpha {
				at := min(max(float64(b.Delay)+0.5, y[0]), y[len(y)-1])
				p.Line = append(p.Line, [2]report.Point{report.Exact(x[i], at), report.Exact(x[i+1], at)})
				h.Line = lineName
			}
		}
	}
	h.Panels = append(h.Panels, p)
	return &h.Panels[len(h.Panels)-1]
}

// figure returns the diagram at the tuned rates, with the columns of public data.
func (r *result) figure() report.Figure {
	d := r.diagram()
	h := d.heat(lossLabel)
	h.Columns = 2
	shortest, longest, worst := r.Lateness.delays()
	var points []report.HeatPoint
	for _, c := range r.Columns {
		if !slices.Contains(h.Series, c.Data) {
			h.Series = append(h.Series, c.Data)
		}
		h.X.Low, h.X.High = min(h.X.Low, c.Top/1.15), max(h.X.High, c.Top*1.08)
		points = append(points, report.HeatPoint{Series: slices.Index(h.Series, c.Data),
			Point: report.Point{X: c.Top, Y: longest, Low: shortest, High: worst}})
	}
	for _, kind := range r.kinds() {
		r.panel(h, d, kind, tuned).Points = points
	}
	return report.Figure{Name: "phase", Title: "What late rows cost at the tuned rate", Heat: h}
}

// rateFigure returns the diagram at all rates, a row of panels each.
func (r *result) rateFigure() report.Figure {
	d := r.otherRates()
	h := d.heat("AUC lost, as in the first\nfigure (no lag control at\nother rates)")
	h.Columns = len(r.kinds())
	for _, multiple := range r.multiples() {
		for _, kind := range r.kinds() {
			p := r.panel(h, d, kind, multiple)
			p.Title += fmt.Sprintf(", rate × %g", multiple)
			for i := range p.Cells {
				p.Cells[i].Text = "" // the panels are small
			}
		}
	}
	return report.Figure{Name: "phase-rates", Title: "What late rows cost by rate", Heat: h}
}
