package tune

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tandem/experiments/internal/trial"
)

// Refined is what longer runs chose for an arm.
type Refined struct {
	Arm   string `json:"arm"`
	Rates `json:"rates"`
	// AtEdge says that a rate is the lowest or the highest that was tried.
	AtEdge     bool        `json:"at_edge"`
	Candidates []Candidate `json:"candidates"` // in the order in which they were trained
}

// Refine chooses rates again on longer runs, those of the arms: first the rate of rows, then that of the
// network at the best rate of rows. Of each it tries the chosen one, those a factor below and above and,
// while the best is the last on a side, the next on that side, at most three times. So arms may have
// different numbers of trainings, unlike those of Tune. The data must be generated: candidates are compared
// on the test rows of seeds from FirstSeed.
func Refine(ctx context.Context, lab Lab, arms []Arm, choices []Choice, factor float64, seeds int) (
	[]Refined, error,
) {
	const extensions = 3
	list := make([]Refined, len(arms))
	for i, arm := range arms {
		list[i] = Refined{Arm: arm.Name, Rates: choices[i].Rates}
		list[i].add(list[i].Rates)
	}
	for _, scale := range []func(Rates, float64) Rates{Rates.withRows, Rates.withDense} {
		for range 1 + extensions {
			for i := range list {
				list[i].add(scale(list[i].Rates, 1/factor))
				list[i].add(scale(list[i].Rates, factor))
			}
			if err := refineAll(ctx, lab, arms, list, seeds); err != nil {
				return nil, err
			}
			for i := range list {
				list[i].settle()
			}
		}
		for i := range list {
			r := &list[i]
			r.AtEdge = r.AtEdge || r.find(scale(r.Rates, 1/factor)) < 0 || r.find(scale(r.Rates, factor)) < 0
		}
	}
	return list, nil
}

func (r Rates) withRows(factor float64) Rates { return Rates{r.Rows * factor, r.Dense} }

func (r Rates) withDense(factor float64) Rates { return Rates{r.Rows, r.Dense * factor} }

// find returns the index of the candidate with rates, or -1.
func (r *Refined) find(rates Rates) int {
	return slices.IndexFunc(r.Candidates, func(c Candidate) bool { return distance(c.Rates, rates) < 1e-6 })
}

// add adds a candidate unless it is there.
func (r *Refined) add(rates Rates) {
	if r.find(rates) < 0 {
		r.Candidates = append(r.Candidates, Candidate{Rates: rates})
	}
}

// settle chooses the best candidate; all are trained.
func (r *Refined) settle() {
	r.Rates = slices.MaxFunc(r.Candidates, func(a, b Candidate) int {
		return cmp.Compare(mean(a.AUC), mean(b.AUC))
	}).Rates
}

// refineAll trains all candidates that have no results.
func refineAll(ctx context.Context, lab Lab, arms []Arm, list []Refined, seeds int) error {
	var specs []trial.Spec
	var to []*Candidate
	for i := range list {
		for k := range list[i].Candidates {
			c := &list[i].Candidates[k]
			for n := len(c.AUC); n < seeds; n++ {
				seed := FirstSeed + uint64(n)
				specs, to = append(specs, trial.Spec{
					Job: arms[i].JobAt(c.Rates, seed), Part: trial.Test, Simulated: arms[i].Simulated,
					Name: fmt.Sprintf("refining %s, rates %.3g, %.3g, seed %d", list[i].Arm, c.Rows,
						c.Dense, seed),
				}), append(to, c)
			}
		}
	}
	return score(ctx, lab, specs, to)
}
