package ablation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
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

	quick    bool // part of the quick version
	logistic bool // a logistic regression
}

// The trainings beside the lossy ones: without any loss of precision, and of the simplest model.
var (
	exact    = lossy{ID: "exact", Name: "exact"}
	logistic = lossy{ID: "logistic", Name: "logistic", logistic: true}
)

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

// newQuality returns the plan of the full version, in hybrid, as Persia trains, and in sync, where nothing
// but the precision differs; or that of the quick one, with shorter runs of fewer forms at the nominal
// rates, in hybrid alone.
func newQuality(quick bool) quality {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Training.Prefetch = 4
	j.Cluster = job.PersiaCluster()
	q := quality{
		Job: j, Modes: []string{job.Hybrid, job.Sync}, Forms: forms(), Batches: []int{128, 64, 64},
		Rates: &tune.Plan{Rows: tune.Grid(nominal.Rows, 4, 1), Dense: tune.Grid(nominal.Dense, 4, 1),
			Seeds: tune.SeedsMin},
	}
	trainRows, testRows := 12_000, 16_000
	if quick {
		trainRows, testRows = 6_000, 8_000
		q.Modes, q.Rates = q.Modes[:1], nil
		q.Forms = slices.DeleteFunc(q.Forms, func(f lossy) bool { return !f.quick })
	}
	q.Sets = []report.DataSet{report.AdultIncome(), report.Generated(0.1, trainRows, testRows),
		report.Like("criteo", trainRows, testRows)}
	return q
}

// spec returns a training on data set i under a seed: in sequence, or in the simulated cluster, which
// computes the parameters and has wires.
func (q *quality) spec(i int, f lossy, mode string, rates tune.Rates, seed uint64) trial.Spec {
	j := q.Job.InMode(mode)
	j.Data = q.Sets[i].WithSeed(seed)
	j.Training.GlobalBatch, j.Training.Seed = q.Batches[i], seed
	j.Wire.Precision = cmp.Or(f.Wire, j.Wire.Precision)
	j.Rows.Precision = cmp.Or(f.Rows, j.Rows.Precision)
	j.Model.Precision = cmp.Or(f.Products, j.Model.Precision)
	if f.logistic {
		j.Model.Spec = model.Spec{Kind: model.LogisticRegression, EmbeddingDim: 1}
	}
	rates.Apply(&j)
	return trial.Spec{Job: j, Part: trial.Test, Simulated: mode != job.Sequential,
		Name: fmt.Sprintf("%s, %s, %s, seed %d", q.Sets[i].Name, mode, f.Name, seed)}
}

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

// trainings returns how many trainings there are, equal ones included.
func (q *quality) trainings(seeds int) int {
	each := seeds * (1 + len(q.Modes)*(1+len(q.Forms)))
	if q.Rates != nil {
		each += 2 * q.Rates.Trials()
	}
	return len(q.Sets) * each
}

