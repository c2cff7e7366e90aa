package speed

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/experiments/internal/report"
)

// The page of the chapter has the ratios of the stored runs.
func TestPageHasTheStoredRatios(t *testing.T) {
	trainings := ratiosOf(t, "PyTorch", "training, 64-32", "", "")
	rowWise := ratiosOf(t, "FBGEMM", "row-wise step", "", "")
	two := ratiosOf(t, "FBGEMM", "sparse step", "2", "")
	few := ratiosOf(t, "FBGEMM", "sparse step", "1", "256")
	many := ratiosOf(t, "FBGEMM", "sparse step", "1", "4096")
	pytorch := ratiosOf(t, "PyTorch", "sparse step", "", "")
	reach := func(ratios []float64, goal float64) string {
		reached := 0
		for _, ratio := range ratios {
			if ratio >= goal {
				reached++
			}
		}
		return fmt.Sprintf("%s | %d of %d |", span(ratios), reached, len(ratios))
	}
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	flowing := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{
		"| sparse step, row-wise Adagrad | FBGEMM | " + reach(rowWise, 1),
		"| sparse step, Adagrad, two cores | FBGEMM | " + reach(two, 2),
		"| sparse step, Adagrad, one core, 256 samples | FBGEMM | " + reach(few, 2),
		"| sparse step, Adagrad, one core, 4,096 samples | FBGEMM | " + reach(many, 2),
		"| sparse step, Adagrad | PyTorch | " + reach(pytorch, 5),
		fmt.Sprintf("two passes over 400,000 rows | PyTorch | %.1f |", trainings[0]),
		"a lookup takes " + timesLimit(t, kindLookup) + " times as long as the bare loop, an update " +
			timesLimit(t, kindUpdate) + " times",
	} {
		if !strings.Contains(flowing, want) {
			t.Errorf("README.md lacks: %s", want)
		}
	}
}

// timesLimit returns how many times as long as the bare loop the stored cases of 10 million rows take, from
// the least to the largest median over rounds.
func timesLimit(t *testing.T, kind string) string {
	t.Helper()
	text, err := os.ReadFile("rows-10m.json")
	if err != nil {
		t.Fatal(err)
	}
	var stored struct{ Data []*result }
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	var times []float64
	for _, r := range stored.Data {
		if r.Kind != kind {
			continue
		}
		var byRound []float64
		for round := range r.Tandem {
			byRound = append(byRound, r.Tandem[round]/r.Limit[round])
		}
		times = append(times, report.Median(byRound))
	}
	return fmt.Sprintf("%.1f to %.1f", slices.Min(times), slices.Max(times))
}

// span returns the least and the largest of ratios.
func span(ratios []float64) string {
	return fmt.Sprintf("%.2f to %.1f", slices.Min(ratios), slices.Max(ratios))
}

// ratiosOf returns the median, over rounds, of Tandem's rate ÷ that of another side, for each case of
// full.csv of a kind, with numbers of threads and samples; "" for any.
func ratiosOf(t *testing.T, side, kind, threads, batch string) (ratios []float64) {
	t.Helper()
	file, err := os.Open("full.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	type storedCase struct{ name, batch, threads string }
	steps := map[storedCase]map[string][]float64{} // seconds, by side and round
	var cases []storedCase
	for _, line := range lines[1:] {
		c := storedCase{line[0], line[1], line[2]}
		if !strings.HasPrefix(c.name, kind) || threads != "" && c.threads != threads ||
			batch != "" && c.batch != batch {
			continue
		}
		seconds, err := strconv.ParseFloat(line[6], 64)
		if err != nil {
			t.Fatal(err)
		}
		if steps[c] == nil {
			steps[c] = map[string][]float64{}
			cases = append(cases, c)
		}
		steps[c][line[4]] = append(steps[c][line[4]], seconds)
	}
	for _, c := range cases {
		own, others := steps[c]["tandem"], steps[c][side]
		if len(own) == 0 || len(own) != len(others) {
			t.Fatalf("%v: %d rounds of Tandem, %d of %s", c, len(own), len(others), side)
		}
		var byRound []float64
		for round := range own {
			byRound = append(byRound, others[round]/own[round])
		}
		ratios = append(ratios, report.Median(byRound))
	}
	return ratios
}
