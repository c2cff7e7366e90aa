package modules

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"tandem/experiments/internal/report"
)

// The page of the chapter has the ratios of the stored run.
func TestPageHasTheStoredRatios(t *testing.T) {
	text, err := os.ReadFile("full.json")
	if err != nil {
		t.Fatal(err)
	}
	var stored struct{ Data []*result }
	if err := json.Unmarshal(text, &stored); err != nil || len(stored.Data) != 2 {
		t.Fatalf("%d cases, error %v", len(stored.Data), err)
	}
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := func(what, format string, of func(r *result) float64) {
		want := fmt.Sprintf("| %s | "+format+" | "+format+" |", what, of(stored.Data[0]), of(stored.Data[1]))
		if !strings.Contains(string(page), want) {
			t.Errorf("README.md lacks %s", want)
		}
	}
	for _, c := range comparisons() {
		if c.ratios(stored.Data[0]) != nil {
			line(c.name, "%.2f", func(r *result) float64 { return report.Median(c.ratios(r)) })
		}
	}
	line("percent of a pass between processes", "%.0f", func(r *result) float64 {
		return 100 * report.Median(between(r.PassAlone.Wall, r.PassOfTandem.Wall))
	})
	line("the same by processor time", "%.0f", func(r *result) float64 {
		return 100 * report.Median(between(r.PassAlone.CPU, r.PassOfTandem.CPU))
	})
}
