package phase

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"tandem/algo/metric"
	"tandem/algo/numeric/opt"
	"tandem/experiments/judge"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report returns the result as tables, figures and sentences. settings are what is written as YAML.
func (r *result) report(settings any) *report.Report {
	out := &report.Report{
		Findings: r.findings(),
		Notes:    r.notes(),
		Tables:   append([]cli.Table{r.rateTable()}, r.cellTables()...),
		Figures:  []report.Figure{r.figure()},
		Headline: &report.Headline{Figure: "phase"},
		Settings: settings,
		Data:     r,
	}
	if len(r.multiples()) > 1 {
		out.Tables = append(out.Tables, r.multipleTable())
		out.Figures = append(out.Figures, r.rateFigure())
	}
	if len(r.Retuned) > 0 {
		out.Tables = append(out.Tables, r.retunedTable())
	}
	out.Tables = append(out.Tables, r.columnTable())
	return out
}

// kinds returns the optimizers in the order of the cells.
func (r *result) kinds() (kinds []string) {
	for _, c := range r.Cells {
		if !slices.Contains(kinds, c.Optimizer) {
			kinds = append(kinds, c.Optimizer)
		}
	}
	return kinds
}

// multiples returns the multiples of the tuned rate, ascending.
func (r *result) multiples() (list []float64) {
	for _, c := range r.Cells {
		list = append(list, c.Multiple)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rateDiagram returns the diagram of the α and τ that have cells at all rates.
func (r *result) rateDiagram() *diagram {
	d := newDiagram(r.Cells)
	for _, m := range r.multiples() {
		one := newDiagram(slices.DeleteFunc(slices.Clone(r.Cells),
			func(c cell) bool { return c.Multiple != m }))
		d.alphas = slices.DeleteFunc(d.alphas, func(v float64) bool {
			return !slices.Contains(one.alphas,
				v)
		})
		d.taus = slices.DeleteFunc(d.taus, func(v int) bool { return !slices.Contains(one.taus, v) })
	}
	return d
}

// tuned is the multiple of the tuned rate.
const tuned = 1.0

// rateTable returns the tuned rates.
func (r *result) rateTable() cli.Table {
	t := cli.Table{
		Caption: "Rates of rows, tuned without delay at every α; * best at an end of the grid",
		Header:  []string{"optimizer"}, Words: 1,
	}
	d := newDiagram(r.Cells)
	for _, alpha := range d.alphas {
		t.Header = append(t.Header, fmt.Sprintf("α=%g", alpha))
	}
	for _, kind := range r.kinds() {
		line := []string{title(kind)}
		for _, alpha := range d.alphas {
			c := find(r.Choices, kind, alpha)
			text := report.Digits(c.Rates.Rows, 3)
			if c.AtEdge {
				text += "*"
			}
			line = append(line, text)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// cellTables returns the losses at the tuned rates, a table for each optimizer with two lines for each α: the
// whole loss and that beyond the lag.
func (r *result) cellTables() (tables []cli.Table) {
	d := newDiagram(r.Cells)
	for _, kind := range r.kinds() {
		t := cli.Table{
			Caption: title(kind) + " at its tuned rates: AUC × 1000 lost to fresh rows, then to the lag " +
				"control",
			Header: []string{"α"}, Words: 1,
		}
		for _, tau := range d.taus {
			t.Header = append(t.Header, fmt.Sprintf("τ = %d", tau))
		}
		for _, alpha := range d.alphas {
			whole, beyond := []string{fmt.Sprint(alpha)}, []string{"  lag"}
			for _, tau := range d.taus {
				c := d.at(kind, tuned, alpha, tau)
				whole, beyond = append(whole, report.MilliInterval(c.Loss)),
					append(beyond, report.MilliInterval(*c.BeyondLag))
			}
			t.Rows = append(t.Rows, whole, beyond)
		}
		tables = append(tables, t)
	}
	return tables
}

// judged returns the loss that counts: the smaller one of the whole loss and that beyond the lag control,
// where there is one.
func (c *cell) judged() metric.Interval {
	if c.BeyondLag != nil && c.BeyondLag.Estimate < c.Loss.Estimate {
		return *c.BeyondLag
	}
	return c.Loss
}

// multipleTable returns the losses by rate.
func (r *result) multipleTable() cli.Table {
	d := r.rateDiagram()
	t := cli.Table{
		Caption: "Loss in AUC × 1000 at other rates, fresh − late at the same rate",
		Header:  []string{"optimizer", "α", "τ"}, Words: 1,
	}
	for _, m := range r.multiples() {
		t.Header = append(t.Header, fmt.Sprintf("rate × %g", m))
	}
	for _, kind := range r.kinds() {
		for _, alpha := range d.alphas {
			for _, tau := range d.taus {
				line := []string{title(kind), fmt.Sprint(alpha), strconv.Itoa(tau)}
				for _, m := range r.multiples() {
					line = append(line, report.MilliInterval(d.at(kind, m, alpha, tau).Loss))
				}
				t.Rows = append(t.Rows, line)
			}
		}
	}
	return t
}

// retunedTable returns what tuning with delay changes.
func (r *result) retunedTable() cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Rates tuned a second time, with rows τ = %d late: loss in AUC × 1000 against "+
			"fresh rows at their own rate", r.Retuned[0].Tau),
		Header: []string{"optimizer, α", "row rates", "best late ÷ fresh", "fresh rate", "late rate"},
		Words:  1,
	}
	for _, one := range r.Retuned {
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%s %g", title(one.Optimizer), one.Alpha),
			report.Digits(one.Fresh.Rows, 2) + ", " + report.Digits(one.Late.Rows, 2),
			fmt.Sprintf("%s [%s, %s]", ratio(one.Ratio.Estimate), ratio(one.Ratio.Low),
				ratio(one.Ratio.High)),
			report.MilliInterval(one.Before), report.MilliInterval(one.After),
		})
	}
	return t
}

