package source

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
)

// small returns a plan of a few seconds.
func small() *asyncPlan {
	p := newAsyncPlan(0, []float64{nominalRow}, report.Generated(0.1, 1_280, 1_000))
	p.Seed, p.Seeds = 1, 2
	return p
}

func TestPartsAddUp(t *testing.T) {
	p := small()
	o := report.Options{Folder: t.TempDir(), Progress: reporttest.Progress(t)}
	results, err := trial.Measure(o, "", 0, func(lab *trial.Lab) ([]*asyncResult, error) {
		return p.measure(t.Context(), lab)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		for _, kind := range []arms.Kind{arms.Own, arms.Common} {
			sum := 0.0
			for _, g := range r.Parts {
				sum += g.At(kind).AUC.Estimate
				if g.At(kind).SameBits() {
					t.Errorf("%s, %s: %s changes nothing", r.DataSet, kind, g.Name)
				}
			}
			if total := r.Total.At(kind).AUC.Estimate; math.Abs(sum-total) > 1e-12 {
				t.Errorf("%s, %s: parts add up to %v, want %v", r.DataSet, kind, sum, total)
			}
		}
		// Of N·(τ+1) batches in flight, all others are outstanding in the middle of a run.
		if r.RowDelay < 5 || r.RowDelay > 15 || !(r.DenseDelay > 0 && r.DenseDelay <= r.RowDelay) {
			t.Errorf("%s: delays %v and %v steps", r.DataSet, r.RowDelay, r.DenseDelay)
		}
	}
	made := p.report(results)
	reporttest.CheckWidth(t, made)
	if err := made.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// Neighbours in the chain differ in nothing but what their part names, and all arms see the same rows.
func TestNeighboursDifferInOneThing(t *testing.T) {
	p := small()
	inStep, err := within(p.Job.Roles.Ranks)
	if err != nil {
		t.Fatal(err)
	}
	late := delays{delay.Spec{Kind: delay.Exactly, Steps: 9}, delay.Spec{Kind: delay.Exactly, Steps: 3},
		inStep}
	of := func(name string) job.Job {
		j := p.job(p.DataSets[0], p.Optimizers[0], name, late, 1)
		if err := j.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return j
	}
	text := func(j job.Job, set func(t *job.Training)) string {
		set(&j.Training)
		print, err := j.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return string(print)
	}
	for _, c := range []struct {
		a, b string
		set  func(t *job.Training)
	}{
		{sync, byRank, func(t *job.Training) { t.Merge = "" }},
		{applications, rowsLate, func(t *job.Training) { t.Delay = delay.Spec{} }},
		{rowsLate, denseLate, func(t *job.Training) { t.DelayDense = delay.Spec{} }},
		{smallBatch, denseLate, func(t *job.Training) { t.ClearDelays() }},
	} {
		none := func(*job.Training) {}
		a, b := of(c.a), of(c.b)
		if text(a, c.set) != text(b, c.set) || text(a, none) == text(b, none) {
			t.Errorf("%s and %s differ in more or less than one thing", c.a, c.b)
		}
	}
	if j := of(applications); j.Training.GlobalBatch*p.Job.Roles.Ranks != p.Job.Training.GlobalBatch ||
		j.Roles.Ranks != 1 {
		t.Errorf("batch %d, %d ranks", j.Training.GlobalBatch, j.Roles.Ranks)
	}
	// With SGD, N steps of the network move it as far as one.
	for _, a := range p.set(p.DataSets[0], p.Optimizers[1], late).Arms {
		want := 0
		if inParts(a.Name) {
			want = p.Job.Roles.Ranks
		}
		if a.DenseSteps != want || p.Optimizers[1].Kind != opt.SGD {
			t.Errorf("%s: rate ÷ %d, want %d", a.Name, a.DenseSteps, want)
		}
	}
}
