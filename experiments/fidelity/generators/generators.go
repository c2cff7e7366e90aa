// Package generators trains well-known models on generated data and compares them with published results on
// the real data.
//
// The preset criteo has the columns of Criteo's log, and labels from a hidden model whose few numbers are
// tuned on two published results: the AUC of logistic regression and of a factorization machine. Other models
// are predicted. A generator that predicts them can stand in for the log where models are compared.
package generators

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

const (
	// stepsMax is the length of Persia's run on Criteo: 10,800 steps, read off a figure of its paper (Lian
	// and others, KDD 2022). batchFull is its global batch.
	stepsMax  = 10_800
	batchFull = 4096
	// stepsQuick is the longest run of the quick version.
	stepsQuick = 64
	// lengthsMost is the number of run lengths, each half of the next.
	lengthsMost = 8
	// tolerance is the difference to a published AUC that counts as the same.
	tolerance = 0.003
)

// New returns the experiment.
func New() *report.Experiment {
	f := &flags{}
	return trial.Study(report.Experiment{
		Name:     "generators",
		Question: "Do models reach the same AUC on generated data as on the data they stand in for?",
		Help: `Trains logistic regression, a factorization machine, a feed-forward network and
DCNv2 on rows of the generator preset criteo, in one pass and in their order.
Run lengths double up to 10,800 steps of 4,096 rows. The hidden model of the preset
is tuned on the published AUC of the first two models; the others are predicted.
Only the first seed is used.

The rows are generated while they are read, so every length begins with the rows
of the shorter ones, and the memory of a run does not grow with them. The full
version takes many hours. An interrupted one continues with --resume; --budget
ends one in time, with the curve so far.`,
		QuickTime: 10 * time.Second,
		AddFlags:  f.add,
	}, f.plan, (*plan).measure, (*plan).report)
}

// flags are those that only this experiment has.
type flags struct {
	steps, lengths int
	models         []string
	budget         time.Duration
}

// add adds the flags.
func (f *flags) add(set *pflag.FlagSet) {
	set.IntVar(&f.steps, "steps", 0, "train runs of at most this number of steps (default 10800; "+
		"with --quick 64)")
	set.IntVar(&f.lengths, "lengths", lengthsMost,
		"train this number of run lengths, each half of the next, 1 to 8")
	set.StringSliceVar(&f.models, "models", nil, "train these models: lr, fm, mlp, dcn (default: all)")
	set.DurationVar(&f.budget, "budget", 0, "start no training after this time, as 90m, and report the "+
		"rest as not measured (default: no limit)")
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed   uint64        `yaml:"seed"` // of rows and initial values
	Data   job.Synthetic `yaml:"data"` // without the number of training rows
	Batch  int           `yaml:"global-batch"`
	Steps  []int         `yaml:"steps"` // lengths of runs, ascending
	Models []modelPlan   `yaml:"models"`
	budget time.Duration // 0: none
}

// modelPlan is a model with its published result.
type modelPlan struct {
	Name  string     `yaml:"name"`
	Title string     `yaml:"title"`
	Spec  model.Spec `yaml:"spec"`
	// Learning rates of rows (Adagrad) and of the network (Adam). They are the best of a few on half a
	// million rows.
	RowRate   float64 `yaml:"row-rate"`
	DenseRate float64 `yaml:"dense-rate"`
	// Published is the AUC on the real data: reczoo/BARS, Criteo_x4_001, read in 2026. The benchmark trains
	// on 36.7 million rows for as many epochs as help.
	Published float64 `yaml:"published-auc"`
	// Tuned says that the hidden model was tuned on Published. Otherwise it is only predicted.
	Tuned bool `yaml:"tuned"`
}

// plan returns the plan of the flags.
func (f *flags) plan(o report.Options) (*plan, error) {
	p := &plan{
		Seed: o.Seed, Batch: batchFull, Models: models(), budget: f.budget,
		// 400,000 test rows give an AUC with a standard error of 0.0008.
		Data: job.Synthetic{Preset: job.PresetCriteo, TestRows: 400_000, Stream: true},
	}
	longest, lengths := stepsMax, f.lengths
	if o.Quick {
		p.Data.TestRows, p.Batch = 20_000, 1024
		longest, lengths = stepsQuick, min(2, lengths)
	}
	switch {
	case f.steps < 0 || f.steps > stepsMax:
		return nil, cli.UsageError(fmt.Sprintf("choose 1 to %d", stepsMax), "--steps: %d", f.steps)
	case f.budget < 0:
		return nil, cli.UsageError("give a time, as 90m", "--budget: %v", f.budget)
	case f.lengths < 1 || f.lengths > lengthsMost:
		return nil, cli.UsageError(fmt.Sprintf("choose 1 to %d", lengthsMost), "--lengths: %d", f.lengths)
	case f.steps > 0:
		longest, lengths = f.steps, f.lengths
	}
	for i := range lengths {
		if steps := longest >> i; steps > 0 {
			p.Steps = append([]int{steps}, p.Steps...)
		}
	}
	return p, p.choose(f.models)
}

