package datasets

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
)

// A column is read to its last value, and an error says why none is read: there is no value, no such column
// or slot, or a row that cannot be split.
func TestEachIDReadsValuesOrSaysWhyNot(t *testing.T) {
	data := job.Data{Kind: job.KindCSV, CSV: &job.Table{Label: "click",
		Slots: []job.IDColumn{{Column: "user"}, {Column: "tags", Separator: "|"}}},
		Derived: []job.DerivedSlot{{Name: "both"}}}
	file := filepath.Join(t.TempDir(), "t.csv")
	for _, c := range []struct {
		rows, column string
		want         []string
		problem      string
	}{
		{"a,x|y,1\nb,,0\n", "user", []string{"a", "b"}, ""},
		{"a,x|y,1\nb,,0\n", "tags", []string{"x", "y"}, ""},
		{"a,x,1\n", "tags", []string{"x"}, ""}, // one value
		{"a,,1\n", "tags", nil, "with a value of tags"},
		{"", "user", nil, "with a value of user"},
		{"a,x,1\n", "both", nil, "the slot both is derived from columns: its ids are in no file"},
		{"a,x,1\n", "usr", nil, `the slot "usr" is unknown; the nearest is "user"`},
		{"a,x,1\nb,y\n", "user", []string{"a"}, "t.csv:3: "},
	} {
		if err := os.WriteFile(file, []byte("user,tags,click\n"+c.rows), 0o644); err != nil {
			t.Fatal(err)
		}
		var got []string
		err := EachID(data, file, c.column, func(text string, id uint64) {
			got = append(got, text)
			if id != CategoryID(text) {
				t.Errorf("%q has the id %d", text, id)
			}
		})
		if !slices.Equal(got, c.want) || (err == nil) != (c.problem == "") ||
			err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q, %s: %q, error %v; want %q and %q", c.rows, c.column, got, err, c.want, c.problem)
		}
		if strings.HasPrefix(c.problem, "with a value") && !errors.Is(err, ErrNoRows) {
			t.Errorf("%v", err)
		}
	}
	if err := os.WriteFile(file, []byte("user,click\na,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := EachID(data, file, "tags", func(string, uint64) {}); err == nil ||
		!strings.Contains(err.Error(), "tags") {
		t.Errorf("a file without the column: %v", err)
	}
	if _, err := IDOf(data, "usr", "a"); err == nil {
		t.Error("a value of an unknown slot has an id")
	}
}
