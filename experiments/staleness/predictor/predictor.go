// Package predictor looks for a number that predicts what late rows cost, without training with late rows.
//
// A world is a training job: generated data that differ in the frequency of ids, the number of hot columns,
// rows, cardinalities, batch, delay and rate, and real data. Its loss is the AUC of fresh rows minus that of
// late rows. Half of the worlds are held out. The scalar with the highest rank correlation on the first half
// is chosen, and judged on the other.
package predictor

import (
	"context"
	"errors"
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// Experiment is the search for a predictor.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "predictor".
func (Experiment) Name() string { return "predictor" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Which number predicts what late rows cost, without training with late rows?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Trains in sequence, with row gradients that take effect τ steps late or at once,
in worlds of generated data that differ in the frequency of ids, hot columns,
rows, cardinalities, batch, τ and rate, and on real data where they are found.
Rows have Adagrad. The loss is the AUC of fresh rows − that of late rows.

Thirteen scalars, from the maximum frequency to τ·Σq²·rate÷steps, are computed
from data and job. The one with the highest rank correlation with the loss on
half of the worlds is chosen, and judged on the half that was held out. The full
version takes about ten minutes on two slow cores.

Writes to a new folder:

  report.html          everything on one page
  trials.jsonl         a line per training, written at its end
  predictor.json       worlds, losses, scalars and correlations
  differences.csv      paired differences by seed
  settings.yaml        the resolved settings
  predictor.png, .svg  measured and predicted loss of every world`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 5 * time.Second }

// plan is everything that is fixed before the first training.
type plan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all worlds; a world sets data, batch, delay and rate of rows.
	Job    job.Job `yaml:"job"`
	Worlds []world `yaml:"worlds"`
	// Resamples is the number of resamples of the worlds.
	Resamples int `yaml:"resamples"`
}

// worldSeed draws the worlds and their halves. It was chosen before the first training.
const worldSeed = 7

func quickPlan() plan {
	p := plan{Job: commonJob(), Worlds: drawWorlds(8, 10_000, 20_000, 10_000, worldSeed), Resamples: 1000}
	halve(p.Worlds, worldSeed)
	return p
}

// fullPlan takes about ten minutes on two slow cores.
func fullPlan(sets []report.DataSet) plan {
	p := plan{Job: commonJob(), Worlds: drawWorlds(26, 20_000, 120_000, 30_000, worldSeed), Resamples: 4000}
	p.Worlds = append(p.Worlds, realWorlds(sets)...)
	halve(p.Worlds, worldSeed)
	return p
}

func commonJob() job.Job {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Model.Optimizer.Rate = 0.005
	j.Training.Mode = job.Sequential
	return j
}

// Run trains all worlds and compares the scalars.
func (e Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	if o.Quick {
		return execute(ctx, quickPlan(), nil, o)
	}
	sets, absent := report.Present([]report.DataSet{
		report.AdultIncome(), report.Frappe(), report.Avazu(), report.CriteoHead(),
	}, o.DataFolder)
	return execute(ctx, fullPlan(sets), absent, o)
}

// execute runs a plan. absent are notes on data that were not found.
func execute(ctx context.Context, p plan, absent []string, o report.Options) (
	out *report.Report, err error,
) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	lab, err := trial.Open(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	measured, err := p.measure(ctx, lab, o.DataFolder)
	if err != nil {
		return nil, err
	}
	return compare(&p, measured).report(&p, absent), nil
}

// loss is what a world loses.
type loss struct {
	world
	Text    string             `json:"description"`
	Loss    metric.Interval    `json:"loss"`
	BySeed  []float64          `json:"loss_by_seed"`
	Scalars map[string]float64 `json:"scalars"`

	late *judge.Comparison // late rows − fresh rows
}

// lab runs trainings, as *trial.Lab does.
type lab interface {
	Run(ctx context.Context, specs []trial.Spec) ([]trial.Result, error)
	RowDeviation(treated, reference []trial.Spec) (float64, error)
}

// measure trains every world with fresh and late rows under every seed.
func (p *plan) measure(ctx context.Context, l lab, folder string) ([]loss, error) {
	var specs []trial.Spec // those with the same rows follow each other
	for i := range p.Worlds {
		fresh, late := p.specs(&p.Worlds[i], false), p.specs(&p.Worlds[i], true)
		for s := range fresh {
			specs = append(specs, fresh[s], late[s])
		}
	}
	results, err := l.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	losses := make([]loss, len(p.Worlds))
	for i := range losses {
		losses[i] = loss{world: p.Worlds[i], Text: p.Worlds[i].String()}
		if err := p.pair(l, &losses[i], results[2*i*p.Seeds:2*(i+1)*p.Seeds]); err != nil {
			return nil, err
		}
		if losses[i].Scalars, err = p.scalars(&p.Worlds[i], folder); err != nil {
			return nil, err
		}
	}
	judge.Judge(comparisons(losses))
	for i := range losses {
		losses[i].Loss = report.Negated(losses[i].late.AUC)
	}
	return losses, nil
}

// pair sets the comparison of a world, without verdict. Trainings with fresh and with late rows alternate.
func (p *plan) pair(l lab, one *loss, trained []trial.Result) (err error) {
	var fresh, late []trial.Result
	for i := 0; i < len(trained); i += 2 {
		fresh, late = append(fresh, trained[i]), append(late, trained[i+1])
	}
	reference, freshDiverged := trial.Quality(fresh)
	treated, lateDiverged := trial.Quality(late)
	one.BySeed = report.Differences(reference.AUC, treated.AUC)
	data, name := one.inComparisons()
	one.late = judge.Pair(data, name, "fresh", p.Seed, treated, reference)
	if freshDiverged+lateDiverged == 0 {
		one.late.RowDeviation, err = l.RowDeviation(p.specs(&one.world, true), p.specs(&one.world, false))
	}
	return err
}

// comparisons returns the comparisons of all worlds.
func comparisons(losses []loss) (list []*judge.Comparison) {
	for i := range losses {
		list = append(list, losses[i].late)
	}
	return list
}

// specs returns the trainings of a world with late or fresh rows, by seed.
func (p *plan) specs(w *world, late bool) (specs []trial.Spec) {
	name := w.Name + ", fresh"
	if late {
		name = w.Name + ", late"
	}
	for s := range p.Seeds {
		specs = append(specs, trial.Spec{Job: p.job(w, late, p.Seed+uint64(s)), Part: trial.Test, Name: name})
	}
	return specs
}

// scalars returns all scalars of a world, from the training rows of the first seed.
func (p *plan) scalars(w *world, folder string) (map[string]float64, error) {
	j := p.job(w, true, p.Seed)
	data, err := datasets.Open(j.Data, folder)
	if err != nil {
		return nil, err
	}
	f := facts{
		shares: count(data.Train), batch: float64(w.Batch), tau: float64(w.Tau), rate: w.Rate,
		steps: float64((data.Train.Samples-1)/w.Batch + 1),
	}
	values := map[string]float64{}
	for _, s := range scalars() {
		values[s.Name] = s.value(&f)
	}
	return values, nil
}
