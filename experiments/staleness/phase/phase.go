// Package phase draws when late embedding rows cost quality: the staleness phase diagram.
//
// A cell of the diagram is an optimizer of rows, the share α of rows with the most frequent id, the delay τ
// of row gradients in steps, and the rate of rows as a multiple of the tuned one. Its loss is the AUC of
// fresh rows minus that of late rows, on the same rows in the same order from the same initial values. Rows
// that are τ steps late have learned from τ steps less at every read, so there is a lag control: fresh
// training without its last τ steps. What a long run loses is the part beyond it.
//
// Columns of public data sets lie on the diagram by the share of their most frequent id, and by the delay
// that the simulator predicts for clusters of several sizes.
package phase

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// New returns the experiment.
func New() *report.Experiment {
	f := &flags{Grid: report.NewGrid(report.Taus, report.Alphas)}
	e := report.Experiment{
		Name:     "phase",
		Question: "Is asynchrony safe for my tables?",
		Help: `Trains in sequence, with row gradients that take effect τ steps late, on data
whose most frequent id is in a share α of the rows, at multiples of the tuned
rate, with SGD, Adagrad, Adam and FTRL on rows.

  loss              AUC of fresh rows − AUC of late rows, paired by seed
  beyond the lag    the same against fresh training of τ steps less

Columns of Criteo, Avazu, Taobao and MovieLens are shown where simulated
clusters of 8, 64 and 512 GPUs put them. The full version takes about 20 minutes
on two slow cores.

--file job.yaml answers from the stored full version where the tables of a job
lie, a sentence for each. It trains nothing, so --quick, --seeds, --taus and
--alphas do not go with it, and writes a folder only with --out.`,
		QuickTime: 25 * time.Second, AddFlags: f.add, ReadsStored: f.readsStored,
	}
	diagram := report.Study(e, f.plan, (*plan).measure, (*plan).report)
	tables := report.Study(e, f.jobPlan, (*jobPlan).measure, (*jobPlan).report)
	asked := func() *report.Experiment {
		if f.file != "" {
			return tables
		}
		return diagram
	}
	e.Run = func(ctx context.Context, o report.Options) (*report.Report, error) { return asked().Run(ctx, o) }
	e.Redraw = func(o report.Options, data json.RawMessage) (*report.Report, error) {
		return asked().Redraw(o, data)
	}
	return &e
}

// flags set the cells, or ask where a job lies on those of the stored full version.
type flags struct {
	report.Grid
	file string
}

// add adds the flags.
func (f *flags) add(set *pflag.FlagSet) {
	f.Grid.AddFlags(set)
	set.StringVar(&f.file, "file", "", "train nothing; show where the tables of this job file lie")
}

// readsStored returns --file, or "".
func (f *flags) readsStored() string {
	if f.file != "" {
		return "--file"
	}
	return ""
}

// check returns a usage error for flags that do not go with --file.
func (f *flags) check() error {
	for axis, set := range map[string]bool{report.Taus: f.Taus() != nil, report.Alphas: f.Alphas() != nil} {
		if set {
			return cli.UsageError("leave out --"+axis, "--file trains nothing, so --%s has no effect", axis)
		}
	}
	return nil
}

// measure trains what the diagram has, and places columns on it where simulated clusters put them.
func (p *plan) measure(ctx context.Context, o report.Options) (*result, error) {
	r, err := trial.Measure(o, "phase", p.trainings(), func(lab *trial.Lab) (*result, error) {
		r, err := p.train(ctx, lab)
		if err != nil {
			return nil, err
		}
		r.Boundaries, err = p.predictBoundaries(ctx, r, o.Backend)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	if r.Lateness, err = simulate(ctx, p.ClusterGPUs, 64); err != nil {
		return nil, err
	}
	return r, r.placeColumns()
}
