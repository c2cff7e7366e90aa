// Package ablation measures what each optimisation of Persia gains: in throughput, by the simulator, with one
// of them off, with one alone on, and with all on and off; and what the lossy ones cost in AUC, by training.
//
// Sources: Lian and others, Persia, KDD 2022 (arXiv 2111.05897), and its code at commit ff754b8, for which
// optimisations there are. Neither has numbers of an ablation.
package ablation

import (
	"context"
	"fmt"
	"time"

	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "ablation",
		Question: "What does each of Persia's optimisations gain, and what do the lossy ones cost in AUC?",
		Help: `Simulates Persia's jobs with all optimisations on, with each one off, with each
one alone on, and with all off, at the same points of the box of unknown inputs:

  async-rows     off: mode sync, lookups wait for the puts of the step before
  overlap        off: dense gradients are reduced after the backward pass
  batches-ahead  off: 1 batch of a rank in flight, instead of 10
  fp16-values    off: embeddings and their gradients travel in fp32
  packed-ids     off: 8 bytes for each id, instead of distinct ids and positions
  unique-rows    off: a PS handles each occurrence of a row in a batch
  hashed-rows    off: whole tables on PSs, instead of rows spread by a hash
  many-locks     off: a PS serves one request at a time
  zero-copy      off: each end of a message copies the payload once more

Factors are ratios of throughputs, point by point, beside what a closed form
expects, and the resource that takes most of the critical path.

Trains with wires, rows or matrix products in half precision, paired with the same
training in fp32, on adult-income and generated data, in a simulated cluster that
computes the parameters, so every run gives the same bits.

The quick version has Criteo on 8 V100s, and trains in hybrid at rates that are
not tuned; the full one adds Kwai's model and 100 trillion parameters on 64 GPUs,
more forms of values, tuned rates and sync.`,
		QuickTime: 20 * time.Second,
	}, newPlan, (*plan).measure, (*plan).report)
}

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

// newPlan returns the plan of the quick or the full version. A point of all variants of the full version
// takes five seconds on one core.
func newPlan(o report.Options) (*plan, error) {
	p := &plan{
		Seed: o.Seed, Seeds: o.Seeds, Samples: 48, Steps: 16, Optimisations: optimisations(),
		Benchmarks: []benchmark{
			{"criteo-8", "Criteo, 8 V100s", "persia-paper", "criteo", 8},
			{"kwai-64", "Kwai-Video, 64 V100s", "persia-paper", "kwai-video", 64},
			{"100t-64", "100 T, 64 A100s", "persia-gcp", "criteo-syn-100t", 64},
		},
		Quality: newQuality(o.Quick),
	}
	if o.Quick {
		p.Samples, p.Benchmarks = 16, p.Benchmarks[:1]
	}
	return p, nil
}

// choice is the part of a prediction that a benchmark sets, with all optimisations.
func (b *benchmark) choice() *paper.Choice {
	return &paper.Choice{Preset: b.Preset, Model: b.Model, Mode: "hybrid", GPUs: b.GPUs}
}

// cases returns all benchmarks as a plan whose inputs can be listed with their sources.
func (p *plan) cases() *paper.Plan {
	cases := &paper.Plan{}
	for _, b := range p.Benchmarks {
		cases.Cases = append(cases.Cases, paper.Case{Name: b.Name, Choice: *b.choice()})
	}
	return cases
}

type results struct {
	Inputs      *paper.Inputs  `json:"inputs"`
	Throughputs []*throughputs `json:"throughputs"`
	Accuracies  []*accuracy    `json:"accuracies"`
}

func (p *plan) measure(ctx context.Context, o report.Options) (*results, error) {
	r := &results{}
	var err error
	if r.Inputs, err = p.cases().Freeze(); err != nil {
		return nil, fmt.Errorf("ablation: %w", err)
	}
	meter := &report.Meter{Total: len(p.Benchmarks) * len(p.variants()), Unit: "variants", Report: o.Progress}
	for _, b := range p.Benchmarks {
		t, err := p.simulateAll(ctx, b, meter)
		if err != nil {
			return nil, fmt.Errorf("ablation: %s: %w", b.Name, err)
		}
		r.Throughputs = append(r.Throughputs, t)
	}
	r.Accuracies, err = trial.Measure(o, "ablation", p.Quality.trainings(p.Seeds),
		func(lab *trial.Lab) ([]*accuracy, error) { return p.Quality.measure(ctx, lab, p.Seed, p.Seeds) })
	judge.Judge(r.comparisons())
	return r, err
}

func (r *results) comparisons() (list []*judge.Comparison) {
	for _, a := range r.Accuracies {
		for _, losses := range a.Losses {
			list = append(list, losses...)
		}
	}
	return list
}
