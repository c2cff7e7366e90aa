// Package drift measures what an old model costs where the ids change: one that is trained on rows as they
// arrive, one that is replaced every day, and one that is not replaced.
//
// The three are one training, in the order of time, that is asked at different moments. So they differ in age
// alone.
package drift

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "drift",
		Question: "What does an old model cost where ids change?",
		Help: `Trains sequentially on generated days in the order of time, and predicts every
day's rows before they are trained on (progressive validation) by the model

  online  of a moment before: a block of rows is predicted, then trained on
  daily   of the beginning of the day
  static  of the end of the first days

with ids that stay, and with a share of them replaced each day. The job is the
one that cmd/train --follow makes, but trained sequentially, where that chooses
hybrid, and with numbers scaled by all rows, where that takes the first file.`,
		QuickTime: 20 * time.Second,
	}, newPlan, (*plan).measure, (*plan).draw)
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed       uint64    `yaml:"seed"` // the first
	Seeds      int       `yaml:"seeds"`
	Drifts     []float64 `yaml:"drifts"` // shares of the ids that are replaced each day
	Days       int       `yaml:"days"`
	StaticDays int       `yaml:"static-days"` // that the static model has seen
	RowsPerDay int       `yaml:"rows-per-day"`
	Blocks     int       `yaml:"blocks"` // of a day
	Steps      int       `yaml:"steps"`  // of a block
}

func newPlan(o report.Options) (*plan, error) {
	p := &plan{Seed: o.Seed, Seeds: o.Seeds, Drifts: []float64{0, 0.1}, Days: 12, StaticDays: 3,
		RowsPerDay: 12_800, Blocks: 20, Steps: 5}
	if o.Quick {
		p.Days, p.RowsPerDay = 6, 3_200
	}
	return p, nil
}

// data returns the rows of a seed.
func (p *plan) data(drift float64, seed uint64) job.Data {
	spec := &job.Synthetic{Seed: seed, TrainRows: p.Days * p.RowsPerDay, TestRows: 1, Numeric: 2,
		RowsPerDay: p.RowsPerDay}
	for i, cardinality := range []int64{10_000, 2_000, 300} {
		spec.Columns = append(spec.Columns, job.SyntheticColumn{Name: fmt.Sprintf("c%d", i+1),
			Cardinality: cardinality, Exponent: 1.05, Drift: drift})
	}
	return job.Data{Kind: job.KindSynthetic, Synthetic: spec}
}

// names are the models, in the order of course.Days.
var names = [...]string{"online", "daily", "static"}

// score is how well the rows of a day are predicted.
type score struct {
	AUC     float64 `json:"auc"`
	LogLoss float64 `json:"log_loss"`
}

// course is a training: the scores of every day by each of names. The days before the static model is there
// have those of the daily model in its place.
type course struct {
	Drift float64             `json:"drift"`
	Seed  uint64              `json:"seed"`
	Days  [][len(names)]score `json:"days"`
}

