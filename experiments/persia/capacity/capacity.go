// Package capacity compares predictions with the capacity experiment of the paper on Persia: models of 6.25
// to 100 trillion parameters on 64 A100s.
package capacity

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
	"tandem/runtime/probe"
)

// Experiment is the comparison.
type Experiment struct{ mostRows int }

// New returns the experiment.
func New() *Experiment { return &Experiment{} }

// Name returns "capacity".
func (*Experiment) Name() string { return "capacity" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "Does the simulator predict the throughput of 6 to 100 trillion parameters, and what does not fit?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Predicts the capacity experiment of the paper on Persia: Criteo-Syn with 6.25, 12.5,
25, 50 and 100 T parameters on 64 A100s of the cluster persia-gcp, in mode hybrid,
and at 100 T also in modes sync, async-average and, in the full version, async-ps at
the middle of the inputs. No input is from the figures.

  fit       100 T in half and in single precision, on 30 and on 10 PS hosts: bytes
            needed, bytes there, accepted or refused.
  control   the same sizes on PSs that are slower together: 30 hosts of 2 cores,
            and 10 and 1 of many times the memory. Target at 100 T on 2 cores a
            host: at least 20 % slower than with all, bound by PSs.
  look-ups  measured on this machine: rows of 60 bytes in tables of 10⁶ rows to the
            most that fit in 20 GB and in memory, read and updated at random, beside
            the time that the simulator prices. Its memory is measured by chases
            that share no code with the store. Target: within 15 %.

The quick version has the smallest and the largest size only, and tables of up to
10⁷ rows (1.3 GB of memory). The full version ranks
the inputs by total effects, and searches how large each input alone must be for the
ratios of modes in the paper and for the control. It takes some minutes.

Writes to a new folder:

  report.html               everything on one page
  capacity.csv              a line per case, written at its end
  capacity.json             inputs with sources and hash, predictions, verdicts
  settings.yaml             the resolved settings
  comparison.png, .svg      prediction ÷ figure of the paper
  sizes.png, .svg           throughput by size, predicted and in the paper
  look-ups.png, .svg        time of a row by size, measured and simulated`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 90 * time.Second }

// AddFlags adds the flag that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&e.mostRows, "most-rows", 0, "measure look-ups in tables of up to this number of rows "+
		"of 60 bytes, as far as they fit in 20 GB and in memory (default all that fit; with --quick "+
		"10000000)")
}

// Arguments returns the flag if it was set, for the command that repeats a run.
func (e *Experiment) Arguments() []string {
	if e.mostRows == 0 {
		return nil
	}
	return []string{fmt.Sprintf("--most-rows=%d", e.mostRows)}
}

// Run predicts all throughputs, and measures and simulates the look-up curve.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	if err := checkRows(e.mostRows); err != nil {
		return nil, err
	}
	p := newPlan(o)
	r, err := p.Measure(ctx, o, e.Name())
	if err != nil {
		return nil, err
	}
	fits, err := fits(ctx)
	if err != nil {
		return nil, err
	}
	lookUps := newCurvePlan(o, e.mostRows, probe.Available())
	curve, err := lookUps.measure(ctx, o)
	if err != nil {
		return nil, err
	}
	controls := controls(r)
	out := p.Report(r)
	out.Settings = settings{p, lookUps}
	out.Data = data{r, fits, controls, curve}
	out.Tables = append(append(out.Tables, fitTable(fits)), controlTables(controls)...)
	out.Findings = append(out.Findings, fitFindings(fits)...)
	out.Findings = append(out.Findings, controlFinding(controls), flatnessFinding(r))
	out.Quantities = append(out.Quantities, controlQuantities(r)...)
	out.Notes = append(out.Notes, notes()...)
	out.Figures = append(out.Figures, figure(r))
	curve.addTo(out)
	if note := lookUps.leftOut(); note != "" {
		out.Notes = append(out.Notes, note)
	}
	return out, nil
}
