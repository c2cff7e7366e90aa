package processes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
)

// The page of the chapter has the figures of the run on ten cores.
func TestPageHasTheFiguresOnTenCores(t *testing.T) {
	text, err := os.ReadFile("ten-cores.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	shares := map[string][]float64{} // by mode and way
	switches := map[string]float64{} // of hybrid, 4 ranks, batch 1,024, by way
	for line := range bytes.Lines(text) {
		var stored struct{ Result *result }
		if err := json.Unmarshal(line, &stored); err != nil {
			t.Fatal(err)
		}
		r := stored.Result
		for i, w := range r.Ways {
			shares[r.Mode+w.Way] = append(shares[r.Mode+w.Way], r.share(i).Median)
			if r.Mode == job.Hybrid && r.Ranks == 4 && r.Batch == 1024 {
				switches[w.Way] = report.Median(w.Switches)
			}
		}
	}
	span := func(way string) string {
		of := shares[job.Hybrid+way]
		return fmt.Sprintf("%.2f to %.2f", slices.Min(of), slices.Max(of))
	}
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	flowing := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{
		fmt.Sprintf("the two processes keep %s in `hybrid` and %.2f in `sync`;", span(job.Colocated),
			shares[job.Sync+job.Colocated][0]),
		fmt.Sprintf("a process for every role keeps %s in `hybrid` and %.2f in `sync`;", span(job.Apart),
			shares[job.Sync+job.Apart][0]),
		fmt.Sprintf("has %.0f context switches. One process for all roles has %.0f;",
			switches[job.Colocated], switches[inProcess]),
	} {
		if !strings.Contains(flowing, want) {
			t.Errorf("README.md lacks: %s", want)
		}
	}
}
