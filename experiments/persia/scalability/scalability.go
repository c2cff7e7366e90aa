// Package scalability compares predictions with the scaling figure of the paper on Persia: throughput of
// Persia and of its rivals on 1 to 8 GPUs.
package scalability

import (
	"context"
	"slices"
	"time"

	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "scalability".
func (Experiment) Name() string { return "scalability" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Does the simulator predict the throughput of Persia, XDL and PaddlePaddle on 1 to 8 GPUs?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Predicts the scaling figure of the paper on Persia: Taobao, Avazu and Criteo on 1,
2, 4 and 8 V100s of the cluster persia-paper, with the system software of Persia
(mode hybrid), XDL (sync and async-ps) and PaddlePaddle. Each bar is compared with
the interval over all unknown inputs, which are listed with their sources.

No input of Persia is from the figure. The price lists of XDL and PaddlePaddle are
inferred from their bars at one GPU on Criteo, which are marked as inputs.

The paper has one more bar, 1 GPU without dense communication. How much of it 8
GPUs reach each is predicted with matrix products in fp32 and in half precision,
which the paper does not say, and on Criteo with a known wire between the GPUs. A
data set is predicted once more from the draws of the unknown inputs that are
nearest to the bars of the other two.

The quick version has fewer points of the box of inputs, and the rivals on 1 and 8
GPUs only. The full version takes several minutes.

Writes to a new folder:

  report.html                 everything on one page
  scalability.csv             a line per case, written at its end
  scalability.json            inputs with sources and hash, predictions, verdicts
  settings.yaml               the resolved settings
  comparison.png, .svg        prediction ÷ figure of the paper
  share.png, .svg             8 GPUs beside 1 without dense communication
  given.png, .svg             the same, given the bars of the other data sets
  taobao.png, … criteo.svg    throughput by GPUs, predicted and in the paper`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 10 * time.Second }

// Run predicts all bars.
func (e Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	r, err := p.Measure(ctx, o, e.Name())
	if err != nil {
		return nil, err
	}
	g := newGiven(r)
	out := p.Report(r)
	out.Data = results{r, g}
	out.Notes = append(append(out.Notes, notes()...), g.note())
	out.Tables = append(out.Tables, g.tables()...)
	out.Quantities = append(out.Quantities, g.quantities()...)
	out.Findings = slices.Concat(shareFindings(r), wireFindings(r), g.findings(), out.Findings)
	out.Figures = append(out.Figures, shareFigure(r), g.figure())
	for _, d := range dataSets() {
		out.Figures = append(out.Figures, d.figure(r))
	}
	return out, nil
}

// results are the predictions, and those given the other data sets.
type results struct {
	*paper.Results
	Given *given `json:"given"`
}
