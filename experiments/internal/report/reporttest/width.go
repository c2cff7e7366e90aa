// Package reporttest checks the reports of experiments in tests.
package reporttest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tandem/experiments/internal/report"
)

// Columns is the width that the text of every report must fit in.
const Columns = 80

// CheckWidth reports an error for each table that is wider than Columns as text, or whose rows have another
// number of cells than its header.
func CheckWidth(t *testing.T, r *report.Report) {
	t.Helper()
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			if len(row) != len(table.Header) {
				t.Errorf("%s: a row has %d cells, the header %d", table.Caption, len(row), len(table.Header))
			}
		}
		var text strings.Builder
		if err := table.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(text.String(), "\n")
		if width := utf8.RuneCountInString(first); width > Columns {
			t.Errorf("%s: %d columns\n%s", table.Caption, width, text.String())
		}
	}
}
