package arms_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/rng"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// The planted properties of the two arms. Hybrid loses at its best rates too, and its best rate of rows is
// three times that of sync.
const (
	bestSync   = 0.1
	bestHybrid = 0.3
	planted    = 0.004 // what hybrid loses at its own rates
	drop       = 0.01  // of the AUC, a factor e from the best rate
)

// lab is a lab whose AUC is a parabola in the logarithm of the rate of rows. Seeds differ by far more than
// arms do.
type lab struct {
	runs    int
	diverge uint64            // trainings of hybrid on test rows under this seed diverge; 0: none
	pairs   [][2][]trial.Spec // that RowDeviation was asked for
}

func (l *lab) Run(_ context.Context, specs []trial.Spec) ([]trial.Result, error) {
	results := make([]trial.Result, len(specs))
	for i, s := range specs {
		l.runs++
		seed := s.Job.Training.Seed
		if s.Part == trial.Test && seed == l.diverge && s.Job.Training.Mode == job.Hybrid {
			results[i].Diverged = "too fast"
			continue
		}
		results[i].AUC = 0.75 - lost(s.Job.Training.Mode, s.Job.Rows.Optimizer.Rate) +
			0.05*rng.New(seed, "world").NormFloat64()
	}
	return results, nil
}

func (l *lab) RowDeviation(treated, reference []trial.Spec) (float64, error) {
	l.pairs = append(l.pairs, [2][]trial.Spec{treated, reference})
	return 0, nil
}

// lost is what a mode loses at a rate of rows.
func lost(mode string, rate float64) float64 {
	if mode == job.Hybrid {
		return planted + drop*math.Pow(math.Log(rate/bestHybrid), 2)
	}
	return drop * math.Pow(math.Log(rate/bestSync), 2)
}

// set returns sync and hybrid on generated data.
func set() *arms.Set {
	data := report.Generated(0.1, 200, 200)
	s := &arms.Set{Data: data, Common: job.Sync, Seed: 7, Seeds: 4,
		Rates: tune.Plan{Rows: tune.Grid(0.1, 3, 2), Dense: []float64{0.01}, Seeds: tune.SeedsMin}}
	for _, mode := range []string{job.Sync, job.Hybrid} {
		s.Arms = append(s.Arms, tune.Arm{Name: mode, Nominal: tune.Rates{Rows: 0.1, Dense: 0.01},
			Job: func(seed uint64) job.Job {
				j := job.Default()
				j.Data, j.Training.Seed, j.Training.Mode = data.WithSeed(seed), seed, mode
				return j
			}})
	}
	return s
}

// At own rates, hybrid loses what is planted; at the rates of sync, its wrong rate costs more. Differences
// are taken seed by seed, so the luck of a seed, ten times as large, cancels.
func TestOwnAndCommonRates(t *testing.T) {
	s, l := set(), &lab{}
	r, err := s.Measure(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if l.runs != s.Trainings() {
		t.Errorf("%d trainings, announced %d", l.runs, s.Trainings())
	}
	gaps, err := r.Gaps(l, hybridLessSync)
	if err != nil {
		t.Fatal(err)
	}
	for kind, rate := range map[arms.Kind]float64{
		arms.Own: r.Arm(job.Hybrid).Choice.Rows, arms.Common: r.Arm(job.Sync).Choice.Rows,
	} {
		want := lost(job.Sync, r.Arm(job.Sync).Choice.Rows) - lost(job.Hybrid, rate)
		c := gaps[0].At(kind)
		if !slices.Equal(c.Seeds, []uint64{7, 8, 9, 10}) {
			t.Errorf("%s: seeds %v", kind, c.Seeds)
		}
		for i, d := range c.AUCs {
			if math.Abs(d-want) > 1e-12 {
				t.Errorf("%s, seed %d: %v, want %v", kind, c.Seeds[i], d, want)
			}
		}
	}
	own, common := gaps[0].Own.AUCs[0], gaps[0].Common.AUCs[0]
	if math.Abs(own+planted) > 0.001 || common > -planted-drop/2 {
		t.Errorf("own rates %v, common rates %v; %v is planted, and the wrong rate costs %v", own, common,
			-planted, drop*math.Pow(math.Log(bestHybrid/bestSync), 2))
	}
	if ratio := r.Arm(job.Hybrid).RowRatio.Estimate; math.Abs(ratio-3) > 0.5 {
		t.Errorf("the best rate of hybrid is %v times that of sync, want 3", ratio)
	}
	if len(r.Oracle) != s.Seeds || r.Oracle[0] < 0.5 {
		t.Errorf("oracle %v", r.Oracle)
	}
}

var hybridLessSync = []arms.Difference{arms.Less("hybrid", "hybrid − sync", job.Hybrid, job.Sync)}

// The luck of the test rows is that of the trainings that are compared: same kind of rates, same seeds.
func TestPairsAreOfTheSameSeeds(t *testing.T) {
	s, l := set(), &lab{}
	r, err := s.Measure(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Gaps(l, hybridLessSync); err != nil {
		t.Fatal(err)
	}
	sync, hybrid := r.Arm(job.Sync).Choice.Rows, r.Arm(job.Hybrid).Choice.Rows
	for i, treatedRate := range []float64{hybrid, sync} {
		treated, reference := l.pairs[i][0], l.pairs[i][1]
		for k := range s.Seeds {
			a, b := treated[k].Job, reference[k].Job
			if a.Training.Seed != b.Training.Seed || a.Training.Mode != job.Hybrid ||
				b.Training.Mode != job.Sync || a.Rows.Optimizer.Rate != treatedRate ||
				b.Rows.Optimizer.Rate != sync || !strings.Contains(treated[k].Name, "hybrid") {
				t.Errorf("pair %d: %s at %v, %s at %v", i, treated[k].Name, a.Rows.Optimizer.Rate,
					reference[k].Name, b.Rows.Optimizer.Rate)
			}
		}
	}
}

// A training that diverged is counted, and stays in the comparison as a guess of ½.
func TestDivergedTrainings(t *testing.T) {
	s, l := set(), &lab{diverge: 8}
	r, err := s.Measure(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Arm(job.Hybrid); r.Diverged != 2 || a.Own.AUC[1] != 0.5 || a.Common.AUC[1] != 0.5 {
		t.Errorf("%d diverged, AUCs %v and %v", r.Diverged, a.Own.AUC, a.Common.AUC)
	}
}

// A best rate at an end of the grid is marked.
func TestRatesAtAnEdgeAreMarked(t *testing.T) {
	for _, edge := range []bool{false, true} {
		a := arms.Arm{Choice: tune.Choice{Rates: tune.Rates{Rows: 0.3, Dense: 0.01}, AtEdge: edge}}
		rows, network := a.RateTexts(2)
		if want := map[bool]string{false: "0.01", true: "0.01!"}[edge]; rows != "0.3" || network != want {
			t.Errorf("at an edge %v: %q, %q", edge, rows, network)
		}
	}
}
