package generators

import (
	"slices"
	"strings"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/internal/cli"
)

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

const (
	// stepsMax is the length of Persia's run on Criteo: 10,800 steps, read off a figure of its paper (Lian
	// and others, KDD 2022).
	stepsMax = 10_800
	// stepsQuick is the longest run of the quick version.
	stepsQuick = 64
	// lengthsMost is the number of run lengths, each half of the next.
	lengthsMost = 8
	// tolerance is the difference to a published AUC that counts as the same.
	tolerance = 0.003
)

func fullPlan() *plan {
	p := &plan{
		// 400,000 test rows give an AUC with a standard error of 0.0008.
		Data:  job.Synthetic{Preset: job.PresetCriteo, TestRows: 400_000, Stream: true},
		Batch: 4096, Models: models(),
	}
	p.setSteps(stepsMax)
	return p
}

func quickPlan() *plan {
	p := fullPlan()
	p.Data.TestRows, p.Batch = 20_000, 1024
	p.setSteps(stepsQuick)
	p.Steps = p.Steps[len(p.Steps)-2:]
	return p
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

// setSteps sets the lengths of runs: the longest, its half, and so on.
func (p *plan) setSteps(longest int) {
	p.Steps = nil
	for i := range lengthsMost {
		if steps := longest >> i; steps > 0 {
			p.Steps = append(p.Steps, steps)
		}
	}
	slices.Reverse(p.Steps)
}

// choose keeps the named models; no names keep all.
func (p *plan) choose(names []string) error {
	if len(names) == 0 {
		return nil
	}
	var known []string
	for _, m := range p.Models {
		known = append(known, m.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return cli.UsageError("choose among "+strings.Join(known, ", "), "--models: no model %q", name)
		}
	}
	p.Models = slices.DeleteFunc(p.Models, func(m modelPlan) bool { return !slices.Contains(names, m.Name) })
	return nil
}

// job returns the job of a model and a length.
func (p *plan) job(m modelPlan, steps int) job.Job {
	j := job.Default().InMode(job.Sequential)
	spec := p.Data
	spec.Seed, spec.TrainRows = p.Seed, steps*p.Batch
	spec = spec.Resolve() // all numbers decide the outcome, not the name of the preset
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &spec}
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
	return j
}
