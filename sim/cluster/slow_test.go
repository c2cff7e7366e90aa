package cluster

import (
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// slow reads slow roles.
func slow(t *testing.T, text string) fault.Slows {
	t.Helper()
	s, err := fault.ParseSlow(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// In the step of TestSyncStepIsTheSumOfItsStages nothing overlaps, so a role that is slow by a factor of 3
// adds twice the work that it has on the path: the passes of a rank, pooling and merging of an EW, reading
// and applying of a PS. The optimizer of the rank, beside PEG, stays shorter than PEG, and the batches were
// dealt before.
func TestSlowRoleAddsItsWorkToTheStep(t *testing.T) {
	s, j, p := oneOfEach(t)
	b := p.Batch(512)
	o := Options{WarmUp: 8, Measured: 8, check: true}
	healthy := run(t, s, j, o).StepTime
	for text, work := range map[string]unit.Tick{
		"nn-worker/0=3": passes(b), "nn-worker=3": passes(b),
		"embedding-worker=3": alone(b.Pool, p.EWService.Width) + alone(p.Merge(512, b.DistinctRows),
			p.EWService.Width),
		"embedding-ps/0=3": alone(p.ReadRows(b.RowsPerPS, b.Samples), p.PSService.Width) +
			alone(p.ApplyStep(512, []float64{b.RowsPerPS}), p.PSService.Width),
		"data-loader=3": 0, "nn-worker=1": 0,
	} {
		j.Slow = slow(t, text)
		a := run(t, s, j, o)
		if d := a.StepTime - healthy - 2*work; d < -30 || d > 30 {
			t.Errorf("%s: a step takes %v, %v without; want %v more", text, a.StepTime, healthy, 2*work)
		}
	}
}

// Of several PSs one may be slow, which folding would hide: it holds up a step as much as if all were slow,
// because every batch has rows on every PS.
func TestOneSlowPSHoldsUpAStep(t *testing.T) {
	j := training(job.Sync, 2)
	steps := map[string]unit.Tick{}
	for _, text := range []string{"none", "embedding-ps/1=50", "embedding-ps=50"} {
		j.Slow = slow(t, text)
		steps[text] = run(t, small(), j, Options{WarmUp: 4, Measured: 4, check: true}).StepTime
	}
	one, all := steps["embedding-ps/1=50"], steps["embedding-ps=50"]
	if one < 2*steps["none"] || one > all || float64(one) < 0.8*float64(all) {
		t.Errorf("a step takes %v, with one slow PS %v, with slow PSs only %v", steps["none"], one, all)
	}
}

// On one machine a slow rank waits without a core: beside another rank on a single core, its step of 3 · 8 ms
// leaves room for the 8 ms of the other. Alone it takes 3 times as long. In both cases the core does the work
// of healthy ranks. Timers that fire late lengthen no step: the next wait is shorter.
func TestSlowRankOfAMachineUsesNoCoreWhileItWaits(t *testing.T) {
	const pass = 4 * unit.Millisecond
	r := &cost.RecordedTimes{Work: []cost.RecordedWork{{Kind: role.Forward, Time: pass},
		{Kind: role.Backward, Time: pass}}}
	m := cost.MeasuredMachine{Cores: 1, Multiply: 1e15, CopySpeed: 1e12, RowTime: 1, MessageTime: 2,
		Date: "2026-01-01", Recorded: r}
	for _, ranks := range []int{1, 2, 1} {
		j := training(job.Sync, ranks)
		j.Training.Overlap, j.Slow = "none", slow(t, "nn-worker/0=3")
		a := runOn(t, cost.ThisMachine(m), j, Options{check: true})
		m.TimerLate += unit.Millisecond // in the next
		if want := 3 * 2 * pass; a.StepTime < want || float64(a.StepTime) > 1.3*float64(want) {
			t.Errorf("%d ranks: a step takes %v, want a little more than %v", ranks, a.StepTime, want)
		}
		for _, u := range a.Stations {
			share := float64(ranks) / 3
			if u.Name == "machine cores" && (u.Busy < 0.75*share || u.Busy > 1.1*share) {
				t.Errorf("%d ranks: the core is busy for %.2f of the time, want about %.2f", ranks, u.Busy,
					share)
			}
		}
	}
}

// Slow roles change when things happen, and no bit of sync.
func TestSlowRolesDoNotChangeTheBits(t *testing.T) {
	source := samples{steps: 8, size: 32, last: 7}
	j := numeric(job.Sync, 4)
	j.Slow = slow(t, "nn-worker/1=20,embedding-worker/0=30,embedding-ps/1=40,data-loader=2")
	_, n := simulate(t, hosts(2, 2), j, source, Options{}, func(*serial) {})
	if got := bitsOf(n.Model().DenseDigest(), n.Model().Tables()...); got != sequential(t, source) {
		t.Error("not the bits of sequential training")
	}
}

// Numbers of ranks, PSs and EWs are those of the job and of the cluster.
func TestCheckSlow(t *testing.T) {
	for text, want := range map[string]string{
		"nn-worker/1=2,embedding-worker/5=2,embedding-ps/11=2,data-loader=2": "",
		"nn-worker/2=2":        "slow[0].role = nn-worker/2; the job has 2 of nn-worker",
		"embedding-worker/6=2": "slow[0].role = embedding-worker/6; the job has 6 of embedding-worker",
		"embedding-ps/12=2":    "slow[0].role = embedding-ps/12; the job has 12 of embedding-ps",
		"dense-ps=2":           "slow[0].role = dense-ps: the mode has no such role",
	} {
		j := training(job.Sync, 2)
		j.Slow = slow(t, text)
		h := hardwareOf(t, small())
		checked := CheckSlow(h, j)
		_, ran := Run(h, j, tower(t), clicks(), Options{WarmUp: 1, Measured: 1})
		for _, err := range []error{checked, ran} {
			if want == "" && err != nil ||
				want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: error %v, want %q", text, err, want)
			}
		}
	}
	j := training(job.AsyncPS, 2)
	if j.Slow = slow(t, "dense-ps/0=2"); CheckSlow(hardwareOf(t, small()), j) != nil {
		t.Error("async-ps has a dense PS")
	}
}

// A message that is late by up to 1 us on a machine whose timers fire 5 ms late takes 5 ms: in a step of sync
// at least six messages follow one another.
func TestLateTimersDelayLateMessages(t *testing.T) {
	m := cost.MeasuredMachine{Cores: 4, Multiply: 1e15, CopySpeed: 1e12, RowTime: 1, MessageTime: 2,
		Date: "2026-01-01"}
	j := training(job.Sync, 1)
	j.Training.Overlap = "none"
	j.Faults.Delay = fault.Delay{Rate: 1, Max: unit.Microsecond}
	j.Wire.Retry = 10 * unit.Second
	o := Options{WarmUp: 4, Measured: 4, check: true}
	prompt := runOn(t, cost.ThisMachine(m), j, o).StepTime
	m.TimerLate = 5 * unit.Millisecond
	late := runOn(t, cost.ThisMachine(m), j, o).StepTime
	if more := late - prompt; more < 6*m.TimerLate || more > 12*m.TimerLate {
		t.Errorf("a step takes %v, and %v with late timers", prompt, late)
	}
}
