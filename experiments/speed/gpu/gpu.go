// Package gpu measures Tandem's engine on a GPU beside PyTorch on the same GPU.
//
// Both sides do the same dense step: same network, parameters, values and optimizer. Before PyTorch's time
// counts, its losses and gradients are compared with Tandem's. PyTorch runs in a process of its own: see
// peer.py.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/runtime/cuda"
	"tandem/sim/device"
)

// New returns the experiment.
func New() *report.Experiment { return newWith(cuda.Libraries{}) }

// newWith returns the experiment with NVIDIA's libraries of given names; empty: where the system finds them.
func newWith(libraries cuda.Libraries) *report.Experiment {
	var c choice
	var python report.Python
	return report.Study(report.Experiment{
		Name:     "gpu",
		Question: "How fast is a dense step on a GPU, beside PyTorch and beside its own matrix products?",
		Help: `A case is a network (Persia's tower, a DLRM, a DCN-v2), a batch and a precision
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
this process, beside the rate that the simulator predicts from the profile of
the GPU. Goals: at least 1.0 × the rate of eager PyTorch, 0.9 × that of
torch.compile, and products that take 0.8 of the step. PyTorch's losses and
gradients must be those of Tandem within a tolerance, or its times are left out.

With --tables, a step has its embedding tables in GPU memory, too, with row-wise
Adagrad: Tandem's by rows.placement: gpu. The goal is 1.3 × the rate of
torch.compile. In 15 minutes: --tables 1000000 --networks dlrm --precisions tf32,bf16
On a machine with several GPUs, there are trainings on 2, 4, 8, … of them, too,
which have the rows together.

It needs a GPU of NVIDIA: see docs/gpu.md. PyTorch is used from the Python
interpreter that --python or the environment variable TANDEM_PYTHON names, or
else from python3, if it has torch with CUDA, and numpy. Without it, the tables
have only Tandem's columns.`,
		QuickTime: 4 * time.Minute,
		AddFlags: func(flags *pflag.FlagSet) {
			c.addFlags(flags)
			python.Flag("use this Python interpreter with torch and numpy\n(default $TANDEM_PYTHON, or " +
				"python3 if it has them)")(flags)
		},
		Missing: func() error { return missing(libraries) },
	}, c.plan, func(p *plan, ctx context.Context, o report.Options) ([]*result, error) {
		return p.measure(ctx, o, libraries, &python)
	}, (*plan).report)
}

// missing returns an error if this machine has no GPU that can be used. Another error is shown by the run.
func missing(libraries cuda.Libraries) error {
	_, err := cuda.Open(libraries)
	switch {
	case errors.Is(err, cuda.ErrNotBuilt):
		return err
	case errors.Is(err, cuda.ErrNoDriver):
		return &cli.Error{Err: err, Hint: "run it on a machine with a GPU of NVIDIA: docs/gpu.md says " +
			"what it needs"}
	}
	return nil
}

// choice has the values of the flags.
type choice struct {
	device     string
	networks   []string // nil: all
	batches    []int    // nil: those of the plan
	precisions []string // nil: those of the plan
	shrink     int
	tables     int           // rows of the table of each slot; 0: no tables
	window     time.Duration // 0: that of the plan
	// accelerator is the profile for predictions; empty: the built-in one of the GPU.
	accelerator string
}

// addFlags adds the flags.
func (c *choice) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.device, "device", "cuda:0", "measure this GPU")
	flags.StringSliceVar(&c.networks, "networks", nil, "measure these networks: tower, dlrm, dcn-v2 "+
		"(default: all)")
	flags.IntSliceVar(&c.batches, "batches", nil, "measure these batches, in samples (default: "+
		"512,4096,32768; 4096 with --quick)")
	flags.StringSliceVar(&c.precisions, "precisions", nil, "measure these precisions of products: fp32, "+
		"tf32, bf16 (default: all; tf32 with --quick)")
	flags.IntVar(&c.shrink, "shrink", 1, "divide the widths of hidden layers by this, to try the "+
		"experiment; goals are then not judged")
	flags.IntVar(&c.tables, "tables", 0, "measure steps with a table of this many rows for each slot\nin "+
		"GPU memory, instead of dense steps, as in --tables 1000000")
	flags.StringVar(&c.accelerator, "accelerator", "", "predict trainings with this profile of the GPU, "+
		"a name or\na file of cmd/sim calibrate (default: the built-in one\nof the GPU)")
	flags.DurationVar(&c.window, "window", 0,
		"set the least time of a turn (default 500ms; 200ms with --quick)")
}

// Goals of Tandem's rate ÷ PyTorch's, and of the time of the products ÷ that of the step.
//
// Source: the goals that were set for this comparison before its first run.
const (
	goalEager    = 1.0
	goalCompiled = 0.9
	goalProducts = 0.8
)

