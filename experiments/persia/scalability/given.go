package scalability

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tandem/algo/metric"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// The three data sets were measured on one cluster. So the bars of two of them say something about the
// unknown inputs, and with that about the third: each figure of a data set is predicted again from the draws
// of the inputs that come nearest to the bars of the other two. The bars of the data set itself have no part
// in it.

// cell is a bar of Persia: on one GPU, the bar without dense communication, which is what is simulated.
type cell struct{ set, gpus int }

// rates are natural logarithms of samples a second.
type rates map[cell]float64

// draws are the bars of Persia, and the throughputs at all draws of the unknown inputs, one of which is the
// precision of matrix products: the first half is in fp32, the second in half precision.
type draws struct {
	bars rates
	at   []rates
}

// Draws that are kept: the sixteenth that is nearest, but at least 16, with fewer of which there are no
// percentiles to speak of.
const (
	keptPart  = 16
	keptLeast = 16
)

// leftOut is a figure of a data set, predicted from all draws, and from those that are nearest to the other
// data sets.
type leftOut struct {
	What   string          `json:"what"`
	Unit   paper.Unit      `json:"unit"`
	Figure paper.Figure    `json:"paper"`
	All    metric.Interval `json:"all"`   // median, 1st and 99th percentile
	Given  metric.Interval `json:"given"` // so, over the draws that are kept
	Inside bool            `json:"inside"`
	// Null is the geometric mean of the same figure of the other data sets: a guess without a simulator.
	Null float64 `json:"null"`
}

func (x *leftOut) width() float64 { return x.Given.High / x.Given.Low }

// given are the predictions from the other data sets.
type given struct {
	Part   int       `json:"part"`
	Draws  int       `json:"draws"` // that are kept
	Half   float64   `json:"half"`  // the part of those, over the data sets, that has half precision
	Shares []leftOut `json:"shares"`
	Bars   []leftOut `json:"bars"`
}

// newDraws returns the draws behind predictions.
func newDraws(r *paper.Predictions) *draws {
	d := &draws{bars: rates{}}
	sets := paper.ScalingFigure()
	for _, c := range cells() {
		d.bars[c] = math.Log(1e3 * sets[c.set].Bar(paper.Persia, c.gpus))
		if c.gpus == 1 {
			d.bars[c] = math.Log(1e3 * sets[c.set].Alone)
		}
	}
	for _, s := range persias() {
		for k := range r.Of[sets[0].Case(s.name, 1)].Samples {
			one := rates{}
			for _, c := range cells() {
				one[c] = math.Log(r.Of[sets[c.set].Case(s.name, c.gpus)].Samples[k])
			}
			d.at = append(d.at, one)
		}
	}
	return d
}

// cells returns the bars of all data sets.
func cells() (list []cell) {
	for set := range paper.ScalingFigure() {
		for _, gpus := range paper.ScalingGPUs() {
			list = append(list, cell{set, gpus})
		}
	}
	return list
}

// others returns the bars that a figure of a data set is predicted from: those of the other data sets on as
// many GPUs, and without dense communication.
func others(of cell) []cell {
	return slices.DeleteFunc(cells(), func(c cell) bool {
		return c.set == of.set || c.gpus != 1 && c.gpus != of.gpus
	})
}

// nearest returns the draws whose largest distance to bars is smallest, without those at which a job does not
// fit.
func (d *draws) nearest(bars []cell, kept int) []int {
	far := make([]float64, len(d.at))
	var order []int
	for k, at := range d.at {
		for _, c := range bars {
			far[k] = math.Max(far[k], math.Abs(at[c]-d.bars[c])) // NaN stays
		}
		if !math.IsNaN(far[k]) {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far[a], far[b]) })
	return order[:min(kept, len(order))]
}

// share returns the logarithm of what each GPU of a cell has of one GPU without dense communication.
func share(at rates, c cell) float64 { return at[c] - at[cell{c.set, 1}] - math.Log(float64(c.gpus)) }

// bar returns the logarithm of a bar in thousand samples a second.
func bar(at rates, c cell) float64 { return at[c] - math.Log(1e3) }

