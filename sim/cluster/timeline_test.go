package cluster

import (
	"math"
	"reflect"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/timeline"
)

// In every mode, on folded and unfolded PSs, with jitter and crashes, the tracks of a class of stations are
// busy for the share of the time that the result says, and the timeline changes nothing of the result.
func TestTimelineHasTheTimeOfEveryStation(t *testing.T) {
	crash := training(job.Hybrid, 8)
	for step := range int32(20) { // some crashes come while work is in service
		crash.Faults.Crashes = append(crash.Faults.Crashes, fault.Crash{Role: msg.EmbeddingWorker,
			Step: 10 + 4*step, Away: unit.Millisecond})
	}
	crash.Faults.Drop, crash.Wire.Retry = 0.01, 10*unit.Millisecond
	unfolded := small()
	unfolded.Unfold = true
	type run struct {
		cluster job.Cluster
		job     job.Job
		jitter  float64
	}
	runs := []run{{small(), crash, 0}, {unfolded, training(job.Sync, 8), 0.2}}
	for _, mode := range job.Modes()[1:] {
		runs = append(runs, run{small(), training(mode, 4), 0})
	}
	for _, x := range runs {
		h := hardwareOf(t, x.cluster)
		o := Options{Jitter: x.jitter}
		plain := runOn(t, h, x.job, o)
		var line timeline.Timeline
		o.Timeline = &line
		with := runOn(t, h, x.job, o)
		if !reflect.DeepEqual(plain, with) {
			t.Errorf("%s: a timeline changes the result", x.job.Training.Mode)
		}
		checkShares(t, x.job.Training.Mode, &line, &with)
		checkSteps(t, x.job.Training.Mode, &line)
		if len(line.Arrows) == 0 {
			t.Errorf("%s: no arrows", x.job.Training.Mode)
		}
		for _, a := range line.Arrows {
			if from, to := line.Span(a.From), line.Span(a.To); from.Start > a.Sent || a.Sent > a.Arrived ||
				a.Arrived > to.Start {
				t.Errorf("%s: %+v from %+v to %+v", x.job.Training.Mode, a, from, to)
			}
		}
	}
}

// checkSteps checks that work of each name is of several steps, if there is much of it: a timeline has the
// time of some 20 steps, and of a few ranks.
func checkSteps(t *testing.T, mode string, line *timeline.Timeline) {
	t.Helper()
	steps, spans := map[string]map[int32]bool{}, map[string]int{} // by name of the work
	for _, track := range line.Tracks {
		for _, s := range track.Spans {
			if steps[s.Name] == nil {
				steps[s.Name] = map[int32]bool{}
			}
			steps[s.Name][s.Batch.Step] = true
			spans[s.Name]++
		}
	}
	for name, of := range steps { // order-free: each is checked
		if spans[name] >= 100 && len(of) < 10 {
			t.Errorf("%s: %d spans of %s are of %d steps", mode, spans[name], name, len(of))
		}
	}
}

// checkShares compares the tracks of a timeline with the stations of a result.
func checkShares(t *testing.T, name string, line *timeline.Timeline, r *Result) {
	t.Helper()
	busiest, sum := map[string]float64{}, map[string]float64{}
	for i := range line.Tracks {
		track := &line.Tracks[i]
		share := line.Share(track)
		busiest[track.Class], sum[track.Class] = max(busiest[track.Class], share), sum[track.Class]+share
	}
	for _, u := range r.Stations {
		mean := sum[u.Name] / float64(u.Stations)
		if math.Abs(busiest[u.Name]-u.Busy) > 1e-3*u.Busy || math.Abs(mean-u.MeanBusy) > 1e-3*u.MeanBusy {
			t.Errorf("%s: %s is busy for %v of the time, in the mean %v; its tracks for %v and %v", name,
				u.Name, u.Busy, u.MeanBusy, busiest[u.Name], mean)
		}
	}
}

// The same on a measured machine, whose roles share one host.
func TestTimelineOfAMachine(t *testing.T) {
	h := cost.ThisMachine(cost.MeasuredMachine{Cores: 2, Memory: 8e9, Multiply: 50e9, CopySpeed: 5e9,
		RowTime: 100, MessageTime: 2000})
	var line timeline.Timeline
	r := runOn(t, h, training(job.Hybrid, 4), Options{Timeline: &line})
	checkShares(t, "hybrid", &line, &r)
	checkSteps(t, "hybrid", &line)
}
