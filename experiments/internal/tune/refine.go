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
	// AtEdge says that the best rate of rows is the lowest or the highest that was tried.
	AtEdge     bool        `json:"at_edge"`
	Candidates []Candidate `json:"candidates"` // ascending in the rate of rows
}

// Refine chooses the rate of rows again on longer runs, those of the arms: the best of the chosen rate, the
// rates a factor below and above and, while the best is the last on a side, the next on that side, at most
// three times. So arms may have different numbers of trainings, unlike those of Tune. The rate of the
// network stays. The data must be generated: candidates are compared on the test rows of seeds from
// FirstSeed.
func Refine(ctx context.Context, lab Lab, arms []Arm, choices []Choice, factor float64, seeds int) (
	[]Refined, error,
) {
	const extensions = 3
	list := make([]Refined, len(arms))
	for i, arm := range arms {
		r := choices[i].Rates
		list[i] = Refined{Arm: arm.Name}
		for _, rows := range []float64{r.Rows / factor, r.Rows, r.Rows * factor} {
			list[i].Candidates = append(list[i].Candidates, Candidate{Rates: Rates{rows, r.Dense}})
		}
	}
	for round := range extensions + 1 {
		if err := refineAll(ctx, lab, arms, list, seeds); err != nil {
			return nil, err
		}
		for i := range list {
			list[i].settle()
			if list[i].AtEdge && round < extensions {
				list[i].extend(factor)
			}
		}
	}
	return list, nil
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

// settle chooses the best candidate; all are trained.
func (r *Refined) settle() {
	best := slices.MaxFunc(r.Candidates, func(a, b Candidate) int {
		return cmp.Compare(mean(a.AUC), mean(b.AUC))
	})
	r.Rates = best.Rates
	r.AtEdge = r.Rates == r.Candidates[0].Rates || r.Rates == r.Candidates[len(r.Candidates)-1].Rates
}

// extend adds the next candidate on the side of the best one, which is the last there.
func (r *Refined) extend(factor float64) {
	next := r.Rates
	if r.Rates == r.Candidates[0].Rates {
		next.Rows /= factor
		r.Candidates = slices.Insert(r.Candidates, 0, Candidate{Rates: next})
		return
	}
	next.Rows *= factor
	r.Candidates = append(r.Candidates, Candidate{Rates: next})
}
