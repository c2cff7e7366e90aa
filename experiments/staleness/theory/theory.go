// Package theory tests what docs/theory.md proves about late row gradients.
//
// The model is logistic regression on one id per sample whose label is a fair coin, trained by plain SGD.
// Close to its optimum it is least squares, for which package stability has exact predictions: the learning
// rate at which delayed training diverges, and the excess loss below that rate. The trainings are real: the
// reference engine with imposed delays, and all roles on real threads.
package theory

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
)

// Experiment is the comparison of predictions and trainings.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "theory".
func (Experiment) Name() string { return "theory" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Do late rows diverge at the predicted rate, and cost the predicted loss?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Trains a model in which the effect of delays can be computed: logistic
regression on one id per sample whose label is a fair coin, by plain SGD.

  threshold  the learning rate at which weights stop converging, by bisection,
             for shares q of the samples and delays of d steps. Predicted:
             η·q·¼ = 2·sin(π/(2(2d+1))). If the samples are drawn, the threshold
             is measured in the same way, under every seed.
  growth     how much a delay raises the excess loss, by τ, q and η. Predicted:
             by the share x = τ·q·η·¼ for small x, and exactly for all x.
  threads    the same in training with four ranks on real threads, where x
             follows from the updates that were missed.

Proofs are in docs/theory.md. The full version takes a few minutes.

Writes to a new folder:

  report.html                everything on one page
  measurements.jsonl         a line per measurement, written at its end, from
                             which an interrupted run continues
  theory.json                the measurements by table
  settings.yaml              the resolved settings
  boundary.png, .svg         thresholds and the predicted boundary by delay
  random.png, .svg           thresholds of drawn samples
  growth.png, .svg           growth of the excess loss by τ·q·η·¼`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 30 * time.Second }

// Run measures thresholds and growth and compares them with the predictions.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	return execute(ctx, newPlan(o), o)
}

// execute runs a plan.
func execute(ctx context.Context, p *plan, o report.Options) (*report.Report, error) {
	m, err := p.measure(ctx, o)
	if err != nil {
		return nil, err
	}
	return p.report(m), nil
}
