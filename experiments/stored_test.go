package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/metric"
	"tandem/experiments/fidelity/claims"
	"tandem/experiments/internal/report"
)

// The results page has the verdicts that follow from the stored results.
func TestResultsPageHasTheVerdictsOnClaims(t *testing.T) {
	r, err := claims.New(stored).Run(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := strings.TrimPrefix(strings.TrimSuffix(r.Findings[0], "."), "O")
	if !strings.Contains(resultsPage(t), verdicts) {
		t.Errorf("docs/results.md has not %q: look at the changed claims, then write the sentence again",
			verdicts)
	}
}

// resultsPage returns docs/results.md without line breaks.
func resultsPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(page)), " ")
}

// The answers at the head of the results page have the stored numbers.
func TestResultsPageAnswersAsStored(t *testing.T) {
	page := resultsPage(t)
	for file, c := range map[string]struct{ quantity, text string }{
		"persia/gantt/full.json": {"hybrid-over-sync-8",
			"%.2f × (%.2f to %.2f) the throughput of `sync` on Criteo"},
		"persia/capacity/quick.json": {"hybrid-over-sync-100t",
			"%.2f × (%.2f to %.2f) at 100 trillion parameters."},
	} {
		var r report.Result
		read(t, file, &r)
		i := slices.IndexFunc(r.Quantities, func(q report.Quantity) bool { return q.Name == c.quantity })
		q := r.Quantities[i]
		if want := fmt.Sprintf(c.text, q.Estimate, q.Low, q.High); !strings.Contains(page, want) {
			t.Errorf("docs/results.md has not %q", want)
		}
	}
	var trained struct {
		Comparisons []struct {
			Data, Treated, Reference, Verdict string
			AUC                               metric.Interval
		}
	}
	read(t, "persia/auctable/full.json", &trained)
	for _, c := range trained.Comparisons {
		place, listed := map[string]string{"movielens-100k": "MovieLens", "criteo-like": "generated Criteo",
			"avazu-like": "generated Avazu"}[c.Data]
		if c.Treated != "hybrid, own rates" || c.Reference != "sync" {
			continue
		}
		if listed != (c.Verdict == metric.Different.String()) {
			t.Errorf("%s is %s", c.Data, c.Verdict)
		}
		want := fmt.Sprintf("−%.4f on %s", -c.AUC.Estimate, place)
		if listed && !strings.Contains(page, want) {
			t.Errorf("docs/results.md has not %q", want)
		}
	}
}

// read decodes a stored result.
func read(t *testing.T, file string, to any) {
	t.Helper()
	text, err := fs.ReadFile(stored, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err)
	}
}

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
