package mutate

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Counts are the outcomes of some mutants.
type Counts struct{ Killed, TimedOut, Survived int }

// Count returns the outcomes of results. Mutants that were not built do not count.
func Count(results []Result) Counts {
	var c Counts
	for _, r := range results {
		switch r.Outcome {
		case Killed:
			c.Killed++
		case TimedOut:
			c.TimedOut++
		case Survived:
			c.Survived++
		}
	}
	return c
}

// All is the number of mutants that count.
func (c Counts) All() int { return c.Killed + c.TimedOut + c.Survived }

// Score is the percentage of killed mutants, from 0 to 100; 100 if none counts.
func (c Counts) Score() float64 {
	if c.All() == 0 {
		return 100
	}
	return 100 * float64(c.Killed+c.TimedOut) / float64(c.All())
}

// Report returns a table of outcomes by package and the list of survivors, with
// the place and the lines before and after the change.
func Report(results []Result) string {
	var folders []string
	byFolder := map[string][]Result{}
	for _, r := range results {
		if byFolder[r.Folder] == nil {
			folders = append(folders, r.Folder)
		}
		byFolder[r.Folder] = append(byFolder[r.Folder], r)
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "package\tmutants\tkilled\ttimed out\tsurvived\tscore\tseconds\t")
	row := func(name string, results []Result) {
		c := Count(results)
		var elapsed time.Duration
		for _, r := range results {
			elapsed += r.Elapsed
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%.1f %%\t%.0f\t\n",
			name, c.All(), c.Killed, c.TimedOut, c.Survived, c.Score(), elapsed.Seconds())
	}
	for _, folder := range folders {
		row(folder, byFolder[folder])
	}
	row("all", results)
	table.Flush()
	for _, r := range results {
		if r.Outcome == Survived {
			fmt.Fprintf(&text, "\nsurvived: %s\n%s:%d\n\t- %s\n\t+ %s\n", r.ID, r.File, r.Line,
				strings.ReplaceAll(r.Before, "\n", "\n\t- "), strings.ReplaceAll(r.After, "\n", "\n\t+ "))
		}
	}
	return text.String()
}
