package ablation

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// quality is the part of the plan on what lossy forms cost in AUC.
type quality struct {
	Job   job.Job  `yaml:"job"` // of all trainings
	Modes []string `yaml:"modes"`
	Forms []lossy  `yaml:"forms"`
	// Rates are the candidates of the exact training, whose rates all forms have; nil: the nominal rates.
	Rates *tune.Plan       `yaml:"candidates,omitempty"`
	Sets  []report.DataSet `yaml:"data"`
	// Batches are the global batches, by data set: with them, an epoch has some hundred steps.
	Batches []int `yaml:"batches"`
}

// lossy is a training in which some values lose precision. An empty field is fp32.
type lossy struct {
	ID   string `yaml:"id" json:"id"` // in the names of quantities
	Name string `yaml:"name" json:"name"`
	// Wire is of embeddings and their gradients in messages, Rows of rows in memory, and Products of the
	// operands of matrix products.
	Wire     compress.Form `yaml:"wire,omitempty" json:"wire,omitempty"`
	Rows     string        `yaml:"rows,omitempty" json:"rows,omitempty"`
	Products string        `yaml:"products,omitempty" json:"products,omitempty"`

	quick bool // part of the quick version
}

// forms returns the lossy trainings. The first is what Persia's code does.
func forms() []lossy {
	fp16, bf16 := table.FP16.String(), table.BF16.String()
	return []lossy{
		{ID: "wire-fp16", Name: "wire fp16", Wire: compress.FP16, quick: true},
		{ID: "wire-fp16-block", Name: "wire fp16, scaled blocks", Wire: compress.FP16Block},
		{ID: "rows-fp16", Name: "rows fp16", Rows: fp16, quick: true},
		{ID: "rows-bf16", Name: "rows bf16", Rows: bf16},
		{ID: "products-bf16", Name: "products bf16", Products: job.BF16},
		{ID: "all-lossy", Name: "wire, rows, products half", Wire: compress.FP16, Rows: fp16,
			Products: job.BF16, quick: true},
	}
}

// nominal are the rates that the candidates are centred on.
var nominal = tune.Rates{Rows: 0.1, Dense: 0.003}

// fullQuality compares in hybrid, as Persia trains, and in sync, where nothing but the precision differs.
func fullQuality() quality {
	return newQuality([]string{job.Hybrid, job.Sync},
		&tune.Plan{Rows: tune.Grid(nominal.Rows, 4, 1), Dense: tune.Grid(nominal.Dense, 4, 1),
			Seeds: tune.SeedsMin}, 12_000, 16_000)
}

// quickQuality has shorter runs of fewer forms at the nominal rates, and hybrid alone.
func quickQuality() quality {
	q := newQuality([]string{job.Hybrid}, nil, 6_000, 8_000)
	q.Forms = slices.DeleteFunc(q.Forms, func(f lossy) bool { return !f.quick })
	return q
}

func newQuality(modes []string, rates *tune.Plan, trainRows, testRows int) quality {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Training.Prefetch = 4
	j.Cluster = job.PersiaCluster()
	return quality{
		Job: j, Modes: modes, Forms: forms(), Rates: rates,
		Sets: []report.DataSet{
			report.AdultIncome(), report.Generated(0.1, trainRows, testRows),
			report.Like("criteo", trainRows, testRows),
		},
		Batches: []int{128, 64, 64},
	}
}

// job returns the job of a training on data set i under a seed.
func (q *quality) job(i int, f lossy, mode string, rates tune.Rates, seed uint64) job.Job {
	j := q.Job.InMode(mode)
	j.Data = q.Sets[i].WithSeed(seed)
	j.Training.GlobalBatch, j.Training.Seed = q.Batches[i], seed
	if f.Wire != "" {
		j.Wire.Precision = f.Wire
	}
	if f.Rows != "" {
		j.Rows.Precision = f.Rows
	}
	if f.Products != "" {
		j.Model.Precision = f.Products
	}
	rates.Apply(&j)
	return j
}

// spec returns a training in the simulated cluster, which computes the parameters and has wires.
func (q *quality) spec(i int, f lossy, mode string, rates tune.Rates, seed uint64) trial.Spec {
	return trial.Spec{Job: q.job(i, f, mode, rates, seed), Part: trial.Test, Simulated: true,
		Name: fmt.Sprintf("%s, %s, %s, seed %d", q.Sets[i].Name, mode, f.Name, seed)}
}

// exact is the training without any loss of precision.
var exact = lossy{ID: "exact", Name: "exact"}