func (q *quality) measure(ctx context.Context, l arms.Lab, first uint64, seeds int) ([]*accuracy, error) {
	var list []*accuracy
	for i := range q.Sets {
		a, err := q.measureSet(ctx, l, i, first, seeds)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// measureSet trains and compares on data set i, without verdicts.
func (q *quality) measureSet(ctx context.Context, l arms.Lab, i int, first uint64, seeds int) (
	a *accuracy, err error) {
	a = &accuracy{DataSet: q.Sets[i].Name, Rates: nominal}
	simple := nominal // rates of the logistic regression
	if q.Rates != nil {
		choices, err := tune.Tune(ctx, l, []tune.Arm{q.arm(i, exact), q.arm(i, logistic)}, *q.Rates)
		if err != nil {
			return nil, err
		}
		a.Rates, a.AtEdge, simple = choices[0].Rates, choices[0].AtEdge, choices[1].Rates
	}
	train := func(f lossy, mode string, rates tune.Rates) (quality judge.Quality, specs []trial.Spec,
		err error) {
		for k := range seeds {
			specs = append(specs, q.spec(i, f, mode, rates, first+uint64(k)))
		}
		results, err := l.Run(ctx, specs)
		if err != nil {
			return quality, nil, err
		}
		quality, diverged := trial.Quality(results)
		a.Diverged, a.TestRows = a.Diverged+diverged, results[0].TestRows
		return quality, specs, nil
	}
	if a.Logistic, _, err = train(logistic, job.Sequential, simple); err != nil {
		return nil, err
	}
	for m, mode := range q.Modes {
		reference, referenceSpecs, err := train(exact, mode, a.Rates)
		if err != nil {
			return nil, err
		}
		if m == 0 {
			a.Exact = reference
		}
		var losses []*judge.Comparison
		for _, f := range q.Forms {
			treated, specs, err := train(f, mode, a.Rates)
			if err != nil {
				return nil, err
			}
			c := judge.Pair(a.DataSet, mode+", "+f.Name, exact.Name, first, treated, reference)
			if c.RowDeviation, err = l.RowDeviation(specs, referenceSpecs); err != nil {
				return nil, err
			}
			losses = append(losses, c)
		}
		a.Losses = append(a.Losses, losses)
	}
	oracle, err := q.Sets[i].Oracle(first, seeds)
	a.Oracle = oracle.AUC
	return a, err
}

// arm returns a training for the tuner: in sequence, which has the bits of sync.
func (q *quality) arm(i int, f lossy) tune.Arm {
	return tune.Arm{Name: q.Sets[i].Name + ", " + f.Name, Nominal: nominal, Job: func(seed uint64) job.Job {
		return q.spec(i, f, job.Sequential, nominal, seed).Job
	}}
}

// levels has the AUC of the exact training beside simpler and better predictions.
func (q *quality) levels(list []*accuracy) cli.Table {
	t := cli.Table{
		Caption: fmt.Sprintf("AUC of the exact training in %s, mean over seeds ± half the 95 %% interval, "+
			"and its learning rates; test rows; a constant guess has 0.5, no model exceeds the oracle",
			q.Modes[0]),
		Header: []string{"data", "exact", "logistic", "oracle", "rows", "network", "test"}, Words: 1,
	}
	for _, a := range list {
		oracle, edge := "", ""
		if a.Oracle != nil {
			oracle = report.Mean(a.Oracle)
		}
		if a.AtEdge {
			edge = "!"
		}
		t.Add(a.DataSet, report.Level(a.Exact.AUC), report.Mean(a.Logistic.AUC), oracle,
			report.Digits(a.Rates.Rows, 2), report.Digits(a.Rates.Dense, 2)+edge,
			report.Thousands(a.TestRows))
	}
	return t
}

// finding returns the sentence on all forms: how many are equivalent, which are not, and the lowest end of an
// interval.
func (q *quality) finding(list []*accuracy) string {
	var lowest *judge.Comparison
	count := map[metric.Verdict]int{}
	var others []string
	for _, a := range list {
		for _, losses := range a.Losses {
			for _, c := range losses {
				count[c.Verdict]++
				if c.Verdict != metric.Equivalent {
					others = append(others, fmt.Sprintf("%s, %s %s (%s)", c.Data, c.Treated,
						report.PlusMinus(c.AUC), c.Verdict))
				}
				if lowest == nil || c.AUC.Low < lowest.AUC.Low {
					lowest = c
				}
			}
		}
	}
	return fmt.Sprintf("AUC of lossy less exact training, %d comparisons: %d equivalent within %g, %d "+
		"different, %d inconclusive. Not equivalent: %s. The lowest end of an interval is of %s, %s: %s.",
		len(list)*len(q.Modes)*len(q.Forms), count[metric.Equivalent], metric.EquivalenceMargin,
		count[metric.Different], count[metric.Inconclusive], orNothing(others), lowest.Data, lowest.Treated,
		report.PlusMinus(lowest.AUC))
}

func (q *quality) quantities(list []*accuracy) (quantities []report.Quantity) {
	for _, a := range list {
		for m, mode := range q.Modes {
			for i, f := range q.Forms {
				quantities = append(quantities, report.Quantity{
					Name: f.ID + "-less-exact-" + mode + "-" + report.Slug(a.DataSet),
					What: fmt.Sprintf("AUC with %s − AUC of exact training, %s, %s", f.Name, mode, a.DataSet),
					Over: report.OverSeeds, Interval: a.Losses[m][i].AUC,
				})
			}
		}
	}
	return quantities
}

func (q *quality) notes(list []*accuracy, seeds int) []string {
	diverged := 0
	for _, a := range list {
		diverged += a.Diverged
	}
	rates := fmt.Sprintf("All forms train at the rates %g (rows) and %g (network), which are not tuned.",
		nominal.Rows, nominal.Dense)
	if q.Rates != nil {
		rates = "All forms train at the tuned rates of the exact training in sync; ! says that the best " +
			"candidate is at an end of the grid. A precision has no tuned rates of its own."
	}
	notes := []string{
		fmt.Sprintf("Trainings run in the simulated cluster persia-paper, %d ranks, τ = %d, one epoch, a "+
			"network %v over rows of dimension %d, Adagrad for rows, Adam for the network. In hybrid, "+
			"smaller messages also arrive earlier, so rows have slightly other staleness; in sync only the "+
			"precision differs.", q.Job.Roles.Ranks, q.Job.Training.Prefetch-1, q.Job.Model.Top,
			q.Job.Model.EmbeddingDim),
		rates,
		"Wire fp16 casts embeddings and their gradients, as Persia's code; scaled blocks multiply 128 " +
			"neighbouring values by a power of two before the cast, which keeps small ones. Rows in half " +
			"precision are rounded at random; optimizer state, sums and the dense network's gradients and " +
			"parameters stay fp32.",
		fmt.Sprintf("%d trainings diverged and count as a guess of ½.", diverged),
	}
	return append(notes, report.FewSeedsNote(seeds, "seeds", "an interval")...)
}
