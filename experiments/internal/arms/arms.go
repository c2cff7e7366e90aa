// Package arms compares ways of training on a data set, all at the learning rates that suit one of them and
// each at its own.
//
// Modes that take other optimizer steps need other rates, so a difference at common rates measures the rates
// as much as the modes, and one at own rates what is left after tuning. Both sides of every difference have
// the same rows, order and initial values.
//
//	set := arms.Set{Data: data, Arms: list, Common: "sync", Rates: candidates, Seed: 1, Seeds: 5}
//	result, err := set.Measure(ctx, lab)
//	gaps, err := result.Gaps(lab, differences)
package arms

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// Set is a data set with the arms to compare on it.
type Set struct {
	Data   report.DataSet
	Arms   []tune.Arm // each with a name of its own
	Common string     // the arm whose own rates are the common ones
	Rates  tune.Plan
	Seed   uint64 // the first
	Seeds  int
}

// Kind is which rates arms are compared at.
type Kind string

// The kinds of rates.
const (
	Own    Kind = "own rates"    // each arm has its own tuned rates
	Common Kind = "common rates" // all arms have those of Set.Common
)

// Suffix returns what the names of quantities end with.
func (k Kind) Suffix() string {
	if k == Common {
		return "-common-rate"
	}
	return ""
}

// Lab runs trainings, as *trial.Lab does.
type Lab interface {
	tune.Lab
	RowDeviation(treated, reference []trial.Spec) (float64, error)
}

// Result holds the results of a data set.
type Result struct {
	DataSet  string `json:"data"`
	TestRows int    `json:"test_rows"`
	Diverged int    `json:"diverged"` // trainings, which count as a guess of ½
	Arms     []*Arm `json:"arms"`     // in the order of Set.Arms
	// Oracle is the AUC of the probabilities that the labels were drawn with, by seed; none for real data.
	Oracle []float64 `json:"oracle_auc,omitempty"`

	seed uint64
}

// Arm holds the results of an arm.
type Arm struct {
	Name   string      `json:"arm"`
	Choice tune.Choice `json:"choice"`
	// RowRatio is the best rate of rows ÷ that of the common arm, over the seeds of tuning.
	RowRatio metric.Interval `json:"row_rate_ratio"`
	// Common and Own are the quality at the common rates and at the arm's own rates.
	Common judge.Quality `json:"at_common_rates"`
	Own    judge.Quality `json:"at_own_rates"`

	specs   map[Kind][]trial.Spec
	results map[Kind][]trial.Result
}

// Results returns the trainings at a kind of rates, by seed, once they are measured.
func (a *Arm) Results(kind Kind) []trial.Result { return a.results[kind] }

// Trainings returns how many trainings Measure asks for, equal ones included.
func (s *Set) Trainings() int { return len(s.Arms) * (s.Rates.Trials() + 2*s.Seeds) }

// Measure tunes every arm and trains it at its own and at the common rates under every seed.
func (s *Set) Measure(ctx context.Context, lab Lab) (*Result, error) {
	named := slices.Clone(s.Arms)
	for i := range named {
		named[i].Name = s.Data.Name + ", " + named[i].Name
	}
	choices, err := tune.Tune(ctx, lab, named, s.Rates)
	if err != nil {
		return nil, err
	}
	r := &Result{DataSet: s.Data.Name, seed: s.Seed}
	common := choices[slices.IndexFunc(s.Arms, func(a tune.Arm) bool { return a.Name == s.Common })]
	for i, arm := range s.Arms {
		a := &Arm{Name: arm.Name, Choice: choices[i], RowRatio: tune.RowRatio(choices[i], common),
			results: map[Kind][]trial.Result{},
			specs: map[Kind][]trial.Spec{
				Own: s.specs(arm, choices[i].Rates), Common: s.specs(arm, common.Rates),
			}}
		if a.Own, err = r.train(ctx, lab, a, Own); err != nil {
			return nil, err
		}
		if a.Common, err = r.train(ctx, lab, a, Common); err != nil {
			return nil, err
		}
		r.Arms = append(r.Arms, a)
	}
	oracle, err := s.Data.Oracle(s.Seed, s.Seeds)
	r.Oracle = oracle.AUC
	return r, err
}

// train returns the quality of an arm at a kind of rates, by seed.
func (r *Result) train(ctx context.Context, lab Lab, a *Arm, kind Kind) (q judge.Quality, err error) {
	results, err := lab.Run(ctx, a.specs[kind])
	if err != nil {
		return q, err
	}
	a.results[kind] = results
	q, diverged := trial.Quality(results)
	r.Diverged += diverged
	r.TestRows = results[0].TestRows
	return q, nil
}

// specs returns the trainings of an arm at some rates, by seed.
func (s *Set) specs(a tune.Arm, rates tune.Rates) (specs []trial.Spec) {
	for i := range s.Seeds {
		j := a.JobAt(rates, s.Seed+uint64(i))
		specs = append(specs, trial.Spec{Job: j, Part: trial.Test, Simulated: a.Simulated,
			Name: fmt.Sprintf("%s, %s, seed %d", s.Data.Name, a.Name, j.Training.Seed)})
	}
	return specs
}

// Arm returns the results of an arm. It panics if there is none of that name.
func (r *Result) Arm(name string) *Arm {
	for _, a := range r.Arms {
		if a.Name == name {
			return a
		}
	}
	panic(fmt.Sprintf("arms: %s: no arm %q", r.DataSet, name))
}

// Quality returns the quality of an arm at a kind of rates.
func (a *Arm) Quality(kind Kind) judge.Quality {
	if kind == Own {
		return a.Own
	}
	return a.Common
}

// RateTexts returns the tuned rates of rows and network for a table. A mark says that the best candidate is
// at an end of the grid.
func (a *Arm) RateTexts(digits int) (rows, network string) {
	rows, network = report.Digits(a.Choice.Rows, digits), report.Digits(a.Choice.Dense, digits)
	if a.Choice.AtEdge {
		network += "!"
	}
	return rows, network
}

// Difference is one of two arms: treated − reference.
type Difference struct {
	Name, Text         string // Name is part of the names of quantities
	Treated, Reference string // arms
}

// Less returns the difference of two arms.
func Less(name, text, treated, reference string) Difference {
	return Difference{name, text, treated, reference}
}

// Gap is what was measured of a difference, at both kinds of rates.
type Gap struct {
	Name   string            `json:"name"`
	Own    *judge.Comparison `json:"at_own_rates"`
	Common *judge.Comparison `json:"at_common_rates"`
}

// At returns the difference at a kind of rates.
func (g *Gap) At(kind Kind) *judge.Comparison {
	if kind == Own {
		return g.Own
	}
	return g.Common
}

// Gaps returns differences in their order, which are still to be judged.
func (r *Result) Gaps(lab Lab, differences []Difference) (gaps []*Gap, err error) {
	for _, d := range differences {
		g := &Gap{Name: d.Name}
		if g.Own, err = r.pair(lab, Own, d.Treated, d.Reference); err != nil {
			return nil, err
		}
		if g.Common, err = r.pair(lab, Common, d.Treated, d.Reference); err != nil {
			return nil, err
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}

func (r *Result) pair(lab Lab, kind Kind, treated, reference string) (c *judge.Comparison, err error) {
	t, with := r.Arm(treated), r.Arm(reference)
	c = judge.Pair(r.DataSet, fmt.Sprintf("%s, %s", treated, kind), reference, r.seed, t.Quality(kind),
		with.Quality(kind))
	c.RowDeviation, err = lab.RowDeviation(t.specs[kind], with.specs[kind])
	return c, err
}