// accuracy are the results on a data set.
type accuracy struct {
	DataSet  string        `json:"data"`
	TestRows int           `json:"test_rows"`
	Diverged int           `json:"diverged"` // trainings, which count as a guess of ½
	Rates    tune.Rates    `json:"rates"`
	AtEdge   bool          `json:"at_edge"` // the best candidate is at an end of the grid
	Exact    judge.Quality `json:"exact"`   // of the first mode
	Logistic judge.Quality `json:"logistic_regression"`
	// Oracle is the AUC of the probabilities that labels were drawn with, by seed; none for real data.
	Oracle []float64 `json:"oracle_auc,omitempty"`
	// Losses are the comparisons of lossy − exact, by mode and form.
	Losses [][]*judge.Comparison `json:"lossy_less_exact"`
}

// lab runs trainings, as *trial.Lab does.
type lab interface {
	tune.Lab
	RowDeviation(treated, reference []trial.Spec) (float64, error)
}

// trainings returns how many trainings there are, equal ones included.
func (q *quality) trainings(seeds int) int {
	each := seeds * (1 + len(q.Modes)*(1+len(q.Forms)))
	if q.Rates != nil {
		each += 2 * q.Rates.Trials()
	}
	return len(q.Sets) * each
}

// measure trains and compares on every data set.
func (q *quality) measure(ctx context.Context, l lab, first uint64, seeds int) ([]*accuracy, error) {
	var list []*accuracy
	for i, s := range q.Sets {
		a := &accuracy{DataSet: s.Name, Rates: nominal}
		logistic := nominal
		if q.Rates != nil {
			choices, err := tune.Tune(ctx, l, q.arms(i), *q.Rates)
			if err != nil {
				return nil, err
			}
			a.Rates, a.AtEdge, logistic = choices[0].Rates, choices[0].AtEdge, choices[1].Rates
		}
		run := func(spec func(seed uint64) trial.Spec) (judge.Quality, []trial.Spec, error) {
			var specs []trial.Spec
			for k := range seeds {
				specs = append(specs, spec(first+uint64(k)))
			}
			results, err := l.Run(ctx, specs)
			if err != nil {
				return judge.Quality{}, nil, err
			}
			quality, diverged := trial.Quality(results)
			a.Diverged, a.TestRows = a.Diverged+diverged, results[0].TestRows
			return quality, specs, nil
		}
		simple := func(seed uint64) trial.Spec { return q.logistic(i, logistic, seed) }
		var err error
		if a.Logistic, _, err = run(simple); err != nil {
			return nil, err
		}
		if err := q.compare(l, a, i, first, run); err != nil {
			return nil, err
		}
		oracle, err := s.Oracle(first, seeds)
		if err != nil {
			return nil, err
		}
		a.Oracle = oracle.AUC
		list = append(list, a)
	}
	return list, nil
}

// compare adds the comparisons on data set i, without verdicts.
func (q *quality) compare(l lab, a *accuracy, i int, first uint64,
	run func(spec func(seed uint64) trial.Spec) (judge.Quality, []trial.Spec, error),
) error {
	for m, mode := range q.Modes {
		train := func(f lossy) (judge.Quality, []trial.Spec, error) {
			return run(func(seed uint64) trial.Spec { return q.spec(i, f, mode, a.Rates, seed) })
		}
		reference, referenceSpecs, err := train(exact)
		if err != nil {
			return err
		}
		if m == 0 {
			a.Exact = reference
		}
		var losses []*judge.Comparison
		for _, f := range q.Forms {
			treated, specs, err := train(f)
			if err != nil {
				return err
			}
			c := judge.Pair(a.DataSet, mode+", "+f.Name, exact.Name, first, treated, reference)
			if c.RowDeviation, err = l.RowDeviation(specs, referenceSpecs); err != nil {
				return err
			}
			losses = append(losses, c)
		}
		a.Losses = append(a.Losses, losses)
	}
	return nil
}

// arms returns what is tuned on data set i: the exact training, in sequence, which has the bits of sync, and
// the logistic regression.
func (q *quality) arms(i int) []tune.Arm {
	name := q.Sets[i].Name
	return []tune.Arm{
		{Name: name + ", exact", Nominal: nominal, Job: func(seed uint64) job.Job {
			return q.job(i, exact, job.Sequential, nominal, seed)
		}},
		{Name: name + ", logistic", Nominal: nominal, Job: func(seed uint64) job.Job {
			return q.logistic(i, nominal, seed).Job
		}},
	}
}

// logistic returns the training of a logistic regression on data set i, in sequence.
func (q *quality) logistic(i int, rates tune.Rates, seed uint64) trial.Spec {
	j := q.job(i, exact, job.Sequential, rates, seed)
	j.Model.Spec = model.Spec{Kind: model.LogisticRegression, EmbeddingDim: 1}
	return trial.Spec{Job: j, Part: trial.Test,
		Name: fmt.Sprintf("%s, logistic, seed %d", q.Sets[i].Name, seed)}
}
