// Package generators trains well-known models on generated data and compares them with published results on
// the real data.
//
// The preset criteo has the columns of Criteo's log, and labels from a hidden model whose few numbers are
// tuned on two published results: the AUC of logistic regression and of a factorization machine. Other models
// are predicted. A generator that predicts them can stand in for the log where models are compared.
package generators

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
	steps   int
	lengths int
	models  []string
	budget  time.Duration
}

// New returns the experiment.
func New() *Experiment { return &Experiment{lengths: lengthsMost} }

// Name returns "generators".
func (*Experiment) Name() string { return "generators" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "Do models reach the same AUC on generated data as on the data they stand in for?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Trains logistic regression, a factorization machine, a feed-forward network and
DCNv2 on rows of the generator preset criteo, in one pass and in their order.
Run lengths double up to 10,800 steps of 4,096 rows. The hidden model of the preset
is tuned on the published AUC of the first two models; the others are predicted.
Only the first seed is used.

The rows are generated while they are read, so every length begins with the rows
of the shorter ones, and the memory of a run does not grow with them. The full
version takes many hours. An interrupted one continues with --resume; --budget
ends one in time, with the curve so far.

Writes to a new folder:

  report.html          everything on one page
  trials.jsonl         a line per training, written at its end
  generators.json      AUC and log loss of every model and length
  settings.yaml        the resolved settings
  auc.png, auc.svg     AUC by number of rows, and the published AUC`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 10 * time.Second }

// AddFlags adds the flags that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&e.steps, "steps", 0, "train runs of at most this number of steps (default 10800; "+
		"with --quick 64)")
	flags.IntVar(&e.lengths, "lengths", lengthsMost,
		"train this number of run lengths, each half of the next, "+
			"1 to 8")
	flags.StringSliceVar(&e.models, "models", nil, "train these models: lr, fm, mlp, dcn (default: all)")
	flags.DurationVar(&e.budget, "budget", 0, "start no training after this time, as 90m, and report the "+
		"rest as not measured (default: no limit)")
}

// Arguments returns the flags that were set, for the command that repeats a run.
func (e *Experiment) Arguments() (arguments []string) {
	if e.steps != 0 {
		arguments = append(arguments, fmt.Sprintf("--steps=%d", e.steps))
	}
	if e.lengths != lengthsMost {
		arguments = append(arguments, fmt.Sprintf("--lengths=%d", e.lengths))
	}
	for _, name := range e.models {
		arguments = append(arguments, "--models="+name)
	}
	if e.budget != 0 {
		arguments = append(arguments, "--budget="+e.budget.String())
	}
	return arguments
}

// Run trains and compares the models.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p, err := e.plan(o)
	if err != nil {
		return nil, err
	}
	return p.execute(ctx, o)
}

// plan returns the plan of the flags.
func (e *Experiment) plan(o report.Options) (*plan, error) {
	p := fullPlan()
	if o.Quick {
		p = quickPlan()
	}
	p.Seed, p.budget = o.Seed, e.budget
	if e.steps < 0 || e.steps > stepsMax {
		return nil, cli.UsageError(fmt.Sprintf("choose 1 to %d", stepsMax), "--steps: %d", e.steps)
	}
	if e.budget < 0 {
		return nil, cli.UsageError("give a time, as 90m", "--budget: %v", e.budget)
	}
	if e.lengths < 1 || e.lengths > lengthsMost {
		return nil, cli.UsageError(fmt.Sprintf("choose 1 to %d", lengthsMost), "--lengths: %d", e.lengths)
	}
	if e.steps > 0 {
		p.setSteps(e.steps)
	}
	p.Steps = p.Steps[max(0, len(p.Steps)-e.lengths):]
	return p, p.choose(e.models)
}

// execute runs a plan.
func (p *plan) execute(ctx context.Context, o report.Options) (*report.Report, error) {
	lab, err := trial.Open(o)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	r, err := p.measure(ctx, lab)
	if err != nil {
		return nil, fmt.Errorf("generators: %w", err)
	}
	return p.report(r), nil
}
