package simvsreal

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/experiments/internal/paired"
	"tandem/experiments/internal/report"
	"tandem/runtime/probe"
	"tandem/sim/cost"
)

// results holds all runs.
type results []*settingResult

// settingResult holds the runs of a setting.
type settingResult struct {
	Setting setting       `json:"setting"`
	Rows    int           `json:"train_rows"`
	Modes   []*modeResult `json:"modes"` // sync first
	Work    []workTime    `json:"work"`  // of the first round
	// MessageSeconds is what cores work for a message, by round.
	MessageSeconds []float64 `json:"message_s"`
}

// modeResult holds the runs of a mode, a pair per round.
type modeResult struct {
	Mode      string        `json:"mode"`
	Real      []*paired.Run `json:"real"`
	Simulated []*paired.Run `json:"simulated"`
}

// workTime is the mean time of a kind of work in the sync run.
type workTime struct {
	Kind    string  `json:"kind"`
	Samples int32   `json:"samples,omitempty"` // 0: of any size
	Seconds float64 `json:"time_s"`
}

// measurement is a plan that is being carried out.
type measurement struct {
	*plan
	backend backend.Backend
	log     *report.Log
	meter   *report.Meter
}

// measure runs every round of every setting.
func (p *plan) measure(ctx context.Context, o report.Options) (r results, err error) {
	log, err := o.NewLog("simvsreal.csv", header()...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := log.Close(); err == nil {
			err = closed
		}
	}()
	m := &measurement{p, o.Backend, log, &report.Meter{
		Total: len(p.Settings) * p.Rounds * 2 * len(p.Modes), Report: o.Progress,
	}}
	for i := range p.Settings {
		s := &settingResult{Setting: p.Settings[i]}
		for _, mode := range p.Modes {
			s.Modes = append(s.Modes, &modeResult{Mode: mode})
		}
		for round := range p.Rounds {
			if err := m.round(ctx, round, s); err != nil {
				return nil, fmt.Errorf("simvsreal: %s: round %d: %w", s.Setting.Name, round+1, err)
			}
		}
		r = append(r, s)
	}
	return r, nil
}

// round measures the machine, then trains in every mode for real, and then simulates every mode. Sync runs
// first, because it calibrates the simulator; the order of the others rotates from round to round.
func (m *measurement) round(ctx context.Context, round int, s *settingResult) error {
	seed := m.Seed + uint64(round)
	m.meter.Show(0, 1, "measuring the machine")
	machine, err := probe.Run()
	if err != nil {
		return err
	}
	few, err := datasets.Open(m.DataSet.WithSeed(seed), "")
	if err != nil {
		return err
	}
	setup := func(mode string, data *datasets.Dataset) *paired.Setup {
		return &paired.Setup{Job: m.job(&s.Setting, mode, seed), Data: data, Backend: m.backend}
	}
	if s.Rows == 0 {
		if s.Rows, err = m.rows(ctx, setup(job.Sync, few)); err != nil {
			return err
		}
	}
	whole := m.DataSet.WithSeed(seed)
	whole.Synthetic.TrainRows = s.Rows
	m.meter.Show(0, 1, "generating rows")
	data, err := datasets.Open(whole, "")
	if err != nil {
		return err
	}
	var hardware *cost.Hardware
	for i := range m.Modes {
		at := i
		if others := len(m.Modes) - 1; i > 0 {
			at = 1 + (i-1+round)%others
		}
		mode := s.Modes[at]
		one := setup(mode.Mode, data)
		show := func(done, steps int) { m.meter.Show(done, steps, s.Setting.Name+", "+mode.Mode) }
		calibration := paired.NewCalibration() // in every run, so that it slows all of them equally
		run, err := one.RunReal(ctx, show, calibration)
		if err != nil {
			return err
		}
		if mode.Mode == job.Sync {
			var overhead unit.Tick
			hardware, overhead, err = calibrated(ctx, setup(job.Sync, few), calibration, run, &machine)
			if err != nil {
				return err
			}
			s.MessageSeconds = append(s.MessageSeconds, overhead.Seconds())
			if round == 0 {
				s.Work = workTimes(calibration.Recorded(&one.Job))
			}
		}
		if err := m.add(s, mode.Mode, "real", seed, run, &mode.Real); err != nil {
			return err
		}
	}
	for _, mode := range s.Modes {
		m.meter.Show(0, 1, s.Setting.Name+", "+mode.Mode+", simulated")
		run, err := setup(mode.Mode, data).RunSimulated(ctx, hardware)
		if err != nil {
			return fmt.Errorf("%s: %w", mode.Mode, err)
		}
		if err := m.add(s, mode.Mode, "simulated", seed, run, &mode.Simulated); err != nil {
			return err
		}
	}
	m.meter.Show(0, 1, "round done")
	return nil
}

// add appends a run to the results and to the log.
func (m *measurement) add(
	s *settingResult, mode, kind string, seed uint64, run *paired.Run, to *[]*paired.Run,
) error {
	*to = append(*to, run)
	m.meter.Done++
	return m.log.Add(line(s.Setting.Name, mode, kind, seed, run)...)
}

// rows returns the number of rows that makes a run of the setup long enough.
func (m *measurement) rows(ctx context.Context, one *paired.Setup) (int, error) {
	m.meter.Show(0, 1, "warming up")
	run, err := one.RunReal(ctx, nil, paired.NewCalibration())
	if err != nil {
		return 0, err
	}
	return max(m.DataSet.Data.Synthetic.TrainRows, int(math.Ceil(m.RunSeconds*run.Throughput))), nil
}

// calibrated returns this machine as a cluster, by a real sync run, and what cores work for a message. A
// simulated sync run counts the messages.
func calibrated(
	ctx context.Context, sync *paired.Setup, c *paired.Calibration, real *paired.Run, machine *probe.Result,
) (*cost.Hardware, unit.Tick, error) {
	counted, err := sync.RunSimulated(ctx, c.Cluster(&sync.Job, machine, 0))
	if err != nil {
		return nil, 0, err
	}
	overhead := c.Overhead(real, counted.Messages)
	return c.Cluster(&sync.Job, machine, overhead), overhead, nil
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
	return []string{"setting", "mode", "kind", "seed", "step_s", "cpu_s", "samples_per_s", "ge_s", "fc_s",
		"bc_s", "ds_s", "peg_s", "own_mean_steps", "cross_mean_steps", "dense_mean_updates", "auc",
		"log_loss_nats"}
}

// line returns a run in these columns.
func line(setting, mode, kind string, seed uint64, r *paired.Run) []string {
	line := []string{
		setting, mode, kind, strconv.FormatUint(seed, 10),
		report.Number(r.StepSeconds), report.Number(r.CPUSeconds), report.Number(r.Throughput),
	}
	for _, s := range r.Stages.All() {
		line = append(line, report.Number(s))
	}
	return append(line, report.Number(r.Staleness.Own.Mean()), report.Number(r.Staleness.Cross.Mean()),
		report.Number(r.Staleness.Dense.Mean()), report.Number(r.AUC), report.Number(r.LogLoss))
}
