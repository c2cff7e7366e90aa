package convergence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

func (p *plan) report(r *results) *report.Report {
	out := &report.Report{
		Findings: p.findings(r), Notes: p.notes(r), Comparisons: r.comparisons(), Quantities: p.quantities(r),
		Tables:  []cli.Table{p.effectTable(r)},
		Figures: []report.Figure{p.curveFigure(r), p.differenceFigure(r)},
	}
	if len(p.ScalingRanks) > 0 {
		out.Tables = append(out.Tables, p.scalingTable(r))
	}
	out.Tables = append(out.Tables, p.levelTable(r))
	if r.Tuning != nil {
		out.Tables = append(out.Tables, tune.Table(r.Tuning))
	}
	if r.Refined != nil {
		out.Tables = append(out.Tables, p.refinedTable(r))
	}
	return out
}

func (p *plan) ratesText(kind string) string {
	switch {
	case kind == ownRates:
		return "at the tuned rates of each arm"
	case p.TuningSteps == 0:
		return "at the same rates, not tuned"
	}
	return "at the tuned rates of sync merge:step"
}

// refinedTable returns a table with a line for every candidate of the longer runs.
func (p *plan) refinedTable(r *results) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("AUC of runs of %s steps by the rates of rows and network, tuned: what runs of "+
			"%s steps had chosen; * the best", report.Thousands(p.RefiningSteps),
			report.Thousands(p.TuningSteps)),
		Header: []string{"arm", "rows", "network", "AUC", "tuned"}, Words: 1,
	}
	for i, a := range r.Refined {
		for _, c := range slices.SortedFunc(slices.Values(a.Candidates), func(x, y tune.Candidate) int {
			return cmp.Or(cmp.Compare(x.Dense, y.Dense), cmp.Compare(x.Rows, y.Rows))
		}) {
			best, tuned := "", "–"
			if c.Rates == a.Rates {
				best = " *"
			}
			if c.Rates == r.Tuning[i].Rates {
				tuned = "tuned"
			}
			t.Add(p.mainArms()[i].String(), report.Digits(c.Rows, 2), report.Digits(c.Dense, 2),
				report.Mean(c.AUC)+best, tuned)
		}
	}
	return t
}

func (p *plan) effectTable(r *results) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("AUC differences after %s samples, treated − reference; lag: what %v gained in "+
			"its last τ steps", report.Thousands(p.samples()), p.lagged()),
		Header: []string{"effect", "τ", "rates", "ΔAUC ± 95 %", "verdict"}, Words: 1,
	}
	for _, e := range r.Effects {
		tau := "–"
		if e.Name == staleness || e.Name == total || e.Name == hotRows {
			tau = fmt.Sprint(e.Tau)
		}
		t.Add(e.Name, tau, e.Kind, report.PlusMinus(e.AUC), e.Text())
	}
	for i, tau := range p.Taus {
		t.Add("lag", fmt.Sprint(tau), p.kinds()[0], report.PlusMinus(r.Lags[i]), "–")
	}
	return t
}

// scalingTable returns a table with a line per scale and number of ranks.
func (p *plan) scalingTable(r *results) cli.Table {
	first := p.ScalingRanks[0]
	t := cli.Table{
		Caption: fmt.Sprintf("AUC after %s samples on N ranks less that on %d, hybrid τ = %d and sync "+
			"merge:step, %s", report.Thousands(p.ScalingSamples), first, p.Taus[0],
			p.ratesText(p.kinds()[0])),
		Header: []string{"scaling", "N", "batch", "steps", "hybrid ± 95 %", "sync ± 95 %"}, Words: 1,
	}
	for _, scale := range []string{weak, strong} {
		for _, ranks := range p.ScalingRanks[1:] {
			a, _ := p.scaled(scale, ranks)
			hybrid, sync := p.scalingOf(r, scale, ranks)
			ofSync := "the same bits"
			if sync != nil {
				ofSync = report.PlusMinus(sync.AUC)
			}
			t.Add(scale, fmt.Sprint(ranks), report.Thousands(a.Batch),
				report.Thousands(r.run(a, p.ScalingSamples).Steps), report.PlusMinus(hybrid.AUC), ofSync)
		}
	}
	return t
}

