package gpu

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/experiments/report"
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
	allReduce  string
}

func defaults() options { return options{device: "cuda:0", shrink: 1, allReduce: job.HostSums} }

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
	Network   *network `json:"network" yaml:"network"`
	Batch     int      `json:"batch" yaml:"batch"` // samples
	Precision string   `json:"precision" yaml:"precision"`
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
	if sums := []string{job.HostSums, job.NCCLTreeSums, job.NCCLSums}; !slices.Contains(sums, e.allReduce) {
		return nil, cli.UsageError("want "+strings.Join(sums, ", "), "--all-reduce %s", e.allReduce)
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
	p.Training = newTrainingPlan(slices.Max(batches), e.allReduce)
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
func (e *Experiment) chosenNetworks() ([]*network, error) {
	all := networks(e.shrink)
	if e.networks == nil {
		return all, nil
	}
	var chosen []*network
	for _, name := range e.networks {
		at := slices.IndexFunc(all, func(n *network) bool { return strings.EqualFold(n.Name, name) })
		if at < 0 {
			return nil, cli.UsageError("want tower, dlrm, dcn-v2", "--networks %s", name)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// network describes a network to both sides. Its data are of Criteo's shape.
type network struct {
	Name    string `json:"name" yaml:"name"`
	Kind    string `json:"kind" yaml:"kind"`
	Dim     int    `json:"dim" yaml:"embedding-dim"`
	Slots   int    `json:"slots" yaml:"slots"`     // embeddings of a sample
	Numeric int    `json:"numeric" yaml:"numeric"` // numbers of a sample
	Bottom  []int  `json:"bottom" yaml:"bottom,flow,omitempty"`
	Cross   int    `json:"cross" yaml:"cross-layers,omitempty"`
	Top     []int  `json:"top" yaml:"top,flow"`
}

// networks returns the networks, whose hidden layers are narrower by a factor.
//
// Sources: model.PersiaTower; the code published with arXiv 1906.00091, its script for Criteo Kaggle; the
// DCN-v2 of experiment generators, with the embeddings of the other two.
func networks(shrink int) []*network {
	narrower := func(widths ...int) []int {
		for i := range widths {
			widths[i] = max(1, widths[i]/shrink)
		}
		return widths
	}
	of := func(name, kind string) *network {
		return &network{Name: name, Kind: kind, Dim: 16, Slots: 26, Numeric: 13}
	}
	tower, dlrm, dcn := of("tower", model.FeedForward), of("DLRM", model.DLRM), of("DCN-v2", model.DCNv2)
	tower.Top = narrower(model.PersiaTower().Top...)
	dlrm.Bottom, dlrm.Top = narrower(512, 256, 64), narrower(512, 256)
	dcn.Cross, dcn.Top = 3, narrower(400, 400, 400)
	return []*network{tower, dlrm, dcn}
}

// spec returns the network as a model of Tandem.
func (n *network) spec() model.Spec {
	return model.Spec{Kind: n.Kind, EmbeddingDim: n.Dim, Bottom: n.Bottom, CrossLayers: n.Cross,
		Structure: model.Parallel, Top: n.Top, Activation: model.ReLU}
}

// schema returns the input data of a network: slots with one pooled row each, and numbers.
func (n *network) schema() *batch.Schema {
	s := &batch.Schema{Labels: []string{"label"}, PrefixBits: 8}
	for i := range n.Slots {
		s.Slots = append(s.Slots, batch.Slot{Name: fmt.Sprintf("c%d", i+1), Dim: n.Dim})
	}
	for i := range n.Numeric {
		s.Dense = append(s.Dense, fmt.Sprintf("n%d", i+1))
	}
	return s
}
