package theory

import (
	"math"
	"testing"

	"tandem/experiments/internal/report"
	"tandem/experiments/staleness/theory/stability"
)

// Levin and May 1976 for a row that is in a share q of every batch: training diverges from η·q·h =
// 2·sin(π/(2(2d+1))) on.
func TestLevinMayThresholdByShareAndDelay(t *testing.T) {
	p, _ := newPlan(report.Options{Seeds: 2})
	if !*long {
		p.Ids, p.Delays = []int{8}, []int{1, 4}
	}
	for _, d := range p.Delays {
		for _, ids := range p.Ids {
			got := mustThreshold(t, samples{Ids: ids, Batch: thresholdBatch, Balanced: true, Seed: 1}, d)
			// The bisection ends within 0.1 % of a threshold that the length of the runs moves by 0.2 %.
			if want := stability.Boundary(d); math.Abs(got/want-1) > 0.003 {
				t.Errorf("q = 1/%d, d = %d: threshold %.4f, want %.4f", ids, d, got, want)
			}
		}
	}
}
