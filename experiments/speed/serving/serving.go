// Package serving compares cmd/serve with the same model in onnxruntime behind a minimal server.
package serving

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
)

// Experiment is the comparison.
type Experiment struct {
	python report.Python // the interpreter with onnxruntime
}

// New returns the experiment.
func New() *Experiment { return &Experiment{} }

// Name returns "serving".
func (*Experiment) Name() string { return "serving" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "How fast are predictions from cmd/serve, beside onnxruntime behind a minimal server?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `A model is trained, exported and served by cmd/serve and, in turns, by a small
Python program: aiohttp with onnxruntime, one process for each core, with every
text of the table in a dictionary. Clients of the same program send the same
requests to both, each the next one when it has the answer to the last; they use
the same cores as the server. The answers must agree.

cmd/serve answers JSON, as the peer does, tensors as bytes, and gRPC; and JSON
with --batch-rows 1, which computes every request by itself.

The quick version has one model and short rounds. The peer runs in the Python
interpreter that --python or the environment variable TANDEM_PYTHON names, or in
python3; it needs aiohttp, numpy, onnxruntime and pyarrow.

Writes to a new folder:

  report.html           everything on one page
  serving.json          samples/s and latencies, by round
  settings.yaml         the resolved settings`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 60 * time.Second }

// AddFlags adds the flags that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	e.python.AddFlag(flags, "use this Python interpreter with onnxruntime\n(default "+
		"$TANDEM_PYTHON, or python3)")
}

// Arguments returns the flags that were set.
func (e *Experiment) Arguments() []string { return e.python.Arguments() }

// peerModules are the modules of the peer.
const peerModules = "aiohttp, numpy, onnxruntime, pyarrow.parquet"

// Run trains, serves and compares.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	python, err := e.python.With(ctx, peerModules)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "tandem-serving-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	p := newPlan(o)
	s := &stand{plan: p, python: python, folder: folder, options: o}
	var results []*result
	for i, m := range p.Models {
		o.Progress(i, len(p.Models), m.Name)
		measured, err := s.measure(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		results = append(results, measured...)
	}
	return p.report(results, s.about), nil
}
