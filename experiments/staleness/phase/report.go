package phase

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/metric"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
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
		"is %s, at α = %g, τ = %d.", first.Alpha, first.Tau, report.PlusMinus(worst.judged()), worst.Alpha,
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
		"boundary lose %.4f AUC in the median, the %d within it %.4f.", len(beyond), report.Median(beyond),
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
		"of %d cells the best rate of late rows is lower than that of fresh ones (interval below 1).",
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
			"half the 95 %% interval over %d seeds; rows, order and initial values are the same within a "+
			"seed.",
			report.Thousands(r.Setup.TrainRows), r.Setup.steps(), r.Setup.Batch,
			report.Thousands(r.Setup.TestRows), r.Setup.Seeds),
		fmt.Sprintf("%d of %d cells are marked as losses at the tuned rates, each on its own; without any "+
			"loss, about %.0f intervals would exclude 0 on that side. Holm's adjustment over all of them "+
			"leaves %d losses different and %d equivalent: %d seeds are few for this number of cells.",
			marked, all,
			math.Ceil(0.025*float64(all)), different, equivalent, r.Setup.Seeds),
		fmt.Sprintf("A cell loses if its losses to fresh rows and to the lag control both exceed %g with "+
			"intervals that exclude 0; it is safe if the interval of its whole loss ends below %g. At other "+
			"rates there is no lag control.", margin, margin),
		"Rates of the network (Adam), tuned at one α for each optimizer: " + r.denseText() + ".",
		"All six columns are hot at once. One hot column loses less: see the experiment predictor.",
		fmt.Sprintf("Delays of clusters are in steps of all ranks: simulated %s, τ = %d, %s. The bound on "+
			"staleness is per rank, so the number of GPUs hardly changes it.", r.Lateness.Mode,
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
