package staleness

import (
	"fmt"
	"strings"

	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p plan) report(results []*dataSetResult) *report.Report {
	judged := comparisons(results)
	return &report.Report{
		Findings:    p.findings(results),
		Notes:       p.notes(),
		Comparisons: judged,
		Tables: []cli.Table{report.ComparisonTable(judged), variantTable(results),
			p.stalenessTable(results)},
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
				r.DataSet, report.PlusMinus(merging.AUC), merging.Text()),
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
			text.WriteString(" (" + e.Text() + ")")
		case effects[i+1].Text() == e.Text():
			text.WriteString(", ")
		default:
			text.WriteString(" (" + e.Text() + "); ")
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
func (p plan) notes() []string {
	notes := []string{
		"Generated data, including the teacher, are different for every seed. On adult-income, seeds " +
			"vary only the order and the initial values.",
		"The order of events in hybrid mode is that of real threads. In another run, sync variants " +
			"give the same bits; hybrid variants differ within their spread.",
		"The learning rates were fixed beforehand by sequential training and are the same for all variants.",
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
