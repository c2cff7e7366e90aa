package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Columns without values are not written, except those of words.
func TestTableWithoutValues(t *testing.T) {
	table := Table{Header: []string{"mode", "why", "AUC", "own", "cross"}, Words: 2, Rows: [][]string{
		{"sync", "", "0.8", "–", ""}, {"hybrid", "", "0.9", "–", "1"}, {"async-ps", "", "0.7", "", "–"},
	}}
	var text strings.Builder
	if err := table.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]bool{"why": true, "AUC": true, "own": false, "cross": true} {
		if strings.Contains(text.String(), word) != want {
			t.Errorf("column %s is written: %v, want %v\n%s", word, !want, want, text.String())
		}
	}
}

// A table that is too wide is split into tables that fit, which have every number once and the words each
// time. A single column may be wider than the terminal.
func TestTableIsSplit(t *testing.T) {
	table := Table{Header: []string{"mode", "AUC", "log loss", "samples/s", "τ"}, Words: 1, Rows: [][]string{
		{"sync", "0.8", "0.31", "123456", "0"}, {"async-average", "0.9", "0.3", "99", "10"},
	}}
	for _, columns := range []int{10, 30, 35, 45, 60} {
		var numbers []string
		for _, part := range table.split(columns) {
			if part.Header[0] != "mode" || part.Rows[1][0] != "async-average" {
				t.Errorf("at %d columns, a part has no words: %+v", columns, part)
			}
			numbers = append(numbers, part.Header[1:]...)
			var text strings.Builder
			if err := part.write(&text); err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(text.String(), "\n")
			if width := utf8.RuneCountInString(line); width > columns && len(part.Header) > 2 {
				t.Errorf("at %d columns, a part has %d:\n%s", columns, width, text.String())
			}
		}
		if !slices.Equal(numbers, table.Header[1:]) {
			t.Errorf("at %d columns: %v", columns, numbers)
		}
	}
	var text strings.Builder
	if err := table.write(&text); err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(text.String(), "\n")
	width := utf8.RuneCountInString(line)
	if whole, cut := len(table.split(width)), len(table.split(width-1)); whole != 1 || cut != 2 {
		t.Errorf("%d parts at its width of %d columns, %d at one less; want 1 and 2", whole, width, cut)
	}
}

// A table is cut to the width of a page in the widest of the given columns; columns without values do not
// count, and no cell is cut below the least number of characters.
func TestTableFits(t *testing.T) {
	width := func(table Table) (widest int) {
		var text strings.Builder
		if err := table.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			widest = max(widest, utf8.RuneCountInString(strings.TrimSpace(line)))
		}
		return widest
	}
	long := strings.Repeat("ä", 60)
	table := Table{Header: []string{"a", "b", strings.Repeat("none", 20)}, Words: 2,
		Rows: [][]string{{long, "short", ""}, {"x", strings.Repeat("b", 40), ""}}}
	table.Fit(8, 0)
	if w := width(table); w != PageWidth || utf8.RuneCountInString(table.Rows[1][1]) != 40 ||
		!strings.HasSuffix(table.Rows[0][0], "ä…") {
		t.Errorf("%d characters: %q", w, table.Rows)
	}
	table.Rows[0][0] = long
	table.Fit(8, 0, 1)
	if w := width(table); w != PageWidth || table.Rows[0][1] != "short" {
		t.Errorf("%d characters: %q", w, table.Rows)
	}
	narrow := Table{Header: []string{"a", "b"}, Words: 2, Rows: [][]string{{long, strings.Repeat("b", 70)}}}
	narrow.Fit(8, 0)
	if n := utf8.RuneCountInString(narrow.Rows[0][0]); n != 8 || len(narrow.Rows[0][1]) != 70 {
		t.Errorf("a cell of %d characters: %q", n, narrow.Rows)
	}
	headed := Table{Header: []string{long, long}, Words: 2, Rows: [][]string{{"a", "b"}}}
	if headed.Fit(1, 0, 1); headed.Header[0] != long {
		t.Error("a header is cut")
	}
	if Cut("four", 4) != "four" || Cut("fourä", 4) != "fou…" {
		t.Error("Cut")
	}
}
