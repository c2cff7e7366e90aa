package source

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/protocol/delay"
	"tandem/algo/rng"
	"tandem/datasets"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// newPredictor returns the experiment that looks for a number that predicts what late rows cost, without
// training with late rows. A world is a training job; its loss is the AUC of fresh rows minus that of late
// rows. Half of the worlds are held out. The scalar with the highest rank correlation on the first half is
// chosen, and judged on the other.
func newPredictor() *report.Experiment {
	return trial.Study(report.Experiment{
		Name:     "predictor",
		Question: "Which number predicts what late rows cost, without training with late rows?",
		Help: `Trains in sequence, with row gradients that take effect τ steps late or at once,
in worlds of generated data that differ in the frequency of ids, hot columns,
rows, cardinalities, batch, τ and rate, and on real data where they are found.
Rows have Adagrad. The loss is the AUC of fresh rows − that of late rows.

Thirteen scalars, from the maximum frequency to τ·Σq²·rate÷steps, are computed
from data and job. The one with the highest rank correlation with the loss on
half of the worlds is chosen, and judged on the half that was held out. The full
version takes about ten minutes on two slow cores.`,
		QuickTime: 5 * time.Second,
	}, func(o report.Options) (*predictorPlan, error) {
		p := newPredictorPlan(4000, append(drawWorlds(26, 20_000, 120_000, 30_000), realWorlds()...))
		if o.Quick {
			p = newPredictorPlan(1000, drawWorlds(8, 10_000, 20_000, 10_000))
		}
		p.Seed, p.Seeds, p.folder = o.Seed, o.Seeds, o.DataFolder
		return p, nil
	}, func(p *predictorPlan, ctx context.Context, lab *trial.Lab) (*prediction, error) {
		losses, err := p.measure(ctx, lab)
		if err != nil {
			return nil, err
		}
		return p.choose(losses), nil
	}, (*predictorPlan).report)
}

// predictorPlan is everything that is fixed before the first training.
type predictorPlan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all worlds; a world sets data, batch, delay and rate of rows.
	Job job.Job `yaml:"job"`
	// Worlds are measured where the data folder has their data.
	Worlds []world `yaml:"worlds"`
	// Resamples is the number of resamples of the worlds.
	Resamples int `yaml:"resamples"`

	folder string // of real data
}

// worldSeed draws the worlds and their halves. It was chosen before the first training.
const worldSeed = 7

// newPredictorPlan returns a plan for worlds, of which it holds every second one out, in a drawn order.
func newPredictorPlan(resamples int, worlds []world) *predictorPlan {
	j := smallJob()
	j.Model.Optimizer.Rate = 0.005
	j.Training.Mode = job.Sequential
	for i, at := range rng.New(worldSeed, "predictor halves").Perm(len(worlds)) {
		worlds[at].HeldOut = i%2 == 1
	}
	return &predictorPlan{Job: j, Worlds: worlds, Resamples: resamples}
}

// world is a training job whose loss is predicted.
type world struct {
	Name string         `json:"name" yaml:"name"` // w1, w2, … or that of the data
	Data report.DataSet `json:"-" yaml:"data"`
	// Alpha is the share of rows with the most frequent id in HotColumns of the six columns; the others are
	// Zipf. 0 for real data.
	Alpha      float64 `json:"alpha" yaml:"alpha"`
	HotColumns int     `json:"hot_columns" yaml:"hot-columns"`
	Batch      int     `json:"batch" yaml:"batch"`
	Tau        int     `json:"tau" yaml:"tau"`
	Rate       float64 `json:"row_rate" yaml:"row-rate"`
	HeldOut    bool    `json:"held_out" yaml:"held-out"`
}

// Check returns an error unless the data of a world are in a data folder.
func (w world) Check(folder string) error { return w.Data.Check(folder) }

// String describes a world.
func (w *world) String() string {
	job := fmt.Sprintf("B %d, τ %d, r %s", w.Batch, w.Tau, report.Digits(w.Rate, 2))
	if w.Alpha == 0 {
		return job
	}
	s := w.Data.Data.Synthetic
	return fmt.Sprintf("%d×α %s, %dk/%dk, %s", w.HotColumns, report.Digits(w.Alpha, 2), s.TrainRows/1000,
		s.Columns[0].Cardinality/1000, job)
}

// drawWorlds draws worlds of generated data. Every property is drawn on its own, so that none stands for
// another: frequency, number of hot columns, rows, cardinality, batch, delay and rate.
func drawWorlds(n, rowsLow, rowsHigh, testRows int) (worlds []world) {
	r := rng.New(worldSeed, "predictor worlds")
	for i := range n {
		w := world{
			Name: fmt.Sprintf("w%d", i+1), Alpha: between(r, 0.03, 0.6), HotColumns: 1 + r.IntN(6),
			Batch: 64 << r.IntN(3), Tau: int(math.Round(between(r, 3, 64))), Rate: between(r, 0.03, 0.5),
		}
		rows := int(between(r, float64(rowsLow), float64(rowsHigh)))
		w.Data = report.Generated(w.Alpha, rows, testRows)
		w.Data.Name = w.Name
		s := w.Data.Data.Synthetic
		shrink := between(r, 0.1, 1)
		for c := range s.Columns {
			s.Columns[c].Cardinality = int64(float64(s.Columns[c].Cardinality) * shrink)
		}
		r.Shuffle(len(s.AlphaColumns), func(a, b int) {
			s.AlphaColumns[a], s.AlphaColumns[b] = s.AlphaColumns[b], s.AlphaColumns[a]
		})
		s.AlphaColumns = s.AlphaColumns[:w.HotColumns]
		worlds = append(worlds, w)
	}
	return worlds
}

