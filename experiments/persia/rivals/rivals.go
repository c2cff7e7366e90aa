// Package rivals divides the leads that the paper on Persia has over other systems into what its algorithm
// gives and what its implementation gives.
package rivals

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
)

// Experiment is the division.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "rivals".
func (Experiment) Name() string { return "rivals" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "How much of Persia's lead over XDL and PaddlePaddle is its algorithm, and how much its code?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Divides each lead of the scaling figure of the paper on Persia, throughput of
Persia ÷ throughput of XDL or PaddlePaddle on 1 and on 8 V100s, into two factors:

  algorithm        hybrid ÷ the mode of the rival, both simulated with Persia's
                   system software on the same cluster
  implementation   what remains: lead ÷ algorithm

The algorithm has an interval over all unknown inputs, point by point; that of the
implementation adds the error of reading the bars. Nothing of the rivals is an input
but their modes: XDL runs sync or async-ps; whether PaddlePaddle reduces dense
gradients or keeps dense parameters on PSs is not published, and is unknown here.

A check: if the implementation is the same factor on 8 GPUs as on 1, the lead on 8
follows from that on 1 and from the algorithm alone.

The quick version has fewer points of the box of inputs.

Writes to a new folder:

  report.html                 everything on one page
  rivals.csv                  a line per simulated case, written at its end
  rivals.json                 inputs with sources and hash, leads, factors
  settings.yaml               the resolved settings
  leads-8.png, .svg           leads and factors on 8 GPUs
  leads-1.png, .svg           … on 1 GPU`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 10 * time.Second }

// Run predicts all cases and divides the leads.
func (e Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	r, err := p.Measure(ctx, o, e.Name())
	if err != nil {
		return nil, err
	}
	return newReport(p, &results{r, leads(r), transfers(r)}), nil
}
