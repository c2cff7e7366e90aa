package ablation

import (
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// plan is everything that is fixed before the first run.
type plan struct {
	Seed          uint64         `yaml:"seed"` // the first
	Seeds         int            `yaml:"seeds"`
	Samples       int            `yaml:"samples"` // points of the box of unknown inputs behind an interval
	Steps         int            `yaml:"steps"`   // measured of a simulated run
	Optimisations []optimisation `yaml:"optimisations"`
	Benchmarks    []benchmark    `yaml:"benchmarks"`
	Quality       quality        `yaml:"quality"`
}

// benchmark is a job of the paper on its cluster.
type benchmark struct {
	ID     string `yaml:"id" json:"id"` // in the names of quantities
	Name   string `yaml:"name" json:"name"`
	Preset string `yaml:"preset" json:"preset"` // of the cluster
	Model  string `yaml:"model" json:"model"`
	GPUs   int    `yaml:"gpus" json:"gpus"`
}

// The numbers of points of the box, and of measured steps. A point of all variants of the full version
// takes five seconds on one core.
const (
	samplesFull, samplesQuick = 48, 16
	steps                     = 16
)

// benchmarks returns the jobs of the full version; the quick one has the first.
func benchmarks() []benchmark {
	return []benchmark{
		{"criteo-8", "Criteo, 8 V100s", "persia-paper", "criteo", 8},
		{"kwai-64", "Kwai-Video, 64 V100s", "persia-paper", "kwai-video", 64},
		{"100t-64", "100 T, 64 A100s", "persia-gcp", "criteo-syn-100t", 64},
	}
}

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) *plan {
	p := &plan{
		Seed: o.Seed, Seeds: o.Seeds, Samples: samplesFull, Steps: steps, Optimisations: optimisations(),
		Benchmarks: benchmarks(), Quality: fullQuality(),
	}
	if o.Quick {
		p.Samples, p.Benchmarks, p.Quality = samplesQuick, p.Benchmarks[:1], quickQuality()
	}
	return p
}

// choice is the part of a prediction that a benchmark sets, with all optimisations.
func (b *benchmark) choice() paper.Choice {
	return paper.Choice{Preset: b.Preset, Model: b.Model, Mode: "hybrid", GPUs: b.GPUs}
}

// job returns the job of a benchmark.
func (b *benchmark) job() (*predict.Job, error) {
	c := b.choice()
	return c.Job()
}

// cases returns all benchmarks as a plan whose inputs can be listed with their sources.
func (p *plan) cases() *paper.Plan {
	cases := &paper.Plan{}
	for i := range p.Benchmarks {
		b := &p.Benchmarks[i]
		cases.Cases = append(cases.Cases, paper.Case{Name: b.Name, Choice: b.choice()})
	}
	return cases
}