// between returns a number between two, uniform in its logarithm.
func between(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}

// realWorlds returns a world of each data set.
func realWorlds() (worlds []world) {
	for i, d := range []report.DataSet{report.AdultIncome(), report.Frappe(), report.Avazu(),
		report.CriteoHead()} {
		name, _, _ := strings.Cut(d.Name, "-")
		worlds = append(worlds, world{Name: name, Data: d, Batch: 64, Tau: []int{31, 15}[i%2], Rate: 0.1})
	}
	return worlds
}

// specs returns the trainings of a world with late or fresh rows, by seed.
func (p *predictorPlan) specs(w *world, late bool) (specs []trial.Spec) {
	for i := range p.Seeds {
		seed := p.Seed + uint64(i)
		spec := trial.Spec{Job: p.Job, Part: trial.Test, Name: w.Name + ", fresh"}
		j := &spec.Job
		j.Data = w.Data.WithSeed(seed)
		j.Rows.Optimizer.Rate, j.Training.GlobalBatch, j.Training.Seed = w.Rate, w.Batch, seed
		if late {
			j.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: w.Tau}
			spec.Name = w.Name + ", late"
		}
		specs = append(specs, spec)
	}
	return specs
}

// worldLoss is what a world loses.
type worldLoss struct {
	world
	Text    string             `json:"description"`
	Loss    metric.Interval    `json:"loss"`
	BySeed  []float64          `json:"loss_by_seed"`
	Scalars map[string]float64 `json:"scalars"`
	// Late is AUC(late rows) − AUC(fresh rows). Early results do not have it.
	Late *judge.Comparison `json:"late_less_fresh,omitempty"`
}

// lateLessFresh returns the comparisons of all worlds.
func lateLessFresh(losses []worldLoss) (list []*judge.Comparison) {
	for i := range losses {
		if losses[i].Late != nil {
			list = append(list, losses[i].Late)
		}
	}
	return list
}

// measure trains every world with fresh and late rows under every seed. Trainings on the same rows follow
// each other.
func (p *predictorPlan) measure(ctx context.Context, l arms.Lab) (losses []worldLoss, err error) {
	worlds, _ := report.Present(p.Worlds, p.folder)
	var specs []trial.Spec
	for i := range worlds {
		fresh, late := p.specs(&worlds[i], false), p.specs(&worlds[i], true)
		for s := range fresh {
			specs = append(specs, fresh[s], late[s])
		}
	}
	results, err := l.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	for i := range worlds {
		one := worldLoss{world: worlds[i], Text: worlds[i].String()}
		if err := p.pair(l, &one, results[2*i*p.Seeds:][:2*p.Seeds]); err != nil {
			return nil, err
		}
		if one.Scalars, err = p.scalars(&worlds[i]); err != nil {
			return nil, err
		}
		losses = append(losses, one)
	}
	judge.Judge(lateLessFresh(losses))
	for i := range losses {
		losses[i].Loss = report.Negated(losses[i].Late.AUC)
	}
	return losses, nil
}

// pair sets the comparison of a world, without verdict. Trainings with fresh and with late rows alternate.
// Generated worlds are one data set, so that one finding has all of them.
func (p *predictorPlan) pair(l arms.Lab, one *worldLoss, trained []trial.Result) (err error) {
	var fresh, late []trial.Result
	for i := 0; i < len(trained); i += 2 {
		fresh, late = append(fresh, trained[i]), append(late, trained[i+1])
	}
	reference, freshDiverged := trial.Quality(fresh)
	treated, lateDiverged := trial.Quality(late)
	one.BySeed = report.Differences(reference.AUC, treated.AUC)
	data, name := one.Name, fmt.Sprintf("%d steps late", one.Tau)
	if one.Alpha > 0 {
		data, name = "generated worlds", one.Name+", "+name
	}
	one.Late = judge.Pair(data, name, "fresh", p.Seed, treated, reference)
	if freshDiverged+lateDiverged == 0 {
		one.Late.RowDeviation, err = l.RowDeviation(p.specs(&one.world, true), p.specs(&one.world, false))
	}
	return err
}

// scalars returns all scalars of a world, from the training rows of the first seed.
func (p *predictorPlan) scalars(w *world) (map[string]float64, error) {
	data, err := datasets.Open(w.Data.WithSeed(p.Seed), p.folder)
	if err != nil {
		return nil, err
	}
	rows := data.Train
	f := facts{
		batch: float64(w.Batch), tau: float64(w.Tau), rate: w.Rate,
		steps: float64((rows.Samples-1)/w.Batch + 1),
	}
	for _, slot := range rows.Slots {
		f.shares = append(f.shares, report.Shares(slot, rows.Samples))
	}
	values := map[string]float64{}
	for _, s := range scalars(f) {
		values[s.name] = s.value
	}
	return values, nil
}
