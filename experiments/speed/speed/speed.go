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
	"tandem/experiments/internal/report"
	"tandem/runtime/probe"
)

// Experiment is the comparison.
type Experiment struct {
	python report.Python // the interpreter with PyTorch; empty: python3, if it has PyTorch
	choice choice        // of cases
}

// New returns the experiment.
func New() *Experiment { return &Experiment{choice: newChoice()} }

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
                rows: 26 ids per sample, uniform and Zipf-distributed, of 1 or 10
                million rows of all tables
  row-wise step the same with row-wise Adagrad, beside FBGEMM alone
  training      from rows of Criteo's shape in memory to a model, as cmd/train and
                as a plain PyTorch script: networks 64-32 and Persia's tower;
                and a DLRM with row-wise Adagrad, beside the tables of FBGEMM
                with a network of PyTorch, as TorchRec trains

A case has --seeds rounds. In each, each side runs for a second, and the side
that begins rotates. A ratio is the median of the ratios of the rounds; its range
is in the figures. The machine should be idle: other programs slow the
measurement.

Other tables compare dense steps with arithmetic in the registers of all cores,
lookups and updates of rows with a bare loop over known addresses, and trainings
with the least time that their pieces of work allow. One sets lookups and updates
beside Persia's own store, as it was measured once on another machine.

10 million rows of 128 values with their state take 10 GB. If the sides do not
fit in memory together, then in every round one side after the other loads its
rows, is measured and frees them. A case of which one side alone does not fit is
left out.

The full version takes about two and a half hours on two cores, of which sparse
steps take an hour and a half. Flags choose cases:

  --only sparse --rows 1000000 --dims 16,32 --threads 1    a few minutes
  --only lookup,update                                     half an hour

PyTorch is used from the Python interpreter that --python or the environment
variable TANDEM_PYTHON names, which needs torch and numpy, or else from python3,
if it has them. Without PyTorch, the tables have only Tandem's columns. If that
Python also has fbgemm_gpu (PyPI: fbgemm-gpu-cpu), tables compare sparse steps
with FBGEMM's table-batched embedding, row-wise and element-wise.

Writes to a new folder:

  report.html           everything on one page
  speed.csv             a line per case, side and round, written at its end
  cases.jsonl           a line per case, written at its end, from which an
                        interrupted run continues
  speed.json            the times of all steps
  settings.yaml         the resolved settings
  ratios.png, .svg      the ratios to PyTorch's rates
  fbgemm.png, .svg      the ratios to FBGEMM's rates`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 240 * time.Second }

// AddFlags adds the flags that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	e.python.AddFlag(flags, "use this Python interpreter with torch and "+
		"numpy\n(default $TANDEM_PYTHON, or python3 if it has them)")
	e.choice.addFlags(flags)
}

// Arguments returns the flags that were set.
func (e *Experiment) Arguments() []string {
	return append(e.python.Arguments(), e.choice.arguments()...)
}

// Run measures every case.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p, err := newPlan(o, e.choice, probe.Available())
	if err != nil {
		return nil, err
	}
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
