// Package timetoauc measures how long, and for how many dollars, an option trains until it reaches an AUC. An
// option is a mode on a number of GPUs of a cluster.
//
// Every training is simulated with its numbers: the network that is trained is the network that is priced,
// and the order of events on the cluster, with its staleness, decides the numbers. A training has a seed,
// which is a generated world of its own, and a point of the box of what is unknown of the cluster and of its
// prices. All options share seeds and points, so two of them are compared training by training.
//
// The target of a world is the AUC of sync on the fewest GPUs, at the nominal rates, after a share of the
// rows; the share was lowered once, after a pilot. Every mode has learning rates of its own for every number
// of GPUs, because at common rates the comparison would measure the rate.
//
//	time to target = simulated seconds of the first evaluation with at least the target's AUC
//	cost           = time · price of GPUs, servers, EWs, PSs, dense PSs and loader, an hour, at that point
//
// The null model is that a mode takes the steps of sync, each in the mean time of a step of sync.
package timetoauc

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

// New returns the experiment that compares times.
func New() *report.Experiment {
	return study("time-to-auc", "How long do modes and clusters train until a target AUC?", inTime())
}

// NewCost returns the experiment that compares dollars.
func NewCost() *report.Experiment {
	return study("cost-to-auc", "What does a target AUC cost, and which cluster should I rent for it?",
		inCents())
}

// study returns the experiment that compares options by a measure.
func study(name, question string, m measured) *report.Experiment {
	var f flags
	return trial.Study(report.Experiment{
		Name: name, Question: question,
		Help: `Trains generated data under simulated time on several clusters, with 8 to 512
GPUs, in sync and in asynchronous modes (--modes), each at rates tuned for it.
The target is the AUC of sync on the fewest GPUs after an eighth of the rows
(--target-share). Seconds are simulated, and dollars are those of all machines at
dated list prices on demand: GPUs, servers, embedding workers, PSs and loader.
Prices that are not known are ranges.

Every option is trained under each seed at one point of what is unknown of its
cluster: an interval is where the next such training would be.

The quick version has 2 clusters, 8 and 64 GPUs and one network. The full one has
3, up to 512, and two; it takes about half an hour on two cores.

` + job.ModeSettingsHelp(),
		QuickTime: 55 * time.Second,
		AddFlags:  f.add,
	}, func(o report.Options) (*plan, error) {
		p, err := newPlan(o.Quick)
		if err != nil {
			return nil, err
		}
		p.Seed, p.Seeds = o.Seed, o.Seeds
		return p, p.set(&f)
	}, (*plan).measure, func(p *plan, r *results) *report.Report { return p.report(r, m) })
}

type flags struct {
	report.ModeFlags
	gpus  []int
	share float64
}

func (f *flags) add(set *pflag.FlagSet) {
	*f = flags{ModeFlags: report.NewModeFlags()}
	f.AddFlags(set)
	set.IntSliceVar(&f.gpus, "gpus", nil, "train on these numbers of GPUs (default 8,64,512; quick: 8,64)")
	set.Float64Var(&f.share, "target-share", targetShare,
		"set the target: the AUC of sync on the fewest GPUs after this share of the rows")
}

func (p *plan) set(f *flags) error {
	p.Modes = f.With(job.Sync, p.Modes)
	var err error
	if p.ModeSettings, err = f.Settle(&p.Job, p.Modes); err != nil {
		return err
	}
	for _, n := range f.gpus {
		if n < 1 || n > job.RolesMax {
			return cli.UsageError("see --help", "--gpus: %d; want 1 to %d", n, job.RolesMax)
		}
	}
	if f.gpus != nil {
		p.GPUs = slices.Compact(slices.Sorted(slices.Values(f.gpus)))
	}
	if !(f.share > 0 && f.share < 1) {
		return cli.UsageError("see --help", "--target-share: %v; want above 0 and below 1", f.share)
	}
	p.TargetShare = f.share
	return nil
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed uint64 `yaml:"seed"` // the first
	// Seeds is the number of trainings of an option: each has a seed, which is a world of its own, and a
	// point of what is unknown of the cluster.
	Seeds int `yaml:"seeds"`
	// Job is what all options share. The network, cluster, GPUs, mode and rates of an option are set.
	Job         job.Job        `yaml:"job"`
	Data        report.DataSet `yaml:"data"`
	Networks    []network      `yaml:"networks"`
	Clusters    []rented       `yaml:"clusters"`
	GPUs        []int          `yaml:"gpus"`
	BatchPerGPU int            `yaml:"batch-per-gpu"`
	Modes       []string       `yaml:"modes"` // sync first
	// TargetShare is the target: the AUC of sync on the fewest GPUs, at the nominal rates, after this share
	// of its steps, in the same world with the first network.
	TargetShare float64 `yaml:"target-share"`
	// Evaluations is the least number of evaluations during a training that has as many steps.
	Evaluations int       `yaml:"evaluations"`
	Tuning      tune.Plan `yaml:"tuning"`
	// Prices are of what has none in its profile, by its name.
	Prices map[string]quantity.Value[unit.Dollars] `yaml:"prices"`
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
}

