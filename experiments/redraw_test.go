package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
)

// Every stored figure follows to the byte from the stored numbers, and so do the quantities and verdicts.
func TestStoredFiguresFollowFromStoredNumbers(t *testing.T) {
	drawings := map[string][]byte{} // what the stored numbers of a folder give
	files, err := fs.Glob(stored, "*/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	p := program{chapters: chapters(), own: map[*report.Experiment]*pflag.FlagSet{}}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := fs.ReadFile(stored, file)
			if err != nil {
				t.Fatal(err)
			}
			var r struct {
				report.Result
				Comparisons []*judge.Comparison
			}
			if err := json.Unmarshal(text, &r); err != nil || r.Command == "" {
				t.Skip("not the numbers of a report")
			}
			again, err := p.redraw(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := again.Quantities; !reflect.DeepEqual(got, r.Quantities) {
				t.Errorf("quantities %v, stored %v", got, r.Quantities)
			}
			verdicts := func(list []*judge.Comparison) (all []metric.Verdict) {
				for _, c := range list {
					all = append(all, c.Verdict)
				}
				return all
			}
			got, want := verdicts(again.Comparisons), verdicts(r.Comparisons)
			if !slices.Equal(got, want) {
				t.Errorf("verdicts %v, stored %v", got, want)
			}
			for _, f := range again.Figures {
				drawing, err := f.SVG()
				if err != nil {
					t.Fatal(err)
				}
				folder := path.Dir(file)
				drawings[folder] = append(drawings[folder], drawing...)
			}
		})
	}
	figures, err := filepath.Glob("*/*/*.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range figures {
		drawing, err := fs.ReadFile(os.DirFS("."), filepath.ToSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		if all := drawings[path.Dir(filepath.ToSlash(name))]; !bytes.Contains(all, drawing) {
			t.Errorf("%s is not among the figures of the stored numbers beside it", name)
		}
	}
	if len(figures) < 20 {
		t.Errorf("only %d figures", len(figures))
	}
}
