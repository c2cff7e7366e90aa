package staleness

import (
	"fmt"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report turns the results of a plan into tables, figures and sentences.
func (p plan) report(results []*dataSetResult) *report.Report {
	return &report.Report{
		Findings: p.findings(results),
		Notes:    p.notes(results),
		Tables:   []cli.Table{effectTable(results), variantTable(results), p.stalenessTable(results)},
		Figures:  []report.Figure{p.effectFigure(results), p.stalenessFigure(results)},
		Settings: p,
		Data:     results,
	}
}

// findings has a sentence on merging and one on staleness for every data set, and
// one on how stale reads really were.
func (p plan) findings(results []*dataSetResult) []string {
	var sentences []string
	for _, r := range results {
		merging, staleness := r.Effects[0], r.Effects[1:]
		sentences = append(sentences,
			fmt.Sprintf("%s, AUC change by merging per rank instead of per step: %s (%s).", r.DataSet, report.PlusMinus(merging.AUC), merging.Verdict),
			fmt.Sprintf("%s, AUC change by staleness: %s.", r.DataSet, byVerdict(staleness)))
	}
	return append(sentences, p.reachedSentence(results))
}

// byVerdict lists staleness effects, those of neighbouring τ with the same
// verdict together.
func byVerdict(effects []effect) string {
	var text strings.Builder
	for i, e := range effects {
		fmt.Fprintf(&text, "%s at τ = %d", report.PlusMinus(e.AUC), *e.Tau)
		switch {
		case i+1 == len(effects):
			text.WriteString(" (" + e.Verdict + ")")
		case effects[i+1].Verdict == e.Verdict:
			text.WriteString(", ")
		default:
			text.WriteString(" (" + e.Verdict + "); ")
		}
	}
	return text.String()
}

// reachedSentence says whether reads became as stale as they were allowed to.
func (p plan) reachedSentence(results []*dataSetResult) string {
	var missed []string
	for _, r := range results {
		for _, a := range r.Variants[firstHybrid:] {
			if !reachedBound(a) {
				missed = append(missed, fmt.Sprintf("%s at τ = %d (at most %d)", r.DataSet, *a.Variant.Tau, a.Own.Max()))
			}
		}
	}
	if missed == nil {
		return "Staleness really happened: own staleness reached τ in every hybrid variant, and no read went beyond its bound."
	}
	return "Own staleness did not reach τ, so that the effect of τ is not fully tested, on " + strings.Join(missed, ", ") + "."
}

// reachedBound tells whether some read of a hybrid variant was as stale as τ allows.
func reachedBound(a *variantResult) bool { return a.Own.Max() == *a.Variant.Tau }

// notes says what a reader must know to judge the findings.
func (p plan) notes(results []*dataSetResult) []string {
	comparisons := 0
	for _, r := range results {
		comparisons += len(r.Effects)
	}
	notes := []string{
		fmt.Sprintf("± is half the 95 %% interval of the mean over %d seeds (Student's t); variants of a seed share rows, order and initial values.", p.Seeds),
		fmt.Sprintf("From %s test rows on, equivalent: the interval lies inside ±%g; else different: it excludes 0; else inconclusive.",
			report.Thousands(metric.EquivalenceRows), metric.EquivalenceMargin),
		"With fewer test rows nothing is called equivalent: an interval that excludes 0 is different, however small; else no difference was found.",
		fmt.Sprintf("%d comparisons at 95 %% each: if no effect existed, about %.1f intervals would exclude 0 by chance.",
			comparisons, 0.05*float64(comparisons)),
		"Generated data are drawn anew for every seed, teacher included; of adult-income seeds vary order and initial values only.",
		"The order of events in hybrid mode is that of real threads: run again, sync variants give the same bits, hybrid variants differ within their spread.",
		"The bootstrap shows the luck of the test rows under one seed, for models as trained; the interval over seeds judges.",
		"Rates were fixed beforehand by sequential training alone and are the same for all variants.",
	}
	if p.Seeds < report.SeedsWanted {
		notes = append(notes, fmt.Sprintf("Only %d seeds: take at least %d before believing an interval.", p.Seeds, report.SeedsWanted))
	}
	return notes
}
