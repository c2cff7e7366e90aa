package process

import (
	"slices"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/unit"
)

// Rank 0 asks before every step that an evaluation by steps needs, also after skipped steps and in a part of
// a run, and before few others.
func TestRankAsksWhenAnEvaluationMayBeDue(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		begin int
		steps []int
		want  []int
	}{
		{0, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []int{0, 4, 8}},
		{0, []int{0, 3, 5, 6, 9}, []int{0, 5, 9}},
		{8, []int{0, 1, 2, 3, 4}, []int{0, 4}},
		{10, []int{0, 1, 2, 3, 4, 5, 6}, []int{0, 2, 6}},
	} {
		a := asking{every: job.Every{Steps: 4}, begin: c.begin}
		var got []int
		for _, step := range c.steps {
			if a.isDue(step, now) {
				got = append(got, step)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("after %d steps, of %v: asked before %v, want %v", c.begin, c.steps, got, c.want)
		}
	}
}

// Of 39 steps of 10 ms, from 0 to 380 ms, some are asked about.
func TestRankAsksByTime(t *testing.T) {
	for every, want := range map[unit.Tick]int{unit.Hour: 4, 20 * unit.Millisecond: 20} {
		a := asking{every: job.Every{Time: every}}
		now, asked := time.Now(), 0
		for step := range 39 {
			if a.isDue(step, now.Add(time.Duration(step)*10*time.Millisecond)) {
				asked++
			}
		}
		if asked != want {
			t.Errorf("every %v: asked %d times, want %d", every, asked, want)
		}
	}
}
