package main

import (
	"os"
	"strings"
	"testing"

	"tandem/experiments/claims"
	"tandem/experiments/report"
)

// The results page has the verdicts that follow from the stored results.
func TestResultsPageHasTheVerdictsOnClaims(t *testing.T) {
	r, err := claims.New(stored).Run(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := strings.TrimPrefix(strings.TrimSuffix(r.Findings[0], "."), "O")
	page, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), verdicts) {
		t.Errorf("docs/results.md has not %q: look at the changed claims, then write the sentence again",
			verdicts)
	}
}

// Every stored result names the run that repeats it, of an experiment that exists.
func TestStoredResultsCanBeRepeated(t *testing.T) {
	results, err := report.FindResults(stored)
	if err != nil {
		t.Fatal(err)
	}
	p := program{experiments: experiments()}
	for _, r := range results {
		if _, err := p.find([]string{r.Name}); err != nil {
			t.Errorf("%s: %v", r.File, err)
		}
		if !strings.HasPrefix(r.Command, invocation+" "+r.Name) {
			t.Errorf("%s: the command %q does not run %s", r.File, r.Command, r.Name)
		}
	}
	if len(results) < 10 {
		t.Errorf("%d results are stored", len(results))
	}
}
