// Package convergence measures AUC against samples over a run of Persia's length on Criteo, with rows that
// are generated while it trains, and what more ranks change.
//
// There are three arms with the same rows in the same order, the same initial values and the same scale of
// the gradient:
//
//	sync merge:step   one optimizer step per row and global batch
//	sync merge:rank   one per row, global batch and rank that has the row, as in Persia
//	hybrid τ          as sync merge:rank, with rows late by what happens in a simulated cluster
//
//	merging = (sync merge:rank) − (sync merge:step)
//	staleness = hybrid − (sync merge:rank)
//	hybrid − sync = hybrid − (sync merge:step), the sum of both
//
// Sync is trained sequentially, which has its bits. Hybrid is trained on Persia's cluster in virtual time
// with real gradients: its staleness is an outcome, and every run gives the same bits.
//
// More ranks change two things: the rows of a rank and, if each keeps its batch, the global batch. Weak
// scaling has both, strong scaling the first alone.
//
// Source: Lian and others, arXiv 2111.05897: 10,800 steps of 4,096 samples on 8 GPUs for Criteo.
package convergence

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// Experiment is the comparison.
type Experiment struct {
	report.Grid
	steps int
	fixed bool
}

// New returns the experiment.
func New() *Experiment { return &Experiment{Grid: report.NewGrid(report.Taus)} }

// Name returns "convergence".
func (*Experiment) Name() string { return "convergence" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "Does hybrid converge as sync does over a run of Persia's length, and on more ranks?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Trains on generated rows of the preset criteo, streamed, in three arms with the
same rows, order and initial values, on 8 ranks:

  sync merge:step  one optimizer step per row and global batch
  sync merge:rank  one per row, global batch and rank, as in Persia
  hybrid           as sync merge:rank, with late rows: Persia's cluster, simulated,
                   with real gradients (--taus)

and compares AUC along the runs: merging (the second less the first), staleness
(hybrid less the second) and hybrid less sync, their sum. Also on 1 to 8 ranks, in
runs a twentieth as long: weak scaling (the batch of a rank is fixed, so the global
batch grows) and strong scaling (the global batch is fixed).

The full version has 10,800 steps of 4,096 samples. Rates are tuned for every arm on
runs of a twentieth of that; --fixed-rates trains all arms at the same nominal
rates instead. It takes hours; "go run ./experiments --resume FOLDER" trains what
an interrupted run has not. The quick version has short runs of 512 samples a step
and fixed rates, and tests the experiment, not Persia.

Writes to a new folder:

  report.html                everything on one page
  trials.jsonl               a line per training, written at its end
  convergence.json           AUC by seed and sample, differences, tuned rates
  differences.csv            paired differences by seed
  settings.yaml              the resolved settings
  curves.png, .svg           AUC by samples
  differences.png, .svg      AUC less that of sync merge:step by samples
  scaling.png, .svg          AUC by ranks less that of the fewest`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 45 * time.Second }

// AddFlags adds the flags that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	e.Grid.AddFlags(flags)
	flags.IntVar(&e.steps, "steps", 0, "set the length of the runs in steps; those of tuning and scaling "+
		"follow it (default 10800; with --quick 240)")
	flags.BoolVar(&e.fixed, "fixed-rates", false, "train all arms at the same nominal rates, without tuning")
}

// Arguments returns the flags that were set, for the command that repeats a run.
func (e *Experiment) Arguments() []string {
	arguments := e.Grid.Arguments()
	if e.steps != 0 {
		arguments = append(arguments, fmt.Sprintf("--steps=%d", e.steps))
	}
	if e.fixed {
		arguments = append(arguments, "--fixed-rates")
	}
	return arguments
}

// stepsQuick is the length of the runs of the quick version.
const stepsQuick = 240

// Run trains and compares all arms.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	if e.steps < 0 {
		return nil, cli.UsageError("give a number of steps, such as 1080", "--steps: %d is negative", e.steps)
	}
	p := fullPlan(e.Taus(9, 60), orElse(e.steps, stepsPersia))
	if o.Quick {
		p = quickPlan(e.Taus(9, 60), orElse(e.steps, stepsQuick))
	}
	if e.fixed {
		p.TuningSteps = 0
	}
	return execute(ctx, p, o)
}

// orElse returns a number, or another if it is 0.
func orElse(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

// execute runs a plan.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	r, err := trial.Measure(o, "convergence", 0, func(lab *trial.Lab) (*results, error) {
		return p.measure(ctx, lab)
	})
	if err != nil {
		return nil, err
	}
	return p.report(r), nil
}
