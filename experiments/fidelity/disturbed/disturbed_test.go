package disturbed

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
)

// The stored results are of the plan in the tree.
func TestStoredResults(t *testing.T) {
	stored, err := os.ReadFile("quick.json")
	if err != nil {
		t.Fatal(err)
	}
	hash, err := newPlan(1, 3).hash()
	if err != nil || !strings.Contains(string(stored), `"plan_hash": "`+hash+`"`) {
		t.Errorf("the plan has changed since quick.json was stored (error %v): go run ./experiments "+
			"disturbed --quick --seed 1", err)
	}
}

// small returns a plan of two modes, with one delay and one slow role.
func small() *plan {
	p := newPlan(1, 2)
	p.Job.Training.GlobalBatch, p.Modes = 64, []string{job.Sync, job.Hybrid}
	all := fault.Slow{Role: fault.SlowTarget{Role: msg.NNWorker, Index: fault.AllInstances}, Factor: 2}
	one := fault.Slow{Role: fault.SlowTarget{Role: msg.NNWorker, Index: 1}, Factor: 4}
	p.Disturbances = []disturbance{{Name: "none", Base: true, Steps: 10},
		{Name: "late", Steps: 10, Delay: unit.Millisecond},
		{Name: "all slow", Base: true, Steps: 10, Slow: fault.Slows{all}},
		{Name: "one slower", Steps: 10, Slow: fault.Slows{all, one}}}
	return p
}

// A small run, whose report can be drawn, also from its JSON.
func TestRealAndSimulatedRuns(t *testing.T) {
	p := small()
	r, err := p.measure(t.Context(), report.Options{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != 8 {
		t.Fatalf("%d cells", len(r.Cells))
	}
	for _, c := range r.Cells {
		if len(c.Real) != 2 || len(c.Simulated) != 2 || step(c.Real) <= 0 || step(c.Simulated) <= 0 {
			t.Errorf("%s: steps of %v s, simulated %v s", c.name(), c.Real, c.Simulated)
		}
	}
	// A sync step has messages one after the other, each late by half a millisecond in the mean.
	if late := r.at(p, 1, 0); step(late.Simulated) < 0.002 || step(late.Real) < 0.002 {
		t.Errorf("late messages: steps of %v s, simulated %v s", late.Real, late.Simulated)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again results
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if err := p.report(&again).WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// exact returns results in which sync takes 4 s and hybrid 2 s, twice as long with a delay and with all roles
// slow, and four times as long with one slower still. Simulated times are factor times as long in hybrid with
// a disturbance that is no base.
func exact(p *plan, factor float64) *results {
	r := &results{}
	for d, times := range []float64{1, 2, 2, 4} {
		for mode, base := range []float64{4, 2} {
			c := &cell{Disturbance: p.Disturbances[d], Mode: p.Modes[mode], Real: []float64{base * times},
				Simulated: []float64{base * times}}
			if mode == 1 && !c.Disturbance.Base {
				c.Simulated[0] *= factor
			}
			r.Cells = append(r.Cells, c)
		}
	}
	return r
}

// Exact predictions have no error. The null model of delays gives hybrid the 8 s of sync for its 4 s, an
// error of 1. That of slow roles says 0 where half of the throughput is lost.
func TestSkill(t *testing.T) {
	p := small()
	r := exact(p, 1)
	delays, slow := r.delays(p), r.slow(p)
	if delays.error != 0 || delays.null != 1 || delays.ratio() != 0 || delays.rank() < 0.999 ||
		delays.right != 1 || delays.trends != 1 {
		t.Errorf("delays: %+v", delays)
	}
	if slow.error != 0 || slow.null != 0.5 || slow.right != 2 || slow.trends != 2 {
		t.Errorf("slow roles: %+v", slow)
	}
	// Three times as long: hybrid with a delay takes 12 s, more than sync, and the sign is wrong. The errors
	// are 0 and 2. With a slower role, hybrid loses 1 − 1/6 of its throughput instead of 1/2.
	r = exact(p, 3)
	delays, slow = r.delays(p), r.slow(p)
	if delays.error != 1 || delays.ratio() != 1 || delays.right != 0 || delays.rank() > -0.999 {
		t.Errorf("delays: %+v", delays)
	}
	if want := (5.0/6 - 0.5) / 2; math.Abs(slow.error-want) > 1e-9 || slow.right != 2 {
		t.Errorf("slow roles: error %v, want %v; %+v", slow.error, want, slow)
	}
	// A third: with a slower role, hybrid takes less than without, 8/3 s of 4 s, where half is lost.
	if slow = exact(p, 1.0/3).slow(p); slow.right != 1 {
		t.Errorf("slow roles: %+v, want one wrong sign", slow)
	}
}

// A context that has ended stops the experiment.
func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := small().measure(ctx, report.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the error of the context", err)
	}
}
