package simvsreal

import (
	"context"
	"fmt"
	"strconv"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/datasets"
	"tandem/experiments/paired"
	"tandem/experiments/report"
	"tandem/runtime/probe"
	"tandem/sim/cost"
)

// results holds all runs.
type results struct {
	Modes []*modeResult `json:"modes"`
	Work  []workTime    `json:"work"` // of the first round
}

// modeResult holds the runs of a mode, a pair per round.
type modeResult struct {
	Mode      string        `json:"mode"`
	Real      []*paired.Run `json:"real"`
	Simulated []*paired.Run `json:"simulated"`
}

// workTime is the median time of a kind of work in the sync run.
type workTime struct {
	Kind    string  `json:"kind"`
	Samples int32   `json:"samples,omitempty"` // 0: of any size
	Seconds float64 `json:"time_s"`
}

// measure runs every round.
func (p *plan) measure(ctx context.Context, o report.Options) (r *results, err error) {
	log, err := o.NewLog("simvsreal.csv", header()...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := log.Close(); err == nil {
			err = closed
		}
	}()
	r = &results{}
	for _, mode := range p.Modes {
		r.Modes = append(r.Modes, &modeResult{Mode: mode})
	}
	meter := &report.Meter{Total: p.Rounds * 2 * len(p.Modes), Report: o.Progress}
	for round := range p.Rounds {
		if err := p.round(ctx, round, o.Backend, r, log, meter); err != nil {
			return nil, fmt.Errorf("simvsreal: round %d: %w", round+1, err)
		}
	}
	return r, nil
}

// round measures the machine, then trains in every mode for real, and then simulates every mode. Sync runs
// first, because it calibrates the simulator; the order of the others rotates from round to round.
func (p *plan) round(
	ctx context.Context, round int, backend backend.Backend, r *results, log *report.Log, m *report.Meter,
) error {
	seed := p.Seed + uint64(round)
	m.Show(0, 1, "measuring the machine")
	machine, err := probe.Run()
	if err != nil {
		return err
	}
	data, err := datasets.Open(p.DataSet.WithSeed(seed), "")
	if err != nil {
		return err
	}
	var hardware *cost.Hardware
	others := 0
	for i := range p.Modes {
		at := i
		if i > 0 {
			others = len(p.Modes) - 1
			at = 1 + (i-1+round)%others
		}
		one := &paired.Setup{Job: p.job(p.Modes[at], seed), Data: data, Backend: backend}
		show := func(done, steps int) { m.Show(done, steps, p.Modes[at]) }
		calibration := paired.NewCalibration() // in every run, so that it slows all of them equally
		run, err := one.RunReal(ctx, show, calibration)
		if err != nil {
			return err
		}
		if one.Job.Training.Mode == job.Sync {
			hardware = calibration.Cluster(&one.Job, &machine)
			if round == 0 {
				r.Work = workTimes(calibration.Recorded(&one.Job))
			}
		}
		m.Done++
		r.Modes[at].Real = append(r.Modes[at].Real, run)
		if err := log.Add(line(p.Modes[at], "real", seed, run)...); err != nil {
			return err
		}
	}
	for _, mode := range r.Modes {
		one := &paired.Setup{Job: p.job(mode.Mode, seed), Data: data, Backend: backend}
		m.Show(0, 1, mode.Mode+", simulated")
		run, err := one.RunSimulated(ctx, hardware)
		if err != nil {
			return fmt.Errorf("%s: %w", mode.Mode, err)
		}
		m.Done++
		mode.Simulated = append(mode.Simulated, run)
		if err := log.Add(line(mode.Mode, "simulated", seed, run)...); err != nil {
			return err
		}
	}
	m.Show(0, 1, "round done")
	return nil
}

// workTimes lists the recorded times of work.
func workTimes(r *cost.RecordedTimes) []workTime {
	var list []workTime
	for _, w := range r.Work {
		list = append(list, workTime{w.Kind.String(), w.Samples, w.Time.Seconds()})
	}
	for bucket, t := range r.Reduce {
		list = append(list, workTime{Kind: fmt.Sprintf("reduce bucket %d", bucket), Seconds: t.Seconds()})
	}
	return list
}

// header returns the columns of simvsreal.csv.
func header() []string {
	return []string{"mode", "run", "seed", "step_s", "samples_per_s", "ge_s", "fc_s", "bc_s", "ds_s", "peg_s",
		"own_mean_steps", "cross_mean_steps", "dense_mean_updates", "auc", "log_loss_nats"}
}

// line returns a run in these columns.
func line(mode, kind string, seed uint64, r *paired.Run) []string {
	line := []string{
		mode,
		kind,
		strconv.FormatUint(seed, 10),
		report.Number(r.StepSeconds),
		report.Number(r.Throughput),
	}
	for _, s := range r.Stages.All() {
		line = append(line, report.Number(s))
	}
	return append(line, report.Number(r.Staleness.Own.Mean()), report.Number(r.Staleness.Cross.Mean()),
		report.Number(r.Staleness.Dense.Mean()), report.Number(r.AUC), report.Number(r.LogLoss))
}