// levelTable returns a table with a line per long run, the oracle and a constant guess.
func (p *plan) levelTable(r *results) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("AUC and log loss (nats) after %s samples on %s test rows; rates of rows and "+
			"network; own and max: earlier steps of its rank that a read missed, in the mean and at most; "+
			"no model exceeds the oracle",
			report.Thousands(p.samples()), report.Thousands(r.TestRows)),
		Header: []string{"arm", "rates", "AUC ± 95 %", "log loss", "own", "max"}, Words: 2,
	}
	t.Add("oracle", "–", report.Level(r.Oracle.AUC), report.Mean(r.Oracle.LogLoss), "–", "–")
	t.Add("constant guess", "–", "0.5000", "–", "–", "–")
	for _, one := range r.Runs {
		if one.Samples != p.samples() || !slices.Contains(append(p.mainArms(), p.logistic()), one.Arm) {
			continue
		}
		own, largest := "0", "0"
		if one.Arm.Mode != job.Sequential {
			own, largest = fmt.Sprintf("%.1f", one.OwnMean), fmt.Sprint(one.OwnMax)
		}
		rates := report.Digits(one.Rates.Rows, 2) + ", " + report.Digits(one.Rates.Dense, 2)
		t.Add(one.Arm.String(), rates, report.Level(one.AUC), report.Mean(one.LogLoss), own, largest)
	}
	return t
}

// quantities returns the effects at the tuned rates of each arm, or at the common ones where none are tuned.
// The names of runs shorter than Persia's have their length: no claim of the paper is about them.
func (p *plan) quantities(r *results) []report.Quantity {
	kind := p.kinds()[0]
	run := fmt.Sprintf("%s steps of %s samples, %s", report.Thousands(p.Steps), report.Thousands(p.batch()),
		p.ratesText(kind))
	length := ""
	if p.isShort() {
		length = fmt.Sprintf("-%d-samples", p.samples())
	}
	var list []report.Quantity
	add := func(name, what string, e *effect) {
		list = append(list, report.Quantity{Name: name + length, What: what, Interval: e.AUC,
			Over: report.OverSeeds})
	}
	for _, d := range p.differences() {
		if d.kind != kind || isScaling(d.name) {
			continue
		}
		e := p.find(r.Effects, d.name, kind, d.treated)
		what := fmt.Sprintf("AUC of %v less %v, %s", d.treated, d.reference, run)
		late := fmt.Sprintf("AUC of hybrid at τ = %d less %v, %s", d.treated.Tau, d.reference, run)
		switch d.name {
		case merging:
			add("merging-effect-auc", what, e)
		case total:
			add(fmt.Sprintf("hybrid-less-sync-auc-tau-%d", d.treated.Tau), late, e)
		case staleness:
			add(fmt.Sprintf("staleness-effect-auc-tau-%d", d.treated.Tau), late, e)
		case hotRows:
			add(fmt.Sprintf("hot-rows-less-sync-auc-tau-%d", d.treated.Tau), what, e)
		default:
			add(d.treated.Mode+"-less-sync-auc", what, e)
		}
	}
	sync := r.run(p.sync(job.MergeStep, p.batch()), p.samples())
	for _, hybrid := range p.hybrids() {
		list = append(list, report.Quantity{
			Name: fmt.Sprintf("samples-to-auc-sync-over-hybrid-tau-%d%s", hybrid.Tau, length),
			What: fmt.Sprintf("samples after which %v has the best AUC of %v ÷ those of the latter, %s",
				sync.Arm, hybrid, run),
			Interval: samplesRatio(sync, r.run(hybrid, p.samples())), Over: report.OverSeeds,
		})
	}
	if len(p.ScalingRanks) == 0 {
		return list
	}
	first, last := p.ScalingRanks[0], p.ScalingRanks[len(p.ScalingRanks)-1]
	for _, scale := range []string{weak, strong} {
		hybrid, _ := p.scalingOf(r, scale, last)
		add(fmt.Sprintf("%s-scaling-auc-%d-less-%d", scale, last, first),
			fmt.Sprintf("AUC of hybrid at τ = %d on %d ranks less on %d, %s scaling, %s samples", p.Taus[0],
				last, first, scale, report.Thousands(p.ScalingSamples)), hybrid)
	}
	return list
}