type network struct {
	Name string `yaml:"name"` // the layers of its top
	Dim  int    `yaml:"embedding-dim"`
	Top  []int  `yaml:"top"`
}

// rented is a cluster of a job.
type rented struct {
	Name    string      `yaml:"name"` // for tables
	Long    string      `yaml:"what"`
	Section job.Cluster `yaml:"cluster"`
}

// hosts is the number of hosts for embedding workers and for embedding PSs, besides one loader: the same for
// all options, so that they differ in GPUs, wires and mode alone.
const hosts = 4

// staleness is τ of the modes with stale rows, Persia's default.
const staleness = 9

// localSGD is a mode whose ranks meet every few steps.
const localSGD = "local-sgd"

// nominal are the rates that the grids are centred on.
var nominal = tune.Rates{Rows: 0.1, Dense: 0.01}

// targetShare is the default of TargetShare. A pilot had a quarter, which hybrid with 64 GPUs did not reach
// within the rows in most worlds.
const targetShare = 0.125

// clusters returns the clusters that can be rented: built-in ones with fewer hosts beside the GPUs, and
// Tandem's prices of work. The first has a dated list price for everything.
func clusters() (list []rented, err error) {
	for _, x := range []struct{ name, preset, profile, long string }{
		{"A100", "persia-gcp", "c2-standard-30", "servers of 8 A100s (a2-highgpu-8g), 100 Gbit/s"},
		{"T4", "commodity-10g", "", "servers of 4 T4s, 10 Gbit/s"},
		{"V100", "persia-paper", "", "servers of 8 V100s without NVLink, 100 Gbit/s"},
	} {
		c, err := job.LoadCluster(x.preset)
		if err != nil {
			return nil, err
		}
		profile := cmp.Or(x.profile, c.EmbeddingPSs.Profile)
		for _, h := range []*job.Hosts{&c.EmbeddingWorkers, &c.EmbeddingPSs, &c.Loaders} {
			*h = job.Hosts{Profile: profile, Count: hosts, PerHost: 1}
		}
		c.Loaders.Count, c.System = 1, "tandem"
		c.Source = fmt.Sprintf("%s with %d + %d + 1 hosts beside the GPUs: the choice of this experiment",
			x.preset, hosts, hosts)
		list = append(list, rented{Name: x.name, Long: x.long, Section: c})
	}
	return list, nil
}

func newPlan(quick bool) (*plan, error) {
	j := job.Default()
	tau := staleness
	j.Training.Staleness = &tau
	j.Roles.DensePSs = hosts
	all, err := clusters()
	if err != nil {
		return nil, err
	}
	p := &plan{
		Job: j, BatchPerGPU: 16, TargetShare: targetShare, Evaluations: 60,
		Data: report.Generated(0.1, 200_000, 10_000), Clusters: all, GPUs: []int{8, 64, 512},
		Modes:    []string{job.Sync, job.Hybrid, job.AsyncPS, localSGD},
		Networks: []network{{"32-16", 8, []int{32, 16}}, {"128-64", 16, []int{128, 64}}},
		Tuning: tune.Plan{Rows: tune.Grid(nominal.Rows, 3, 1), Dense: tune.Grid(nominal.Dense, 6, 2),
			Seeds: tune.SeedsMin},
		Prices: map[string]quantity.Value[unit.Dollars]{
			"xeon-52-core-480gb": {
				Low: 1.566, Mid: 3.132, High: 6.304, Kind: quantity.Guessed, Date: "2025",
				Source: "not rented out: GCP on demand, us-central, from c2-standard-30 (120 GB) by " +
					"c2-standard-60 (240 GB) to m1-ultramem-40 (961 GB), public autoscaler price tables",
			},
		},
	}
	if quick {
		p.Data = report.Generated(0.1, 80_000, 5_000)
		p.Clusters, p.GPUs, p.Modes, p.Networks = all[:2], p.GPUs[:2], p.Modes[:3], p.Networks[:1]
		p.Tuning.Rows = []float64{nominal.Rows}
	}
	return p, nil
}

