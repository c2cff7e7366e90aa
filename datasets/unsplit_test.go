package datasets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/algo/job"
)

// Texts with bars that are read as one id each are named: most often a separator was forgotten.
func TestForgottenSeparatorIsNamed(t *testing.T) {
	folder := t.TempDir()
	row := "ann,30,x|y,1,\nbob,31,z,0,\n"
	if err := os.WriteFile(filepath.Join(folder, "rows.csv"),
		[]byte(csvHeader+strings.Repeat(row, 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for separator, want := range map[string]int{"": 1, "|": 0} {
		data := testCSV()
		data.CSV.Slots[1].Separator = separator
		data.Path, data.Split = "rows.csv", job.Split{Test: 0.5}
		set, err := Open(data, folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Notes) != want || want == 1 &&
			!strings.Contains(set.Notes[0], `column tags: fields such as "x|y" are one id each`) {
			t.Errorf("separator %q: notes %q", separator, set.Notes)
		}
	}
}
