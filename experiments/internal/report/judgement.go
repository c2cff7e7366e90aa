package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/internal/cli"
)

// DifferencesName is the name of the file with the paired differences of a report.
const DifferencesName = "differences.csv"

// ComparisonTables returns a table for each data set with a line per comparison. The comparisons must be
// judged. Differences in log loss are in the files of a report.
func ComparisonTables(comparisons []*judge.Comparison) []cli.Table {
	var tables []cli.Table
	for _, data := range distinct(comparisons, func(c *judge.Comparison) string { return c.Data }) {
		ofData := slices.DeleteFunc(slices.Clone(comparisons),
			func(c *judge.Comparison) bool { return c.Data != data })
		references := distinct(ofData, func(c *judge.Comparison) string { return c.Reference })
		t := cli.Table{
			Header: []string{"treated", "verdict", "ΔAUC ± 95 %", "p, Holm"}, Words: 2,
			Caption: fmt.Sprintf("%s: AUC less that of %s, verdicts over all comparisons of the report", data,
				references[0]),
		}
		if len(references) > 1 {
			t.Caption = data + ": AUC of treated − reference, verdicts over all comparisons of the report"
			t.Header, t.Words = slices.Insert(t.Header, 1, "reference"), 3
		}
		for _, c := range ofData {
			row := []string{c.Treated, c.Text(), PlusMinus(c.AUC), pValue(c.PDifferent)}
			if len(references) > 1 {
				row = slices.Insert(row, 1, c.Reference)
			}
			t.Add(row...)
		}
		tables = append(tables, t)
	}
	return tables
}

// MilliVerdict returns a difference in AUC in thousandths ± half its interval, with the mark of its verdict:
// * different, = equivalent.
func MilliVerdict(c *judge.Comparison) string {
	text := MilliInterval(c.AUC)
	switch c.Verdict {
	case metric.Different:
		return text + " *"
	case metric.Equivalent:
		return text + " ="
	}
	return text + "  "
}

// distinct returns the distinct values of a property, in the order of the comparisons.
func distinct(comparisons []*judge.Comparison, property func(c *judge.Comparison) string) (list []string) {
	for _, c := range comparisons {
		if v := property(c); !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
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
				strconv.FormatUint(seed, 10), exactly(c.AUCs[i]), exactly(c.LogLosses[i]), r.Run})
		}
	}
	return out.WriteAll(lines)
}

// exactly returns the text of a float64 that reads back as the same bits.
func exactly(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
