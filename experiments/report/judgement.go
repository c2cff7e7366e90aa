package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/judge"
	"tandem/internal/cli"
)

// DifferencesName is the name of the file with the paired differences of a report.
const DifferencesName = "differences.csv"

// ComparisonTable returns a table with a line per comparison, which must be judged.
func ComparisonTable(comparisons []*judge.Comparison) cli.Table {
	t := cli.Table{
		Caption: "Paired differences, treated − reference, with verdicts over all comparisons of the report",
		Header: []string{
			"data", "treated", "reference", "verdict on AUC", "ΔAUC ± 95 %", "p (Holm)",
			"Δlog loss ± 95 % (nats)",
		},
		Words: 4,
	}
	for _, c := range comparisons {
		t.Rows = append(t.Rows, []string{
			c.Data, c.Treated, c.Reference, c.Text(), PlusMinus(c.AUC), fmt.Sprintf("%.3f", c.PDifferent),
			PlusMinus(c.LogLoss),
		})
	}
	return t
}

// conclude adds the findings and notes that follow from the comparisons of a report.
func (r *Report) conclude() {
	if len(r.Comparisons) == 0 {
		return
	}
	r.Findings = append(r.Findings, comparisonFindings(r.Comparisons)...)
	r.Notes = append(r.Notes, comparisonNotes(r.Comparisons)...)
}

// comparisonFindings returns a sentence for each data set and reference with the differences that are
// findings, or a sentence that there are none.
func comparisonFindings(comparisons []*judge.Comparison) []string {
	var groups []string
	texts := map[string][]string{}
	for _, c := range comparisons {
		if !c.IsFinding() {
			continue
		}
		group := fmt.Sprintf("%s, AUC − AUC of %s", c.Data, c.Reference)
		if texts[group] == nil {
			groups = append(groups, group)
		}
		texts[group] = append(texts[group],
			fmt.Sprintf("%s %s (%s)", c.Treated, PlusMinus(c.AUC), c.Text()))
	}
	if groups == nil {
		return []string{fmt.Sprintf("None of %d AUC differences is above %g with an interval that excludes "+
			"0.",
			len(comparisons), judge.FindingLeast)}
	}
	var sentences []string
	for _, group := range groups {
		sentences = append(sentences, fmt.Sprintf("%s, above %g: %s.", group, judge.FindingLeast,
			strings.Join(texts[group], ", ")))
	}
	return sentences
}

// comparisonNotes returns the rule of the verdicts, and how many seeds would decide what is open.
func comparisonNotes(comparisons []*judge.Comparison) []string {
	seeds, shared, open, beyond, needed := 0, false, 0, 0, 0
	for _, c := range comparisons {
		seeds = max(seeds, len(c.AUCs))
		shared = shared || c.RowDeviation > 0
		switch {
		case c.Verdict != metric.Inconclusive:
			continue
		case c.SeedsNeeded == 0:
			beyond++
		}
		open++
		needed = max(needed, c.SeedsNeeded)
	}
	notes := []string{
		fmt.Sprintf("Verdicts on AUC: equivalent if the 95 %% interval is inside ±%g, otherwise different "+
			"if it excludes 0, otherwise inconclusive, after Holm's adjustment over the %d comparisons of "+
			"this report. So an interval that excludes 0 by little may be inconclusive.",
			metric.EquivalenceMargin, len(comparisons)),
		fmt.Sprintf("± is half the 95 %% interval of the mean over %d seeds (Student's t). Both sides of a "+
			"difference share rows, order and initial values.", seeds),
		fmt.Sprintf("Every AUC difference above %g whose interval excludes 0 is a finding.",
			judge.FindingLeast),
	}
	if shared {
		notes = append(notes, "On real data, all seeds share the test rows; the intervals there include the "+
			"luck of these rows by a bootstrap.")
	}
	if open > 0 {
		text := fmt.Sprintf("%d of %d comparisons are inconclusive.", open, len(comparisons))
		if needed > seeds {
			text += fmt.Sprintf(" At their means and spreads, about %d seeds would decide each of them alone",
				needed)
			if beyond > 0 {
				text += fmt.Sprintf(", except %d that no number of seeds would", beyond)
			}
			text += "."
		}
		notes = append(notes, text)
	}
	return notes
}

// writeDifferences writes the differences of all comparisons as CSV, a line per seed.
func (r *Report) writeDifferences(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"experiment", "data", "treated", "reference", "seed", "auc_difference",
		"log_loss_difference_nats", "run"}}
	for _, c := range r.Comparisons {
		for i, seed := range c.Seeds {
			lines = append(lines, []string{r.Name, c.Data, c.Treated, c.Reference,
				strconv.FormatUint(seed, 10), Number(c.AUCs[i]), Number(c.LogLosses[i]), r.Run})
		}
	}
	return out.WriteAll(lines)
}
