package source

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/rng"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/report/reporttest"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// tiny returns a plan of two generated data sets with two delays.
func tiny() *latePlan {
	var sets []set
	for _, alpha := range []float64{0.01, 0.5} {
		sets = append(sets, set{report.Generated(alpha, 1_000, 100), 20, []int{3, 15}, []float64{1, 2},
			tune.SeedsMin})
	}
	p := newLatePlan(1, sets)
	p.Seed, p.Seeds = 7, 4
	return p
}

// fake is a lab with known losses: 0.0002 a step for late rows, 0.0006 for a late network, and 0.004 by the
// distance of a rate from the best one, which is lower by a factor of 3 for what is late.
type fake struct {
	specs []trial.Spec // all, in order
	// change changes a result, if not nil.
	change func(s *trial.Spec, r *trial.Result)
}

func (f *fake) Run(_ context.Context, specs []trial.Spec) ([]trial.Result, error) {
	results := make([]trial.Result, len(specs))
	f.specs = append(f.specs, specs...)
	for i, s := range specs {
		nominal := nominalRates()
		t := s.Job.Training
		rows, dense := s.Job.Rows.Optimizer.Rate/nominal.Rows, s.Job.Model.Optimizer.Rate/nominal.Dense
		if t.Delay.Steps > 0 {
			rows *= 3
		}
		if t.DelayDense.Steps > 0 {
			dense *= 3
		}
		off := math.Abs(math.Log(rows)) + math.Abs(math.Log(dense))
		noise := rng.New(t.Seed, "noise").NormFloat64()
		own := rng.New(t.Seed, s.Name).NormFloat64()
		results[i] = trial.Result{
			AUC: 0.8 + 0.01*noise + 0.00001*own - 0.004*off -
				0.0002*float64(t.Delay.Steps) - 0.0006*float64(t.DelayDense.Steps) - 0.0001*float64(s.Drop),
			Steps: 50, TestRows: 500,
		}
		if f.change != nil {
			f.change(&s, &results[i])
		}
	}
	return results, nil
}

func (*fake) RowDeviation(treated, reference []trial.Spec) (float64, error) {
	for i := range treated {
		if treated[i].Job.Training.Seed != reference[i].Job.Training.Seed ||
			treated[i].Job.Training.Delay.Steps == 0 || reference[i].Job.Training.DelayDense.Steps == 0 {
			return 0, errors.New("the trainings are not paired")
		}
	}
	return 0, nil
}

