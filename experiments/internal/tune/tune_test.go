package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/rng"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// hill is a lab whose AUC is a parabola in the logarithms of both rates, with an effect of the seed and
// noise.
type hill struct {
	best    Rates
	drop    float64 // of the AUC, a factor e from the best rate
	noise   float64 // standard deviation
	diverge float64 // from this row rate, trainings diverge; 0: never
	spread  float64 // standard deviation of a seed's best rates, as a logarithm
	runs    int
}

func (h *hill) Run(_ context.Context, specs []trial.Spec) ([]trial.Result, error) {
	results := make([]trial.Result, len(specs))
	for i, s := range specs {
		h.runs++
		r := Rates{s.Job.Rows.Optimizer.Rate, s.Job.Model.Optimizer.Rate}
		if h.diverge > 0 && r.Rows >= h.diverge {
			results[i] = trial.Result{Diverged: "too fast"}
			continue
		}
		stream := rng.New(s.Job.Training.Seed, fmt.Sprintf("%s %.6g %.6g", s.Name, r.Rows, r.Dense))
		world := rng.New(s.Job.Training.Seed, "world")
		seedEffect := world.NormFloat64() * 0.01
		rows := math.Log(r.Rows/h.best.Rows) + h.spread*world.NormFloat64()
		dense := math.Log(r.Dense/h.best.Dense) + h.spread*world.NormFloat64()
		results[i].AUC = 0.75 - h.drop*(rows*rows+dense*dense) + seedEffect + h.noise*stream.NormFloat64()
	}
	return results, nil
}

func arm(name string, nominal Rates) Arm {
	return Arm{Name: name, Nominal: nominal, Job: func(seed uint64) job.Job {
		j := job.Default()
		j.Data = report.Generated(0.1, 1000, 1000).WithSeed(seed)
		j.Training.Seed = seed
		return j
	}}
}

func plan() Plan { return Plan{Rows: Grid(0.1, 3, 2), Dense: Grid(0.01, 3, 2), Seeds: SeedsWanted} }

func tune(t *testing.T, lab Lab, arms ...Arm) []Choice {
	t.Helper()
	choices, err := Tune(context.Background(), lab, arms, plan())
	if err != nil {
		t.Fatal(err)
	}
	return choices
}

func TestTuneFindsTheTopOfAHill(t *testing.T) {
	for _, best := range []Rates{{0.1, 0.01}, {0.17, 0.006}, {0.05, 0.02}, {0.4, 0.04}} {
		lab := &hill{best: best, drop: 0.002, noise: 0.0003}
		c := tune(t, lab, arm("a", Rates{0.1, 0.01}))[0]
		if off := distance(c.Rates, best); off > math.Log(3)/2 {
			t.Errorf("chose %v, want %v", c.Rates, best)
		}
		if c.AtEdge {
			t.Errorf("%v is at an edge", best)
		}
		if middle := report.Median(c.BestRows); math.Abs(math.Log(middle/best.Rows)) > math.Log(3)/2 {
			t.Errorf("the best row rates of seeds are %v, want %v", c.BestRows, best.Rows)
		}
		if p := plan(); c.Trials != lab.runs || p.Trials() != lab.runs {
			t.Errorf("%d trials, planned %d, counted %d", c.Trials, p.Trials(), lab.runs)
		}
	}
}

func TestEveryArmHasTheSameNumberOfTrials(t *testing.T) {
	lab := &hill{best: Rates{0.9, 0.001}, drop: 0.01, noise: 0.001}
	choices := tune(t, lab, arm("a", Rates{0.1, 0.01}), arm("b", Rates{0.9, 0.001}),
		arm("c", Rates{0.01, 0.09}))
	for _, c := range choices {
		if c.Trials != choices[0].Trials {
			t.Errorf("%s has %d trials, %s has %d", c.Arm, c.Trials, choices[0].Arm, choices[0].Trials)
		}
	}
	for _, c := range choices {
		if !c.AtEdge {
			t.Errorf("%s: the best rates, %v, are not at an edge", c.Arm, c.Rates)
		}
	}
}

// Noise moves the best candidate from rung to rung. Its neighbours have left by then, and stay away.
func TestNoiseDoesNotChangeTheNumberOfTrials(t *testing.T) {
	var arms []Arm
	for i := range 30 {
		arms = append(arms, arm(fmt.Sprint("arm ", i), Rates{0.1, 0.01}))
	}
	choices := tune(t, &hill{best: Rates{0.1, 0.01}, drop: 0.001, noise: 0.01}, arms...)
	for _, c := range choices {
		if c.Trials != choices[0].Trials {
			t.Errorf("%s has %d trials, %s has %d", c.Arm, c.Trials, choices[0].Arm, choices[0].Trials)
		}
	}
}

// Where no rate is better than the nominal one, noise alone must not choose another too often; and what is
// chosen is rarely worse than nominal by more than the standard error of a comparison under other seeds.
func TestTunedIsRarelyWorseThanNominal(t *testing.T) {
	const arms, seeds = 400, 5
	worse, stream := 0, rng.New(1, "arms")
	for i := range arms {
		nominal := Rates{0.1, 0.01}
		lab := &hill{best: nominal, drop: 0.003, noise: 0.002, spread: 0.3}
		if i%2 == 1 { // the best rates are elsewhere
			lab.best.Rows *= math.Exp(stream.NormFloat64())
			lab.best.Dense *= math.Exp(stream.NormFloat64())
		}
		c := tune(t, lab, arm(fmt.Sprint("arm ", i), nominal))[0]
		at := func(r Rates) (auc []float64) {
			for seed := range uint64(seeds) {
				j := arm("", nominal).Job(seed)
				r.Apply(&j)
				results, _ := lab.Run(context.Background(),
					[]trial.Spec{{Job: j, Name: fmt.Sprint("judge ", i)}})
				auc = append(auc, results[0].AUC)
			}
			return auc
		}
		gains := report.Differences(at(c.Rates), at(nominal))
		if mean(gains) < -StandardError(gains) {
			worse++
		}
	}
	if worse > arms*5/100 {
		t.Errorf("%d of %d tuned arms are below nominal by more than a standard error", worse, arms)
	}
}

