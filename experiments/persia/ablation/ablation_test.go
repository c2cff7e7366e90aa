package ablation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
	"tandem/sim/model"
	"tandem/sim/predict"
)

func criteo(t *testing.T) *predict.Job {
	t.Helper()
	p, _ := newPlan(report.Options{})
	base, err := p.Benchmarks[0].choice().Job()
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// The stored results are of the inputs in the tree.
func TestStoredResults(t *testing.T) {
	p, _ := newPlan(report.Options{Seeds: 5, Seed: 1})
	if err := p.cases().CheckStored("full.json", "go run ./experiments ablation"); err != nil {
		t.Error(err)
	}
}

// Every optimisation, switched off, changes what it is about and nothing else.
func TestAnOptimisationOffChangesOneThing(t *testing.T) {
	base := criteo(t)
	middle := base.Parameters().Everywhere(0)
	const samples, servers = 512, 50
	describe := func(j *predict.Job) map[switches]string {
		s := &j.Hardware.System
		form := j.Wire.Index == job.IndexCompressed
		return map[switches]string{
			async:   j.Training.Mode,
			overlap: fmt.Sprint(strings.HasSuffix(j.Training.Overlap, "ds")),
			ahead:   fmt.Sprint(*j.Training.Staleness, j.Training.Prefetch),
			halves:  fmt.Sprint(j.Wire.Precision, s.EmbeddingWorker.ConvertTime.Mid > 0),
			packedIDs: fmt.Sprint(form, form &&
				j.Workload.Packed.IDs(samples) < 8*j.Workload.Occurrences*samples),
			uniqueIDs: fmt.Sprint(j.Workload.Distinct(samples) < j.Workload.Occurrences*samples),
			hashing:   fmt.Sprint(math.Round(100 * j.Workload.Skew(samples, servers))),
			locks:     fmt.Sprint(s.EmbeddingPS.Threads.Mid),
			zeroCopy:  fmt.Sprint(s.Messages.ByteTime.Mid),
		}
	}
	all := describe(everything.at(base, middle))
	for i, o := range optimisations() {
		one := switches(1) << i
		for which, now := range describe((everything &^ one).at(base, middle)) {
			if one == uniqueIDs && which == hashing {
				continue // a hash spreads occurrences in another way than distinct rows
			}
			if changed := now != all[which]; changed != (which == one) {
				t.Errorf("%s off: %s is %s, with all on %s", o.ID, optimisations()[bit(which)].ID, now,
					all[which])
			}
		}
	}
	none := switches(0).at(base, middle)
	if none.Training.Mode != job.Sync || none.Wire.Precision != compress.FP32 || none.Training.Prefetch != 1 {
		t.Errorf("all off: %+v, wire %+v", none.Training, none.Wire)
	}
	if names := everything.names(optimisations()); end != 1<<len(names) {
		t.Errorf("%d names, want one for each bit of %b", len(names), everything)
	}
}

func bit(s switches) (n int) {
	for ; s > 1; s >>= 1 {
		n++
	}
	return n
}

// Two tables with 3 and 1 ids a sample on two PSs, on which an id in half of all samples of the first weighs
// 3/8: whole tables put 3/4 on one PS, a hash at least 3/8 + 5/16.
func TestLoadOfTheBusiestPS(t *testing.T) {
	m := &model.Model{Groups: []model.Group{{Name: "a", Rows: 1000, IDs: 3}, {Name: "b", Rows: 1000, IDs: 1}}}
	tables := m.Tables()
	if got := tableSkew(tables, false)(10, 2); got != 1.5 {
		t.Errorf("whole tables: %v, want 1.5", got)
	}
	if got := tableSkew(tables, false)(10, 4); got != 3 {
		t.Errorf("whole tables on 4 PSs: %v, want 3", got)
	}
	// 30 draws of 1,000 equal ids have 29.6 distinct ones, 10 draws 9.96.
	if got := tableSkew(tables, true)(10, 2); math.Abs(got-2*29.57/(29.57+9.96)) > 0.001 {
		t.Errorf("whole tables, distinct rows: %v", got)
	}
	if got := occurrenceSkew(tables)(10, 2); got < 1 || got > 1.1 {
		t.Errorf("equal ids on 2 PSs by a hash: %v, want nearly 1", got)
	}
	criteoTables := criteo(t).Model.Tables()
	top, sum := 0.0, 0.0
	for _, table := range criteoTables {
		top, sum = max(top, table.IDs*table.Frequencies.Top()), sum+table.IDs
	}
	if got := occurrenceSkew(criteoTables)(512, 50); got < 50*top/sum {
		t.Errorf("Criteo on 50 PSs: %v, less than the most frequent id, %v", got, 50*top/sum)
	}
}

// GE 4, FC 5, BC 7, DS 16, PEG 3 ms and 2 ms of reading, in one bucket: all on 28, without async rows 35,
// without batches ahead 37. In two equal buckets, of which the first is ready after 3.5 ms, DS ends 19.5 ms
// after the begin of BC; without overlap, 28.
func TestClosedFormsOfSchedules(t *testing.T) {
	stages := pace.StageTimes{pace.GE: 4e6, pace.FC: 5e6, pace.BC: 7e6, pace.DS: 16e6, pace.PEG: 3e6}
	one, two := closedForms(stages, 37e6, []float64{1}), closedForms(stages, 37e6, []float64{0.5, 0.5})
	for _, c := range []struct {
		got, want unit.Tick
	}{
		{one[everything], 28e6}, {one[everything&^async], 35e6}, {one[everything&^ahead], 37e6},
		{two[everything], 24.5e6}, {two[everything&^overlap], 28e6}, {two[everything&^async], 31.5e6},
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v, of %v and %v", c.got, c.want, one, two)
		}
	}
}

