// Package modules compares a training whose network is a module of PyTorch with the loop that a user of
// PyTorch writes around the same module.
package modules

import (
	"context"
	_ "embed" // of the networks
	"fmt"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	var python report.Python
	return report.Study(report.Experiment{
		Name: "modules",
		Question: "How fast is a training with a module of PyTorch, beside a plain PyTorch script with the " +
			"same module?",
		Help: `A training of rows of Criteo's shape, batch 4,096, runs in turns

  script, 1 thread    a loop in PyTorch: one nn.EmbeddingBag with sparse gradients
                      and Adagrad, the module, and Adam, which is fused
  script, 2 threads   the same with two threads
  Tandem, 1 rank      mode hybrid, with the same module in one Python of one thread
  Tandem, 2 ranks     the same with two Pythons of one thread each

All have the same rows, and their losses on the test rows must agree. Time begins
when data are in memory and the network is made, on both sides. A round also has
forward and backward passes of the module alone, in the script's process and by
Tandem in the Python of a rank, over the same number of samples: what the second
take longer is spent between processes, beside copies and checks.

Tandem computes rows in its own process, on another core if there is one. So the
processor time of all processes is compared, too, which includes the predictions
of the test rows: it is what one core would show, and other programs on the
machine change it little. A ratio is taken in every round, and the median counts.
Goals: 0.9 of the script's rate with one rank and thread, more than that of one
rank with two ranks, and at most 5 % of a pass between processes.

A case has at least 10 rounds, more if --seeds is more; the quick version has 3 of
fewer rows, without the script of 2 threads, whose threads wait for each other by
spinning and crawl where other programs want the cores. The Python that --python
or TANDEM_PYTHON names, or python3, needs torch and numpy. Only Linux runs
modules.`,
		QuickTime: 120 * time.Second,
		AddFlags: python.Flag("use this Python interpreter with torch and numpy\n(default $TANDEM_PYTHON, " +
			"or python3)"),
	}, newPlan, func(p *plan, ctx context.Context, o report.Options) ([]*result, error) {
		return p.measure(ctx, o, &python)
	}, (*plan).report)
}

// Goals: the least rate of one rank ÷ that of the script, the least rate of two ranks ÷ that of one, and the
// largest share of a pass between processes.
//
// Source: goals that were set for this comparison before its first run.
const (
	goalRate    = 0.9
	goalRanks   = 1.0
	goalBetween = 0.05
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed   uint64        `yaml:"seed"`
	Rounds int           `yaml:"rounds"`
	Quick  bool          `yaml:"quick"`
	Window time.Duration `yaml:"window"` // of passes
	Rows   job.Synthetic `yaml:"rows"`
	Cases  []testCase    `yaml:"cases"`
}

// testCase is a training of a module.
type testCase struct {
	Name      string         `json:"name" yaml:"name"`
	Class     string         `json:"class" yaml:"class"` // of net.py
	Arguments map[string]any `json:"arguments" yaml:"arguments,flow"`
	Batch     int            `json:"batch" yaml:"batch"`
	Train     int            `json:"train_rows" yaml:"train-rows"`
}

// name returns the name of a case.
func (c testCase) name() string { return fmt.Sprintf("%s, batch %d", c.Name, c.Batch) }

// dim is the length of an embedding.
const dim = 16

// The least number of rounds of the full version, and the number of the quick one.
const (
	roundsFull  = 10
	roundsQuick = 3
)

// newPlan returns the plan of the quick or the full version. The networks are the smallest and the middle one
// of experiment speed.
func newPlan(o report.Options) (*plan, error) {
	p := &plan{Seed: o.Seed, Quick: o.Quick, Rounds: max(roundsFull, o.Seeds), Window: time.Second}
	p.Rows = job.Synthetic{Preset: job.PresetCriteo, Seed: o.Seed, TrainRows: 409_600, TestRows: 4096}.
		Resolve()
	small, large := p.Rows.TrainRows, 81_920
	if o.Quick {
		p.Rounds, small, large = roundsQuick, 102_400, 20_480
	}
	p.Rows.TrainRows = small
	shape := func(more map[string]any) map[string]any {
		more["slots"], more["numbers"], more["dim"] = len(p.Rows.Columns), p.Rows.Numeric, dim
		return more
	}
	p.Cases = []testCase{
		{"64-32", "FeedForward", shape(map[string]any{"top": []int{64, 32}}), 4096, small},
		{"DLRM", "DLRM", shape(map[string]any{"bottom": []int{512, 256, 64}, "top": []int{512, 256}}), 4096,
			large},
	}
	return p, nil
}

// Source is the text of the networks.
//
//go:embed net.py
var Source string

// job returns the job of a case on some ranks: that of experiment speed, with the module.
func (p *plan) job(c testCase, ranks int) job.Job {
	j := job.Default()
	j.Training.Mode, j.Training.Seed, j.Training.GlobalBatch = job.Hybrid, p.Seed, c.Batch
	j.Model.Spec = model.Spec{Kind: model.Torch, File: "net.py", Class: c.Class, Source: Source,
		Arguments: c.Arguments, EmbeddingDim: dim}
	j.Rows.Optimizer.Order = opt.After // as PyTorch's
	j.Roles.Ranks, j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = ranks, 1, 1
	j.Training.Groups = ranks // more groups would only add sums
	staleness := 3
	j.Training.Staleness, j.Training.Prefetch = &staleness, 10
	return j
}
