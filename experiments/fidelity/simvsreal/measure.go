package simvsreal

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tandem/algo/exec/backend"
	"tandem/algo/histogram"
	"tandem/algo/job"
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
	Mode      string `json:"mode"`
	Real      []*run `json:"real"`
	Simulated []*run `json:"simulated"`
}

// run is a run whose staleness, by kind, can be read again from JSON.
type run struct {
	paired.Run
	Staleness map[string]staleness `json:"staleness"`
}

// staleness is a histogram: how often each value from 0 occurred. Early results have summaries alone.
type staleness struct {
	histogram.Summary
	Counts []uint64 `json:"counts,omitempty"`
}

// stalenessKinds returns the kinds of staleness, own and cross first.
func stalenessKinds() []string { return []string{"own", "cross", "inflight", "dense"} }

// newRun returns a run with its staleness.
func newRun(r *paired.Run) *run {
	made, s := &run{*r, map[string]staleness{}}, &r.Staleness
	for i, h := range []*histogram.Histogram{&s.Own, &s.Cross, &s.Inflight, &s.Dense} {
		counts := make([]uint64, h.Max()+1)
		for value, count := range h.All() {
			counts[value] = count
		}
		made.Staleness[stalenessKinds()[i]] = staleness{h.Summary(), counts}
	}
	return made
}

// workTime is the mean time of a kind of work in the sync run.
type workTime struct {
	Kind    string  `json:"kind"`
	Samples int32   `json:"samples,omitempty"` // 0: of any size
	Seconds float64 `json:"time_s"`
}

// round is what a round of a setting measures. Runs have the order of plan.Modes.
type round struct {
	Rows           int        `json:"train_rows"`
	Work           []workTime `json:"work"`
	MessageSeconds float64    `json:"message_s"`
	Real           []*run     `json:"real"`
	Simulated      []*run     `json:"simulated"`
}

// add adds a round to the results of its setting.
func (s *settingResult) add(r *round) {
	if s.Rows == 0 {
		s.Rows, s.Work = r.Rows, r.Work
	}
	s.MessageSeconds = append(s.MessageSeconds, r.MessageSeconds)
	for i, m := range s.Modes {
		m.Real, m.Simulated = append(m.Real, r.Real[i]), append(m.Simulated, r.Simulated[i])
	}
}

// measurement is a plan that is being carried out.
type measurement struct {
	*plan
	backend backend.Backend
	meter   report.Meter
}

// measure runs every round of every setting. Those that an interrupted run has ended are kept in cases.jsonl.
func (p *plan) measure(ctx context.Context, o report.Options) (r results, err error) {
	journal, err := report.OpenJournal[*round](o, "cases.jsonl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	all := len(p.Settings)*p.Rounds - len(journal.Kept)
	m := &measurement{p, o.Backend, report.Meter{Total: all * 2 * len(p.Modes), Report: o.Progress}}
	for i := range p.Settings {
		s := &settingResult{Setting: p.Settings[i]}
		for _, mode := range p.Modes {
			s.Modes = append(s.Modes, &modeResult{Mode: mode})
		}
		for n := range p.Rounds {
			if len(journal.Kept) > 0 {
				s.add(journal.Kept[0])
				journal.Kept = journal.Kept[1:]
				continue
			}
			one, err := m.round(ctx, &s.Setting, n, s.Rows)
			if err != nil {
				return nil, fmt.Errorf("simvsreal: %s: round %d: %w", s.Setting.Name, n+1, err)
			}
			if err := journal.Add(one); err != nil {
				return nil, err
			}
			s.add(one)
		}
		r = append(r, s)
	}
	return r, nil
}

// round measures the machine, then trains in every mode for real, and then simulates every mode. Sync runs
// first, because it calibrates the simulator; the order of the others rotates from round to round. Without a
// number of rows it measures how many make a run long enough.
func (m *measurement) round(ctx context.Context, s *setting, n, rows int) (*round, error) {
	seed := m.Seed + uint64(n)
	m.meter.Show(0, 1, "measuring the machine")
	machine, err := probe.Run()
	if err != nil {
		return nil, err
	}
	few, err := datasets.Open(m.DataSet.WithSeed(seed), "")
	if err != nil {
		return nil, err
	}
	setup := func(mode string, data *datasets.Dataset) *paired.Setup {
		return &paired.Setup{Job: m.job(s, mode, seed), Data: data, Backend: m.backend}
	}
	if rows == 0 {
		m.meter.Show(0, 1, "warming up")
		warm, err := setup(job.Sync, few).RunReal(ctx, nil, paired.NewCalibration())
		if err != nil {
			return nil, err
		}
		rows = max(m.DataSet.Data.Synthetic.TrainRows, int(math.Ceil(m.RunSeconds*warm.Throughput)))
	}
	whole := m.DataSet.WithSeed(seed)
	whole.Synthetic.TrainRows = rows
	m.meter.Show(0, 1, "generating rows")
	data, err := datasets.Open(whole, "")
	if err != nil {
		return nil, err
	}
	r := &round{Rows: rows, Real: make([]*run, len(m.Modes))}
	var hardware *cost.Hardware
	for i := range m.Modes {
		at := i
		if others := len(m.Modes) - 1; i > 0 {
			at = 1 + (i-1+n)%others
		}
		mode := m.Modes[at]
		calibration := paired.NewCalibration() // in every run, so that it slows all of them equally
		show := func(done, steps int) { m.meter.Show(done, steps, s.Name+", "+mode) }
		real, err := setup(mode, data).RunReal(ctx, show, calibration)
		if err != nil {
			return nil, err
		}
		if mode == job.Sync {
			if hardware, err = r.calibrate(ctx, setup(mode, few), calibration, real, &machine); err != nil {
				return nil, err
			}
		}
		r.Real[at] = newRun(real)
		m.meter.Done++
	}
	for _, mode := range m.Modes {
		m.meter.Show(0, 1, s.Name+", "+mode+", simulated")
		simulated, err := setup(mode, data).RunSimulated(ctx, hardware)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", mode, err)
		}
		r.Simulated = append(r.Simulated, newRun(simulated))
		m.meter.Done++
	}
	m.meter.Show(0, 1, "round done")
	return r, nil
}

// calibrate returns this machine as a cluster, by a real sync run, and sets the times of work. A simulated
// sync run counts the messages, among which what cores work beside is shared.
func (r *round) calibrate(
	ctx context.Context, sync *paired.Setup, c *paired.Calibration, real *paired.Run, machine *probe.Result,
) (*cost.Hardware, error) {
	counted, err := sync.RunSimulated(ctx, c.Cluster(&sync.Job, machine, 0))
	if err != nil {
		return nil, err
	}
	overhead := c.Overhead(real, counted.Messages)
	r.MessageSeconds = overhead.Seconds()
	recorded := c.Recorded(&sync.Job)
	for _, w := range recorded.Work {
		r.Work = append(r.Work, workTime{w.Kind.String(), w.Samples, w.Time.Seconds()})
	}
	for bucket, t := range recorded.Reduce {
		r.Work = append(r.Work, workTime{Kind: fmt.Sprintf("reduce bucket %d", bucket), Seconds: t.Seconds()})
	}
	return c.Cluster(&sync.Job, machine, overhead), nil
}

// values returns a quantity of runs.
func values(runs []*run, quantity func(r *run) float64) []float64 {
	list := make([]float64, len(runs))
	for i, r := range runs {
		list[i] = quantity(r)
	}
	return list
}

// sync returns the runs that calibrate. The other modes are predicted.
func (s *settingResult) sync() *modeResult { return s.Modes[0] }
