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
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// Experiment is the diagram.
type Experiment struct {
	report.Grid
	redraw bool
	file   string
}

// New returns the experiment.
func New() *Experiment { return &Experiment{Grid: report.NewGrid(report.Taus, report.Alphas)} }

// Name returns "phase".
func (*Experiment) Name() string { return "phase" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "Is asynchrony safe for my tables?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Trains in sequence, with row gradients that take effect τ steps late, on data
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
  --redraw          simulate the clusters again and draw the figures with them

Writes to a new folder:

  report.html              everything on one page
  trials.jsonl             a line per training, written at its end
  phase.json               rates, cells, and places of columns
  settings.yaml            the resolved settings
  staleness.yaml           the delays on simulated clusters (--redraw)
  phase.png, .svg          the diagram at the tuned rates
  phase-rates.png, .svg    the diagram at all rates`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 25 * time.Second }

// AddFlags adds the flags of the grid, --file and --redraw.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	e.Grid.AddFlags(flags)
	flags.StringVar(&e.file, "file", "", "train nothing; show where the tables of this job file lie")
	flags.BoolVar(&e.redraw, "redraw", false,
		"train nothing; simulate the delays of clusters again and draw the figures")
}

// Arguments returns the flags that were set.
func (e *Experiment) Arguments() []string {
	words := e.Grid.Arguments()
	if e.file != "" {
		words = append(words, "--file", e.file)
	}
	if e.redraw {
		words = append(words, "--redraw")
	}
	return words
}

// ReadsStored returns --file, whose answer is text, or --redraw, or "".
func (e *Experiment) ReadsStored() (flag string, inText bool) {
	switch {
	case e.file != "":
		return "--file", true
	case e.redraw:
		return "--redraw", false
	}
	return "", false
}

// clusterSteps is the number of simulated steps behind a delay.
const clusterSteps = 64

// clusterGPUs are the sizes of the simulated clusters.
func clusterGPUs() []int { return []int{8, 64, 512} }

// Run draws the diagram, or places a job on the stored one.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	flag, _ := e.ReadsStored()
	switch grid := e.Grid.Arguments(); {
	case e.file != "" && e.redraw:
		return nil, cli.UsageError("give one of them", "--file and --redraw are two questions")
	case flag != "" && grid != nil:
		return nil, cli.UsageError("leave out "+grid[0], "%s trains nothing, so %s has no effect", flag,
			grid[0])
	case e.file != "":
		return placeJob(e.file, o)
	case e.redraw:
		return redraw(ctx, o)
	}
	p := fullPlan()
	if o.Quick {
		p = quickPlan()
	}
	p.Seed, p.Seeds = o.Seed, o.Seeds
	p.restrict(e.Taus(p.Taus...), e.Alphas(p.Alphas...))
	return execute(ctx, &p, o)
}

// execute runs a plan.
func execute(ctx context.Context, p *plan, o report.Options) (out *report.Report, err error) {
	lab, err := trial.Open(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	lab.Expect(p.trainings())
	r, err := p.measure(ctx, lab)
	if err != nil {
		return nil, err
	}
	if r.Boundaries, err = p.predictBoundaries(ctx, r.Choices, o); err != nil {
		return nil, err
	}
	late, err := loadLateness()
	if err != nil {
		return nil, err
	}
	if err := r.placeColumns(late); err != nil {
		return nil, err
	}
	return r.report(p), nil
}

// redraw simulates the clusters and draws the stored result with them.
func redraw(ctx context.Context, o report.Options) (*report.Report, error) {
	r, err := loadFull()
	if err != nil {
		return nil, err
	}
	late, err := simulate(ctx, clusterGPUs(), clusterSteps)
	if err != nil {
		return nil, err
	}
	if err := late.write(o.Folder); err != nil {
		return nil, err
	}
	if err := r.placeColumns(late); err != nil {
		return nil, err
	}
	out := r.report(late)
	out.Notes = append(out.Notes, "Nothing was trained: the cells are those of the stored full version. The "+
		"delays of the clusters are in "+stalenessName+"; copy it to experiments/staleness/phase to keep it.")
	return out, nil
}

// list joins words with commas and "and".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
