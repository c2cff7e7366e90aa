package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/experiments/internal/report"
)

// self is the name of a case that is a name.
func self(name string) string { return name }

// A run that is resumed after any line, or in the middle of one, measures the other cases and leaves the same
// results and journal.
func TestResumedCasesAreNotMeasuredAgain(t *testing.T) {
	cases := []string{"a", "b", "c"}
	folder := t.TempDir()
	path := filepath.Join(folder, "cases.jsonl")
	var measured []string
	run := func() (results []float64, meter report.Meter) {
		t.Helper()
		measured, meter.Total = nil, 2*len(cases)
		results, err := report.MeasureCases(report.Options{Folder: folder}, &meter, cases, self,
			func(name string) (float64, error) {
				measured = append(measured, name)
				return float64(name[0]), nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if meter.Done != meter.Total {
			t.Errorf("%d of %d are done", meter.Done, meter.Total)
		}
		return results, meter
	}
	read := func() []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	want, _ := run()
	wantJournal := read()
	if len(measured) != 3 || bytes.Count(wantJournal, []byte("\n")) != 3 {
		t.Fatalf("measured %v; journal:\n%s", measured, wantJournal)
	}
	for size := range len(wantJournal) + 1 {
		part := wantJournal[:size]
		if err := os.WriteFile(path, part, 0o644); err != nil {
			t.Fatal(err)
		}
		got, meter := run()
		kept := bytes.Count(part, []byte("\n"))
		if left := 3 - kept; len(measured) != left || meter.Total != 2*left {
			t.Errorf("%d of 3 kept: measured %v, total %d", kept, measured, meter.Total)
		}
		if journal := read(); !slices.Equal(got, want) || !bytes.Equal(journal, wantJournal) {
			t.Errorf("%d bytes kept: results %v, journal:\n%s", size, got, journal)
		}
	}
}

// Where no case fits in memory there is nothing to measure, and no error.
func TestNoCases(t *testing.T) {
	o := report.Options{Folder: t.TempDir()}
	results, err := report.MeasureCases[string, int](o, &report.Meter{}, nil, self, nil)
	if err != nil || len(results) != 0 {
		t.Errorf("results %v, error %v", results, err)
	}
}

// A line that is no measurement is an error that names it, and what is there stays.
func TestJournalWithABadLine(t *testing.T) {
	folder := t.TempDir()
	path, text := filepath.Join(folder, "cases.jsonl"), []byte("1\n{\n3\n")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := report.OpenJournal[int](report.Options{Folder: folder}, "cases.jsonl")
	if err == nil || !strings.Contains(err.Error(), path+":2: ") {
		t.Errorf("error %v, want one that names line 2", err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the file has become %q, error %v", got, err)
	}
}

// A case that cannot be measured is named.
func TestCaseThatCannotBeMeasured(t *testing.T) {
	o := report.Options{Folder: t.TempDir()}
	_, err := report.MeasureCases(o, &report.Meter{}, []string{"good", "bad"}, self,
		func(name string) (int, error) {
			if name == "bad" {
				return 0, errors.New("no memory")
			}
			return 0, nil
		})
	if got := fmt.Sprint(err); got != "bad: no memory" {
		t.Errorf("error %q", got)
	}
}
