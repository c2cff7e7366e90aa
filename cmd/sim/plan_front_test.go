package main

import (
	"slices"
	"strings"
	"testing"

	"tandem/sim/plan"
)

// Of the clusters that a search found, the sampled points leave those that are fast enough, the cheapest
// first, each of them faster than the cheaper ones. Where none is fast enough, the best ones stay.
func TestFrontAtTheSampledPoints(t *testing.T) {
	found := func(cost, throughput float64) *option {
		return &option{Found: plan.Found{Cost: cost, Throughput: throughput}}
	}
	for _, c := range []struct {
		need float64
		want []float64 // costs
	}{{10, []float64{2, 5}}, {5, []float64{1, 2, 5}}, {25, []float64{5}}, {40, []float64{1, 2, 5}}} {
		d := planned{need: c.need, planning: &planning{}}
		d.front = []*option{found(2, 20), found(1, 9), found(3, 19), found(5, 30)}
		d.keepFront()
		var got []float64
		for _, o := range d.front {
			got = append(got, o.Cost)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v samples/s: costs %v, want %v", c.need, got, c.want)
		}
	}
}

// A budget that only the middle of what is not known would keep is refused, with one that is enough.
func TestBudgetIsThatOfTheReport(t *testing.T) {
	const args = "--presets dgx-h100 --most-gpus 8 --samples 16 "
	d := planOf(t, args)
	cost := d.Front[0].Cost
	if _, messages, code := planText(args + "--budget " + digits(0.99*cost)); code == 0 ||
		!strings.Contains(messages, "--budget binds: the cheapest cluster, dgx-h100: 8 H100-SXM5, costs $ ") {
		t.Errorf("$ %v within a budget of 0.99 of it: exit %d: %s", cost, code, messages)
	}
	if _, messages, code := planText(args + "--budget " + digits(1.01*cost)); code != 0 {
		t.Error(messages)
	}
}