func TestDivergedTrialsAreNotChosen(t *testing.T) {
	lab := &hill{best: Rates{0.5, 0.01}, drop: 0.002, noise: 0.0003, diverge: 0.25}
	c := tune(t, lab, arm("a", Rates{0.1, 0.01}))[0]
	if c.Rows >= 0.25 || math.IsNaN(c.Rows) {
		t.Errorf("chose %v", c.Rates)
	}
}

func TestRowRatio(t *testing.T) {
	fast := tune(t, &hill{best: Rates{0.4, 0.01}, drop: 0.003, noise: 0.0003}, arm("a", Rates{0.1, 0.01}))[0]
	slow := tune(t, &hill{best: Rates{0.1, 0.01}, drop: 0.003, noise: 0.0003}, arm("b", Rates{0.1, 0.01}))[0]
	if r := RowRatio(fast, slow); r.Low > 4 || r.High < 4 || r.High/r.Low > 1.5 {
		t.Errorf("ratio %v, want 4", r)
	}
}

func TestFixedRatesStayAndErrorsPass(t *testing.T) {
	p := Plan{Rows: Grid(0.1, 3, 2), Dense: []float64{0.02}, Seeds: 3}
	lab := &hill{best: Rates{0.3, 0.01}, drop: 0.002, noise: 0.0003}
	choices, err := Tune(context.Background(), lab, []Arm{arm("a", Rates{0.1, 0.02})}, p)
	if err != nil || choices[0].Dense != 0.02 || math.Abs(math.Log(choices[0].Rows/0.3)) > math.Log(3)/2 {
		t.Errorf("chose %+v, %v", choices, err)
	}
	bad := errors.New("no data")
	if _, err := Tune(context.Background(), failing{bad}, []Arm{arm("a", Rates{0.1, 0.02})}, p); err != bad {
		t.Errorf("error %v", err)
	}
}

func TestValidate(t *testing.T) {
	for _, bad := range [][]float64{nil, {0.2, 0.1}, {0.1, 0.1}, {0.1, 0.2, 0.5}} {
		p := Plan{Rows: bad, Dense: []float64{0.1}}
		if p.Validate() == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	p := Plan{Rows: []float64{0.03, 0.1, 0.333}, Dense: []float64{0.1}}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Run(context.Context, []trial.Spec) ([]trial.Result, error) { return nil, f.err }

// Longer runs go on from the tuned rate until a rate is better than its neighbours, and no further.
func TestRefineGoesOnToTheTop(t *testing.T) {
	tuned := []Choice{{Rates: Rates{0.1, 0.01}}, {Rates: Rates{0.1, 0.01}}, {Rates: Rates{0.1, 0.01}}}
	arms := []Arm{arm("a", Rates{}), arm("b", Rates{}), arm("c", Rates{})}
	for name, c := range map[string]struct {
		best, want Rates
		tried      int // one, two beside it in each rate, and one for every step further
		atEdge     bool
	}{
		"stays":           {Rates{0.1, 0.01}, Rates{0.1, 0.01}, 5, false},
		"down":            {Rates{0.026, 0.01}, Rates{0.025, 0.01}, 7, false},
		"up":              {Rates{0.39, 0.01}, Rates{0.4, 0.01}, 7, false},
		"too far":         {Rates{100, 0.01}, Rates{1.6, 0.01}, 8, true},
		"too near":        {Rates{0.0001, 0.01}, Rates{0.00625, 0.01}, 8, true},
		"network up":      {Rates{0.1, 0.041}, Rates{0.1, 0.04}, 7, false},
		"network too far": {Rates{0.21, 0.0001}, Rates{0.2, 0.000625}, 9, true},
	} {
		h := &hill{best: c.best, drop: 0.01}
		refined, err := Refine(context.Background(), h, arms, tuned, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range refined {
			if distance(r.Rates, c.want) > 1e-9 || len(r.Candidates) != c.tried || r.AtEdge != c.atEdge ||
				r.Arm != arms[i].Name {
				t.Errorf("%s: %+v, want %v of %d", name, r, c.want, c.tried)
			}
			for _, one := range r.Candidates {
				if len(one.AUC) != 2 {
					t.Errorf("%s: candidates %+v", name, r.Candidates)
				}
			}
		}
		if h.runs != 3*2*c.tried {
			t.Errorf("%s: %d trainings of 3 arms, %d candidates, 2 seeds", name, h.runs, c.tried)
		}
	}
}

// A rate at which trainings diverge is never chosen.
func TestRefineLeavesRatesThatDiverge(t *testing.T) {
	h := &hill{best: Rates{0.3, 0.01}, drop: 0.01, diverge: 0.15}
	refined, err := Refine(context.Background(), h, []Arm{arm("a", Rates{})},
		[]Choice{{Rates: Rates{0.1, 0.01}}}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if r := refined[0]; r.Rows != 0.1 || r.AtEdge {
		t.Errorf("%+v", r)
	}
}
