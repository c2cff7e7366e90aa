package phase

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/metric"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the result as tables, figures and sentences.
func (p *plan) report(r *result) *report.Report {
	out := &report.Report{
		Findings: r.findings(),
		Notes:    r.notes(),
		Tables:   r.cellTables(),
		Figures:  []report.Figure{r.figure()},
		Headline: &report.Headline{Figure: "phase"},
	}
	if len(r.multiples()) > 1 {
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

// cellTables returns the losses at the tuned rates, a table for each optimizer with two lines for each α: the
// whole loss and that beyond the lag.
func (r *result) cellTables() (tables []cli.Table) {
	d := r.diagram()
	for _, kind := range r.kinds() {
		t := cli.Table{
			Caption: title(kind) + " at rates of rows tuned without delay (* at an end of the grid): " +
				"AUC × 1000 lost to fresh rows, then to the lag control",
			Header: []string{"α", "rate"}, Words: 1,
		}
		for _, tau := range d.taus {
			t.Header = append(t.Header, fmt.Sprintf("τ = %g", tau))
		}
		for _, alpha := range d.alphas {
			tunedAt := r.choice(kind, alpha)
			rate := report.Digits(tunedAt.Rates.Rows, 3)
			if tunedAt.AtEdge {
				rate += "*"
			}
			whole, beyond := []string{fmt.Sprint(alpha), rate}, []string{"  lag", ""}
			for _, tau := range d.taus {
				c := d.at(kind, tuned, alpha, tau)
				whole = append(whole, report.MilliInterval(c.Loss))
				beyond = append(beyond, report.MilliInterval(*c.BeyondLag))
			}
			t.Rows = append(t.Rows, whole, beyond)
		}
		tables = append(tables, t)
	}
	return tables
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
		t.Add(fmt.Sprintf("%s %g", title(one.Optimizer), one.Alpha),
			report.Digits(one.Fresh.Rows, 2)+", "+report.Digits(one.Late.Rows, 2),
			fmt.Sprintf("%s [%s, %s]", ratio(one.Ratio.Estimate), ratio(one.Ratio.Low),
				ratio(one.Ratio.High)),
			report.MilliInterval(one.Before), report.MilliInterval(one.After))
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
	_, longest, _ := r.Lateness.delays()
	t := cli.Table{
		Caption: fmt.Sprintf("Columns of public data, %.1f steps late on simulated clusters: what was "+
			"measured around them at the tuned rate", longest),
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
		t.Add(line...)
	}
	return t
}

// findings returns what the cells show, a sentence for each optimizer, and what they mean for the columns.
func (r *result) findings() (sentences []string) {
	for _, kind := range r.kinds() {
		sentences = append(sentences, r.courseSentence(kind))
	}
	sentences = append(sentences, r.boundarySentence()...)
	sentences = append(sentences, r.retunedSentence()...)
	_, longest, _ := r.Lateness.delays()
	for _, kind := range r.kinds() {
		names := map[region][]string{}
		for _, c := range r.Columns {
			names[c.Regions[kind]] = append(names[c.Regions[kind]], c.Data+" "+c.Name)
		}
		where := "no column lies where a loss was measured"
		if len(names[loss]) > 0 {
			where = list(names[loss]) + " lie where a loss was measured"
		}
		sentences = append(sentences, fmt.Sprintf("%s on the simulated clusters, %.1f steps late: %s; %d of "+
			"%d are safe, %d unclear, %d beyond the measured frequencies.", title(kind), longest, where,
			len(names[safe]), len(r.Columns), len(names[unclear]), len(names[outside])))
	}
	return sentences
}

// atTuned returns the cells of an optimizer at its tuned rate, by α and τ; "": those of all.
func (r *result) atTuned(kind string) (cells []*cell) {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Multiple == tuned && (kind == "" || c.Optimizer == kind) {
			cells = append(cells, c)
		}
	}
	return cells
}

// courseSentence says where an optimizer loses at its tuned rate.
func (r *result) courseSentence(kind string) string {
	counts := map[region]int{}
	var worst, first *cell
	cells := r.atTuned(kind)
	for _, c := range cells {
		counts[c.region()]++
		if worst == nil || c.judged().Estimate > worst.judged().Estimate {
			worst = c
		}
		if first == nil && c.region() == loss {
			first = c
		}
	}
	start := ""
	if first != nil {
		start = fmt.Sprintf("the rarest id that loses is in a share of %g, from τ = %d; ", first.Alpha,
			first.Tau)
	}
	return fmt.Sprintf("%s at its tuned rate: of %d cells, %d lose more than %g AUC, %d are safe (interval "+
		"below %g), %d unclear; %sthe largest loss is %s, at α = %g, τ = %d.", title(kind), len(cells),
		counts[loss], margin, counts[safe], margin, counts[unclear], start,
		report.PlusMinus(worst.judged()), worst.Alpha, worst.Tau)
}

// boundarySentence compares the predicted boundary of SGD with its losses at the tuned rate, if there are
// some on both sides.
func (r *result) boundarySentence() []string {
	var beyond, within []float64
	for _, b := range r.Boundaries {
		for _, c := range r.atTuned(opt.SGD) {
			switch {
			case b.Multiple != tuned || c.Alpha != b.Alpha:
			case c.Tau > b.Delay:
				beyond = append(beyond, c.judged().Estimate)
			default:
				within = append(within, c.judged().Estimate)
			}
		}
	}
	if len(beyond) == 0 || len(within) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("SGD, predicted from fresh trainings alone: the %d cells beyond the "+
		"stability boundary lose %.4f AUC in the median, the %d within it %.4f.", len(beyond),
		report.Median(beyond), len(within), report.Median(within))}
}

