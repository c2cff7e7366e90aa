package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// newLate returns the experiment on Persia's thesis that stale rows are harmless and a stale network is not.
// It imposes the same delay on one part at a time, in sequential training on the same rows in the same order
// from the same initial values. The thesis holds on a data set if loss(network) − loss(rows) is above 0. Late
// gradients want lower rates, so every pair is compared at several rates.
//
// Source of the thesis: Lian and others, arXiv 2111.05897.
func newLate() *report.Experiment {
	return trial.Study(report.Experiment{
		Name:     "source",
		Question: "Which part may be late: the embedding rows or the dense network?",
		Help: `Trains in sequence on the same rows, in the same order, from the same initial
values, with one part of the model late:

  fresh    every gradient takes effect at once
  rows     gradients of embedding rows take effect d steps later
  network  gradients of the dense network take effect d steps later
  lag      fresh, with the last d steps left out

The loss of a part is the AUC of fresh less the AUC with that part late. The
thesis of Persia is that the network loses more. Every pair is compared at the
tuned rates of each arm (own), at those of fresh (fresh) and at the defaults of a
job, which are not tuned (default); and on shorter and longer runs.

Data are generated, with the most frequent id in shares α of the rows, and real:
what the data folder has. The full version takes about 20 minutes on two cores
for each 10 seeds.`,
		QuickTime: 15 * time.Second,
	}, func(o report.Options) (*latePlan, error) {
		p := fullLatePlan()
		if o.Quick {
			p = quickLatePlan()
		}
		p.Seed, p.Seeds, p.folder = o.Seed, o.Seeds, o.DataFolder
		return p, nil
	}, func(p *latePlan, ctx context.Context, lab *trial.Lab) ([]*lateResult, error) {
		lab.Expect(p.trainings())
		return p.measure(ctx, lab)
	}, (*latePlan).report)
}

// latePlan is everything that is fixed before the first training.
type latePlan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all arms; arms set delays and rates, sets set data, batch and epochs.
	Job job.Job `yaml:"job"`
	// MainDelay is the delay of tables and verdicts, in steps.
	MainDelay int       `yaml:"main-delay"`
	Tuning    tune.Plan `yaml:"tuning"` // without seeds
	Sets      []set     `yaml:"data"`   // those that the data folder has are measured

	folder string // of real data
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

// newLatePlan returns a plan for data sets. Adagrad for rows and Adam for the network are the optimizers of
// Persia's examples; grid is the number of candidates on each side of a nominal rate.
func newLatePlan(grid int, sets []set) *latePlan {
	j, nominal := smallJob(), nominalRates()
	j.Training.Mode, j.Roles.Ranks = job.Sequential, 1
	return &latePlan{
		Job: j, MainDelay: 15, Sets: sets,
		Tuning: tune.Plan{Rows: tune.Grid(nominal.Rows, 3, grid), Dense: tune.Grid(nominal.Dense, 3, grid)},
	}
}

// nominalRates are the middle of the tuning grid.
func nominalRates() tune.Rates { return tune.Rates{Rows: 0.1, Dense: 0.003} }

// newSet returns a data set with the main delay.
func newSet(d report.DataSet, batch int, lengths ...float64) set {
	return set{d, batch, []int{15}, lengths, tune.SeedsMin}
}

func quickLatePlan() *latePlan {
	return newLatePlan(1, []set{
		newSet(report.Generated(0.01, 20_000, 20_000), 64, 1),
		newSet(report.Generated(0.5, 20_000, 20_000), 64, 1), newSet(report.AdultIncome(), 128, 1),
	})
}

// fullLatePlan compares on all data sets. Epochs and batches were fixed beforehand by the rows of the sets.
func fullLatePlan() *latePlan {
	delays, lengths := []int{3, 15, 63}, []float64{1, 0.25, 4}
	return newLatePlan(2, []set{
		{report.Generated(0.01, 80_000, 50_000), 128, delays, lengths, 5},
		{report.Generated(0.5, 80_000, 50_000), 128, delays, lengths, 5},
		newSet(report.AdultIncome(), 128, 1), newSet(report.Avazu(), 32, 1, 3),
		newSet(report.CriteoHead(), 32, 1, 3), newSet(report.Frappe(), 128, 1),
		newSet(report.IJCAI18(), 128, 1), newSet(report.MovieLens100K(), 128, 1),
		newSet(report.TaobaoAd(), 2, 1),
	})
}

// logistic is the kind of the simplest model that learns from ids.
const logistic = "logistic-regression"

