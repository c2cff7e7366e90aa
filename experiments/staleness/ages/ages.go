// Package ages measures what it costs to forget rows, or to give ids none until they have come several times,
// and what memory that saves: on generated rows whose ids are replaced day by day, and on MovieLens in the
// order of time.
package ages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/table"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "ages",
		Question: "What do rows cost that expire, or that come with an id's n-th step?",
		Help: `Trains sequentially on rows in the order of time, and predicts each block before
it is trained on (progressive validation), where the rows of embeddings

  none           all stay
  expiry N       go when N to 2 N steps have not read them
  count N        come in the N-th step that reads the id
  lottery P      come in a step that reads the id with probability P
  capacity P %   are at most P % of those of none; second chance evicts others

on generated days with a tenth of the ids new each day, and on MovieLens 100K by
time if it is in the data folder. AUC and rows are those of the second half. The
job is the one that cmd/train makes, but trained sequentially.`,
		QuickTime: 30 * time.Second,
	}, newPlan, (*plan).measure, (*plan).draw)
}

// arm is a way of keeping rows.
type arm struct {
	Expiry   int     `yaml:"expiry,omitempty"`   // steps
	Count    int     `yaml:"count,omitempty"`    // steps
	Lottery  float64 `yaml:"lottery,omitempty"`  // probability
	Capacity float64 `yaml:"capacity,omitempty"` // share of the rows of the arm without settings
}

// String is the name of the arm in tables.
func (a arm) String() string {
	switch {
	case a.Expiry > 0 && a.Count > 0:
		return fmt.Sprintf("expiry %d, count %d", a.Expiry, a.Count)
	case a.Expiry > 0:
		return fmt.Sprintf("expiry %d", a.Expiry)
	case a.Count > 0:
		return fmt.Sprintf("count %d", a.Count)
	case a.Lottery > 0:
		return fmt.Sprintf("lottery %g", a.Lottery)
	case a.Capacity > 0:
		return fmt.Sprintf("capacity %g %%", 100*a.Capacity)
	}
	return "none"
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed        uint64  `yaml:"seed"` // the first
	Seeds       int     `yaml:"seeds"`
	Arms        []arm   `yaml:"arms"` // the first keeps all rows
	Drift       float64 `yaml:"drift"`
	Days        int     `yaml:"days"`
	RowsPerDay  int     `yaml:"rows-per-day"`
	RatingsMost int     `yaml:"ratings-most"` // of MovieLens, the first; 0: all
	Batch       int     `yaml:"batch"`
	Steps       int     `yaml:"steps"` // of a block

	folder string // of data
}

func newPlan(o report.Options) (*plan, error) {
	p := &plan{Seed: o.Seed, Seeds: o.Seeds, Drift: 0.1, Days: 24, RowsPerDay: 6_400, Batch: 128, Steps: 5,
		folder: o.DataFolder}
	p.Arms = []arm{{}, {Expiry: 25}, {Expiry: 50}, {Expiry: 100}, {Expiry: 200}, {Expiry: 400}, {Count: 2},
		{Count: 3}, {Count: 5}, {Count: 10}, {Lottery: 0.5}, {Lottery: 0.2}, {Lottery: 0.1},
		{Capacity: 0.75}, {Capacity: 0.5}, {Capacity: 0.25}, {Capacity: 0.1}, {Expiry: 200, Count: 2}}
	if o.Quick {
		p.Arms = []arm{{}, {Expiry: 50}, {Count: 2}, {Count: 5}, {Lottery: 0.2}, {Capacity: 0.5},
			{Expiry: 100, Count: 2}}
		p.Days, p.RatingsMost = 8, 30_000
	}
	return p, nil
}

// dataSet is a set of rows in the order of time.
type dataSet struct {
	Name   string
	open   func(p *plan, seed uint64) (*datasets.Dataset, error)
	shared bool // all seeds have the same rows
}

// sets returns the data sets that can be opened, and notes for the others.
func (p *plan) sets() (sets []dataSet, notes []string) {
	sets = []dataSet{{"generated", (*plan).generated, false}}
	ratings := report.MovieLens100K()
	if _, notes = report.Present([]report.DataSet{ratings}, p.folder); len(notes) == 0 {
		sets = append(sets, dataSet{ratings.Name, (*plan).ratings, true})
	}
	return sets, notes
}

// generated returns the generated rows of a seed.
func (p *plan) generated(seed uint64) (*datasets.Dataset, error) {
	spec := &job.Synthetic{Seed: seed, TrainRows: p.Days * p.RowsPerDay, TestRows: 1, Numeric: 2,
		RowsPerDay: p.RowsPerDay}
	for i, cardinality := range []int64{50_000, 5_000, 300} {
		spec.Columns = append(spec.Columns, job.SyntheticColumn{Name: fmt.Sprintf("c%d", i+1),
			Cardinality: cardinality, Exponent: 1.05, Drift: p.Drift})
	}
	return datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: spec}, "")
}

// outcome is what an arm has come to.
type outcome struct {
	Arm     string  `json:"arm"`
	AUC     float64 `json:"auc"` // of the second half, predicted block by block before it is trained on
	LogLoss float64 `json:"log_loss"`
	// Rows, Candidates and Bytes are means over the blocks of the second half: rows, ids whose steps are
	// counted, and the memory that both take, with 42 bytes an id that waits and without what
	// a table has in reserve. Tables of ids that have fewer than before take more for each.
	Rows       float64 `json:"rows"`
	Candidates float64 `json:"candidates"`
	Bytes      float64 `json:"bytes"`
	Gone       int     `json:"gone"` // rows evicted or expired
	// Unlearned is the share of row gradients of the whole training that found no row.
	Unlearned float64 `json:"unlearned"`
	// RowDeviation is the standard error of the difference to the first arm by the luck of rows that all
	// seeds share; 0 where they do not.
	RowDeviation float64 `json:"row_deviation,omitempty"`
}

