package timetoauc

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

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
	// Transferred are clusters and models of which no training is simulated.
	Transferred []transfer `yaml:"transferred"`
}

// network is a network that is trained and priced.
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

// transfer is a prediction that a curve trained on another cluster, or with another network, is priced with.
type transfer struct {
	Name   string `yaml:"name"`
	Preset string `yaml:"preset"` // cluster profile, whole
	Model  string `yaml:"model"`
	GPUs   int    `yaml:"gpus"`
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

// smaller returns a built-in cluster with fewer hosts beside the GPUs, and Tandem's prices of work.
func smaller(name, preset, profile, long string) (rented, error) {
	c, err := job.LoadCluster(preset)
	if err != nil {
		return rented{}, err
	}
	if profile == "" {
		profile = c.EmbeddingPSs.Profile
	}
	for _, h := range []*job.Hosts{&c.EmbeddingWorkers, &c.EmbeddingPSs, &c.Loaders} {
		*h = job.Hosts{Profile: profile, Count: hosts, PerHost: 1}
	}
	c.Loaders.Count, c.System = 1, "tandem"
	c.Source = fmt.Sprintf("%s with %d + %d + 1 hosts beside the GPUs: the choice of this experiment",
		preset, hosts, hosts)
	return rented{Name: name, Long: long, Section: c}, nil
}

// clusters returns the clusters that can be rented. The first has a dated list price for everything.
func clusters() (list []rented, err error) {
	for _, x := range []struct{ name, preset, profile, long string }{
		{"A100", "persia-gcp", "c2-standard-30", "servers of 8 A100s (a2-highgpu-8g), 100 Gbit/s"},
		{"T4", "commodity-10g", "", "servers of 4 T4s, 10 Gbit/s"},
		{"V100", "persia-paper", "", "servers of 8 V100s without NVLink, 100 Gbit/s"},
	} {
		c, err := smaller(x.name, x.preset, x.profile, x.long)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// prices returns the prices of what has none in its profile.
func prices() map[string]quantity.Value[unit.Dollars] {
	return map[string]quantity.Value[unit.Dollars]{
		"xeon-52-core-480gb": {
			Low: 1.566, Mid: 3.132, High: 6.304, Kind: quantity.Guessed, Date: "2025",
			Source: "not rented out: GCP on demand, us-central, from c2-standard-30 (120 GB) by " +
				"c2-standard-60 (240 GB) to m1-ultramem-40 (961 GB), public autoscaler price tables",
		},
	}
}

func newPlan() (plan, error) {
	j := job.Default()
	tau := staleness
	j.Training.Staleness = &tau
	j.Roles.DensePSs = hosts
	p := plan{
		Job: j, BatchPerGPU: 16, TargetShare: targetShare, Evaluations: 60, Prices: prices(),
		Networks: []network{{"32-16", 8, []int{32, 16}}},
	}
	var err error
	p.Clusters, err = clusters()
	return p, err
}

// quickPlan takes the time that QuickTime returns.
func quickPlan() (plan, error) {
	p, err := newPlan()
	p.Data = report.Generated(0.1, 80_000, 5_000)
	p.GPUs, p.Modes = []int{8, 64}, []string{job.Sync, job.Hybrid, job.AsyncPS}
	p.Tuning = tune.Plan{Rows: []float64{nominal.Rows}, Dense: tune.Grid(nominal.Dense, 6, 2),
		Seeds: tune.SeedsMin}
	p.Clusters = p.Clusters[:min(2, len(p.Clusters))]
	p.Transferred = transfers(false)
	return p, err
}

func fullPlan() (plan, error) {
	p, err := newPlan()
	p.Data = report.Generated(0.1, 200_000, 10_000)
	p.GPUs = []int{8, 64, 512}
	p.Modes = []string{job.Sync, job.Hybrid, job.AsyncPS, localSGD}
	p.Networks = append(p.Networks, network{"128-64", 16, []int{128, 64}})
	p.Tuning = tune.Plan{Rows: tune.Grid(nominal.Rows, 3, 1), Dense: tune.Grid(nominal.Dense, 6, 2),
		Seeds: tune.SeedsMin}
	p.Transferred = transfers(true)
	return p, err
}

// transferGPUs is the number of GPUs of which curves are transferred.
const transferGPUs = 64

// transfers returns what curves are transferred to: Persia's networks and clusters, which are too large to
// train on under simulated time.
func transfers(full bool) []transfer {
	list := []transfer{{"Persia's 138 VMs, Criteo", "persia-gcp", "criteo", transferGPUs}}
	if full {
		list = append(list,
			transfer{"Persia's 138 VMs, 100 T", "persia-gcp", "criteo-syn-100t", transferGPUs},
			transfer{"Persia's V100s, Kwai-Video", "persia-paper", "kwai-video", transferGPUs})
	}
	return list
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

// options returns all options of a network.
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

// job returns the job of an option under a seed.
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
	o := option{p.Networks[0], p.Clusters[0], p.GPUs[0], job.Sync}
	for number := range p.Seeds {
		j := p.job(&o, p.Seed+uint64(number)).InMode(job.Sequential)
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
	simulated := o.mode != job.Sync
	return tune.Arm{
		Name:    fmt.Sprintf("%s, %d GPUs, %s", o.network.Name, o.gpus, o.mode),
		Nominal: nominal, Simulated: simulated,
		Job: func(seed uint64) job.Job {
			j := p.job(&o, seed)
			if !simulated {
				j = j.InMode(job.Sequential)
			}
			return j
		},
	}
}

// trainings returns the number of trainings of all options, with those of the tuner and of the targets.
func (p *plan) trainings() int {
	arms := len(p.GPUs) * len(p.Modes)
	return p.Seeds + len(p.Networks)*arms*(p.Tuning.Trials()+len(p.Clusters)*p.Seeds)
}

// set takes the flags of a command line.
func (p *plan) set(f *flags) error {
	p.Modes = f.With(job.Sync, p.Modes)
	if err := f.ModeSet.Apply(&p.Job, p.Modes); err != nil {
		return err
	}
	p.ModeSettings = report.ModeSettings(p.Job, p.Modes)
	if f.gpus != nil {
		p.GPUs = slices.Compact(slices.Sorted(slices.Values(f.gpus)))
	}
	p.TargetShare = f.share
	return p.setPrices(f.prices)
}
