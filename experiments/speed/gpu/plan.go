package gpu

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// options are the values of the flags.
type options struct {
	device     string
	networks   []string // nil: all
	batches    []int    // nil: those of the plan
	precisions []string // nil: those of the plan
	shrink     int
	window     time.Duration // 0: that of the plan
}

func defaults() options { return options{device: "cuda:0", shrink: 1} }

// text returns the value of a flag as it is written on a command line.
func text(v pflag.Value) string { return strings.Trim(v.String(), "[]") }

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
	Device string        `yaml:"device"`
	GPU    string        `yaml:"gpu"`
	Driver string        `yaml:"driver-cuda"` // the version of CUDA that the driver supports
	Rounds int           `yaml:"rounds"`
	Window time.Duration `yaml:"window"`
	Shrink int           `yaml:"shrink"`
	Cases  []testCase    `yaml:"cases"`
	// Training is the job of the trainings, but for network, batch and precision.
	Training trainingPlan `yaml:"training"`
	// PyTorch describes the peer. It is nil without a peer, for the reason NoPyTorch.
	PyTorch   *about `yaml:"pytorch,omitempty"`
	NoPyTorch string `yaml:"no-pytorch,omitempty"`
	ordinal   int
}

// testCase is a dense step that all sides do.
type testCase struct {
	Network   *pytorch.Network `json:"network" yaml:"network"`
	Batch     int              `json:"batch" yaml:"batch"` // samples
	Precision string           `json:"precision" yaml:"precision"`
}

// String returns the name of a case.
func (c *testCase) String() string {
	return fmt.Sprintf("%s, batch %d, %s", c.Network.Name, c.Batch, c.Precision)
}

// batchMax is the largest batch: more is taken for a mistake.
const batchMax = 1 << 20

// shrinkMax is the largest divisor of widths.
const shrinkMax = 1 << 12

// plan returns the plan of the quick or the full version, as the flags change it.
func (e *Experiment) plan(o report.Options) (*plan, error) {
	device, err := job.ParseDevice(e.device)
	if err != nil || len(device.Ordinals) != 1 {
		return nil, cli.UsageError("name one GPU, as in --device cuda:0", "--device %s", e.device)
	}
	if e.shrink < 1 || e.shrink > shrinkMax {
		return nil, cli.UsageError(fmt.Sprintf("want 1 to %d", shrinkMax), "--shrink %d", e.shrink)
	}
	if e.window < 0 {
		return nil, cli.UsageError("want a time such as 500ms", "--window %v", e.window)
	}
	p := &plan{Device: e.device, Rounds: o.Seeds, Window: e.window, Shrink: e.shrink,
		ordinal: device.Ordinals[0]}
	batches, precisions, window := []int{512, 4096, 32_768}, job.DensePrecisions(), 500*time.Millisecond
	if o.Quick {
		batches, precisions, window = []int{4096}, []string{job.TF32}, 200*time.Millisecond
	}
	if p.Window == 0 {
		p.Window = window
	}
	if e.batches != nil {
		batches = e.batches
	}
	if e.precisions != nil {
		precisions = e.precisions
	}
	chosen, err := e.chosenNetworks()
	if err != nil {
		return nil, err
	}
	for _, n := range batches {
		if n < 1 || n > batchMax {
			return nil, cli.UsageError(fmt.Sprintf("want 1 to %d samples", batchMax), "--batches %d", n)
		}
	}
	p.Training = newTrainingPlan(slices.Max(batches))
	for _, name := range precisions {
		if !slices.Contains(job.DensePrecisions(), name) {
			return nil, cli.UsageError("want "+strings.Join(job.DensePrecisions(), ", "),
				"--precisions %s", name)
		}
	}
	for _, n := range chosen {
		for _, samples := range batches {
			for _, precision := range precisions {
				p.Cases = append(p.Cases, testCase{n, samples, precision})
			}
		}
	}
	return p, nil
}

// chosenNetworks returns the networks that are measured.
func (e *Experiment) chosenNetworks() ([]*pytorch.Network, error) {
	all := networks(e.shrink)
	if e.networks == nil {
		return all, nil
	}
	var chosen []*pytorch.Network
	for _, name := range e.networks {
		at := slices.IndexFunc(all, func(n *pytorch.Network) bool { return strings.EqualFold(n.Name, name) })
		if at < 0 {
			return nil, cli.UsageError("want tower, dlrm, dcn-v2", "--networks %s", name)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// networks returns the networks, whose hidden layers are narrower by a factor.
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
