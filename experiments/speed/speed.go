// Package speed asks how fast Tandem is beside PyTorch on this machine's cores,
// and how near to the machine's own limits.
//
// Every case is the same work on both sides: same sizes, same values, same number
// of threads. The sides take turns in one run, because machines differ and one
// machine differs from minute to minute: only ratios within a run say something.
// PyTorch runs in a process of its own, driven by lines of JSON: see peer.py.
package speed

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/report"
)

// Experiment is the comparison.
type Experiment struct {
	python string // the interpreter that has PyTorch; empty: python3, if it has it
}

// New returns the experiment.
func New() *Experiment { return &Experiment{} }

// Name returns "speed".
func (*Experiment) Name() string { return "speed" }

// Question returns what the experiment asks.
func (*Experiment) Question() string {
	return "How fast is Tandem beside PyTorch on the same cores, and how near to the machine's limits?"
}

// Help says what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Both sides do the same work on the same values with the same number of threads,
in turns, within one run:

  dense step    forward, backward and Adam of Persia's tower and of a DLRM
  sparse step   lookup, pooling, sums of gradients by row and Adagrad of embedding
                rows: 26 ids a sample, uniform and by Zipf's law
  training      from rows of Criteo's shape in memory to a model, by cmd/train's
                way and by a plain PyTorch script: net 64-32 and Persia's tower

A case is measured in rounds (--seeds says how many), each side for a second a
round; the other side begins in the next round. The table has medians, smallest
and largest; a ratio is the median of the ratios of the rounds. The machine
should be idle: what else runs is measured too.

A second table compares dense steps with what all cores do in registers alone,
lookups and updates of rows with a bare loop that knows their places, and trainings
with what their pieces of work allow.

PyTorch comes from the Python interpreter that --python or the environment
variable TANDEM_PYTHON names, which needs torch and numpy; else from python3, if
it has them. Without PyTorch the table has Tandem's columns alone.

It writes into a new folder:

  report.html           everything on one page
  speed.csv             a line per case, side and round, as soon as it is done
  speed.json            all times of a step
  settings.yaml         the resolved settings
  ratios.png, .svg      the ratios`
}

// QuickTime is about how long the quick version takes on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 150 * time.Second }

// AddFlags adds the flags of this experiment alone.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&e.python, "python", "", "Python interpreter that has torch and numpy\n(default $TANDEM_PYTHON, or python3 if it has them)")
}

// Arguments returns the flags that were given.
func (e *Experiment) Arguments() []string {
	if e.python == "" {
		return nil
	}
	return []string{"--python", e.python}
}

// Run measures every case.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	named := cmp.Or(e.python, os.Getenv("TANDEM_PYTHON"))
	peer, err := startPeer(ctx, cmp.Or(named, "python3"))
	if err == nil {
		defer peer.Close()
		p.PyTorch = &peer.about
		return p.execute(ctx, o, peer)
	}
	if named != "" || ctx.Err() != nil {
		return nil, err
	}
	p.NoPyTorch = err.Error()
	return p.execute(ctx, o, nil)
}

// execute measures a plan with a peer, or with none.
func (p *plan) execute(ctx context.Context, o report.Options, peer side) (*report.Report, error) {
	p.Engine = o.Machine.Multiplier(&job.Job{}).Name()
	results, err := p.measure(ctx, o, peer)
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
