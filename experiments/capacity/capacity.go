// Package capacity compares predictions with the capacity experiment of the paper on Persia: models of 6.25
// to 100 trillion parameters on 64 A100s.
package capacity

import (
	"context"
	"time"

	"tandem/experiments/report"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "capacity".
func (Experiment) Name() string { return "capacity" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Does the simulator predict the throughput of 6 to 100 trillion parameters, and what does not fit?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Predicts the capacity experiment of the paper on Persia: Criteo-Syn with 6.25, 12.5,
25, 50 and 100 T parameters on 64 A100s of the cluster persia-gcp, in mode hybrid,
and at 100 T also in modes sync, async-average and, in the full version, async-ps at
the middle of the inputs. No input is from the figures.

  fit       100 T in half and in single precision, on 30 and on 10 PS hosts: bytes
            needed, bytes there, accepted or refused.
  control   the same sizes on PSs that are slower together: 30 hosts of 2 cores,
            and 10 and 1 of many times the memory. Target at 100 T on 2 cores a
            host: at least 20 % slower than with all, bound by PSs.

The quick version has the smallest and the largest size only. The full version ranks
the inputs by total effects, and searches how large each input alone must be for the
ratios of modes in the paper and for the control. It takes some minutes.

Writes to a new folder:

  report.html               everything on one page
  capacity.csv              a line per case, written at its end
  capacity.json             inputs with sources and hash, predictions, verdicts
  settings.yaml             the resolved settings
  comparison.png, .svg      prediction ÷ figure of the paper
  sizes.png, .svg           throughput by size, predicted and in the paper`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return time.Minute }

// Run predicts all throughputs.
func (e Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	r, err := p.Measure(ctx, o, e.Name())
	if err != nil {
		return nil, err
	}
	fits, err := fits(ctx)
	if err != nil {
		return nil, err
	}
	controls := controls(r)
	out := p.Report(r)
	out.Data = data{r, fits, controls}
	out.Tables = append(append(out.Tables, fitTable(fits)), controlTables(controls)...)
	out.Findings = append(out.Findings, fitFindings(fits)...)
	out.Findings = append(out.Findings, controlFinding(controls), flatnessFinding(r))
	out.Quantities = append(out.Quantities, controlQuantities(r)...)
	out.Notes = append(out.Notes, notes()...)
	out.Figures = append(out.Figures, figure(r))
	return out, nil
}
