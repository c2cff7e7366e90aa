package staleness

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all arms, with the optimizer and the rate of rows of all but those of Optimizers.
	Job      job.Job          `yaml:"job"`
	Taus     []int            `yaml:"taus"` // ascending
	DataSets []report.DataSet `yaml:"data"`
	// SimulatedRanks are numbers of ranks of the cluster persia-paper, at the τ of SimulatedTau.
	SimulatedRanks []int `yaml:"simulated-ranks"`
	SimulatedTau   int   `yaml:"simulated-tau"`
	// Lengths are factors of the training rows of generated data, at the τ of LengthTau.
	Lengths   []int `yaml:"lengths"`
	LengthTau int   `yaml:"length-tau"`
	// Optimizers of rows are compared at rates tuned without delay and at rates tuned with that of LengthTau.
	Optimizers []optimizer `yaml:"optimizers"`
	// Factors are the candidates of the tuner: rate ÷ nominal rate.
	Factors []float64 `yaml:"rate-factors"`
}

// optimizer is an optimizer of rows with the order of magnitude of its rate.
type optimizer struct {
	Kind string  `yaml:"kind"`
	Rate float64 `yaml:"nominal-rate"`
}

// arm is a way to train.
type arm struct {
	Mode  string `json:"mode"`
	Merge string `json:"merge"`
	Ranks int    `json:"ranks"`
	// Tau bounds the own staleness of hybrid.
	Tau int `json:"tau"`
	// Delay is the delay of rows in sequential training, as package delay writes it, or one that hybrid has
	// measured.
	Delay     string  `json:"delay,omitempty"`
	Drop      int     `json:"drop,omitempty"` // steps left out at the end
	Length    int     `json:"length"`         // factor of the training rows
	Simulated bool    `json:"simulated,omitempty"`
	Optimizer string  `json:"optimizer"` // of rows
	Rate      float64 `json:"rate"`      // of rows
}

// Delays that hybrid has measured at the same τ and seed, with less and less left out:
const (
	// drawn step by step from the histogram of the own staleness of its reads
	drawn = "drawn"
	// for each step in turn, the mean delay of its row gradients, over ranks and PSs
	bySteps = "by steps"
	// the order of every read and every update of rows on each PS
	byReads = "by reads"
)

// measured reports whether the delays of an arm are those of hybrid.
func (a arm) measured() bool { return a.Delay == drawn || a.Delay == bySteps || a.Delay == byReads }

// String names an arm in tables and messages.
func (a arm) String() string {
	text := "merge:" + a.Merge
	switch {
	case a.Mode == job.Hybrid:
		text = fmt.Sprintf("hybrid τ=%d", a.Tau)
	case a.measured():
		text = fmt.Sprintf("%s τ=%d", a.Delay, a.Tau)
	case a.Delay != "":
		text = a.Delay
	case a.Drop > 0:
		text = fmt.Sprintf("%d steps fewer", a.Drop)
	}
	if a.Ranks != job.Default().Roles.Ranks {
		text += fmt.Sprintf(", %d ranks", a.Ranks)
	}
	if a.Length > 1 {
		text += fmt.Sprintf(", %d × as long", a.Length)
	}
	if a.Optimizer != opt.Adagrad {
		text += ", " + a.Optimizer
	}
	return text
}

// Names of the effects.
const (
	merging   = "merging"
	staleness = "staleness"
	lag       = "lag"
	threads   = "threads"
	runtime   = "runtime"
	steps     = "steps"
	reads     = "reads"
	simulated = "simulated"
	longer    = "longer"
	sameRate  = "rate of fresh"
	ownRates  = "own rate"
)

// pair is an effect: treated − reference.
type pair struct {
	effect             string
	tau                int
	treated, reference arm
}

// late returns the arm with row gradients that take effect τ steps later.
func (a arm) late(tau int) arm {
	a.Delay = fmt.Sprintf("exactly %d", tau)
	return a
}

// hybrid returns the arm in mode hybrid.
func (a arm) hybrid(tau int) arm {
	a.Mode, a.Tau = job.Hybrid, tau
	return a
}

// as returns the arm with delays that hybrid has measured at τ.
func (a arm) as(measured string, tau int) arm {
	a.Delay, a.Tau = measured, tau
	return a
}

