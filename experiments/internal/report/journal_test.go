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

// A run that is resumed after any line, or in the middle of one, measures the other cases and leaves the same
// results and files.
func TestResumedCasesAreNotMeasuredAgain(t *testing.T) {
	cases := []string{"a", "b", "c"}
	folder := t.TempDir()
	var measured []int
	run := func() (results []float64, meter report.Meter) {
		t.Helper()
		o := report.Options{Folder: folder, Run: "0badcafe"}
		log, err := o.NewLog("rates.csv", "case", "rate")
		if err != nil {
			t.Fatal(err)
		}
		measured, meter.Total = nil, 2*len(cases)
		results, err = report.MeasureCases(o, log, &meter, cases, func(i int) (float64, error) {
			measured = append(measured, i)
			return float64(i), errors.Join(log.Add(cases[i], "first"), log.Add(cases[i], "second"))
		})
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
		return results, meter
	}
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	want, _ := run()
	wantJournal, wantLog := read("cases.jsonl"), read("rates.csv")
	if len(measured) != 3 || bytes.Count(wantJournal, []byte("\n")) != 3 ||
		bytes.Count(wantLog, []byte("\n")) != 1+2*3 {
		t.Fatalf("measured %v; journal:\n%s\nlog:\n%s", measured, wantJournal, wantLog)
	}
	for size := range len(wantJournal) + 1 {
		part := wantJournal[:size]
		if err := os.WriteFile(filepath.Join(folder, "cases.jsonl"), part, 0o644); err != nil {
			t.Fatal(err)
		}
		got, meter := run()
		kept := bytes.Count(part, []byte("\n"))
		if left := 3 - kept; len(measured) != left || meter.Total != 2*left {
			t.Errorf("%d of 3 kept: measured %v, total %d", kept, measured, meter.Total)
		}
		if journal, log := read("cases.jsonl"), read("rates.csv"); !slices.Equal(got, want) ||
			!bytes.Equal(journal, wantJournal) || !bytes.Equal(log, wantLog) {
			t.Errorf("%d bytes kept: results %v, journal:\n%s\nlog:\n%s", size, got, journal, log)
		}
	}
}

// Where no case fits in memory there is nothing to measure, and no error.
func TestNoCases(t *testing.T) {
	o := report.Options{Folder: t.TempDir()}
	log, err := o.NewLog("rates.csv", "case")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	results, err := report.MeasureCases[int](o, log, &report.Meter{}, nil, nil)
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
	log, err := o.NewLog("rates.csv", "case")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, err = report.MeasureCases(o, log, &report.Meter{}, []string{"good", "bad"}, func(i int) (int, error) {
		if i == 1 {
			return 0, errors.New("no memory")
		}
		return 0, nil
	})
	if got := fmt.Sprint(err); got != "bad: no memory" {
		t.Errorf("error %q", got)
	}
}
