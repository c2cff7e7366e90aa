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
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "ablation".
func (Experiment) Name() string { return "ablation" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "What does each of Persia's optimisations gain, and what do the lossy ones cost in AUC?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Simulates Persia's jobs with all optimisations on, with each one off, with each
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
more forms of values, tuned rates and sync.

Writes to a new folder:

  report.html          everything on one page
  ablation.csv         a line per simulated variant, written at its end
  trials.jsonl         a line per training, written at its end
  ablation.json        inputs with sources and hash, factors, AUC by seed
  settings.yaml        the resolved settings
  lost.png, .svg       throughput lost with one optimisation off
  gained.png, .svg     throughput gained with one alone on`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 20 * time.Second }

// Run simulates, trains and compares.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	return newPlan(o).execute(ctx, o)
}

// execute runs a plan.
func (p *plan) execute(ctx context.Context, o report.Options) (*report.Report, error) {
	r := &results{}
	var err error
	if r.Inputs, err = p.cases().Freeze(); err != nil {
		return nil, fmt.Errorf("ablation: %w", err)
	}
	if r.Throughputs, err = p.measureThroughputs(ctx, o); err != nil {
		return nil, fmt.Errorf("ablation: %w", err)
	}
	lab, err := trial.Open(o)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	lab.Expect(p.Quality.trainings(p.Seeds))
	if r.Accuracies, err = p.Quality.measure(ctx, lab, p.Seed, p.Seeds); err != nil {
		return nil, fmt.Errorf("ablation: %w", err)
	}
	judge.Judge(r.comparisons())
	return p.report(r), nil
}
