package main

import (
	"testing"

	"tandem/experiments/internal/report"
)

// Every stored result names the run that repeats it, of an experiment that exists.
func TestStoredResultsCanBeRepeated(t *testing.T) {
	results, err := report.FindResults(stored)
	if err != nil {
		t.Fatal(err)
	}
	p := program{chapters: chapters()}
	for _, r := range results {
		whole, leaf := p.leaf(r.Name)
		if leaf == nil {
			t.Errorf("%s: there is no experiment %s", r.File, r.Name)
			continue
		}
		if words := p.again(r); words[0] != whole.Name {
			t.Errorf("%s: the command %q does not run %s", r.File, words, r.Name)
		}
	}
	if len(results) < 10 {
		t.Errorf("%d results are stored", len(results))
	}
}