// arm is a way to train: fresh, or with one field set.
type arm struct {
	rows, network int    // steps by which they are late
	lag           int    // last steps that are left out, as the control of what is late
	model         string // another kind of model
}

func (a arm) String() string {
	switch {
	case a.rows > 0:
		return fmt.Sprintf("rows %d steps late", a.rows)
	case a.network > 0:
		return fmt.Sprintf("network %d steps late", a.network)
	case a.lag > 0:
		return fmt.Sprintf("fresh, %d steps fewer", a.lag)
	}
	return cmp.Or(a.model, "fresh")
}

// tunedArms returns the arms of a data set that have rates of their own.
func (s *set) tunedArms() []arm {
	list := []arm{{}}
	for _, d := range s.Delays {
		list = append(list, arm{rows: d}, arm{network: d})
	}
	return append(list, arm{model: logistic})
}

// tuning returns the plan of the tuner on a data set.
func (p *latePlan) tuning(s *set) tune.Plan {
	t := p.Tuning
	t.Seeds = s.TuningSeeds
	return t
}

func (p *latePlan) spec(s *set, a arm, length float64, r tune.Rates, seed uint64) trial.Spec {
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
	if a.rows > 0 {
		j.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: a.rows}
	}
	if a.network > 0 {
		j.Training.DelayDense = delay.Spec{Kind: delay.Exactly, Steps: a.network}
	}
	r.Apply(&j)
	return trial.Spec{Job: j, Part: trial.Test, Drop: a.lag,
		Name: fmt.Sprintf("%s, seed %d, %v", s.Name, seed, a)}
}

// lateResult holds what was measured on one data set.
type lateResult struct {
	DataSet  string  `json:"data"`
	Alpha    float64 `json:"alpha,omitempty"` // generated data
	TestRows int     `json:"test_rows"`
	// Oracle is the AUC of the probabilities that labels were drawn with, by seed; nil for real data.
	Oracle      []float64         `json:"oracle_auc,omitempty"`
	Logistic    []float64         `json:"logistic_regression_auc"` // at its tuned rates, by seed
	Tuning      []tune.Choice     `json:"tuning"`
	Comparisons []*lateComparison `json:"comparisons"`
}

// Kinds of rates that arms are compared at.
const (
	ownRates    = "own"     // each arm at its own tuned rates
	freshRates  = "fresh"   // all arms at the tuned rates of fresh
	defaultRate = "default" // all arms at the defaults of a job
)

// lateComparison is the arms of one data set, length, kind of rates and delay.
type lateComparison struct {
	Length float64 `json:"length"` // see set.Lengths
	Steps  int     `json:"steps"`
	Rates  string  `json:"rates"`
	Delay  int     `json:"delay_steps"`
	// Quality by seed; that of a constant guess where a training diverged.
	Fresh    judge.Quality `json:"fresh"`
	Lag      judge.Quality `json:"lag"`
	Rows     judge.Quality `json:"rows_late"`
	Network  judge.Quality `json:"network_late"`
	Diverged int           `json:"diverged"` // trainings
	// The losses, fresh less late, with intervals over seeds.
	LagLoss     metric.Interval `json:"lag_loss"`
	RowLoss     metric.Interval `json:"row_loss"`
	NetworkLoss metric.Interval `json:"network_loss"`
	// Difference is AUC(rows late) − AUC(network late): the network's loss less the rows'.
	Difference *judge.Comparison `json:"network_less_row_loss"`
	Verdict    verdict           `json:"thesis"`
}

// verdict is what the interval of the network's loss less the rows' says of the thesis.
type verdict string

const (
	holds    verdict = "holds"
	reversed verdict = "reversed"
	unclear  verdict = "not distinguishable"
)

// comparisons returns the comparisons of a data set, without results. The rates of an arm are tuned for
// length 1, so there are none of its own for other lengths.
func (p *latePlan) comparisons(s *set) (list []*lateComparison) {
	for _, length := range s.Lengths {
		for _, d := range s.Delays {
			for _, kind := range kinds() {
				isTuned, isMain := length == 1, d == p.MainDelay
				if isTuned && kind != defaultRate || isMain && (isTuned || kind != ownRates) {
					list = append(list, &lateComparison{Length: length, Rates: kind, Delay: d})
				}
			}
		}
	}
	return list
}

func (p *latePlan) trainings() (n int) {
	present, _ := report.Present(p.Sets, p.folder)
	for _, s := range present {
		grid := p.tuning(&s)
		n += len(s.tunedArms())*grid.Trials() + p.Seeds*(1+4*len(p.comparisons(&s)))
	}
	return n
}