// A saving is that of the resource which the optimisation is about.
func TestSavings(t *testing.T) {
	base := criteo(t)
	middle := base.Parameters().Everywhere(0)
	all := everything.at(base, middle)
	saving := func(s switches) float64 { return s.saving(all, (everything&^s).at(base, middle)) }
	ids := all.Workload.Occurrences * 512
	distinct := all.Workload.Distinct(512)
	for s, want := range map[switches]float64{
		halves: 2, locks: 52, packedIDs: 8 * ids / (8*distinct + 2*ids),
	} {
		if got := saving(s); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", optimisations()[bit(s)].ID, got, want)
		}
	}
	if got := saving(uniqueIDs); got < ids/distinct {
		t.Errorf("unique rows: %v, want at least %v", got, ids/distinct)
	}
}

// fake is a lab in which wires in fp16 lose 0.01 AUC in sync and 0.02 in hybrid, and other forms nothing.
type fake struct{}

func (fake) Run(_ context.Context, specs []trial.Spec) (results []trial.Result, err error) {
	for _, s := range specs {
		auc := 0.7 + 0.01*float64(s.Job.Training.Seed)
		if s.Job.Wire.Precision == compress.FP16 {
			auc -= 0.01 + 1e-6*float64(s.Job.Training.Seed)
			if s.Job.Training.Mode == job.Hybrid {
				auc -= 0.01
			}
		}
		results = append(results, trial.Result{AUC: auc, LogLoss: 1 - auc, TestRows: 100})
	}
	return results, nil
}

func (fake) RowDeviation(treated, reference []trial.Spec) (float64, error) {
	for i := range treated {
		a, b := treated[i].Job, reference[i].Job
		if a.Training.Seed != b.Training.Seed || a.Training.Mode != b.Training.Mode {
			return 0, errors.New("the trainings are not paired")
		}
	}
	return 0, nil
}

// smallQuality returns a plan of all forms at the nominal rates on few rows.
func smallQuality() quality {
	q := newQuality(false)
	q.Rates = nil
	q.Sets = []report.DataSet{report.AdultIncome(), report.Generated(0.1, 400, 300),
		report.Like("criteo", 400, 300)}
	return q
}

