package gpu

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/report"
)

// The page has the figures of the stored results, case by case.
func TestPageHasTheStoredFigures(t *testing.T) {
	page, err := os.ReadFile("../../docs/gpu.md")
	if err != nil {
		t.Fatal(err)
	}
	type line struct{ ratios, steps, trainings []string }
	lines := map[string]*line{}
	var order []string
	reached, judged := map[string]int{}, 0
	samples, sums := map[int][]float64{}, []float64(nil) // shares of copies
	for _, batch := range []int{512, 4096, 32_768} {
		text, err := os.ReadFile(fmt.Sprintf("h100-%d.json", batch))
		if err != nil {
			t.Fatal(err)
		}
		var stored struct{ Data []*result }
		if err := json.Unmarshal(text, &stored); err != nil {
			t.Fatal(err)
		}
		for _, r := range stored.Data {
			key := r.Network.Name + " | " + r.Precision
			l := lines[key]
			if l == nil {
				l = new(line)
				lines[key], order = l, append(order, key)
			}
			var ratios []string
			for _, c := range comparisons() {
				q, ok := c.ratio(r)
				if !ok {
					t.Fatalf("%s: %s was not measured", &r.testCase, c.name)
				}
				ratios = append(ratios, fmt.Sprintf("%.2f", q.Median))
				if q.Low >= c.goal {
					reached[c.name]++
				}
			}
			judged++
			samples[batch] = append(samples[batch], r.notHidden(samplesSide).Median)
			if r.Network.Name == "tower" && r.Precision != job.FP32 {
				sums = append(sums, r.notHidden(hostSumsSide).Median)
			}
			l.ratios = append(l.ratios, strings.Join(ratios, " / "))
			l.steps = append(l.steps, milliseconds(report.Median(r.Seconds[stepSide])))
			l.trainings = append(l.trainings, fmt.Sprintf("%.0f", report.Median(r.Training)/1e3))
		}
	}
	var wanted []string
	for _, key := range order {
		l := lines[key]
		wanted = append(wanted, fmt.Sprintf("| %s | %s |", key, strings.Join(l.ratios, " | ")),
			fmt.Sprintf("| %s | %s | %s |", key, strings.Join(l.steps, " | "),
				strings.Join(l.trainings, " | ")))
	}
	wanted = append(wanted, fmt.Sprintf("eager PyTorch in %d of %d cases, of compiled PyTorch in %d, and of "+
		"products in %d", reached["eager"], judged, reached["compiled"], reached["products"]),
		"take "+spanOf(samples[512])+" of a step of 512 samples that has them, and "+
			spanOf(samples[32_768])+" with 32,768",
		"copies and sums together take "+spanOf(sums)+" of a step")
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("docs/gpu.md lacks: %s", want)
		}
	}
}

// spanOf returns the least and the largest share.
func spanOf(shares []float64) string {
	return fmt.Sprintf("%.0f to %.0f %%", 100*slices.Min(shares), 100*slices.Max(shares))
}
