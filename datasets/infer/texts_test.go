package infer

import (
	"fmt"
	"strings"
	"testing"

	"tandem/algo/job"
)

// A split is named by how it is made and its share, or its column; nothing else is one.
func TestParseSplit(t *testing.T) {
	for text, want := range map[string]job.Split{
		"random:0.2":   {How: job.SplitRandom, Test: 0.2},
		"last:0.1":     {How: job.SplitLast, Test: 0.1},
		"last:0.999":   {How: job.SplitLast, Test: 0.999},
		"time:created": {How: job.SplitTime, Column: "created"},
		"time:0.2":     {How: job.SplitTime, Column: "0.2"},
	} {
		if got, err := ParseSplit(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "random", "random:", "random:0", "random:1", "random:-0.5",
		"random:NaN",
		"last:1", "last:x", "first:0.5", ":0.5", "0.5", "time", "time:"} {
		if got, err := ParseSplit(text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q",
			text)) {
			t.Errorf("%q: %+v, error %v", text, got, err)
		}
	}
}

// The job of a table has the letters, digits, - and _ of its file's name, up to the first point.
func TestNamesOfJobs(t *testing.T) {
	for path, want := range map[string]string{"a.csv": "a", "/tmp/azAZ09-_.csv.gz": "azAZ09-_",
		"müller.csv":    "m-ller",
		"a b@[`{/:.csv": "-", "x y.csv": "x-y", "@[`{:/x": "x", "a@[`{:b": "a-----b", ".csv": "table",
		"---.csv": "table", "\u00e9.csv": "table", "s3://b/k.parquet": "k"} {
		if want == "-" {
			want = "table" // of what is behind the slash, nothing is left
		}
		if got := nameOf(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A long header is shown up to its twelfth column.
func TestHeadersAreShortened(t *testing.T) {
	var header []string
	for i := range 14 {
		shown := strings.Join(header, ", ")
		if i == 13 {
			shown = strings.Join(header[:12], ", ") + ", …"
		}
		if got := shorten(header); got != shown {
			t.Errorf("%d columns: %s", i, got)
		}
		header = append(header, fmt.Sprint("c", i))
	}
}

// The table of columns has their shares of empty fields if any column has some, and cuts reasons.
func TestTableOfColumns(t *testing.T) {
	columns := []Column{{Name: "user", Use: ID, Why: strings.Repeat("long ", 20), Distinct: 7},
		{Name: "price", Use: Number, Why: "numbers", Distinct: 1}}
	for empty, want := range map[float64][2]string{0: {"", ""}, 0.25: {"25 %", "0 %"}, 1: {"100 %", "0 %"}} {
		columns[0].Empty = empty
		table := Describe(columns)
		if len(table.Rows) != 2 || len(table.Header) != 5 || table.Words != 3 {
			t.Fatalf("%+v", table)
		}
		for i, row := range table.Rows {
			if row[0] != columns[i].Name || row[1] != string(columns[i].Use) || row[4] != want[i] ||
				row[3] != fmt.Sprint(columns[i].Distinct) || len([]rune(row[2])) > whyMax {
				t.Errorf("%q, want %q empty", row, want[i])
			}
		}
	}
}