// retunedSentence says what tuning with delay wins, if there was any.
func (r *result) retunedSentence() []string {
	if len(r.Retuned) == 0 {
		return nil
	}
	var before, after []float64
	lower := 0
	for _, one := range r.Retuned {
		before, after = append(before, one.Before.Estimate), append(after, one.After.Estimate)
		if one.Ratio.High < 1 {
			lower++
		}
	}
	return []string{fmt.Sprintf("Rates tuned with rows %d steps late: the median loss goes from %.4f to "+
		"%.4f; in %d of %d cells the best rate of late rows is lower than that of fresh ones (interval "+
		"below 1).", r.Retuned[0].Tau, report.Median(before), report.Median(after), lower, len(r.Retuned))}
}

// notes returns what a reader needs to judge the findings.
func (r *result) notes() []string {
	marked, different, equivalent := 0, 0, 0
	var judged []*judge.Comparison
	for _, c := range r.atTuned("") {
		if c.region() == loss {
			marked++
		}
		judged = append(judged, &judge.Comparison{AUCs: report.Differences(c.Late, c.Fresh)})
	}
	judge.Judge(judged)
	for _, c := range judged {
		switch c.Verdict {
		case metric.Different:
			different++
		case metric.Equivalent:
			equivalent++
		}
	}
	var dense []string
	for _, kind := range r.kinds() {
		at := slices.IndexFunc(r.Choices, func(c choice) bool { return c.Optimizer == kind })
		dense = append(dense, title(kind)+" "+report.Digits(r.Choices[at].Rates.Dense, 3))
	}
	s := r.Setup
	return []string{
		fmt.Sprintf("Generated data: %s training rows in %d steps of %d, %s test rows, six columns that all "+
			"have their most frequent id in a share α; the rest of each is Zipf with exponent 1.05. ± is "+
			"half the 95 %% interval over %d seeds; rows, order and initial values are the same within a "+
			"seed.", report.Thousands(s.TrainRows), (s.TrainRows-1)/s.Batch+1, s.Batch,
			report.Thousands(s.TestRows), s.Seeds),
		fmt.Sprintf("%d of %d cells are marked as losses at the tuned rates, each on its own; without any "+
			"loss, about %.0f intervals would exclude 0 on that side. Holm's adjustment over all of them "+
			"leaves %d losses different and %d equivalent: %d seeds are few for this number of cells.",
			marked, len(judged), math.Ceil(0.025*float64(len(judged))), different, equivalent, s.Seeds),
		fmt.Sprintf("A cell loses if its losses to fresh rows and to the lag control both exceed %g with "+
			"intervals that exclude 0; it is safe if the interval of its whole loss ends below %g. At other "+
			"rates there is no lag control.", margin, margin),
		"Rates of the network (Adam), tuned at one α for each optimizer: " + list(dense) + ".",
		"All six columns are hot at once. One hot column loses less: see the experiment predictor.",
		fmt.Sprintf("Delays of clusters are in steps of all ranks: simulated %s, τ = %d, %s. The bound on "+
			"staleness is per rank, so the number of GPUs hardly changes it.", r.Lateness.Mode,
			r.Lateness.Tau, r.Lateness.Preset),
		"The boundary is that of plain SGD with noise-free gradients, 2·sin(π/(2(2d+1))) for rate × " +
			"curvature, which is that of the rows of all most frequent ids, after fresh training.",
	}
}

// list joins words with commas and "and".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
