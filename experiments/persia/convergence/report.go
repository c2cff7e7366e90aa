package convergence

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results as tables, figures and sentences.
func (p *plan) report(r *results) *report.Report {
	tables := []cli.Table{p.effectTable(r), p.scalingTable(r), p.levelTable(r)}
	if r.Tuning != nil {
		tables = append(tables, rateTable(r))
	}
	return &report.Report{
		Findings: p.findings(r), Notes: p.notes(r), Settings: p, Data: r, Comparisons: r.comparisons(),
		Quantities: p.quantities(r), Tables: tables,
		Figures: []report.Figure{p.curveFigure(r), p.differenceFigure(r), p.scalingFigure(r)},
	}
}

// ratesText names a kind of rates.
func (p *plan) ratesText(kind string) string {
	switch {
	case kind == ownRates:
		return "at the tuned rates of each arm"
	case p.TuningSteps == 0:
		return "at the same rates, not tuned"
	}
	return "at the tuned rates of sync merge:step"
}

// effectTable returns a table with a line per effect.
func (p *plan) effectTable(r *results) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("AUC differences after %s samples, treated − reference; lag: what sync "+
			"merge:rank gained in its last τ steps", report.Thousands(p.Steps*p.batch())),
		Header: []string{"effect", "τ", "rates", "ΔAUC ± 95 %", "verdict"}, Words: 1,
	}
	for _, e := range r.Effects {
		tau := "–"
		if e.Name != merging {
			tau = fmt.Sprint(e.Tau)
		}
		t.Rows = append(t.Rows, []string{e.Name, tau, e.Kind, report.PlusMinus(e.AUC), e.Text()})
	}
	for i, tau := range p.Taus {
		t.Rows = append(t.Rows, []string{"lag", fmt.Sprint(tau), p.kinds()[0], report.PlusMinus(r.Lags[i]),
			"–"})
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
	for _, s := range []scale{weak, strong} {
		for _, ranks := range p.ScalingRanks[1:] {
			kind := p.kinds()[0]
			hybrid := find(r.Scaling, string(s), kind, p.Taus[0], ranks)
			sync := "the same bits"
			if s == weak {
				sync = report.PlusMinus(p.syncScaling(r, ranks).AUC)
			}
			t.Rows = append(t.Rows, []string{string(s), fmt.Sprint(ranks),
				report.Thousands(hybrid.treated.Arm.Batch), report.Thousands(hybrid.treated.Steps),
				report.PlusMinus(hybrid.AUC), sync})
		}
	}
	return t
}

// syncScaling returns the effect of weak scaling on sync.
func (p *plan) syncScaling(r *results, ranks int) *effect {
	i := slices.IndexFunc(r.Scaling, func(e effect) bool {
		return e.Name == string(weak) && e.Ranks == ranks && e.treated.Arm.Mode == job.Sequential
	})
	return &r.Scaling[i]
}

// levelTable returns a table with a line per long run, the oracle and a constant guess.
func (p *plan) levelTable(r *results) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("AUC and log loss (nats) after %s samples on %s test rows; rates of rows and "+
			"network; own and max: earlier steps of its rank that a read missed, in the mean and at most; "+
			"no model exceeds the oracle",
			report.Thousands(p.Steps*p.batch()), report.Thousands(r.TestRows)),
		Header: []string{"arm", "rates", "AUC ± 95 %", "log loss", "own", "max"}, Words: 2,
	}
	t.Rows = append(t.Rows,
		[]string{"oracle", "–", report.Level(r.Oracle.AUC), report.Mean(r.Oracle.LogLoss), "–", "–"},
		[]string{"constant guess", "–", "0.5000", "–", "–", "–"})
	for _, one := range r.Runs {
		if one.Samples != p.Steps*p.batch() || one.points == 0 {
			continue
		}
		own, largest := "0", "0"
		if one.Arm.Mode == job.Hybrid {
			own, largest = fmt.Sprintf("%.1f", one.OwnMean), fmt.Sprint(one.OwnMax)
		}
		t.Rows = append(t.Rows, []string{one.Arm.String(), ratePair(one), report.Level(one.AUC),
			report.Mean(one.LogLoss), own, largest})
	}
	return t
}

// ratePair returns the rates of rows and network of a run.
func ratePair(r *run) string {
	return report.Digits(r.Rates.Rows, 2) + ", " + report.Digits(r.Rates.Dense, 2)
}