func (p *plan) findings(r *results) (sentences []string) {
	kind := p.kinds()[0]
	for i, hybrid := range p.hybrids() {
		sum := p.find(r.Effects, total, kind, hybrid)
		parts := ""
		if p.Parts {
			parts = fmt.Sprintf(": staleness %s, merging %s",
				report.PlusMinus(p.find(r.Effects, staleness, kind, hybrid).AUC),
				report.PlusMinus(p.find(r.Effects, merging, kind, p.sync(job.MergeRank, p.batch())).AUC))
		}
		sentences = append(sentences, fmt.Sprintf("After %s steps of %s samples %s, hybrid at τ = %d less "+
			"sync has an AUC difference of %s (%s)%s. The last %d steps of sync gained %s.",
			report.Thousands(p.Steps), report.Thousands(p.batch()), p.ratesText(kind), hybrid.Tau,
			report.PlusMinus(sum.AUC), sum.Text(), parts, hybrid.Tau, report.PlusMinus(r.Lags[i])))
	}
	if p.Hot {
		e := p.find(r.Effects, hotRows, kind, p.hot())
		plain, hot := r.run(p.plain(), p.samples()), r.run(p.hot(), p.samples())
		sentences = append(sentences, fmt.Sprintf("With hot rows, %s of them, hybrid at τ = %d has %s (%s). "+
			"Its step takes %.3g times as long in the simulation.", report.Thousands(hot.HotRows),
			hot.Arm.Tau, report.PlusMinus(e.AUC), e.Text(), hot.StepSeconds/plain.StepSeconds))
	}
	for _, mode := range p.asynchronous() {
		e := p.find(r.Effects, lessSync(mode), kind, p.without(mode))
		sentences = append(sentences, fmt.Sprintf("%s less sync has %s (%s).", mode, report.PlusMinus(e.AUC),
			e.Text()))
	}
	if len(p.ScalingRanks) == 0 {
		return sentences
	}
	first, last := p.ScalingRanks[0], p.ScalingRanks[len(p.ScalingRanks)-1]
	hybrid, sync := p.scalingOf(r, weak, last)
	strongHybrid, _ := p.scalingOf(r, strong, last)
	return append(sentences, fmt.Sprintf("From %d to %d ranks, after %s samples, hybrid at τ = %d changes "+
		"by %s AUC with the batch of a rank fixed (sync %s) and by %s with the global batch fixed.", first,
		last, report.Thousands(p.ScalingSamples), p.Taus[0], report.PlusMinus(hybrid.AUC),
		report.PlusMinus(sync.AUC), report.PlusMinus(strongHybrid.AUC)))
}

