package source

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all arms; arms set delays and rates, sets set data, batch and epochs.
	Job job.Job `yaml:"job"`
	// MainDelay is the delay of tables and verdicts, in steps.
	MainDelay int       `yaml:"main-delay"`
	Tuning    tune.Plan `yaml:"tuning"` // without seeds
	Sets      []set     `yaml:"data"`
}

// set is a data set with what depends on its size.
type set struct {
	report.DataSet `yaml:",inline"`
	// Batch is the largest power of two, at most 128, with which an epoch has at least 200 steps.
	Batch  int   `yaml:"batch"`
	Delays []int `yaml:"delays"` // ascending, with the main one
	// Lengths are the lengths of runs, 1 first: for generated data a factor of the training rows, for real
	// data the number of epochs.
	Lengths []float64 `yaml:"lengths"`
	// TuningSeeds are the seeds of the tuner's finalists. Seeds of generated data are other data with other
	// best rates, so they need more.
	TuningSeeds int `yaml:"tuning-seeds"`
}

// part is a part of a model.
type part string

// The parts that can be late.
const (
	nothing part = "fresh"
	rows    part = "rows"
	network part = "network"
)

// arm is a way to train: with a part late, or as the lag control.
type arm struct {
	late  part
	delay int  // steps
	lag   bool // the last steps, as many as the delay, are left out
	model string
}

func (a arm) String() string {
	switch {
	case a.model != "":
		return a.model
	case a.lag:
		return fmt.Sprintf("fresh, %d steps fewer", a.delay)
	case a.late == nothing:
		return string(nothing)
	}
	return fmt.Sprintf("%s %d steps late", a.late, a.delay)
}

// spec returns the training of an arm on a data set of a length.
func (p *plan) spec(s *set, a arm, length float64, r tune.Rates, seed uint64) trial.Spec {
	j := p.Job
	j.Data = s.WithSeed(seed)
	j.Training.Seed, j.Training.GlobalBatch = seed, s.Batch
	if j.Data.Synthetic != nil {
		j.Data.Synthetic.TrainRows = int(float64(j.Data.Synthetic.TrainRows) * length)
	} else {
		j.Training.Epochs = int(length)
	}
	if a.model != "" {
		j.Model.Kind, j.Model.Top = a.model, nil
	}
	late := delay.Spec{Kind: delay.Exactly, Steps: a.delay}
	switch a.late {
	case rows:
		j.Training.Delay = late
	case network:
		j.Training.DelayDense = late
	}
	r.Apply(&j)
	spec := trial.Spec{Job: j, Part: trial.Test, Name: fmt.Sprintf("%s, seed %d, %v", s.Name, seed, a)}
	if a.lag {
		spec.Drop = a.delay
	}
	return spec
}

// tunedArms returns the arms of a data set that have rates of their own: fresh first, a logistic regression
// last.
func (p *plan) tunedArms(s *set) []arm {
	arms := []arm{{late: nothing}}
	for _, d := range s.Delays {
		arms = append(arms, arm{late: rows, delay: d}, arm{late: network, delay: d})
	}
	return append(arms, arm{late: nothing, model: logistic})
}

// logistic is the kind of the simplest model that learns from ids.
const logistic = "logistic-regression"

// defaultRates returns the rates of a job that sets none.
func defaultRates() tune.Rates {
	j := job.Default()
	return tune.Rates{Rows: j.Rows.Optimizer.Rate, Dense: j.Model.Optimizer.Rate}
}

// nominalRates are the middle of the tuning grid.
func nominalRates() tune.Rates { return tune.Rates{Rows: 0.1, Dense: 0.003} }

// newPlan returns a plan for data sets. Adagrad for rows and Adam for the network are the optimizers of
// Persia's examples.
func newPlan(grid int, sets []set) plan {
	t := job.Default()
	t.Training.Mode = job.Sequential
	t.Roles.Ranks = 1
	t.Model.EmbeddingDim, t.Model.Top = 8, []int{32, 16}
	nominal := nominalRates()
	return plan{
		Job: t, MainDelay: 15, Sets: sets,
		Tuning: tune.Plan{
			Rows: tune.Grid(nominal.Rows, 3, grid), Dense: tune.Grid(nominal.Dense, 3, grid),
		},
	}
}

// quickPlan takes the time that QuickTime returns.
func quickPlan() plan {
	var sets []set
	for _, alpha := range []float64{0.01, 0.5} {
		sets = append(sets, set{report.Generated(alpha, 20_000, 20_000), 64, []int{15}, []float64{1},
			tune.SeedsMin})
	}
	return newPlan(1, append(sets, set{report.AdultIncome(), 128, []int{15}, []float64{1}, tune.SeedsMin}))
}

// fullPlan compares on all data sets. Epochs and batches were fixed beforehand by the rows of the sets.
func fullPlan() plan {
	var sets []set
	for _, alpha := range []float64{0.01, 0.5} {
		sets = append(sets, set{report.Generated(alpha, 80_000, 50_000), 128, []int{3, 15, 63},
			[]float64{1, 0.25, 4}, 5})
	}
	sets = append(sets,
		set{report.AdultIncome(), 128, []int{15}, []float64{1}, tune.SeedsMin},
		set{report.Avazu(), 32, []int{15}, []float64{1, 3}, tune.SeedsMin},
		set{report.CriteoHead(), 32, []int{15}, []float64{1, 3}, tune.SeedsMin},
		set{report.Frappe(), 128, []int{15}, []float64{1}, tune.SeedsMin},
		set{report.IJCAI18(), 128, []int{15}, []float64{1}, tune.SeedsMin},
		set{report.MovieLens100K(), 128, []int{15}, []float64{1}, tune.SeedsMin},
		set{report.TaobaoAd(), 2, []int{15}, []float64{1}, tune.SeedsMin},
	)
	return newPlan(2, sets)
}
