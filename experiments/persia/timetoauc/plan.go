package timetoauc

import (
	"cmp"
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

// transferGPUs is the number of GPUs of which curves are transferred.
const transferGPUs = 64

// newPlan returns the plan of the quick or the full version.
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
		// Persia's networks and clusters are too large to train on under simulated time.
		Transferred: []transfer{
			{"Persia's 138 VMs, Criteo", "persia-gcp", "criteo", transferGPUs},
			{"Persia's 138 VMs, 100 T", "persia-gcp", "criteo-syn-100t", transferGPUs},
			{"Persia's V100s, Kwai-Video", "persia-paper", "kwai-video", transferGPUs},
		},
	}
	if quick {
		p.Data = report.Generated(0.1, 80_000, 5_000)
		p.Clusters, p.GPUs, p.Modes, p.Networks = all[:2], p.GPUs[:2], p.Modes[:3], p.Networks[:1]
		p.Tuning.Rows, p.Transferred = []float64{nominal.Rows}, p.Transferred[:1]
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
		Name: fmt.Sprintf("%s, %d GPUs, %s", o.network.Name, o.gpus, o.mode), Nominal: nominal,
		Simulated: simulated,
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
