// Package speed compares the speed of Tandem with PyTorch and FBGEMM on the cores of this machine, and with
// the limits of the machine.
//
// In every case, both sides do the same work: same sizes, same values, same number of threads. The sides
// take turns within one run. Machines differ, and one machine differs from minute to minute, so only ratios
// within a run are meaningful. PyTorch runs in a separate process, which reads requests as lines of JSON:
// see peer.py.
package speed

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/report"
)

// Experiment is the comparison.
type Experiment struct {
	python report.Python // the interpreter with PyTorch; empty: python3, if it has PyTorch
}

// New returns the experiment.
func New() *Experiment { return &Experiment{} }

// Name returns "speed".
func (*Experiment) Name() string { return "speed" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "How fast is Tandem compared with PyTorch on the same cores, and with the limits of the machine?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Both sides do the same work on the same values with the same number of threads,
in turns, within one run:

  dense step    forward, backward and Adam of Persia's tower and of a DLRM
  sparse step   lookup, pooling, sums of gradients by row and Adagrad of embedding
                rows: 26 ids per sample, uniform and Zipf-distributed
  row-wise step the same with row-wise Adagrad, beside FBGEMM alone
  training      from rows of Criteo's shape in memory to a model, as cmd/train and
                as a plain PyTorch script: networks 64-32 and Persia's tower

A case has --seeds rounds. In each, each side runs for a second, and the side that
begins rotates. The table has median, smallest and largest values; a ratio is the
median of the ratios of the rounds. The machine should be idle: other programs
slow the measurement.

A second table compares dense steps with arithmetic in the registers of all cores,
lookups and updates of rows with a bare loop over known addresses, and trainings
with the least time that their pieces of work allow.

PyTorch is used from the Python interpreter that --python or the environment
variable TANDEM_PYTHON names, which needs torch and numpy, or else from python3,
if it has them. Without PyTorch, the table has only Tandem's columns. If that
Python also has fbgemm_gpu (PyPI: fbgemm-gpu-cpu), a table compares sparse steps
with FBGEMM's table-batched embedding, row-wise and element-wise.

Writes to a new folder:

  report.html           everything on one page
  speed.csv             a line per case, side and round, written at its end
  speed.json            the times of all steps
  settings.yaml         the resolved settings
  ratios.png, .svg      the ratios`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 180 * time.Second }

// AddFlags adds the flags that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	e.python.AddFlag(flags, "use this Python interpreter with torch and "+
		"numpy\n(default $TANDEM_PYTHON, or python3 if it has them)")
}

// Arguments returns the flags that were set.
func (e *Experiment) Arguments() []string { return e.python.Arguments() }

// Run measures every case.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	named := e.python.Named()
	peer, err := startPeer(ctx, cmp.Or(named, "python3"))
	if err != nil {
		if named != "" || ctx.Err() != nil {
			return nil, err
		}
		p.NoPyTorch = err.Error()
		p.NoFBGEMM = p.NoPyTorch
		return p.execute(ctx, o, nil, nil)
	}
	defer peer.Close()
	p.PyTorch = &peer.about
	fbgemm, err := startFBGEMM(ctx, cmp.Or(named, "python3"))
	if err != nil {
		p.NoFBGEMM = err.Error()
		return p.execute(ctx, o, peer, nil)
	}
	defer fbgemm.Close()
	p.FBGEMM = &fbgemm.about
	return p.execute(ctx, o, peer, fbgemm)
}

// execute measures a plan with PyTorch and FBGEMM; nil is a peer that is absent.
func (p *plan) execute(ctx context.Context, o report.Options, peer, fbgemm side) (*report.Report, error) {
	p.Engine = o.Backend.Multiplier(&job.Job{}).Name()
	results, err := p.measure(ctx, o, peer, fbgemm)
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