// course is the trainings of all arms on one data set with one seed.
type course struct {
	Set  string    `json:"set"`
	Seed uint64    `json:"seed"`
	Arms []outcome `json:"arms"`
}

// measure trains what the folder does not have.
func (p *plan) measure(ctx context.Context, o report.Options) (courses []course, err error) {
	journal, err := report.OpenJournal[course](o, "courses.jsonl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	sets, _ := p.sets()
	meter := &report.Meter{Total: len(sets) * p.Seeds, Report: o.Progress}
	meter.Start()
	for _, set := range sets {
		for i := range p.Seeds {
			if n := len(courses); n < len(journal.Kept) {
				courses = append(courses, journal.Kept[n])
			} else {
				c := course{Set: set.Name, Seed: p.Seed + uint64(i)}
				if err := p.train(ctx, set, &c, o); err != nil {
					return nil, err
				}
				if err := journal.Add(c); err != nil {
					return nil, err
				}
				courses = append(courses, c)
			}
			meter.Done++
			meter.Show(0, 1, fmt.Sprintf("%s, seed %d", set.Name, p.Seed+uint64(i)))
		}
	}
	return courses, nil
}

// train trains all arms on one data set with one seed.
func (p *plan) train(ctx context.Context, set dataSet, c *course, o report.Options) error {
	data, err := set.open(p, c.Seed)
	if err != nil {
		return err
	}
	var reference []float32
	for i, a := range p.Arms {
		j := infer.Job(data).InMode(job.Sequential)
		j.Training.Epochs, j.Training.Shuffle, j.Training.Seed = 1, false, c.Seed
		j.Training.GlobalBatch = p.Batch
		infer.SetRowOptimizer(&j, len(data.Schema.Slots), infer.RowStep)
		j.Rows.Expiry, j.Rows.AdmissionCount, j.Rows.Admission = a.Expiry, a.Count, a.Lottery
		if a.Capacity > 0 {
			j.Rows.Eviction, j.Rows.Capacity = job.SecondChance, int(a.Capacity*c.Arms[0].Rows)
		}
		if err := j.Validate(); err != nil {
			return err
		}
		result, predicted, labels, err := p.trainArm(ctx, data, j, o)
		if err != nil {
			return fmt.Errorf("%s, %v: %w", set.Name, a, err)
		}
		result.Arm = a.String()
		if i == 0 {
			reference = predicted
		} else if set.shared {
			result.RowDeviation = metric.AUCRowDeviation([][]float32{predicted}, [][]float32{reference},
				labels, resamples, 1)
		}
		c.Arms = append(c.Arms, *result)
	}
	return nil
}

// resamples is the number of draws of rows behind a RowDeviation, which it then has to some 5 %.
const resamples = 200

// trainArm trains once over the rows, block by block, and scores the second half, whose predictions and
// labels it returns.
func (p *plan) trainArm(ctx context.Context, data *datasets.Dataset, j job.Job, o report.Options) (
	result *outcome, predicted, labels []float32, err error) {
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		return nil, nil, nil, err
	}
	model, err := reference.NewSequential(j, source, o.Backend)
	if err != nil {
		return nil, nil, nil, err
	}
	ofBlock := p.Batch * p.Steps
	blocks := data.Train.Samples / ofBlock
	first := blocks / 2
	result = new(outcome)
	for block := range blocks {
		if ctx.Err() != nil {
			return nil, nil, nil, context.Cause(ctx)
		}
		if block >= first {
			rows := batch.Slice(data.Train, block*ofBlock, (block+1)*ofBlock)
			predictions, err := model.NewTestSet(rows).Evaluate(model)
			if err != nil {
				return nil, nil, nil, err
			}
			predicted = append(predicted, predictions...)
		}
		for step := range p.Steps {
			if err := model.Step(block*p.Steps + step); err != nil {
				return nil, nil, nil, err
			}
		}
		if block >= first {
			result.addMemory(model.Rows(), 1/float64(blocks-first))
		}
	}
	result.addGradients(model.Rows())
	half := batch.Slice(data.Train, first*ofBlock, blocks*ofBlock)
	scores := evaluation.NewScores("", predicted, half, 0)
	result.AUC, result.LogLoss = scores.AUC, scores.LogLoss
	return result, predicted, half.Labels, nil
}

// waitingBytes is charged for an id that waits: that of a hash table which is 3/8 full.
const waitingBytes = 42

// addMemory adds a share of what is in memory now.
func (r *outcome) addMemory(tables []*table.Table, share float64) {
	for _, t := range tables {
		row := t.EmbeddingBytes() + t.StateBytes() + table.Overhead
		r.Rows += share * float64(t.Len())
		r.Candidates += share * float64(t.CandidateCount())
		r.Bytes += share * float64(t.Len()*row+t.CandidateCount()*waitingBytes)
	}
}

// addGradients adds what became of gradients and rows.
func (r *outcome) addGradients(tables []*table.Table) {
	var all table.Outcome
	for _, t := range tables {
		all.Add(t.Outcomes())
		r.Gone += t.Evicted()
	}
	r.Unlearned = float64(all.Rows()-all.Applied) / float64(max(all.Rows(), 1))
}
