// Package kwai compares predictions with the throughputs that the paper on Persia has for its confidential
// model of video recommendation at Kwai.
package kwai

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "kwai".
func (Experiment) Name() string { return "kwai" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Does the simulator predict how hybrid, async and sync scale on Kwai's video model?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Predicts the throughput of Kwai-Video, 2 T parameters, on 8 to 64 V100s of the
cluster persia-paper, in modes hybrid, async-average and sync. Slots, ids, layers
and dimension of this model are not published: they are ranges, so every point has
another network of 34 M parameters. No input is from the figures.

The full version has all numbers of GPUs, and mode async-ps at the middle of the
inputs. It ranks the inputs by total effects, and searches how large each input
alone must be for hybrid ÷ sync to be 3.8. It takes some minutes.

Writes to a new folder:

  report.html               everything on one page
  kwai.csv                  a line per case, written at its end
  kwai.json                 inputs with sources and hash, predictions, verdicts
  settings.yaml             the resolved settings
  comparison.png, .svg      prediction ÷ figure of the paper
  throughput.png, .svg      throughput by GPUs, predicted and in the paper`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 15 * time.Second }

// Run predicts all throughputs.
func (e Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	r, err := p.Measure(ctx, o, e.Name())
	if err != nil {
		return nil, err
	}
	out := p.Report(r)
	if finding := shapeFinding(r); finding != "" {
		out.Findings = append(out.Findings, finding)
	}
	out.Notes = append(out.Notes, notes()...)
	out.Figures = append(out.Figures, figure(r))
	return out, nil
}
