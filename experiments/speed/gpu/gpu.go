// Package gpu measures Tandem's engine on a GPU beside PyTorch on the same GPU.
//
// Both sides do the same dense step: same network, parameters, values and optimizer. Before PyTorch's time
// counts, its losses and gradients are compared with Tandem's. The sides take turns within one run; only
// ratios within a run are meaningful. PyTorch runs in a process of its own: see peer.py.
package gpu

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/runtime/cuda"
)

// Experiment is the comparison.
type Experiment struct {
	options
	python    report.Python // the interpreter with PyTorch; empty: python3, if it has PyTorch
	arguments *pflag.FlagSet
	libraries cuda.Libraries // where NVIDIA's libraries are; empty: where the system finds them
}

// New returns the experiment.
func New() *Experiment { return &Experiment{options: defaults()} }

// Name returns "gpu".
func (*Experiment) Name() string { return "gpu" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "How fast is a dense step on a GPU, beside PyTorch and beside its own matrix products?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `A case is a network (Persia's tower, a DLRM, a DCN-v2), a batch and a precision
of matrix products. In each of --seeds rounds these take turns of --window:

  step        forward, backward and Adam on the GPU, whose values are there
  samples     the same with pooled embeddings, numbers and labels copied to the
              GPU, and gradients of pooled embeddings copied back
  host sums   the same with gradients of parameters summed over hosts, too: the
              default of wire.all-reduce for several ranks
  products    the matrix products of the step alone, by cuBLASLt
  PyTorch     the step in eager mode and by torch.compile, with its default mode
              and with CUDA graphs; the faster of these two counts

Then trainings on generated rows of the shape of Criteo's, with all roles in
this process: embedding PSs on the cores of the host, one rank on the GPU.

Goals: at least 1.0 × the rate of eager PyTorch, 0.9 × that of torch.compile,
and products that take 0.8 of the step. PyTorch's losses and gradients must be
those of Tandem within a tolerance, or its times are left out. Tables have
medians and quartiles over rounds; a ratio is taken round by round.

It needs a GPU of NVIDIA: see docs/gpu.md. PyTorch is used from the Python
interpreter that --python or the environment variable TANDEM_PYTHON names, or
else from python3, if it has torch with CUDA, and numpy. Without it, the tables
have only Tandem's columns.

Writes to a new folder:

  report.html           everything on one page
  gpu.csv               a line per case, round and side, written at its end
  gpu.json              the times of all steps
  settings.yaml         the resolved settings
  ratios.png, .svg      the ratios`
}

// QuickTime returns the approximate time of the quick version.
func (*Experiment) QuickTime() time.Duration { return 4 * time.Minute }

// Missing returns an error if this machine has no GPU that can be used.
func (e *Experiment) Missing() error {
	_, err := cuda.Open(e.libraries)
	switch {
	case errors.Is(err, cuda.ErrNotBuilt):
		return err
	case errors.Is(err, cuda.ErrNoDriver):
		return &cli.Error{Err: err, Hint: "run it on a machine with a GPU of NVIDIA: docs/gpu.md says " +
			"what it needs"}
	}
	return nil // another error is shown by Run
}

// AddFlags adds the flags that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	e.options, e.arguments = defaults(), pflag.NewFlagSet("", pflag.ContinueOnError)
	own := e.arguments
	own.SortFlags = false
	own.StringVar(&e.device, "device", e.device, "measure this GPU")
	own.StringSliceVar(&e.networks, "networks", nil, "measure these networks: tower, dlrm, dcn-v2 "+
		"(default: all)")
	own.IntSliceVar(&e.batches, "batches", nil, "measure these batches, in samples (default: "+
		"512,4096,32768; 4096 with --quick)")
	own.StringSliceVar(&e.precisions, "precisions", nil, "measure these precisions of products: fp32, "+
		"tf32, bf16 (default: all; tf32 with --quick)")
	own.IntVar(&e.shrink, "shrink", e.shrink, "divide the widths of hidden layers by this, to try the "+
		"experiment; goals are then not judged")
	own.DurationVar(&e.window, "window", 0,
		"set the least time of a turn (default 500ms; 200ms with --quick)")
	flags.AddFlagSet(own)
	e.python.AddFlag(flags, "use this Python interpreter with torch and numpy\n(default $TANDEM_PYTHON, "+
		"or python3 if it has them)")
}

// Arguments returns the flags that were set.
func (e *Experiment) Arguments() (words []string) {
	if e.arguments != nil {
		e.arguments.VisitAll(func(f *pflag.Flag) {
			if f.Changed {
				words = append(words, "--"+f.Name, text(f.Value))
			}
		})
	}
	return append(words, e.python.Arguments()...)
}

// Run measures every case.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p, err := e.plan(o)
	if err != nil {
		return nil, err
	}
	if err := e.Missing(); err != nil {
		return nil, err
	}
	driver, err := cuda.Open(e.libraries)
	if err != nil {
		return nil, err
	}
	device, err := driver.Open(p.ordinal)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	p.GPU, p.Driver = device.Info().String(), driver.Version()
	peer, err := startPeer(ctx, cmp.Or(e.python.Named(), "python3"), p.Device)
	switch {
	case err != nil && (e.python.Arguments() != nil || ctx.Err() != nil):
		return nil, err
	case err != nil:
		p.NoPyTorch = err.Error()
	default:
		defer peer.Close()
		p.PyTorch = &peer.about
	}
	return p.execute(ctx, o, device, e.libraries, peer)
}

// execute measures a plan. The peer is nil without PyTorch.
func (p *plan) execute(ctx context.Context, o report.Options, device *cuda.Device, libraries cuda.Libraries,
	peer *peer) (*report.Report, error) {
	results, err := p.measure(ctx, o, machine{device: device, libraries: libraries, peer: peer})
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}

// jobOf returns the job that opens the GPU for a precision.
func (p *plan) jobOf(precision string) *job.Job {
	j := job.Default()
	j.Model.Device = job.Device{CUDA: true, Ordinals: []int{p.ordinal}}
	j.Model.Precision = precision
	return &j
}