// base returns the arm from which all others differ: sequential, without delay.
func (p *plan) base() arm {
	return arm{Mode: job.Sequential, Merge: job.MergeRank, Ranks: p.Job.Roles.Ranks, Length: 1,
		Optimizer: p.Job.Rows.Optimizer.Kind, Rate: p.Job.Rows.Optimizer.Rate}
}

// pairs returns the effects on a data set, without those of optimizers.
func (p *plan) pairs(d *report.DataSet) []pair {
	base := p.base()
	merged := base
	merged.Merge = job.MergeStep
	list := []pair{{merging, 0, base, merged}}
	for _, tau := range p.Taus {
		hybrid, fewer := base.hybrid(tau), base
		fewer.Drop = tau
		if tau > 0 {
			list = append(list, pair{staleness, tau, base.late(tau), base}, pair{lag, tau, fewer, base})
		}
		list = append(list, pair{threads, tau, hybrid, base},
			pair{runtime, tau, hybrid, base.as(drawn, tau)},
			pair{steps, tau, hybrid, base.as(bySteps, tau)},
			pair{reads, tau, hybrid, base.as(byReads, tau)})
	}
	if d.Alpha == 0 {
		return list
	}
	for _, ranks := range p.SimulatedRanks {
		more := base
		more.Ranks = ranks
		simulation := more.hybrid(p.SimulatedTau)
		simulation.Simulated = true
		list = append(list, pair{simulated, p.SimulatedTau, simulation, more})
	}
	for _, length := range p.Lengths {
		long := base
		long.Length = length
		list = append(list, pair{longer, p.LengthTau, long.late(p.LengthTau), long})
	}
	return list
}

// optimizerPairs returns the effects of a delay with an optimizer, at its rate tuned without and with delay.
func (p *plan) optimizerPairs(o optimizer, fresh, late float64) []pair {
	at := p.base()
	at.Optimizer, at.Rate = o.Kind, fresh
	own := at
	own.Rate = late
	return []pair{{sameRate, p.LengthTau, at.late(p.LengthTau), at},
		{ownRates, p.LengthTau, own.late(p.LengthTau), at}}
}

// armsOf returns the arms of pairs, each once.
func armsOf(pairs []pair) (arms []arm) {
	for _, one := range pairs {
		for _, a := range []arm{one.reference, one.treated} {
			if !slices.Contains(arms, a) {
				arms = append(arms, a)
			}
		}
	}
	return arms
}

// trainings returns how many trainings there are on all data sets. Where the tuner chooses the same rate with
// and without delay, there are fewer.
func (p *plan) trainings() (n int) {
	for i := range p.DataSets {
		pairs := p.pairs(&p.DataSets[i])
		if p.DataSets[i].Alpha > 0 {
			for _, o := range p.Optimizers {
				t := p.tuning(o)
				n += 2 * t.Trials()
				pairs = append(pairs, p.optimizerPairs(o, -1, -2)...) // rates that no other pair has
			}
		}
		n += p.Seeds * len(armsOf(pairs))
	}
	return n
}

// spec returns the training of an arm under a seed. from is the training of hybrid that has measured its
// delays, for an arm that needs it.
func (p *plan) spec(d *report.DataSet, a arm, seed uint64, from *trial.Result) (trial.Spec, error) {
	j := p.Job
	j.Data = d.WithSeed(seed)
	if a.Length > 1 {
		j.Data.Synthetic.TrainRows *= a.Length
	}
	t := &j.Training
	t.Mode, t.Merge, t.Seed = a.Mode, a.Merge, seed
	j.Roles.Ranks = a.Ranks
	j.Rows.Optimizer.Kind, j.Rows.Optimizer.Rate = a.Optimizer, a.Rate
	s := trial.Spec{Part: trial.Test, Simulated: a.Simulated, Drop: a.Drop,
		Name: fmt.Sprintf("%s, seed %d, %v", d.Name, seed, a)}
	if a.Mode == job.Hybrid {
		t.Staleness, t.Prefetch = &a.Tau, a.Tau+1 // staleness is bounded by τ, not by the queue
		s.RecordOrder = !a.Simulated
	}
	if a.Simulated {
		j.Cluster = job.PersiaCluster()
	}
	var err error
	switch {
	case a.measured() && from.Diverged != "":
		err = fmt.Errorf("%s: hybrid has diverged and measured no delays; lower the rates", s.Name)
	case a.Delay == drawn:
		own := &from.Staleness.Own
		t.Delay = delay.Spec{Kind: delay.Distribution, Weights: make([]float64, own.Max()+1)}
		for steps, count := range own.All() {
			t.Delay.Weights[steps] = float64(count)
		}
	case a.Delay == bySteps:
		t.Delay, err = traceOf(from.Order.Delays(from.Steps))
	case a.Delay == byReads:
		s.Order = from.Order
	case a.Delay != "":
		t.Delay, err = delay.Parse(a.Delay)
	}
	s.Job = j
	return s, err
}

