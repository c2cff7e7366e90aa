package staleness

import (
	"fmt"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
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

// findings returns a sentence on merging and a sentence on staleness for each data set, and a sentence on the
// staleness of reads.
func (p plan) findings(results []*dataSetResult) []string {
	var sentences []string
	for _, r := range results {
		merging, staleness := r.Effects[0], r.Effects[1:]
		sentences = append(sentences,
			fmt.Sprintf("%s, AUC change by merging per rank instead of per step: %s (%s).",
				r.DataSet, report.PlusMinus(merging.AUC), merging.Verdict),
			fmt.Sprintf("%s, AUC change by staleness: %s.", r.DataSet, byVerdict(staleness)))
	}
	return append(sentences, p.reachedSentence(results))
}

// byVerdict lists staleness effects and groups neighboring τ with the same verdict.
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

// reachedSentence returns a sentence on whether the staleness of reads reached its bounds.
func (p plan) reachedSentence(results []*dataSetResult) string {
	var missed []string
	for _, r := range results {
		for _, a := range r.Variants[firstHybrid:] {
			if !reachedBound(a) {
				missed = append(missed,
					fmt.Sprintf("%s at τ = %d (at most %d)", r.DataSet, *a.Variant.Tau, a.Own.Max()))
			}
		}
	}
	if missed == nil {
		return "Own staleness reached τ in every hybrid variant, and no read exceeded its bound."
	}
	return "Own staleness did not reach τ, so the effect of τ is not fully tested, on " +
		strings.Join(missed, ", ") + "."
}

// reachedBound reports whether a read of a hybrid variant was as stale as τ allows.
func reachedBound(a *variantResult) bool { return a.Own.Max() == *a.Variant.Tau }

// notes returns what a reader needs to judge the findings.
func (p plan) notes(results []*dataSetResult) []string {
	comparisons := 0
	for _, r := range results {
		comparisons += len(r.Effects)
	}
	notes := []string{
		fmt.Sprintf("± is half the 95 %% interval of the mean over %d seeds (Student's t). The "+
			"variants of a seed share rows, order and initial values.", p.Seeds),
		fmt.Sprintf("With at least %s test rows, an effect is equivalent if its interval is inside "+
			"±%g, otherwise different if the interval excludes 0, otherwise inconclusive.",
			report.Thousands(metric.EquivalenceRows), metric.EquivalenceMargin),
		"With fewer test rows, nothing is called equivalent: an interval that excludes 0 is " +
			"different, however small the effect; otherwise no difference was found.",
		fmt.Sprintf("%d comparisons at 95 %% each: if there were no effects, about %.1f intervals "+
			"would exclude 0 by chance.",
			comparisons, 0.05*float64(comparisons)),
		"Generated data, including the teacher, are different for every seed. On adult-income, seeds " +
			"vary only the order and the initial values.",
		"The order of events in hybrid mode is that of real threads. In another run, sync variants " +
			"give the same bits; hybrid variants differ within their spread.",
		"The bootstrap shows the luck of the test rows under one seed, for models as trained. The " +
			"interval over seeds decides the verdict.",
		"The learning rates were fixed beforehand by sequential training and are the same for all variants.",
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
