// Package speed compares the speed of Tandem with PyTorch and FBGEMM on the cores of this machine, and with
// the limits of the machine.
//
// In every case, all sides do the same work: same sizes, same values, same number of threads. PyTorch runs
// in a separate process, which reads requests as lines of JSON: see peer.py.
package speed

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/numeric/model"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// New returns the experiment.
func New() *report.Experiment {
	var python report.Python
	chosen := newChoice()
	return report.Study(report.Experiment{
		Name: "speed",
		Question: "How fast is Tandem compared with PyTorch on the same cores, and with the limits of the " +
			"machine?",
		Help: `Both sides do the same work on the same values with the same number of threads,
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

A case has --seeds rounds, in which each side runs for a second. A ratio is the
median of those of the rounds. The machine should be idle.

Other tables compare dense steps with arithmetic in the registers of all cores,
lookups and updates of rows with a bare loop over known addresses, and trainings
with the least time that their pieces of work allow. 10 million rows of 128 values
with their state take 10 GB: sides that do not fit in memory together load their
rows one after the other in every round.

The full version takes about two and a half hours on two cores. Flags choose
cases:

  --only sparse --rows 1000000 --dims 16,32 --threads 1    a few minutes
  --only lookup,update                                     half an hour

PyTorch is used from the Python interpreter that --python or the environment
variable TANDEM_PYTHON names, which needs torch and numpy, or else from python3,
if it has them. Without PyTorch, the tables have only Tandem's columns. If that
Python also has fbgemm_gpu (PyPI: fbgemm-gpu-cpu), tables compare sparse steps
with FBGEMM's table-batched embedding, row-wise and element-wise.`,
		QuickTime: 240 * time.Second,
		AddFlags: func(flags *pflag.FlagSet) {
			python.Flag("use this Python interpreter with torch and numpy\n(default $TANDEM_PYTHON, or " +
				"python3 if it has them)")(flags)
			chosen.addFlags(flags)
		},
	}, func(o report.Options) (*plan, error) { return newPlan(o, chosen) },
		func(p *plan, ctx context.Context, o report.Options) ([]*result, error) {
			return p.measure(ctx, o, &python)
		}, (*plan).report)
}

// plan is everything that is fixed before the first measurement.
type plan struct {
	Rounds int           `yaml:"rounds"`
	Window time.Duration `yaml:"window"` // the time of a side in a round, at least one step
	Cases  []testCase    `yaml:"cases"`
}

// newPlan returns the plan of the quick or the full version, with the chosen cases.
func newPlan(o report.Options, chosen choice) (p *plan, err error) {
	p = &plan{Rounds: o.Seeds, Window: time.Second}
	cases := slices.Concat(denseCases(), rowCases(), trainCases(o.Quick))
	if o.Quick {
		p.Window = 300 * time.Millisecond
		cases = slices.DeleteFunc(cases, func(c testCase) bool { return !c.isQuick() })
	}
	p.Cases, err = chosen.of(cases)
	return p, err
}

// isQuick reports whether the quick version has a case, too.
func (c *testCase) isQuick() bool {
	switch c.Kind {
	case kindDense:
		return c.Batch == 256
	case kindSparse:
		return c.Rows.Total == million && c.Batch == 4096 &&
			(c.Rows.Dim == 32 || c.Rows.Dim == 16 && c.Threads == 2)
	case kindTrain:
		return true
	}
	return c.Rows.Total == million && c.Rows.Dim == 32 && c.Rows.Distribution == uniform
}

// Targets for the ratio of Tandem's rate to PyTorch's, to FBGEMM's, or to a limit.
//
// Source: the budgets of the design, and targets that were set for this comparison before its first run.
const (
	targetTower       = 0.9
	targetSparse      = 5
	targetRowWise     = 1.0 // of FBGEMM's row-wise step
	targetElementWise = 2.0 // of FBGEMM's element-wise step
	targetTrainTower  = 0.9
	targetTrainSmall  = 3
	targetLookup      = 0.45
	targetUpdate      = 0.55
	targetOverhead    = 24.0 // bytes a row, at most
	targetShare       = 0.85 // of the rate that the pieces of work of a training allow
)

// denseCases returns steps of the dense networks.
func denseCases() (cases []testCase) {
	for i, n := range []*pytorch.Network{pytorch.Tower(), pytorch.DLRM()} {
		for _, samples := range []int{256, 4096} {
			for _, threads := range []int{1, 2} {
				cases = append(cases, testCase{Kind: kindDense, Batch: samples, Threads: threads, Net: n,
					Target: []float64{targetTower, 0}[i]})
			}
		}
	}
	return cases
}

// Numbers of embedding rows, of all slots together.
const (
	million    = 1_000_000
	tenMillion = 10_000_000
)

// slots is the number of embedding tables, as in Criteo's data.
const slots = 26

// newRows returns a total number of rows, in a table per slot.
func newRows(total, dim int, distribution string) *rows {
	return &rows{Total: total, Dim: dim, Slots: slots, Each: total / slots, Distribution: distribution}
}