// choose keeps the named models; no names keep all.
func (p *plan) choose(names []string) error {
	var known []string
	for _, m := range p.Models {
		known = append(known, m.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return cli.UsageError("choose among "+strings.Join(known, ", "), "--models: no model %q", name)
		}
	}
	p.Models = slices.DeleteFunc(p.Models, func(m modelPlan) bool {
		return len(names) > 0 && !slices.Contains(names, m.Name)
	})
	return nil
}

// models returns all models, cheapest first.
func models() []modelPlan {
	deep := []int{400, 400, 400}
	return []modelPlan{
		{Name: "lr", Title: "logistic regression", Spec: model.Spec{Kind: model.LogisticRegression},
			RowRate: 0.1, DenseRate: 0.005, Published: 0.7934, Tuned: true},
		{Name: "fm", Title: "factorization machine",
			Spec:    model.Spec{Kind: model.FactorizationMachine, Factors: 10},
			RowRate: 0.06, DenseRate: 0.005, Published: 0.8086, Tuned: true},
		{Name: "mlp", Title: "feed-forward 400-400-400",
			Spec:    model.Spec{Kind: model.FeedForward, EmbeddingDim: 10, Top: deep, Activation: model.ReLU},
			RowRate: 0.06, DenseRate: 0.001, Published: 0.8140},
		{Name: "dcn", Title: "DCNv2, 3 cross layers, 400-400-400",
			Spec: model.Spec{Kind: model.DCNv2, EmbeddingDim: 10, CrossLayers: 3, Top: deep,
				Activation: model.ReLU, Structure: model.Parallel},
			RowRate: 0.06, DenseRate: 0.001, Published: 0.8145},
	}
}

// spec returns the training of a model of a length.
func (p *plan) spec(m modelPlan, steps int) trial.Spec {
	j := job.Default().InMode(job.Sequential)
	data := p.Data
	data.Seed, data.TrainRows = p.Seed, steps*p.Batch
	data = data.Resolve() // all numbers decide the outcome, not the name of the preset
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &data}
	j.Model.Spec = m.Spec
	j.Model.Optimizer = opt.DefaultDense()
	j.Model.Optimizer.Kind, j.Model.Optimizer.Rate = opt.Adam, m.DenseRate
	j.Rows.Optimizer = opt.DefaultRow()
	j.Rows.Optimizer.Kind, j.Rows.Optimizer.Rate = opt.Adagrad, m.RowRate
	if m.Spec.Kind == model.LogisticRegression {
		j.Rows.Init = 0
	}
	j.Training.GlobalBatch, j.Training.Epochs, j.Training.Shuffle = p.Batch, 1, false
	j.Training.Seed = p.Seed
	return trial.Spec{Job: j, Part: trial.Test,
		Name: fmt.Sprintf("%s, %s rows", m.Name, report.Thousands(steps*p.Batch))}
}

// results holds everything that was measured.
type results struct {
	// Oracle is the AUC of the probabilities that the labels of the test rows were drawn with.
	Oracle float64        `json:"oracle_auc"`
	Models []*modelResult `json:"models"`
}

// modelResult is the curve of a model.
type modelResult struct {
	Name      string  `json:"model"`
	Title     string  `json:"title"`
	Published float64 `json:"published_auc"`
	Tuned     bool    `json:"tuned"`
	Points    []point `json:"points"` // ascending; without the lengths that the budget left out
}

// point is a training.
type point struct {
	Steps   int     `json:"steps"`
	Rows    int     `json:"rows"`
	AUC     float64 `json:"auc"`
	LogLoss float64 `json:"log_loss"` // nats
	// Diverged is the reason why there is no outcome, or empty.
	Diverged string `json:"diverged,omitempty"`
}

// measure trains all models, the shortest runs first, until the budget is spent.
func (p *plan) measure(ctx context.Context, lab *trial.Lab) (*results, error) {
	r := &results{}
	for _, m := range p.Models {
		r.Models = append(r.Models,
			&modelResult{Name: m.Name, Title: m.Title, Published: m.Published, Tuned: m.Tuned})
	}
	begin := time.Now()
	lab.Expect(len(p.Steps) * len(p.Models))
	for _, steps := range p.Steps {
		if p.budget > 0 && time.Since(begin) > p.budget {
			break
		}
		var specs []trial.Spec
		for _, m := range p.Models {
			specs = append(specs, p.spec(m, steps))
		}
		outcomes, err := lab.Run(ctx, specs)
		if err != nil {
			return nil, err
		}
		for i, one := range outcomes {
			r.Models[i].Points = append(r.Models[i].Points,
				point{steps, steps * p.Batch, one.AUC, one.LogLoss, one.Diverged})
		}
	}
	data := p.Data
	data.TrainRows = 1
	oracle, err := report.DataSet{Data: job.Data{Kind: job.KindSynthetic, Synthetic: &data}}.Oracle(p.Seed, 1)
	if err != nil {
		return nil, err
	}
	r.Oracle = oracle.AUC[0]
	return r, nil
}