// ratio returns a ratio of rates, which is not of interest beyond a factor of 100.
func ratio(v float64) string {
	switch {
	case v < 0.01:
		return "<0.01"
	case v > 100:
		return ">100"
	}
	return report.Digits(v, 2)
}

// columnTable returns the places of the columns.
func (r *result) columnTable() cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("Columns of public data, %.1f steps late on simulated clusters: what was "+
			"measured "+
			"around them at the tuned rate", r.Lateness.longest()),
		Header: []string{"data", "column", "top id"}, Words: 2,
	}
	for _, kind := range r.kinds() {
		t.Header = append(t.Header, title(kind))
	}
	for _, c := range r.Columns {
		line := []string{c.Data, c.Name, report.Digits(100*c.Top, 2) + " %"}
		for _, kind := range r.kinds() {
			line = append(line, string(c.Regions[kind]))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// findings returns what the cells show, a sentence or two for each optimizer, and what they mean for the
// columns.
func (r *result) findings() []string {
	var sentences []string
	for _, kind := range r.kinds() {
		sentences = append(sentences, r.courseSentence(kind))
	}
	if s := r.boundarySentence(); s != "" {
		sentences = append(sentences, s)
	}
	if s := r.retunedSentence(); s != "" {
		sentences = append(sentences, s)
	}
	return append(sentences, r.columnSentences()...)
}

// courseSentence says where an optimizer loses at its tuned rate.
func (r *result) courseSentence(kind string) string {
	d := newDiagram(r.Cells)
	counts := map[region]int{}
	var worst, first *cell
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Optimizer != kind || c.Multiple != tuned {
			continue
		}
		counts[c.region()]++
		if worst == nil || c.judged().Estimate > worst.judged().Estimate {
			worst = c
		}
		if c.region() == loss && (first == nil || c.Alpha < first.Alpha ||
			c.Alpha == first.Alpha && c.Tau < first.Tau) {
			first = c
		}
	}
	all := len(d.alphas) * len(d.taus)
	text := fmt.Sprintf("%s at its tuned rate: of %d cells, %d lose more than %g AUC, %d are safe (interval "+
		"below %g), %d unclear; ", title(kind), all, counts[loss], margin, counts[safe],
		margin, counts[unclear])
	if first == nil {
		return text + fmt.Sprintf("the largest loss is %s, at α = %g, τ = %d.",
			report.PlusMinus(worst.judged()), worst.Alpha, worst.Tau)
	}
	return text + fmt.Sprintf("the rarest id that loses is in a share of %g, from τ = %d; the largest loss "+
		"is "+
		"%s, at α = %g, τ = %d.", first.Alpha, first.Tau, report.PlusMinus(worst.judged()), worst.Alpha,
		worst.Tau)
}

// boundarySentence compares the predicted boundary of SGD with its losses at the tuned rate.
func (r *result) boundarySentence() string {
	var beyond, within []float64
	for _, b := range r.Boundaries {
		if b.Multiple != tuned {
			continue
		}
		for i := range r.Cells {
			c := &r.Cells[i]
			if c.Optimizer != opt.SGD || c.Multiple != tuned || c.Alpha != b.Alpha {
				continue
			}
			if c.Tau > b.Delay {
				beyond = append(beyond, c.judged().Estimate)
			} else {
				within = append(within, c.judged().Estimate)
			}
		}
	}
	if len(beyond) == 0 || len(within) == 0 {
		return ""
	}
	return fmt.Sprintf("SGD, predicted from fresh trainings alone: the %d cells beyond the stability "+
		"boundary "+
		"lose %.4f AUC in the median, the %d within it %.4f.", len(beyond), report.Median(beyond),
		len(within),
		report.Median(within))
}

// retunedSentence says what tuning with delay wins.
func (r *result) retunedSentence() string {
	if len(r.Retuned) == 0 {
		return ""
	}
	var before, after []float64
	lower := 0
	for _, one := range r.Retuned {
		before, after = append(before, one.Before.Estimate), append(after, one.After.Estimate)
		if one.Ratio.High < 1 {
			lower++
		}
	}
	return fmt.Sprintf("Rates tuned with rows %d steps late: the median loss goes from %.4f to %.4f; in %d "+
		"of "+
		"%d cells the best rate of late rows is lower than that of fresh ones (interval below 1).",
		r.Retuned[0].Tau, report.Median(before), report.Median(after), lower, len(r.Retuned))
}

// columnSentences names the columns in each region, for each optimizer.
func (r *result) columnSentences() []string {
	var sentences []string
	for _, kind := range r.kinds() {
		names := map[region][]string{}
		for _, c := range r.Columns {
			names[c.Regions[kind]] = append(names[c.Regions[kind]], c.Data+" "+c.Name)
		}
		text := fmt.Sprintf("%s on the simulated clusters, %.1f steps late: ", title(kind),
			r.Lateness.longest())
		if len(names[loss]) == 0 {
			text += "no column lies where a loss was measured"
		} else {
			text += list(names[loss]) + " lie where a loss was measured"
		}
		sentences = append(sentences,
			text+fmt.Sprintf("; %d of %d are safe, %d unclear, %d beyond the measured "+
				"frequencies.", len(names[safe]), len(r.Columns), len(names[unclear]), len(names[outside])))
	}
	return sentences
}

// notes returns what a reader needs to judge the findings.
func (r *result) notes() []string {
	marked := 0
	for i := range r.Cells {
		if r.Cells[i].Multiple == tuned && r.Cells[i].region() == loss {
			marked++
		}
	}
	different, equivalent, all := r.adjusted()
	return []string{
		fmt.Sprintf("Generated data: %s training rows in %d steps of %d, %s test rows, six columns that all "+
			"have their most frequent id in a share α; the rest of each is Zipf with exponent 1.05. ± is "+
			"half "+
			"the 95 %% interval over %d seeds; rows, order and initial values are the same within a seed.",
			report.Thousands(r.Setup.TrainRows), r.Setup.steps(), r.Setup.Batch,
			report.Thousands(r.Setup.TestRows), r.Setup.Seeds),
		fmt.Sprintf("%d of %d cells are marked as losses at the tuned rates, each on its own; without any "+
			"loss, "+
			"about %.0f intervals would exclude 0 on that side. Holm's adjustment over all of them leaves "+
			"%d losses "+
			"different and %d equivalent: %d seeds are few for this number of cells.", marked, all,
			math.Ceil(0.025*float64(all)), different, equivalent, r.Setup.Seeds),
		fmt.Sprintf("A cell loses if its losses to fresh rows and to the lag control both exceed %g with "+
			"intervals that exclude 0; it is safe if the interval of its whole loss ends below %g. At "+
			"other rates "+
			"there is no lag control.", margin, margin),
		"Rates of the network (Adam), tuned at one α for each optimizer: " + r.denseText() + ".",
		"All six columns are hot at once. One hot column loses less: see the experiment predictor.",
		fmt.Sprintf("Delays of clusters are in steps of all ranks: simulated %s, τ = %d, %s. "+
			"The "+
			"bound on staleness is per rank, so the number of GPUs hardly changes it.", r.Lateness.Mode,
			r.Lateness.Tau, r.Lateness.Preset),
		"The boundary is that of plain SGD with noise-free gradients, 2·sin(π/(2(2d+1))) for rate × " +
			"curvature, which is that of the rows of all most frequent ids, after fresh training.",
	}
}

// denseText lists the rates of the network.
func (r *result) denseText() string {
	var words []string
	for _, kind := range r.kinds() {
		at := slices.IndexFunc(r.Choices, func(c choice) bool { return c.Optimizer == kind })
		words = append(words, title(kind)+" "+report.Digits(r.Choices[at].Rates.Dense, 3))
	}
	return list(words)
}

// adjusted judges the whole losses at the tuned rates together, and returns the number of cells that are then
// different, equivalent, and all.
func (r *result) adjusted() (different, equivalent, all int) {
	var list []*judge.Comparison
	for _, c := range r.Cells {
		if c.Multiple == tuned {
			list = append(list, &judge.Comparison{AUCs: report.Differences(c.Late, c.Fresh)})
		}
	}
	judge.Judge(list)
	for _, c := range list {
		switch c.Verdict {
		case metric.Different:
			different++
		case metric.Equivalent:
			equivalent++
		}
	}
	return different, equivalent, len(list)
}

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

// levels are the losses at which colors change.
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
			}
			if c.region() == loss {
				one.Mark = 1
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
	h.Label = "AUC lost, to fresh rows or to\nthe lag control, whichever is\nless (in cells: × 1000)"
	h.Marks = []string{markText()}
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
	h.Marks = []string{markText()}
	for _, multiple := range r.multiples() {
		for _, kind := range r.kinds() {
			p := r.panel(d, kind, multiple, false)
			p.Title += fmt.Sprintf(", rate × %g", multiple)
			h.Panels = append(h.Panels, p)
		}
	}
	return report.Figure{Name: "phase-rates", Title: "What late rows cost by rate", Heat: h}
}

// shortest, longest and worst return the least and the largest mean delay over the clusters, and the largest
// 99th percentile.
func (l *lateness) shortest() float64 {
	return slices.MinFunc(l.Clusters, func(a, b cluster) int { return cmp.Compare(a.Late, b.Late) }).Late
}

func (l *lateness) longest() float64 {
	return slices.MaxFunc(l.Clusters, func(a, b cluster) int { return cmp.Compare(a.Late, b.Late) }).Late
}

func (l *lateness) worst() float64 {
	worst := 0
	for _, c := range l.Clusters {
		worst = max(worst, c.Own.P99, c.Cross.P99)
	}
	return float64(worst)
}
