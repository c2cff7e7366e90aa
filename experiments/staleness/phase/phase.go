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

	"tandem/algo/job"
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
on two slow cores. Two other uses answer from the stored full version and train
nothing, so --quick, --seeds, --taus and --alphas do not go with them:

  --file job.yaml   where the tables of a job lie, a sentence for each; writes a
                    folder only with --out
  --redraw          simulate the clusters again and draw the figures with them`,
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

// flags set the cells, or ask for something else of those of the stored full version.
type flags struct {
	report.Grid
	file     string
	clusters bool
}

// add adds the flags.
func (f *flags) add(set *pflag.FlagSet) {
	f.Grid.AddFlags(set)
	set.StringVar(&f.file, "file", "", "train nothing; show where the tables of this job file lie")
	set.BoolVar(&f.clusters, "redraw", false,
		"train nothing; simulate the delays of clusters again and draw the figures")
}

// readsStored returns --file, whose answer is text, or --redraw, or "".
func (f *flags) readsStored() (flag string, inText bool) {
	switch {
	case f.file != "":
		return "--file", true
	case f.clusters:
		return "--redraw", false
	}
	return "", false
}

// check returns a usage error for flags that do not go together.
func (f *flags) check() error {
	if f.file != "" && f.clusters {
		return cli.UsageError("give one of them", "--file and --redraw are two questions")
	}
	flag, _ := f.readsStored()
	for axis, set := range map[string]bool{report.Taus: f.Taus() != nil, report.Alphas: f.Alphas() != nil} {
		if flag != "" && set {
			return cli.UsageError("leave out --"+axis, "%s trains nothing, so --%s has no effect", flag, axis)
		}
	}
	return nil
}

// measure trains what the diagram has, or takes the stored full version, and places columns on it.
func (p *plan) measure(ctx context.Context, o report.Options) (r *result, err error) {
	if p.Clusters {
		if r, err = loadFull(); err != nil {
			return nil, err
		}
		if r.Lateness, err = simulate(ctx, []int{8, 64, 512}, 64); err != nil {
			return nil, err
		}
		if err := r.Lateness.write(o.Folder); err != nil {
			return nil, err
		}
		return r, r.placeColumns()
	}
	r, err = trial.Measure(o, "phase", p.trainings(), func(lab *trial.Lab) (*result, error) {
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
	r.Lateness = &lateness{}
	if err := job.Decode(stalenessText, stalenessName, r.Lateness); err != nil {
		return nil, err
	}
	return r, r.placeColumns()
}
