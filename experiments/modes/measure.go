package modes

import (
	"context"
	"fmt"
	"strconv"

	"tandem/algo/exec/backend"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/experiments/paired"
	"tandem/experiments/report"
	"tandem/sim/cost"
)

// Names of the clusters.
const (
	thisMachine    = "this machine"
	persiasCluster = "Persia's cluster"
)

// result holds the results of all trainings on one data set.
type result struct {
	DataSet  string        `json:"data"`
	TestRows int           `json:"test_rows"`
	Modes    []*modeResult `json:"modes"`
}

// modeResult holds the trainings of a mode, one per seed.
type modeResult struct {
	Mode      string        `json:"mode"`
	Real      []*paired.Run `json:"real"`
	Simulated []*paired.Run `json:"simulated,omitempty"` // nil for sequential, which has no roles
}

// measure trains in every mode under every seed on every data set.
func (p *plan) measure(ctx context.Context, o report.Options) (results []*result, err error) {
	log, err := o.NewLog("modes.csv", header()...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := log.Close(); err == nil {
			err = closed
		}
	}()
	meter := &report.Meter{Total: len(p.DataSets) * p.Seeds * (2*len(p.Modes) - 1), Report: o.Progress}
	for _, w := range p.DataSets {
		r := &result{DataSet: w.Name}
		for _, mode := range p.Modes {
			r.Modes = append(r.Modes, &modeResult{Mode: mode})
		}
		for i := range p.Seeds {
			if err := p.measureSeed(ctx, w, i, o.Backend, r, log, meter); err != nil {
				return nil, fmt.Errorf("modes: %s, seed %d, after %d of %d trainings: %w",
					w.Name, p.Seed+uint64(i), meter.Done, meter.Total, err)
			}
		}
		results = append(results, r)
	}
	return results, nil
}

// measureSeed trains in every mode under one seed. The order of the real trainings rotates from seed to
// seed, so that a drift of the machine favors no mode.
func (p *plan) measureSeed(
	ctx context.Context, w report.DataSet, round int, backend backend.Backend, r *result,
	log *report.Log, m *report.Meter,
) error {
	seed := p.Seed + uint64(round)
	m.Show(0, 1, w.Name+", reading data")
	data, err := datasets.Open(w.WithSeed(seed), "")
	if err != nil {
		return err
	}
	r.TestRows = data.Test.Samples
	for i := range r.Modes {
		mode := r.Modes[(i+round)%len(r.Modes)]
		one := &paired.Setup{Job: p.job(mode.Mode, seed), Data: data, Backend: backend}
		run, err := one.RunReal(ctx, func(done, steps int) { m.Show(done, steps, w.Name+", "+mode.Mode) },
			nil)
		if err != nil {
			return fmt.Errorf("%s: %w", mode.Mode, err)
		}
		mode.Real = append(mode.Real, run)
		m.Done++
		if err := log.Add(line(w.Name, mode.Mode, thisMachine, seed, run)...); err != nil {
			return err
		}
	}
	persia := job.PersiaCluster()
	hardware, _, err := cost.Load(&persia, "")
	if err != nil {
		return err
	}
	for _, mode := range r.Modes {
		if mode.Mode == job.Sequential {
			continue
		}
		m.Show(0, 1, w.Name+", "+mode.Mode+" simulated")
		one := &paired.Setup{Job: p.job(mode.Mode, seed), Data: data, Backend: backend}
		run, err := one.RunSimulated(ctx, hardware)
		if err != nil {
			return fmt.Errorf("%s: %w", mode.Mode, err)
		}
		mode.Simulated = append(mode.Simulated, run)
		m.Done++
		if err := log.Add(line(w.Name, mode.Mode, persiasCluster, seed, run)...); err != nil {
			return err
		}
	}
	m.Show(0, 1, w.Name)
	return nil
}

func auc(r *paired.Run) float64        { return r.AUC }
func logLoss(r *paired.Run) float64    { return r.LogLoss }
func throughput(r *paired.Run) float64 { return r.Throughput }

// find returns the results of a mode.
func (r *result) find(mode string) *modeResult {
	for _, m := range r.Modes {
		if m.Mode == mode {
			return m
		}
	}
	return nil
}

// difference returns the AUC of runs minus the AUC of sync on this machine. Sync gives the same bits on any
// cluster.
func (r *result) difference(runs []*paired.Run) metric.Interval {
	return metric.MeanInterval(
		report.Differences(paired.Values(runs, auc), paired.Values(r.find(job.Sync).Real, auc)))
}

// header returns the columns of modes.csv.
func header() []string {
	return []string{"data", "mode", "cluster", "seed", "auc", "log_loss_nats", "samples_per_s", "step_s",
		"own_mean_steps", "own_max_steps", "cross_mean_steps", "cross_max_steps",
		"dense_mean_updates", "dense_max_updates"}
}

// line returns a run in these columns.
func line(data, mode, cluster string, seed uint64, r *paired.Run) []string {
	line := []string{
		data,
		mode,
		cluster,
		strconv.FormatUint(seed, 10),
		report.Number(r.AUC),
		report.Number(r.LogLoss),
		report.Number(r.Throughput),
		report.Number(r.StepSeconds),
	}
	for _, h := range []*histogram.Histogram{&r.Staleness.Own, &r.Staleness.Cross, &r.Staleness.Dense} {
		line = append(line, report.Number(h.Mean()), strconv.Itoa(h.Max()))
	}
	return line
}
