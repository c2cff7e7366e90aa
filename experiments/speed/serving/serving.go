// Package serving compares cmd/serve with the same model in onnxruntime behind a minimal server.
package serving

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/numeric/model"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	var python report.Python
	var modules bool
	return report.Study(report.Experiment{
		Name:     "serving",
		Question: "How fast are predictions from cmd/serve, beside onnxruntime behind a minimal server?",
		Help: `A model is trained, exported and served by cmd/serve and, in turns, by a small
Python program: aiohttp with onnxruntime, one process for each core, with every
text of the table in a dictionary. Clients of the same program send the same
requests to both, each the next one when it has the answer to the last; they use
the same cores as the server. The answers must agree.

cmd/serve answers JSON, as the peer does, tensors as bytes, and gRPC; and JSON
with --batch-rows 1, which computes every request by itself.

The quick version has one model and short rounds. The peer runs in the Python
interpreter that --python or the environment variable TANDEM_PYTHON names, or in
python3; it needs aiohttp, numpy, onnxruntime and pyarrow.

With --modules the networks are modules of PyTorch: cmd/serve computes their ONNX
or, with --run-module, runs them in Python. That Python needs torch, onnx and
onnxscript, too, and TANDEM_ONNXRUNTIME names the library.`,
		QuickTime: 60 * time.Second,
		AddFlags: func(f *pflag.FlagSet) {
			python.Flag("use this Python interpreter with onnxruntime\n(default $TANDEM_PYTHON, or " +
				"python3)")(f)
			f.BoolVar(&modules, "modules", false, "serve modules of PyTorch instead, by their ONNX and by\n"+
				"--run-module (default: built-in networks)")
		},
	}, func(o report.Options) (*plan, error) {
		return newPlan(o, modules)
	}, func(p *plan, ctx context.Context, o report.Options) ([]*result, error) {
		found, err := python.With(ctx, peerModules)
		if err != nil {
			return nil, err
		}
		return p.measure(ctx, found, o)
	}, (*plan).report)
}

// peerModules are the modules of the peer.
const peerModules = "aiohttp, numpy, onnxruntime, pyarrow.parquet"

// plan is everything that is fixed before the first request.
type plan struct {
	Seed    uint64        `yaml:"seed"`
	Rounds  int           `yaml:"rounds"`
	Time    time.Duration `yaml:"time"` // of a measurement
	Clients []int         `yaml:"clients"`
	Rows    []int         `yaml:"rows"` // of a request
	Models  []served      `yaml:"models"`
}

// served is a model that is served.
type served struct {
	report.DataSet `yaml:",inline"`
	Kind           string `yaml:"network"`
	Dim            int    `yaml:"embedding-dim"`
	Bottom         []int  `yaml:"bottom,omitempty"`
	Top            []int  `yaml:"top"`
	// Class and arguments of a module of net.py.
	Class     string         `yaml:"class,omitempty"`
	Arguments map[string]any `yaml:"arguments,omitempty"`
}

// name returns the name of a model in tables.
func (m served) name() string {
	if m.Class != "" {
		return m.Name + ", module " + m.Class
	}
	return m.Name + ", " + m.Kind
}

// newPlan returns the plan of the quick or the full version, of built-in networks or of the same as modules.
func newPlan(o report.Options, modules bool) (*plan, error) {
	p := &plan{Seed: o.Seed, Rounds: 3, Time: 2 * time.Second, Clients: []int{1, 8, 64}, Rows: []int{1, 100},
		Models: []served{
			{DataSet: report.AdultIncome(), Kind: model.FeedForward, Dim: 8, Top: []int{64, 32}},
			{DataSet: report.Like("criteo", 40_000, 2_000), Kind: model.DLRM, Dim: 16,
				Bottom: []int{128, 64}, Top: []int{256, 128}},
		}}
	if modules {
		tower := map[string]any{"slots": 8, "numbers": 5, "dim": 8, "top": []int{64, 32}}
		dlrm := map[string]any{"slots": 26, "numbers": 13, "dim": 16, "bottom": []int{128, 64},
			"top": []int{256, 128}}
		p.Models = []served{
			{DataSet: report.AdultIncome(), Kind: model.Torch, Dim: 8, Class: "FeedForward",
				Arguments: tower},
			{DataSet: report.Like("criteo", 40_000, 2_000), Kind: model.Torch, Dim: 16, Class: "DLRM",
				Arguments: dlrm},
		}
	}
	if o.Quick {
		p.Rounds, p.Time, p.Models = 1, time.Second, p.Models[:1]
	}
	return p, nil
}

// way is how clients ask a server.
type way struct {
	name string
	peer bool
	grpc bool
	raw  bool // tensors as bytes
	args []string
}

// ways returns the ways of a model that are compared. The first is compared with the others.
func ways(m served) []way {
	if m.Kind == model.Torch {
		return []way{
			{name: "serve, by its ONNX, JSON"},
			{name: "serve, --run-module, JSON", args: []string{"--run-module"}},
			{name: "onnxruntime, JSON", peer: true},
		}
	}
	return []way{
		{name: "serve, JSON"},
		{name: "serve, JSON, each by itself", args: []string{"--batch-rows", "1"}},
		{name: "serve, bytes", raw: true},
		{name: "serve, gRPC", raw: true, grpc: true},
		{name: "onnxruntime, JSON", peer: true},
	}
}

// result is what was measured of a model, a way, a number of clients and a number of rows a request.
type result struct {
	Model   string `json:"model"`
	Way     string `json:"way"`
	Rows    int    `json:"rows"`
	Clients int    `json:"clients"`
	Peer    string `json:"peer,omitempty"` // the server of another, by itself
	// By round.
	SamplesPerSecond []float64 `json:"samples_per_second"`
	P50              []float64 `json:"p50_ms"`
	P99              []float64 `json:"p99_ms"`
}

// measure trains, serves and compares each model.
func (p *plan) measure(ctx context.Context, python string, o report.Options) ([]*result, error) {
	folder, err := os.MkdirTemp("", "tandem-serving-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	s := &stand{plan: p, python: python, folder: folder, options: o,
		meter: &report.Meter{Total: len(p.Models), Unit: "models", Report: o.Progress}}
	ofModels, err := report.MeasureCases(o, s.meter, p.Models, served.name,
		func(m served) ([]*result, error) { return s.measure(ctx, m) })
	return slices.Concat(ofModels...), err
}