func (p *plan) notes(r *results) []string {
	notes := []string{
		"Sync is trained sequentially, which has its bits; hybrid on Persia's cluster in virtual time, " +
			"with real gradients. Every run gives the same bits.",
		"Rows are generated, and every seed has others; the model that draws the labels is that of the " +
			"preset. They are trained on once, in the order in which they are generated.",
		"The lag of hybrid explains at most what sync gained in its last τ steps. That is read off the " +
			"curve between evaluations, not trained.",
	}
	if p.TuningSteps == 0 {
		notes = append(notes, "Rates are not tuned: all arms have the same, so differences may be those of "+
			"rates.")
	} else {
		notes = append(notes, fmt.Sprintf("Rates are tuned on runs of %s steps, %d × %d candidates for "+
			"every arm, on rows that no comparison uses.%s",
			report.Thousands(p.TuningSteps), len(p.Tuning.Rows), len(p.Tuning.Dense), p.longerNote(r)))
	}
	if p.isShort() {
		notes = append(notes, fmt.Sprintf("The runs have %.2g %% of the samples of Persia's, so τ is a "+
			"larger part of them.", 100*float64(p.samples())/float64(p.PaperSteps*batchPersia)))
	}
	var short []string
	diverged := 0
	for _, one := range r.Runs {
		diverged += one.Diverged
		if a := one.Arm; a.Mode == job.Hybrid && one.Diverged < len(one.AUC) && one.OwnMax < a.Tau {
			short = append(short, fmt.Sprintf("%s (at most %d)", a.ofSize(), one.OwnMax))
		}
	}
	if short != nil {
		notes = append(notes, "Own staleness did not reach τ in "+strings.Join(short, "; ")+".")
	}
	if diverged > 0 {
		notes = append(notes, fmt.Sprintf("%d trainings diverged and count as a constant guess.", diverged))
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}

// longerNote says whether longer runs chose other rates.
func (p *plan) longerNote(r *results) string {
	if r.Refined == nil {
		return " Longer runs may want others."
	}
	same, edge := 0, ""
	for i, one := range r.Refined {
		if one.Rates == r.Tuning[i].Rates {
			same++
		}
		if one.AtEdge {
			edge += fmt.Sprintf(" A best rate of %s is the last that was tried.", one.Arm)
		}
	}
	return fmt.Sprintf(" Runs of %s steps, among rates a factor %d apart, of rows and then of the network, "+
		"chose the same for %d of %d arms; theirs are used.%s", report.Thousands(p.RefiningSteps),
		refiningFactor, same, len(r.Refined), edge)
}

// mainRuns returns the long runs at the first kind of rates, in the order of mainArms.
func (p *plan) mainRuns(r *results) (runs []*run) {
	for _, a := range p.mainArms() {
		runs = append(runs, r.run(a, p.samples()))
	}
	return runs
}

func (p *plan) curveFigure(r *results) report.Figure {
	f := report.Figure{
		Name: "curves", Title: fmt.Sprintf("AUC by samples on %d ranks", p.Job.Roles.Ranks),
		Y: report.Axis{Label: "AUC on the test rows (bars: 95 %)"},
	}
	p.addCurves(&f, r, 0, func(_, k int, one *run) ([]float64, bool) { return one.at(k) })
	return f
}

// differenceFigure shows AUC less that of sync merge:step by samples, after the first third of the run: what
// differs before would hide what is left at the end.
func (p *plan) differenceFigure(r *results) report.Figure {
	f := report.Figure{
		Name: "differences", Title: "AUC less that of sync merge:step after as many samples",
		Y: report.Axis{Label: "AUC difference (bars: 95 %)"},
	}
	sync := p.mainRuns(r)[0]
	length := p.addCurves(&f, r, 0.006, func(i, k int, one *run) ([]float64, bool) {
		auc, ok := one.at(k)
		reference, both := sync.at(k)
		if i == 0 || !ok || !both || 3*one.CurveSamples[k] < one.Samples {
			return nil, false
		}
		return report.Differences(auc, reference), true
	})
	f.Lines = append(report.MarginLines(length/3, length), f.Lines...)
	return f
}

// addCurves adds a line for each of the long runs: what is at its points, unless that is missing. The lines
// are a share of the length of the axis apart. It returns that length.
func (p *plan) addCurves(f *report.Figure, r *results, apart float64,
	at func(i, point int, one *run) ([]float64, bool),
) float64 {
	unit := 1e3
	f.X.Label = "samples (thousands)"
	if p.samples() >= 2_000_000 {
		f.X.Label, unit = "samples (millions)", 1e6
	}
	length := float64(p.samples()) / unit
	for i, one := range p.mainRuns(r) {
		line := report.Line{Name: one.Arm.String(), Color: i}
		for k, samples := range one.CurveSamples {
			if values, ok := at(i, k, one); ok {
				x := float64(samples)/unit + apart*length*float64(i-2)
				line.Points = append(line.Points, report.SeedPoint(x, values))
			}
		}
		if line.Points != nil {
			f.Lines = append(f.Lines, line)
		}
	}
	return length
}
