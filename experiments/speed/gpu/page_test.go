package gpu

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
)

// The pages have the figures of the stored results.
func TestPagesHaveTheStoredFigures(t *testing.T) {
	type line struct{ ratios, steps, trainings []string }
	lines := map[string]*line{}
	var order []string
	reached, judged := map[string]int{}, 0
	samples, sums := map[int][]float64{}, []float64(nil) // shares of copies
	rates := map[string]map[int][]float64{}
	for _, c := range comparisons() {
		rates[c.name] = map[int][]float64{}
	}
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
				rates[c.name][batch] = append(rates[c.name][batch], q.Median)
				if q.Low >= c.goal {
					reached[c.name]++
				}
			}
			judged++
			samples[batch] = append(samples[batch], r.notHidden(samplesSide))
			if r.Network.Name == "tower" && r.Precision != job.FP32 {
				sums = append(sums, r.notHidden(hostSumsSide))
			}
			l.ratios = append(l.ratios, strings.Join(ratios, " / "))
			l.steps = append(l.steps, report.Three(1e3*report.Median(r.Seconds[stepSide])))
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
	contains(t, "gpu.md", wanted...)
	rate := func(name string, batch int) string {
		all := rates[name][batch]
		return fmt.Sprintf("%.2f to %.2f", slices.Min(all), slices.Max(all))
	}
	contains(t, "../experiments/speed/README.md",
		fmt.Sprintf("| 512 | %s | %s |", rate("eager", 512), rate("compiled", 512)),
		fmt.Sprintf("| 32,768 | %s | %s |", rate("eager", 32_768), rate("compiled", 32_768)))
}

// contains reports what a page of the documentation lacks.
func contains(t *testing.T, page string, wanted ...string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	flowing := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range wanted {
		if !strings.Contains(flowing, want) {
			t.Errorf("docs/%s lacks: %s", page, want)
		}
	}
}

// spanOf returns the least and the largest share.
func spanOf(shares []float64) string {
	return fmt.Sprintf("%.0f to %.0f %%", 100*slices.Min(shares), 100*slices.Max(shares))
}