// rateTable returns a table of the tuned rates.
func rateTable(r *results) cli.Table {
	t := cli.Table{
		Caption: "Tuned learning rates; ! if the best candidate is at an end of the grid",
		Header:  []string{"arm", "rows", "network", "trials"}, Words: 1,
	}
	for _, c := range r.Tuning {
		edge := ""
		if c.AtEdge {
			edge = "!"
		}
		t.Rows = append(t.Rows, []string{c.Arm, report.Digits(c.Rates.Rows, 2),
			report.Digits(c.Rates.Dense, 2) + edge, fmt.Sprint(c.Trials)})
	}
	return t
}

// quantities returns the effects at the tuned rates of each arm, or at the common ones where none are tuned.
// The names of runs shorter than Persia's have their length: no claim of the paper is about them.
func (p *plan) quantities(r *results) []report.Quantity {
	kind, n := p.kinds()[0], p.Job.Roles.Ranks
	run := fmt.Sprintf("%s steps of %s samples, %s", report.Thousands(p.Steps), report.Thousands(p.batch()),
		p.ratesText(kind))
	length := ""
	if p.isShort() {
		length = fmt.Sprintf("-%d-samples", p.Steps*p.batch())
	}
	var list []report.Quantity
	add := func(name, what string, v metric.Interval) {
		name += length
		list = append(list, report.Quantity{Name: name, What: what, Interval: v, Over: report.OverSeeds})
	}
	add("merging-effect-auc", "AUC of sync merge:rank less sync merge:step, "+run,
		find(r.Effects, merging, kind, 0, n).AUC)
	for _, tau := range p.Taus {
		slug := fmt.Sprintf("-tau-%d", tau)
		add("hybrid-less-sync-auc"+slug, fmt.Sprintf("AUC of hybrid at τ = %d less sync merge:step, %s", tau,
			run), find(r.Effects, total, kind, tau, n).AUC)
		add("staleness-effect-auc"+slug, fmt.Sprintf("AUC of hybrid at τ = %d less sync merge:rank, %s", tau,
			run), find(r.Effects, staleness, kind, tau, n).AUC)
	}
	first, last := p.ScalingRanks[0], p.ScalingRanks[len(p.ScalingRanks)-1]
	for _, s := range []scale{weak, strong} {
		e := find(r.Scaling, string(s), kind, p.Taus[0], last)
		add(fmt.Sprintf("%s-scaling-auc-%d-less-%d", s, last, first),
			fmt.Sprintf("AUC of hybrid at τ = %d on %d ranks less on %d, %s scaling, %s samples", p.Taus[0],
				last, first, s, report.Thousands(p.ScalingSamples)), e.AUC)
	}
	return list
}

// findings returns a sentence on each τ, one on merging and one on each scale.
func (p *plan) findings(r *results) (sentences []string) {
	kind, n := p.kinds()[0], p.Job.Roles.Ranks
	for i, tau := range p.Taus {
		sum := find(r.Effects, total, kind, tau, n)
		sentences = append(sentences, fmt.Sprintf("After %s steps of %s samples %s, hybrid at τ = %d less "+
			"sync has an AUC difference of %s (%s): staleness %s, merging %s. The last %d steps of sync "+
			"gained %s.", report.Thousands(p.Steps), report.Thousands(p.batch()), p.ratesText(kind), tau,
			report.PlusMinus(sum.AUC), sum.Text(),
			report.PlusMinus(find(r.Effects, staleness, kind, tau, n).AUC),
			report.PlusMinus(find(r.Effects, merging, kind, 0, n).AUC), tau, report.PlusMinus(r.Lags[i])))
	}
	first, last := p.ScalingRanks[0], p.ScalingRanks[len(p.ScalingRanks)-1]
	weakly := find(r.Scaling, string(weak), kind, p.Taus[0], last)
	strongly := find(r.Scaling, string(strong), kind, p.Taus[0], last)
	return append(sentences, fmt.Sprintf("From %d to %d ranks, after %s samples, hybrid at τ = %d changes "+
		"by %s AUC with the batch of a rank fixed (sync %s) and by %s with the global batch fixed.",
		first, last,
		report.Thousands(p.ScalingSamples), p.Taus[0], report.PlusMinus(weakly.AUC),
		report.PlusMinus(p.syncScaling(r, last).AUC), report.PlusMinus(strongly.AUC)))
}

// notes returns what a reader needs to judge the findings.
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
			"every arm, on rows that no comparison uses. Longer runs may want others.",
			report.Thousands(p.TuningSteps), len(p.Tuning.Rows), len(p.Tuning.Dense)))
	}
	if p.isShort() {
		notes = append(notes, fmt.Sprintf("The runs have %.2g %% of the samples of Persia's, so τ is a "+
			"larger part of them.", 100*float64(p.Steps*p.batch())/(stepsPersia*batchPersia)))
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