// Every form is compared with exact training in its own mode, and the verdicts follow.
func TestLossesOfForms(t *testing.T) {
	q := smallQuality()
	list, err := q.measure(t.Context(), fake{}, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	judge.Judge((&results{Accuracies: list}).comparisons())
	for _, a := range list {
		for m, mode := range q.Modes {
			for i, f := range q.Forms {
				c, want, verdict := a.Losses[m][i], 0.0, metric.Equivalent
				if f.Wire == compress.FP16 {
					want = map[string]float64{job.Hybrid: -0.02, job.Sync: -0.01}[mode]
					verdict = metric.Different
				}
				if math.Abs(c.AUC.Estimate-want) > 1e-5 || c.Verdict != verdict {
					t.Errorf("%s, %s: %v, %v, want %v", a.DataSet, c.Treated, c.AUC, c.Verdict, want)
				}
			}
		}
	}
	const finding = "36 comparisons: 24 equivalent within 0.001, 12 different"
	if got := q.finding(list); !strings.Contains(got, finding) {
		t.Errorf("finding %q, want %q", got, finding)
	}
}

// A gain is above or below 1 only beyond jitter, and beyond what is negligible.
func TestSignOfAGain(t *testing.T) {
	at := func(low, high float64) metric.Interval {
		return metric.Interval{Estimate: 1, Low: low, High: high}
	}
	for _, c := range []struct {
		gain gain
		want int
	}{
		{gain{at(1.02, 1.5), 0.01}, 1}, {gain{at(1.02, 1.5), 0.03}, 0}, {gain{at(1.004, 1.1), 0}, 0},
		{gain{at(0.7, 0.98), 0.01}, -1}, {gain{at(0.7, 1.2), 0}, 0},
	} {
		if got := c.gain.sign(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.gain, got, c.want)
		}
	}
}

// A small plan, from simulation and training to the report.
func TestSmallAblation(t *testing.T) {
	o := report.Options{Quick: true, Seeds: 2, Seed: 3, Folder: t.TempDir()}
	p, _ := newPlan(o)
	p.Samples, p.Steps = 2, 2
	p.Quality = smallQuality()
	p.Quality.Modes = p.Quality.Modes[:1]
	p.Quality.Sets, p.Quality.Batches = p.Quality.Sets[1:2], p.Quality.Batches[1:2]
	p.Quality.Forms = p.Quality.Forms[:2]
	r, err := p.measure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	out := p.report(r)
	reporttest.CheckWidth(t, out)
	b := r.Throughputs[0]
	for i, off := range b.Off {
		if want := b.All.Throughput.Estimate / off.Throughput.Estimate; b.Lost[i].Estimate != want {
			t.Errorf("without %s: %v, want %v", p.Optimisations[i].ID, b.Lost[i], want)
		}
		if b.Lost[i].Low > b.Lost[i].High || len(off.On) != len(p.Optimisations)-1 ||
			len(b.Alone[i].On) != 1 {
			t.Errorf("%+v, %v, %v", b.Lost[i].Interval, off.On, b.Alone[i].On)
		}
	}
	if b.Total.Low <= 1 || b.Lost[0].Low <= 1 {
		t.Errorf("all on ÷ all off %v, ÷ without asynchronous rows %v", b.Total, b.Lost[0])
	}
	if names := len(out.Quantities); names != 2+2*len(p.Optimisations)+2 {
		t.Errorf("%d quantities", names)
	}
	if len(out.Comparisons) != 2 || len(out.Figures[0].Bars) != 1+len(p.Optimisations) {
		t.Errorf("%d comparisons, %d bars", len(out.Comparisons), len(out.Figures[0].Bars))
	}
	if !strings.Contains(out.Findings[0], "All on ÷ all off") {
		t.Errorf("findings %q", out.Findings)
	}
}