// plan is everything that is fixed before the first measurement.
type plan struct {
	Seed   uint64        `yaml:"seed"`
	Device string        `yaml:"device"`
	Rounds int           `yaml:"rounds"`
	Window time.Duration `yaml:"window"`
	Shrink int           `yaml:"shrink"`
	Tables int           `yaml:"tables,omitempty"` // of all cases
	// Accelerator is the profile for predictions; empty: the built-in one of the GPU.
	Accelerator string `yaml:"accelerator,omitempty"`

	Cases    []testCase   `yaml:"cases"`
	Training trainingPlan `yaml:"training"`
	ordinal  int
}

// testCase is a dense step that all sides do.
type testCase struct {
	Network   *pytorch.Network `json:"network" yaml:"network"`
	Batch     int              `json:"batch" yaml:"batch"` // samples
	Precision string           `json:"precision" yaml:"precision"`
	// Tables is the number of rows of the table of each slot, which is in GPU memory; 0: the embeddings of a
	// step are pooled already.
	Tables int `json:"tables,omitempty" yaml:"tables,omitempty"`
}

// String returns the name of a case.
func (c testCase) String() string {
	name := fmt.Sprintf("%s, batch %d, %s", c.Network.Name, c.Batch, c.Precision)
	if c.Tables > 0 {
		name += fmt.Sprintf(", tables of %d rows", c.Tables)
	}
	return name
}

// What is more than this is taken for a mistake.
const (
	batchMax  = 1 << 20
	shrinkMax = 1 << 12
	tablesMax = 1 << 26
)

// plan returns the plan of the quick or the full version, as the flags change it.
func (c *choice) plan(o report.Options) (*plan, error) {
	chosen, err := job.ParseDevice(c.device)
	switch {
	case err != nil || len(chosen.Ordinals) != 1:
		return nil, cli.UsageError("name one GPU, as in --device cuda:0", "--device %s", c.device)
	case c.shrink < 1 || c.shrink > shrinkMax:
		return nil, cli.UsageError(fmt.Sprintf("want 1 to %d", shrinkMax), "--shrink %d", c.shrink)
	case c.tables < 0 || c.tables > tablesMax:
		return nil, cli.UsageError(fmt.Sprintf("want 1 to %d rows", tablesMax), "--tables %d", c.tables)
	case c.window < 0:
		return nil, cli.UsageError("want a time such as 500ms", "--window %v", c.window)
	}
	if c.accelerator != "" {
		if _, err := device.LoadAccelerator(c.accelerator); err != nil {
			return nil, &cli.Error{Err: fmt.Errorf("--accelerator: %w", err), Usage: true,
				Hint: "go run ./cmd/sim presets list has the names"}
		}
	}
	p := &plan{Seed: o.Seed, Device: c.device, Rounds: o.Seeds, Window: 500 * time.Millisecond,
		Shrink: c.shrink, Tables: c.tables, Accelerator: c.accelerator, ordinal: chosen.Ordinals[0]}
	networks, batches, precisions := networks(c.shrink), []int{512, 4096, 32_768}, job.DensePrecisions()
	if o.Quick {
		p.Window, batches, precisions = 200*time.Millisecond, []int{4096}, []string{job.TF32}
	}
	if c.window != 0 {
		p.Window = c.window
	}
	if c.networks != nil {
		if networks, err = named(networks, c.networks); err != nil {
			return nil, err
		}
	}
	if c.batches != nil {
		batches = c.batches
	}
	for _, n := range batches {
		if n < 1 || n > batchMax {
			return nil, cli.UsageError(fmt.Sprintf("want 1 to %d samples", batchMax), "--batches %d", n)
		}
	}
	if c.precisions != nil {
		precisions = c.precisions
	}
	for _, name := range precisions {
		if !slices.Contains(job.DensePrecisions(), name) {
			return nil, cli.UsageError("want "+strings.Join(job.DensePrecisions(), ", "),
				"--precisions %s", name)
		}
	}
	p.Training = trainingPlan{Mode: job.Hybrid, Rows: stepsLeast * slices.Max(batches), Steps: stepsMost}
	for _, n := range networks {
		for _, samples := range batches {
			for _, precision := range precisions {
				p.Cases = append(p.Cases, testCase{n, samples, precision, c.tables})
			}
		}
	}
	return p, nil
}

// networks returns all networks, whose hidden layers are narrower by a factor.
func networks(shrink int) []*pytorch.Network {
	all := []*pytorch.Network{pytorch.Tower(), pytorch.DLRM(), pytorch.DCNv2()}
	for _, n := range all {
		for _, widths := range [][]int{n.Bottom, n.Top} {
			for i := range widths {
				widths[i] = max(1, widths[i]/shrink)
			}
		}
	}
	return all
}

// named returns the networks of some names.
func named(all []*pytorch.Network, names []string) (chosen []*pytorch.Network, err error) {
	for _, name := range names {
		at := slices.IndexFunc(all, func(n *pytorch.Network) bool { return strings.EqualFold(n.Name, name) })
		if at < 0 {
			return nil, cli.UsageError("want tower, dlrm, dcn-v2", "--networks %s", name)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// job returns the job that opens the GPU for a precision.
func (p *plan) job(precision string) job.Job {
	j := job.Default()
	j.Model.Device = job.Device{CUDA: true, Ordinals: []int{p.ordinal}}
	j.Model.Precision = precision
	return j
}