// rowCases returns sparse steps, then lookups and updates on one core, and on two for the dimension of the
// budgets.
func rowCases() []testCase {
	var steps, parts []testCase
	for _, total := range []int{million, tenMillion} {
		for _, dim := range []int{16, 32, 64, 128} {
			for _, distribution := range []string{uniform, zipf} {
				r := newRows(total, dim, distribution)
				for _, samples := range []int{256, 4096} {
					for _, threads := range []int{1, 2} {
						c := testCase{Kind: kindSparse, Batch: samples, Threads: threads, Rows: r,
							Target: targetSparse}
						rowWise := c
						rowWise.RowWise = true
						steps = append(steps, c, rowWise)
						if samples == 4096 && (threads == 1 || dim == 32) {
							c.Target, c.Kind = 0, kindLookup
							update := c
							update.Kind = kindUpdate
							parts = append(parts, c, update)
						}
					}
				}
			}
		}
	}
	return slices.Concat(steps, parts)
}

// trainCases returns trainings whose samples take a side about ten seconds, or about two in the quick
// version.
func trainCases(quick bool) []testCase {
	small := &pytorch.Network{Name: "64-32", Kind: model.FeedForward, Dim: 16, Slots: slots, Numeric: 13,
		Top: []int{64, 32}} // of cmd/train/jobs/criteo-shaped.yaml
	smallRows := &corpus{Train: 400_000, Test: 10_000, Epochs: 2}
	dlrmRows, dlrmBatch := &corpus{Train: 163_840, Test: 10_000, Epochs: 1}, 4096
	towerRows, towerBatch := &corpus{Train: 32_768, Test: 4096, Epochs: 1}, 4096
	if quick {
		smallRows = &corpus{Train: 100_000, Test: 4096, Epochs: 1}
		dlrmRows, dlrmBatch = &corpus{Train: 32_768, Test: 4096, Epochs: 1}, 2048
		towerRows, towerBatch = &corpus{Train: 4096, Test: 1024, Epochs: 1}, 512
	}
	return []testCase{
		{Kind: kindTrain, Batch: 4096, Threads: 2, Net: small, Corpus: smallRows, Target: targetTrainSmall},
		{Kind: kindTrain, Batch: dlrmBatch, Threads: 2, Net: pytorch.DLRM(), Corpus: dlrmRows, RowWise: true},
		{Kind: kindTrain, Batch: towerBatch, Threads: 2, Net: pytorch.Tower(), Corpus: towerRows,
			Target: targetTrainTower},
	}
}

// choice chooses cases by their properties.
type choice []*property

// property is a property of cases by which a flag chooses.
type property struct {
	flag, usage string
	of          func(c *testCase) string // as text; "": the case does not have it
	values      []string                 // of the flag; nil: all
}

// newChoice returns a choice of all cases.
func newChoice() choice {
	ofRows := func(number func(r *rows) int) func(c *testCase) string {
		return func(c *testCase) string {
			if c.Rows == nil {
				return ""
			}
			return strconv.Itoa(number(c.Rows))
		}
	}
	return choice{
		{flag: "only", usage: "measure cases of these kinds: " + strings.Join(kinds(), ", ") +
			" (default: all)", of: func(c *testCase) string { return c.Kind }},
		{flag: "rows", usage: "of cases with rows, measure those with these totals: 1000000, 10000000 " +
			"(default: all)", of: ofRows(func(r *rows) int { return r.Total })},
		{flag: "dims", usage: "of cases with rows, measure those of these dimensions: 16, 32, 64, 128 " +
			"(default: all)", of: ofRows(func(r *rows) int { return r.Dim })},
		{flag: "batches", usage: "measure cases of these batches, in samples: 256, 4096 (default: all)",
			of: func(c *testCase) string { return strconv.Itoa(c.Batch) }},
		{flag: "threads", usage: "measure cases with these numbers of threads: 1, 2 (default: all)",
			of: func(c *testCase) string { return strconv.Itoa(c.Threads) }},
	}
}

// addFlags adds the flags.
func (c choice) addFlags(flags *pflag.FlagSet) {
	for _, p := range c {
		flags.StringSliceVar(&p.values, p.flag, nil, p.usage)
	}
}

// of returns the chosen cases. A value that no case has is a usage error, and so is a choice without cases.
func (c choice) of(cases []testCase) ([]testCase, error) {
	chosen, flags := slices.Clone(cases), []string(nil)
	for _, p := range c {
		if p.values == nil {
			continue
		}
		flags = append(flags, "--"+p.flag, strings.Join(p.values, ","))
		var known []string
		for _, one := range cases {
			if v := p.of(&one); v != "" && !slices.Contains(known, v) {
				known = append(known, v)
			}
		}
		for _, v := range p.values {
			if !slices.Contains(known, v) {
				return nil, cli.UsageError("this version has "+strings.Join(known, ", "), "--%s %s: there "+
					"is no such case", p.flag, v)
			}
		}
		chosen = slices.DeleteFunc(chosen, func(one testCase) bool {
			v := p.of(&one)
			return v != "" && !slices.Contains(p.values, v)
		})
	}
	if len(chosen) == 0 {
		return nil, cli.UsageError("leave one of them out", "%s: no case has all of these",
			strings.Join(flags, " "))
	}
	return chosen, nil
}