// measure tunes the arms of every data set and compares them under every seed.
func (p *latePlan) measure(ctx context.Context, l arms.Lab) (results []*lateResult, err error) {
	present, _ := report.Present(p.Sets, p.folder)
	for _, s := range present {
		r, err := p.measureSet(ctx, l, &s)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	judge.Judge(differences(results))
	for _, r := range results {
		for _, c := range r.Comparisons {
			c.Verdict = unclear
			if c.Difference.AUC.Low > 0 {
				c.Verdict = holds
			} else if c.Difference.AUC.High < 0 {
				c.Verdict = reversed
			}
		}
	}
	return results, nil
}

func differences(results []*lateResult) (list []*judge.Comparison) {
	for _, r := range results {
		for _, c := range r.Comparisons {
			list = append(list, c.Difference)
		}
	}
	return list
}

func (p *latePlan) measureSet(ctx context.Context, l arms.Lab, s *set) (*lateResult, error) {
	r := &lateResult{DataSet: s.Name, Alpha: s.Alpha, Comparisons: p.comparisons(s)}
	var tuned []tune.Arm
	for _, a := range s.tunedArms() {
		tuned = append(tuned, tune.Arm{
			Name: s.Name + ", " + a.String(), Nominal: nominalRates(),
			Job: func(seed uint64) job.Job { return p.spec(s, a, 1, nominalRates(), seed).Job },
		})
	}
	oracle, err := s.Oracle(p.Seed, p.Seeds)
	if err != nil {
		return nil, err
	}
	r.Oracle = oracle.AUC
	if r.Tuning, err = tune.Tune(ctx, l, tuned, p.tuning(s)); err != nil {
		return nil, err
	}
	simple := arm{model: logistic}
	var specs []trial.Spec
	for i := range p.Seeds {
		specs = append(specs, p.spec(s, simple, 1, r.tuned(simple).Rates, p.Seed+uint64(i)))
	}
	results, err := l.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	quality, _ := trial.Quality(results)
	r.Logistic, r.TestRows = quality.AUC, results[0].TestRows
	for _, c := range r.Comparisons {
		if err := p.compare(ctx, l, s, r, c); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *lateResult) tuned(a arm) tune.Choice {
	return r.Tuning[slices.IndexFunc(r.Tuning, func(c tune.Choice) bool {
		return c.Arm == r.DataSet+", "+a.String()
	})]
}

func (r *lateResult) rates(c *lateComparison, a arm) tune.Rates {
	switch {
	case c.Rates == defaultRate:
		j := job.Default()
		return tune.Rates{Rows: j.Rows.Optimizer.Rate, Dense: j.Model.Optimizer.Rate}
	case c.Rates == ownRates && a.rows+a.network > 0:
		return r.tuned(a).Rates
	}
	return r.tuned(arm{}).Rates
}

// compare trains the arms of a comparison and sets losses and, without a verdict, the difference. Trainings
// on the same rows follow each other.
func (p *latePlan) compare(
	ctx context.Context, l arms.Lab, s *set, r *lateResult, c *lateComparison,
) error {
	compared := []arm{{}, {lag: c.Delay}, {rows: c.Delay}, {network: c.Delay}}
	specs := make([][]trial.Spec, len(compared))
	var all []trial.Spec
	for i := range p.Seeds {
		for k, a := range compared {
			spec := p.spec(s, a, c.Length, r.rates(c, a), p.Seed+uint64(i))
			specs[k], all = append(specs[k], spec), append(all, spec)
		}
	}
	results, err := l.Run(ctx, all)
	if err != nil {
		return err
	}
	for k, to := range []*judge.Quality{&c.Fresh, &c.Lag, &c.Rows, &c.Network} {
		diverged := 0
		*to, diverged = trial.Quality(every(results, k, len(compared)))
		c.Diverged += diverged
	}
	for _, one := range results {
		c.Steps = max(c.Steps, one.Steps) // those of fresh
	}
	loss := func(late judge.Quality) []float64 { return report.Differences(c.Fresh.AUC, late.AUC) }
	c.LagLoss = metric.MeanInterval(loss(c.Lag))
	c.RowLoss, c.NetworkLoss = metric.MeanInterval(loss(c.Rows)), metric.MeanInterval(loss(c.Network))
	where := fmt.Sprintf("%s, %s rates, %s steps", s.Name, c.Rates, report.Thousands(c.Steps))
	c.Difference = judge.Pair(where, compared[2].String(), compared[3].String(), p.Seed, c.Rows, c.Network)
	if c.Diverged == 0 {
		c.Difference.RowDeviation, err = l.RowDeviation(specs[2], specs[3])
	}
	return err
}
