package infer

import (
	"fmt"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/datasets"
)

// Columns of numbers are read in the style of all of their values.
func TestNumbersAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		name, delimiter string
		field           func(i int) string
		use             Use
		why             string
		row             int
		want            float32 // of the row, if the column is a number
	}{
		{"decimal comma", ";", func(i int) string { return fmt.Sprintf("%d,%d", i%50, i%7) },
			Number, "numbers with a decimal comma", 12, 12.5},
		{"dots between thousands", ";", func(i int) string { return fmt.Sprintf("%d.%03d,5", i+1, i) },
			Number, "numbers with a decimal comma", 16, 17016.5},
		{"blanks between thousands", ";",
			func(i int) string { return fmt.Sprintf("-%d\u00a0%03d,25", i+1, i) },
			Number, "numbers with a decimal comma", 16, -17016.25},
		{"three digits behind a comma", ";", func(i int) string { return fmt.Sprintf("%d,125", i%50) },
			Number, "numbers with a decimal comma", 12, 12.125},
		{"thousands", ",", func(i int) string { return fmt.Sprintf(`"%d,%03d"`, i+1, i) },
			Number, "numbers such as 16,711", 16, 17016},
		{"thousands and a fraction", "\t", func(i int) string { return fmt.Sprintf("%d,%03d.5", i+1, i) },
			Number, "numbers such as 16,711", 16, 17016.5},
		{"three digits behind a zero", "\t", func(i int) string { return fmt.Sprintf("0,%03d", i) },
			Number, "numbers with a decimal comma", 125, 0.125},
		{"groups of two digits", "\t", func(i int) string { return fmt.Sprintf("a%d,%02d", i%9, i%5) },
			ID, "texts that repeat", 0, 0},
		{"lists in quotes", ",", func(i int) string { return fmt.Sprintf(`"%d,%d"`, i%3, i%5) },
			ID, "texts that repeat", 0, 0},
		{"two styles", ";", func(i int) string { return []string{"1.5", "2,5"}[i%2] },
			ID, "texts that repeat", 0, 0},
		{"whole, some missing", ",",
			func(i int) string { return []string{"", fmt.Sprint(i%40) + ".0"}[min(i%5, 1)] },
			ID, "whole numbers, some missing", 0, 0},
		{"whole, none missing", ",", func(i int) string { return fmt.Sprint(i%40) + ".0" },
			Number, "numbers with fractions", 12, 12},
		{"rows in another order", ",", func(i int) string { return fmt.Sprint(i * 7 % 200) }, Ignored,
			"numbers the rows", 0, 0},
		{"every second row in another order", ",",
			func(i int) string { return fmt.Sprint(i * 7 % 200 * 2) },
			Number, "whole numbers, most different", 12, 168},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			fmt.Fprintf(&text, "other%sx%sy\n", c.delimiter, c.delimiter)
			for i := range 200 {
				fmt.Fprintf(&text, "%d%s%s%s%s\n", i%9, c.delimiter, c.field(i), c.delimiter, clicked(i))
			}
			path := file(t, text.String())
			got, err := CSV(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if column := got.Columns[1]; column.Use != c.use || column.Why != c.why {
				t.Fatalf("taken for %s, because %s; want %s, %s", column.Use, column.Why, c.use, c.why)
			}
			rows, err := datasets.ReadRows(got.Data, path)
			if err != nil {
				t.Fatal(err)
			}
			if c.use == Number && rows.Batch.Dense[c.row] != c.want {
				t.Errorf("row %d is %v, want %v", c.row, rows.Batch.Dense[c.row], c.want)
			}
		})
	}
}

// An id has the same rows whether its file has missing ids or not.
func TestWholeIDsWithPoints(t *testing.T) {
	path := file(t, "user,y\n17.0,1\n,0\n-3.00,0\n"+strings.Repeat("4.0,1\n", 100))
	got, err := CSV(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := datasets.ReadRows(got.Data, path)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"17", "", "-3", "4"} {
		if got := rows.Batch.Slots[0].IDs[i]; got != datasets.CategoryID(text) {
			t.Errorf("row %d is not the id %q", i, text)
		}
	}
}

// A table may have more id columns than a prefix of eight bits names.
func TestWideTables(t *testing.T) {
	const columns = 600
	var text strings.Builder
	for i := range columns {
		fmt.Fprintf(&text, "c%d,", i)
	}
	text.WriteString("y\n")
	for row := range 120 {
		for i := range columns {
			fmt.Fprintf(&text, "v%d,", (row+i)%7)
		}
		text.WriteString(clicked(row) + "\n")
	}
	split := job.Split{How: job.SplitLast, Test: 0.5}
	_, set, _, err := Open(Request{File: file(t, text.String()), Split: split})
	if err != nil {
		t.Fatal(err)
	}
	schema := datasets.WithDim(set.Schema, 4)
	if err := schema.Validate(); err != nil || len(schema.Slots) != columns {
		t.Errorf("%d columns: %v", len(schema.Slots), err)
	}
}