// traceOf returns the delays of steps 0, 1, 2 …
func traceOf(delays []int) (delay.Spec, error) {
	text := strings.Builder{}
	text.WriteString("delay\n")
	for _, d := range delays {
		fmt.Fprintln(&text, d)
	}
	sum := sha256.Sum256([]byte(text.String()))
	s := delay.Spec{Kind: delay.Traced, File: hex.EncodeToString(sum[:8])} // its content is part of the ID
	err := s.Load(func(string) ([]byte, error) { return []byte(text.String()), nil })
	return s, err
}

// tuningArms returns the arms of the tuner for an optimizer: without and with delay.
func (p *plan) tuningArms(d *report.DataSet, o optimizer) (arms []tune.Arm) {
	at := p.base()
	at.Optimizer, at.Rate = o.Kind, o.Rate
	for _, a := range []arm{at, at.late(p.LengthTau)} {
		arms = append(arms, tune.Arm{
			Name:    strings.TrimSpace(fmt.Sprintf("%s, %s %s", d.Name, o.Kind, a.Delay)),
			Nominal: tune.Rates{Rows: o.Rate, Dense: p.Job.Model.Optimizer.Rate},
			Job: func(seed uint64) job.Job {
				s, _ := p.spec(d, a, seed, nil) // its delay is valid
				return s.Job
			},
		})
	}
	return arms
}

// tuning returns the candidates of the tuner for an optimizer. The rate of the network is fixed.
func (p *plan) tuning(o optimizer) tune.Plan {
	t := tune.Plan{Dense: []float64{p.Job.Model.Optimizer.Rate}, Seeds: tune.SeedsMin}
	for _, factor := range p.Factors {
		t.Rows = append(t.Rows, o.Rate*factor)
	}
	return t
}

// newPlan returns the plan of the full version, or of the quick one, which has no optimizers, simulated ranks
// and longer runs.
func newPlan(o report.Options, g *report.Grid) *plan {
	p := &plan{Seed: o.Seed, Seeds: o.Seeds, Job: commonJob(), Taus: g.Taus(0, 3, 15, 63), SimulatedTau: 3,
		LengthTau: 15}
	alphas, trainRows, testRows := g.Alphas(0.01, 0.1, 0.5), 80_000, 50_000
	if o.Quick {
		p.Taus, alphas, trainRows, testRows = g.Taus(3, 15, 63), g.Alphas(0.01, 0.5), 40_000, 30_000
	} else {
		p.SimulatedRanks, p.Lengths, p.Factors = []int{8, 64}, []int{10, 100}, tune.Grid(1, 4, 2)
		p.Optimizers = []optimizer{{opt.SGD, 8}, {opt.Adagrad, 0.1}, {opt.Adam, 0.01}, {opt.FTRL, 0.1}}
	}
	for _, alpha := range alphas {
		p.DataSets = append(p.DataSets, report.Generated(alpha, trainRows, testRows))
	}
	p.DataSets = append(p.DataSets, report.AdultIncome())
	return p
}

// commonJob returns the job of all arms.
//
// The learning rates were chosen before any arm was run, by sequential training on generated data of 80,000
// rows with α = 0.1 and seed 1000, which are in no report. Of the dense rates 0.003, 0.01, 0.03 and the row
// rates 0.03, 0.1, 0.3, this pair had the highest AUC: 0.7095, compared with 0.7043 to 0.7088.
func commonJob() job.Job {
	t := job.Default()
	t.Model.EmbeddingDim, t.Model.Top = 8, []int{32, 16}
	t.Model.Optimizer.Rate, t.Rows.Optimizer.Rate = 0.01, 0.1
	t.Training.GlobalBatch = 256
	t.Training.Scale = job.ScaleGlobal
	return t
}
