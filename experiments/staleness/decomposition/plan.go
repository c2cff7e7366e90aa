package decomposition

import (
	"fmt"
	"strings"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed       uint64           `yaml:"seed"` // the first
	Seeds      int              `yaml:"seeds"`
	Job        job.Job          `yaml:"job"` // of all arms
	DataSets   []report.DataSet `yaml:"data"`
	Optimizers []optimizer      `yaml:"optimizers"` // of the network
	RowRates   []float64        `yaml:"candidates-rows"`
}

// optimizer is an optimizer of the network with its candidates of the learning rate.
type optimizer struct {
	Kind  string    `yaml:"kind"`
	Rate  float64   `yaml:"nominal-rate"`
	Rates []float64 `yaml:"candidates"`
}

// Arms. Each of the first six changes one thing of the one before it.
const (
	sync          = "sync"
	byRank        = "rows by rank"
	applications  = "N applications"
	rowsLate      = "rows late"
	denseLate     = "network late"
	asyncPS       = "async-ps"
	smallBatch    = "batch ÷ N"
	averaged      = "async-average"
	nominalRow    = 0.1
	nominalAdam   = 0.003
	nominalSGD    = 0.4
	samplesOfRank = 32 // in a global batch
)

// chain are the arms from sync to async-ps.
func chain() []string {
	return []string{sync, byRank, applications, rowsLate, denseLate, asyncPS}
}

// part is a difference of two arms.
type part struct {
	name, text         string
	treated, reference string
}

// parts returns the differences along the chain, whose sum is that of its ends.
func parts() []part {
	return []part{
		{"merging", "a step of the rows for each rank", byRank, sync},
		{"applications", "a step of the network for each rank", applications, byRank},
		{"row-staleness", "late rows", rowsLate, applications},
		{"dense-staleness", "a late network", denseLate, rowsLate},
		{"residual", "residual: the order of events", asyncPS, denseLate},
	}
}

// total is what the parts add up to.
func total() part { return part{"total", "async-ps − sync", asyncPS, sync} }

// beside returns differences that are no part of the chain.
func beside() []part {
	return []part{
		{"batch", "batch ÷ N, no delay − sync", smallBatch, sync},
		{"in-batch", "no delay − N applications", smallBatch, applications},
		{"averaging", "async-average − sync", averaged, sync},
	}
}

func quickPlan() plan {
	return newPlan(2, []float64{nominalRow}, report.Generated(0.1, 12_000, 12_000), report.AdultIncome())
}

func fullPlan() plan {
	return newPlan(2, tune.Grid(nominalRow, 4, 1), report.Generated(0.1, 40_000, 30_000),
		report.AdultIncome())
}

// newPlan returns a plan with candidates of the network's rate, steps on each side of the nominal one.
func newPlan(steps int, rowRates []float64, data ...report.DataSet) plan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Training.GlobalBatch = samplesOfRank * j.Roles.Ranks
	j.Training.Prefetch = 4
	// A gradient is the mean over a rank's samples in all arms, so that arms with several applications of
	// smaller batches differ in nothing else.
	j.Training.Scale = job.ScaleRank
	j.Cluster = job.PersiaCluster()
	return plan{
		Job: j, DataSets: data, RowRates: rowRates,
		Optimizers: []optimizer{
			{opt.Adam, nominalAdam, tune.Grid(nominalAdam, 4, steps)},
			{opt.SGD, nominalSGD, tune.Grid(nominalSGD, 4, steps)},
		},
	}
}

// delays are the delays that async-ps has in the simulation, in steps of one rank's batch.
type delays struct{ rows, dense delay.Spec }

// delaysOf returns delays with the shares of the staleness of a training.
func delaysOf(r *trial.Result) delays {
	return delays{distribution(&r.Staleness.Inflight), distribution(&r.Staleness.Dense)}
}

// distribution returns delays with the shares of a histogram.
func distribution(h *histogram.Histogram) delay.Spec {
	s := delay.Spec{Kind: delay.Distribution, Weights: make([]float64, h.Max()+1)}
	for value, count := range h.All() {
		s.Weights[value] = float64(count)
	}
	return s
}

// within returns the delays with which the batches of all ranks in a step are computed from the parameters
// before the step and applied at its end, one after the other: ranks−1, …, 1, 0, again and again.
func within(ranks int) (delay.Spec, error) {
	var text strings.Builder
	text.WriteString("delay\n")
	for rank := range ranks {
		fmt.Fprintln(&text, ranks-1-rank)
	}
	s := delay.Spec{Kind: delay.Traced, File: fmt.Sprintf("within a step of %d ranks", ranks)}
	err := s.Load(func(string) ([]byte, error) { return []byte(text.String()), nil })
	return s, err
}

// set returns the arms on a data set with an optimizer of the network.
func (p *plan) set(w report.DataSet, o optimizer, late delays, inStep delay.Spec) *arms.Set {
	nominal := tune.Rates{Rows: nominalRow, Dense: o.Rate}
	s := &arms.Set{Data: w, Common: sync, Seed: p.Seed, Seeds: p.Seeds,
		Rates: tune.Plan{Rows: p.RowRates, Dense: o.Rates, Seeds: tune.SeedsMin}}
	s.Data.Name += ", " + o.Kind
	for _, name := range append(chain(), smallBatch, averaged) {
		a := tune.Arm{Name: name, Nominal: nominal, Simulated: simulated(name),
			Job: func(seed uint64) job.Job { return p.job(w, o, name, late, inStep, seed) }}
		if inParts(name) && o.Kind == opt.SGD {
			a.DenseSteps = p.Job.Roles.Ranks // async-ps divides gradients by the ranks, too
		}
		s.Arms = append(s.Arms, a)
	}
	return s
}

// inParts reports whether an arm takes a step for each rank's part of a global batch, in sequence.
func inParts(name string) bool {
	return name == applications || name == rowsLate || name == denseLate || name == smallBatch
}

func simulated(name string) bool { return name == asyncPS || name == averaged }

// job returns the job of an arm under a seed.
func (p *plan) job(w report.DataSet, o optimizer, name string, late delays, inStep delay.Spec,
	seed uint64) job.Job {
	mode := job.Sequential
	if simulated(name) {
		mode = name
	}
	j := p.Job.InMode(mode)
	j.Data = w.WithSeed(seed)
	j.Training.Seed = seed
	j.Model.Optimizer.Kind = o.Kind
	t := &j.Training
	switch name {
	case sync:
		t.Merge = job.MergeStep
	case byRank:
		t.Merge = job.MergeRank
	case applications:
		t.Delay, t.DelayDense = inStep, inStep
	case rowsLate:
		t.Delay, t.DelayDense = late.rows, inStep
	case denseLate:
		t.Delay, t.DelayDense = late.rows, late.dense
	}
	if inParts(name) {
		t.GlobalBatch /= j.Roles.Ranks
		t.Groups /= j.Roles.Ranks
		j.Roles.Ranks = 1
	}
	return j
}

// trainings returns how many trainings there are, equal ones included.
func (p *plan) trainings() int {
	n := 0
	for _, w := range p.DataSets {
		for _, o := range p.Optimizers {
			n += p.set(w, o, delays{}, delay.Spec{}).Trainings() + 1 // and the one that measures staleness
		}
	}
	return n
}