func measureLate(t *testing.T, f *fake) (*latePlan, []*lateResult) {
	t.Helper()
	p := tiny()
	results, err := p.measure(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	return p, results
}

// The losses are those of the fake lab: at own rates those of the delay; at the rates of fresh, where both
// parts are off by a factor of 3, 0.004·ln 3 more.
func TestLossesAreThoseOfTheLab(t *testing.T) {
	p, results := measureLate(t, &fake{})
	for _, r := range results {
		for _, c := range r.Comparisons {
			more := 0.0
			if c.Rates == freshRates {
				more = 0.004 * math.Log(3)
			}
			d := float64(c.Delay)
			if c.Rates == defaultRate {
				continue // far from the best
			}
			for _, one := range []struct {
				name      string
				got, want float64
			}{
				{"lag", c.LagLoss.Estimate, 0.0001 * d},
				{"rows", c.RowLoss.Estimate, 0.0002*d + more},
				{"network", c.NetworkLoss.Estimate, 0.0006*d + more},
				{"difference", c.Difference.AUC.Estimate, 0.0004 * d},
			} {
				if math.Abs(one.got-one.want) > 0.00005 {
					t.Errorf("%s, %v: %s %v, want %v", r.DataSet, c.Rates, one.name, one.got, one.want)
				}
			}
			if c.Verdict != holds || c.Steps != 50 {
				t.Errorf("%s, %v: %s, %d steps", r.DataSet, c.Rates, c.Verdict, c.Steps)
			}
		}
		if n := len(r.Comparisons); n != 2+2+1+2 { // own, fresh: 2 delays; default; length 2
			t.Errorf("%s: %d comparisons", r.DataSet, n)
		}
		if len(r.Logistic) != p.Seeds || len(r.Oracle) != p.Seeds || r.Oracle[0] < 0.6 || r.TestRows != 500 {
			t.Errorf("%s: logistic %v, oracle %v, %d test rows", r.DataSet, r.Logistic, r.Oracle, r.TestRows)
		}
	}
}

// The arms of a seed differ in their delays, steps left out, and rates alone. Comparisons are on test rows of
// seeds that the tuner does not have.
func TestArmsArePaired(t *testing.T) {
	f := &fake{}
	p, _ := measureLate(t, f)
	groups := map[string][]trial.Spec{}
	for _, s := range f.specs {
		j := s.Job
		if err := j.Validate(); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if j.Training.Seed >= tune.FirstSeed || j.Model.Kind == logistic {
			continue
		}
		if s.Part != trial.Test || j.Training.Seed < p.Seed || j.Training.Seed >= p.Seed+uint64(p.Seeds) {
			t.Errorf("%s: part %s, seed %d", s.Name, s.Part, j.Training.Seed)
		}
		late := max(j.Training.Delay.Steps, j.Training.DelayDense.Steps, s.Drop)
		if sum := j.Training.Delay.Steps + j.Training.DelayDense.Steps + s.Drop; sum != late {
			t.Errorf("%s: %d steps in sum", s.Name, sum)
		}
		j.Training.Delay, j.Training.DelayDense = p.Job.Training.Delay, p.Job.Training.DelayDense
		nominalRates().Apply(&j)
		s.Job, s.Drop, s.Name = j, 0, ""
		id, err := s.ID()
		if err != nil {
			t.Fatal(err)
		}
		groups[id] = append(groups[id], s)
	}
	// One group for each data set, length and seed. It has four arms for each delay and kind of rates.
	if want := len(p.Sets) * 2 * p.Seeds; len(groups) != want {
		t.Errorf("%d groups of equal jobs, want %d", len(groups), want)
	}
	for _, g := range groups {
		if n := len(g); n != 5*4 && n != 2*4 {
			t.Errorf("a group has %d trainings", n)
		}
	}
}

func TestJudge(t *testing.T) {
	f := &fake{change: func(s *trial.Spec, r *trial.Result) {
		if s.Job.Training.DelayDense.Steps > 0 { // the network loses as much as rows, or less
			r.AUC += 0.0004 * float64(s.Job.Training.DelayDense.Steps)
			r.AUC += 0.0001 * (float64(s.Job.Training.Seed%2) - 0.5)
			if s.Job.Data.Synthetic.Alpha == 0.5 {
				r.AUC += 0.001
			}
		}
	}}
	p, results := measureLate(t, f)
	if a, b := p.main(results[0], ownRates), p.main(results[1], ownRates); a.Verdict != unclear ||
		b.Verdict != reversed {
		t.Errorf("verdicts %q on %+v, %q on %+v", a.Verdict, a.Difference.AUC, b.Verdict, b.Difference.AUC)
	}
	text := strings.Join(p.findings(results), "\n")
	if !strings.Contains(text, "reversed on α = 0.5*; not distinguishable on α = 0.01.") {
		t.Errorf("findings\n%s", text)
	}
}

// A training that diverges counts as a constant guess, and is noted.
func TestDivergedArmsAreConstantGuesses(t *testing.T) {
	f := &fake{change: func(s *trial.Spec, r *trial.Result) {
		if s.Job.Training.DelayDense.Steps == 15 && s.Job.Training.Seed < tune.FirstSeed {
			*r = trial.Result{Diverged: "too fast"}
		}
	}}
	p, results := measureLate(t, f)
	c := p.main(results[0], ownRates)
	if !slices.Equal(c.Network.AUC, []float64{0.5, 0.5, 0.5, 0.5}) || c.Diverged != 4 {
		t.Errorf("%+v", c)
	}
	// 2 data sets × 4 seeds × 3 kinds of rates, of length 1, or 2, of length 2
	if notes := strings.Join(p.notes(results), "\n"); !strings.Contains(notes, " 40 trainings ") {
		t.Errorf("notes %s", notes)
	}
}

// A small comparison from training to files.
func TestReportOfTinyRuns(t *testing.T) {
	p := tiny()
	small := report.DataSet{Name: "movielens-100k", Alpha: 0.1, Data: job.Data{
		Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
			TrainRows: 320, TestRows: 100, Alpha: 0.1, Numeric: 2,
			Columns: []job.SyntheticColumn{{Cardinality: 50, Exponent: 1}},
		},
	}}
	p.Sets = []set{{small, 16, []int{15}, []float64{1}, tune.SeedsMin}}
	p.Job.Model.EmbeddingDim, p.Job.Model.Top = 4, []int{4}
	p.Tuning.Rows = p.Tuning.Rows[1:2]
	p.Seed, p.Seeds = 1, 2
	o := report.Options{Folder: t.TempDir(), Progress: reporttest.Progress(t)}
	results, err := trial.Measure(o, "", p.trainings(), func(lab *trial.Lab) ([]*lateResult, error) {
		return p.measure(t.Context(), lab)
	})
	if err != nil {
		t.Fatal(err)
	}
	r, c := p.report(results), p.main(results[0], ownRates)
	reporttest.CheckWidth(t, r)
	if c.Steps != 20 || slices.Equal(c.Fresh.AUC, c.Rows.AUC) ||
		slices.Equal(c.Fresh.AUC, c.Network.AUC) || slices.Equal(c.Rows.AUC, c.Network.AUC) ||
		slices.Equal(c.Fresh.AUC, c.Lag.AUC) {
		t.Errorf("arms have equal results: %+v", c)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "Only 2 seeds") {
		t.Errorf("notes %q", r.Notes)
	}
	if err := r.WriteFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestAbsentDataAreNoted(t *testing.T) {
	sets := fullLatePlan().Sets
	present, notes := report.Present(sets, t.TempDir())
	if len(notes) != len(sets)-3 || !strings.HasPrefix(notes[0], "Not measured: avazu: there is no ") ||
		!strings.Contains(notes[0], "; put there 15,000 random rows of train.csv") {
		t.Errorf("notes %q", notes)
	}
	if len(present) != 3 || present[2].Name != "adult-income" {
		t.Errorf("%d data sets are left", len(present))
	}
}

// The batch of a data set is the largest power of two, at most 128, with which an epoch has at least 200
// steps.
func TestBatches(t *testing.T) {
	folder := os.Getenv("TANDEM_DATA")
	p := fullLatePlan()
	present, _ := report.Present(p.Sets, folder)
	for _, s := range append(present, quickLatePlan().Sets...) {
		if slices.Contains([]string{"frappe", "ijcai18", "movielens-100k"}, s.Name) {
			continue // more than 40,000 rows, which take a while to read
		}
		rows := 0
		if s.Data.Synthetic != nil {
			rows = s.Data.Synthetic.TrainRows
		} else {
			data, err := datasets.Open(s.WithSeed(1), folder)
			if err != nil {
				t.Fatal(err)
			}
			rows = data.Train.Samples
		}
		want := 128
		for rows < want*200 {
			want /= 2
		}
		if s.Batch != want || !slices.Contains(s.Delays, p.MainDelay) || s.Lengths[0] != 1 {
			t.Errorf("%s: %d rows: batch %d, want %d; delays %v, lengths %v", s.Name, rows, s.Batch, want,
				s.Delays, s.Lengths)
		}
	}
}