// option is a way to reach the target: a network that is trained by a mode on a number of GPUs of a cluster.
type option struct {
	network network
	cluster rented
	gpus    int
	mode    string
}

func (o *option) String() string {
	return fmt.Sprintf("%s, %d GPUs, %s", o.cluster.Name, o.gpus, o.mode)
}

func (p *plan) options(n network) (list []option) {
	for _, c := range p.Clusters {
		for _, gpus := range p.GPUs {
			for _, mode := range p.Modes {
				list = append(list, option{n, c, gpus, mode})
			}
		}
	}
	return list
}

func (p *plan) job(o *option, seed uint64) job.Job {
	j := p.Job.InMode(o.mode)
	j.Cluster = o.cluster.Section
	j.Model.EmbeddingDim, j.Model.Top = o.network.Dim, slices.Clone(o.network.Top)
	j.Roles.Ranks, j.Training.GlobalBatch = o.gpus, o.gpus*p.BatchPerGPU
	j.Training.Groups = max(j.Training.Groups, o.gpus)
	j.Data, j.Training.Seed = p.Data.WithSeed(seed), seed
	return j
}

// reference returns the trainings whose AUC are the targets, by seed: sync, trained in sequence, without the
// last steps. The network is the first one, so that all networks have the same target.
func (p *plan) reference() (specs []trial.Spec) {
	o := option{p.Networks[0], p.Clusters[0], p.GPUs[0], job.Sequential}
	for number := range p.Seeds {
		j := p.job(&o, p.Seed+uint64(number))
		nominal.Apply(&j)
		steps := float64(j.Data.Synthetic.TrainRows / j.Training.GlobalBatch)
		specs = append(specs, trial.Spec{
			Job: j, Part: trial.Test, Drop: int(steps * (1 - p.TargetShare)),
			Name: fmt.Sprintf("target, seed %d", j.Training.Seed),
		})
	}
	return specs
}

// spec returns a training of an option: the one of a number, from 0.
func (p *plan) spec(o *option, rates tune.Rates, number int) trial.Spec {
	j := p.job(o, p.Seed+uint64(number))
	rates.Apply(&j)
	steps := j.Data.Synthetic.TrainRows / j.Training.GlobalBatch
	j.Training.EvaluateEvery.Steps = max(1, steps/p.Evaluations)
	return trial.Spec{
		Job: j, Part: trial.Test, Simulated: true, Box: p.box(number),
		Name: fmt.Sprintf("%s, %v, seed %d", o.network.Name, o, j.Training.Seed),
	}
}

// box returns the point of the unknowns of a training of a number.
func (p *plan) box(number int) *trial.BoxPoint {
	return &trial.BoxPoint{Samples: p.Seeds, Index: number}
}

// arm returns an option for the tuner. Sync is trained sequentially: the bits are the same.
func (p *plan) arm(o option) tune.Arm {
	a := tune.Arm{Name: fmt.Sprintf("%s, %d GPUs, %s", o.network.Name, o.gpus, o.mode), Nominal: nominal,
		Simulated: o.mode != job.Sync}
	if !a.Simulated {
		o.mode = job.Sequential
	}
	a.Job = func(seed uint64) job.Job { return p.job(&o, seed) }
	return a
}

// trainings returns the number of trainings of all options, with those of the tuner and of the targets.
func (p *plan) trainings() int {
	arms := len(p.GPUs) * len(p.Modes)
	return p.Seeds + len(p.Networks)*arms*(p.Tuning.Trials()+len(p.Clusters)*p.Seeds)
}
