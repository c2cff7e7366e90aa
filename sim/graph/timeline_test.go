package graph

import (
	"math"
	"reflect"
	"testing"

	"tandem/sim/timeline"
)

// The spans of every stream sum to the share of the time that the result says, and arrows lead forward in
// time.
func TestTimelineHasTheTimeOfEveryStream(t *testing.T) {
	for _, gpus := range []int{8, 64} {
		j := example(t, dgxH100(t), "mlperf-dcnv2", gpus, 64*1024)
		plain := run(t, j)
		var x timeline.Timeline
		j.Timeline = &x
		r := run(t, j)
		if !reflect.DeepEqual(plain, r) {
			t.Errorf("%d GPUs: a timeline changes the result", gpus)
		}
		if len(x.Arrows) == 0 || len(x.Tracks) != len(r.Stations) {
			t.Fatalf("%d arrows, %d tracks of %d streams", len(x.Arrows), len(x.Tracks), len(r.Stations))
		}
		for i, s := range r.Stations {
			if got := x.Share(&x.Tracks[i]); math.Abs(got-s.Busy) > 1e-3*s.Busy {
				t.Errorf("%d GPUs: %s is busy for %v of the time, its spans for %v", gpus, s.Name, s.Busy,
					got)
			}
		}
		for _, a := range x.Arrows {
			if from, to := x.Span(a.From), x.Span(a.To); from.End > to.Start {
				t.Errorf("%s: from %+v to %+v", a.Name, from, to)
			}
		}
	}
}