// measure trains what the folder does not have.
func (p *plan) measure(ctx context.Context, o report.Options) (courses []course, err error) {
	journal, err := report.OpenJournal[course](o, "courses.jsonl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	meter := &report.Meter{Total: len(p.Drifts) * p.Seeds, Report: o.Progress}
	meter.Start()
	for _, drift := range p.Drifts {
		for i := range p.Seeds {
			if n := len(courses); n < len(journal.Kept) {
				courses = append(courses, journal.Kept[n])
			} else {
				c := course{Drift: drift, Seed: p.Seed + uint64(i)}
				if err := p.train(ctx, &c, o); err != nil {
					return nil, err
				}
				if err := journal.Add(c); err != nil {
					return nil, err
				}
				courses = append(courses, c)
			}
			meter.Done++
			meter.Show(0, 1, fmt.Sprintf("drift %g, seed %d", drift, p.Seed+uint64(i)))
		}
	}
	return courses, nil
}

// train trains once and scores every day.
func (p *plan) train(ctx context.Context, c *course, o report.Options) error {
	data, err := datasets.Open(p.data(c.Drift, c.Seed), "")
	if err != nil {
		return err
	}
	j := infer.Job(data).InMode(job.Sequential)
	ofBlock := p.RowsPerDay / p.Blocks
	j.Training.Epochs, j.Training.Shuffle, j.Training.Seed = 1, false, c.Seed
	j.Training.GlobalBatch = ofBlock / p.Steps
	infer.SetRowOptimizer(&j, len(data.Schema.Slots), infer.RowStep)
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		return err
	}
	model, err := reference.NewSequential(j, source, o.Backend)
	if err != nil {
		return err
	}
	static := map[int][]float32{} // predictions by day
	for day := range p.Days {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if day == p.StaticDays {
			for later := day; later < p.Days; later++ {
				if static[later], err = model.NewTestSet(p.rows(data, later)).Evaluate(model); err != nil {
					return err
				}
			}
		}
		rows := p.rows(data, day)
		daily, err := model.NewTestSet(rows).Evaluate(model)
		if err != nil {
			return err
		}
		var online []float32
		for block := range p.Blocks {
			arrived := batch.Slice(rows, block*ofBlock, (block+1)*ofBlock)
			predictions, err := model.NewTestSet(arrived).Evaluate(model)
			if err != nil {
				return err
			}
			online = append(online, predictions...)
			for step := range p.Steps {
				if err := model.Step((day*p.Blocks+block)*p.Steps + step); err != nil {
					return err
				}
			}
		}
		if static[day] == nil {
			static[day] = daily
		}
		var scores [len(names)]score
		for i, predictions := range [][]float32{online, daily, static[day]} {
			s := evaluation.NewScores("", predictions, rows, 0)
			scores[i] = score{s.AUC, s.LogLoss}
		}
		c.Days = append(c.Days, scores)
	}
	return nil
}

// rows returns the rows of a day.
func (p *plan) rows(data *datasets.Dataset, day int) *batch.Batch {
	return batch.Slice(data.Train, day*p.RowsPerDay, (day+1)*p.RowsPerDay)
}

// quality returns the mean of a model over the days from the end of the static one's training on, by seed.
func (p *plan) quality(courses []course, model int) (q judge.Quality) {
	for _, c := range courses {
		auc, loss, days := 0.0, 0.0, float64(p.Days-p.StaticDays)
		for _, day := range c.Days[p.StaticDays:] {
			auc, loss = auc+day[model].AUC/days, loss+day[model].LogLoss/days
		}
		q.AUC, q.LogLoss = append(q.AUC, auc), append(q.LogLoss, loss)
	}
	return q
}

// draw compares the old models with the online one.
func (p *plan) draw(courses []course) *report.Report {
	figure := report.Figure{Name: "drift",
		Title: "AUC of each day's rows, predicted before they are trained on",
		X:     report.Axis{Label: "day"}, Y: report.Axis{Label: "AUC (mean over seeds)"}}
	var comparisons []*judge.Comparison
	for d, drift := range p.Drifts {
		of := courses[d*p.Seeds:][:p.Seeds]
		set := fmt.Sprintf("%g %% of the ids new each day", math.Round(100*drift))
		for model, name := range names {
			line := report.Line{Name: fmt.Sprintf("%s, %g %%", name, math.Round(100*drift)),
				Color: d*len(names) + model}
			for day := 1; day < p.Days; day++ { // on the first day no model has learned
				var aucs []float64
				for _, c := range of {
					aucs = append(aucs, c.Days[day][model].AUC)
				}
				line.Points = append(line.Points, report.SeedPoint(float64(day+1), aucs))
			}
			figure.Lines = append(figure.Lines, line)
			if model > 0 {
				comparisons = append(comparisons, judge.Pair(set, name, names[0], p.Seed,
					p.quality(of, model), p.quality(of, 0)))
			}
		}
	}
	judge.Judge(comparisons)
	return &report.Report{
		Comparisons: comparisons,
		Tables:      report.ComparisonTables(comparisons),
		Figures:     []report.Figure{figure},
		Notes: []string{fmt.Sprintf("Means over days %d to %d of %d rows each. The three are one training "+
			"in the order of time, asked at different moments: the static model has seen %d days.",
			p.StaticDays+1, p.Days, p.RowsPerDay, p.StaticDays)},
	}
}