// over returns the median and percentiles of a figure over draws.
func (d *draws) over(kept []int, c cell, figure func(rates, cell) float64) metric.Interval {
	var values []float64
	for _, k := range kept {
		if v := math.Exp(figure(d.at[k], c)); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return paper.Spread(report.Median(values), values)
}

// null returns the geometric mean of a figure of the other data sets.
func (d *draws) null(c cell, figure func(rates, cell) float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range cells() {
		if x.set != c.set && x.gpus == c.gpus {
			sum, n = sum+figure(d.bars, x), n+1
		}
	}
	return math.Exp(sum / n)
}

// newGiven predicts all figures that are left out.
func newGiven(r *paper.Predictions) *given {
	d := newDraws(r)
	part := max(1, min(keptPart, len(d.at)/keptLeast))
	g := &given{Part: part, Draws: len(d.at) / part}
	everything := d.nearest(nil, len(d.at))
	sets, halves, all := paper.ScalingFigure(), 0, 0
	for _, c := range cells() {
		if c.gpus == 1 {
			continue
		}
		kept := d.nearest(others(c), g.Draws)
		for _, k := range kept {
			all++
			if k >= len(d.at)/2 {
				halves++
			}
		}
		leave := func(unit paper.Unit, f paper.Figure, figure func(rates, cell) float64) leftOut {
			x := leftOut{What: fmt.Sprintf("%s, %d GPUs", sets[c.set].Name, c.gpus), Unit: unit, Figure: f,
				All: d.over(everything, c, figure), Given: d.over(kept, c, figure), Null: d.null(c, figure)}
			x.Inside = x.Given.Low <= f.High && f.Low <= x.Given.High
			return x
		}
		g.Shares = append(g.Shares, leave(paper.Part, sets[c.set].Share(c.gpus), share))
		g.Bars = append(g.Bars, leave(paper.Kilo, paper.Bar(sets[c.set].Bar(paper.Persia, c.gpus)), bar))
	}
	g.Half = float64(halves) / float64(max(1, all))
	return g
}

// summary is what figures that are left out have in common.
type summary struct {
	inside            int     // figures
	narrowest, widest float64 // of the intervals, high end ÷ low end
	// ours and null are the mean distances of the medians, and of the null model, from the figures, as a part
	// of those.
	ours, null float64
}

func summarize(list []leftOut) summary {
	s := summary{narrowest: math.Inf(1)}
	for i := range list {
		x := &list[i]
		if x.Inside {
			s.inside++
		}
		s.narrowest, s.widest = min(s.narrowest, x.width()), max(s.widest, x.width())
		s.ours += math.Abs(math.Log(x.Given.Estimate/x.Figure.Value)) / float64(len(list))
		s.null += math.Abs(math.Log(x.Null/x.Figure.Value)) / float64(len(list))
	}
	s.ours, s.null = math.Expm1(s.ours), math.Expm1(s.null)
	return s
}

// tables returns the predictions.
func (g *given) tables() []cli.Table {
	predictions := func(caption string, list []leftOut, digits int) cli.Table {
		t := cli.Table{Caption: caption, Words: 1,
			Header: []string{"left out", "paper", "all draws", "given the others", "width", "null"}}
		text := func(v float64) string { return fmt.Sprintf("%.*f", digits, v) }
		spread := func(v metric.Interval) string {
			return fmt.Sprintf("%s (%s–%s)", text(v.Estimate), text(v.Low), text(v.High))
		}
		for i := range list {
			x := &list[i]
			t.Add(x.What, text(x.Figure.Value), spread(x.All), spread(x.Given),
				fmt.Sprintf("%.2f", x.width()), text(x.Null))
		}
		return t
	}
	return []cli.Table{
		predictions("Each GPU ÷ 1 without dense communication, given the other data sets", g.Shares, 2),
		predictions("Thousand samples/s, given the other data sets", g.Bars, 0),
	}
}

// figure has a bar for each share, with a mark where the paper is.
func (g *given) figure() report.Figure {
	f := report.Figure{Name: "given",
		Title: "Each GPU ÷ 1 without dense communication, given the other data sets",
		X:     report.Axis{Label: "ratio (bar: median; thin line: interval; mark: paper)"}}
	each := len(g.Shares) / len(paper.ScalingFigure()) // shares of a data set
	for i := range g.Shares {
		x := &g.Shares[i]
		f.Bars = append(f.Bars, report.Bar{Name: x.What, Color: i / each,
			Value: x.Given.Estimate, Low: x.Given.Low, High: x.Given.High, Target: x.Figure.Value})
	}
	return f
}

// findings say what the other data sets add.
func (g *given) findings() []string {
	s := summarize(g.Shares)
	last := &g.Shares[len(g.Shares)-1]
	return []string{
		fmt.Sprintf("Given the other two data sets, %s: each GPU has %.2f (%.2f to %.2f, a factor %.2f) of "+
			"1 without dense communication, of all draws in either precision %.2f (%.2f to %.2f), in the "+
			"paper %.2f. Left out in turn, %d of %d such shares and %d of %d throughputs lie inside, the "+
			"intervals of the shares span factors of %.2f to %.2f, and %.0f %% of the draws that are kept "+
			"have half precision.", last.What, last.Given.Estimate, last.Given.Low, last.Given.High,
			last.width(), last.All.Estimate, last.All.Low, last.All.High, last.Figure.Value, s.inside,
			len(g.Shares), summarize(g.Bars).inside, len(g.Bars), s.narrowest, s.widest, 100*g.Half),
		fmt.Sprintf("The medians of these shares miss the paper by %.0f %% on average, the mean of the "+
			"other data sets, without a simulator, by %.0f %%.", 100*s.ours, 100*s.null),
	}
}

// quantities returns the shares under the names of quantities.
func (g *given) quantities() (list []report.Quantity) {
	for i := range g.Shares {
		x := &g.Shares[i]
		list = append(list, paper.Quantity("share-of-no-communication-given-others-"+report.Slug(x.What),
			fmt.Sprintf("%s, each GPU ÷ 1 without dense communication, given the bars of the other data "+
				"sets, %s", x.What, x.Unit), x.Given))
	}
	return list
}

// note says how the predictions given the other data sets are made.
func (g *given) note() string {
	return fmt.Sprintf("Given the others: of all draws of the unknown inputs, half of them in fp32 and half "+
		"in half precision, the 1 in %d (%d) whose largest distance to four bars is smallest, those of the "+
		"other two data sets on as many GPUs and without dense communication. No bar of the data set itself "+
		"is used. The data sets were measured on one cluster with much the same network, so the nine are "+
		"not independent.", g.Part, g.Draws)
}
