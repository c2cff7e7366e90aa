// Package simvsreal measures how well the simulator predicts this machine.
//
// One sync run measures the time of every piece of work. The means are the times of work of the simulated
// machine. The simulator then predicts every mode, and the same job runs for real. Nothing is fitted to the
// predicted modes: their step times, stages and staleness follow from the roles, the number of cores and the
// times of work in sync. A null model, by which every mode takes as long as sync, stands beside. Settings of
// the job make different resources bind.
package simvsreal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/datasets"
	"tandem/experiments/internal/paired"
	"tandem/experiments/internal/report"
	"tandem/runtime/probe"
	"tandem/sim/cost"
)

// New returns the experiment.
func New() *report.Experiment {
	flags := report.NewModeFlags()
	return report.Study(report.Experiment{
		Name:     "simvsreal",
		Question: "How well does the simulator predict training on this machine?",
		Help: `Each round has one seed. In every setting of the job, it measures the time of every
piece of work in one sync run, gives the means to the simulator and trains the same
job in every mode, real and simulated, on the same rows from the same initial
values. The order of the real runs rotates from round to round. Compares

  step time and throughput   within max(10 %, 2 × the spread of the real runs),
                             and beside a null model: every mode takes the time
                             of sync
  stage times                medians of GE, FC, BC, DS and PEG
  staleness                  histograms, by their Wasserstein distance
  AUC and log loss           on the test rows

The settings change the network, the batch, the rows, the ranks and the servers.
The stages of a batch are GE (get embeddings), FC (forward), BC (backward), DS
(dense synchronisation) and PEG (put embedding gradients). The same code measures
real and simulated runs, from the events that the roles record. The simulator uses
the times of work and the CPU time of sync, but not its step time, and nothing of
the other modes.

The machine should be idle. --modes chooses the modes; sync is always among them,
and sequential, which has no roles, never. The quick version has two settings, four
modes and at most three rounds. A run takes at least 2 s, the full version about
half an hour.

` + job.ModeSettingsHelp(),
		QuickTime: 110 * time.Second,
		AddFlags:  flags.AddFlags,
	}, func(o report.Options) (*plan, error) {
		p := newPlan(50_000, 50_000)
		p.Seed, p.Rounds = o.Seed, o.Seeds
		if o.Quick {
			p.DataSet, p.Rounds = report.Generated(0.1, 50_000, 20_000), min(o.Seeds, 3)
			p.Settings = p.Settings[:2]
			p.Modes = []string{job.Sync, job.Hybrid, job.AsyncPS, job.AsyncAverage} // which differ most
		}
		p.RunSeconds = runSeconds
		p.Modes = slices.DeleteFunc(flags.With(job.Sync, p.Modes), sequential)
		var err error
		p.ModeSettings, err = flags.Settle(&p.Job, p.Modes)
		return p, err
	}, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first run.
type plan struct {
	Seed     uint64         `yaml:"seed"` // of the first round
	Rounds   int            `yaml:"rounds"`
	Job      job.Job        `yaml:"job"`  // what all settings and modes share
	DataSet  report.DataSet `yaml:"data"` // with the least number of training rows
	Settings []setting      `yaml:"settings"`
	Modes    []string       `yaml:"modes"` // sync first
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
	// RunSeconds is the least time of a sync run; the number of rows follows from it, for all modes.
	RunSeconds float64 `yaml:"run-s"`
}

// runSeconds is the least time of a sync run, of which the pauses of the garbage collector and of a busy
// machine are a small part.
const runSeconds = 2

// newPlan returns a plan for all settings, and for all modes except sequential, which has no roles.
func newPlan(trainRows, testRows int) *plan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 16, []int{64, 32}
	j.Model.Optimizer.Rate, j.Rows.Optimizer.Rate = 0.003, 0.1
	j.Training.Prefetch = 4
	return &plan{
		Job: j, DataSet: report.Generated(0.1, trainRows, testRows), Settings: settings(),
		Modes: slices.DeleteFunc(job.Modes(), sequential),
	}
}

func sequential(mode string) bool { return mode == job.Sequential }

// setting is a change of the job that makes another resource bind. Zero fields keep those of the job.
type setting struct {
	Name             string `yaml:"name" json:"name"`
	Top              []int  `yaml:"top,omitempty" json:"top,omitempty"`
	Dim              int    `yaml:"embedding-dim,omitempty" json:"embedding_dim,omitempty"`
	Batch            int    `yaml:"global-batch,omitempty" json:"global_batch,omitempty"`
	Ranks            int    `yaml:"ranks,omitempty" json:"ranks,omitempty"`
	EmbeddingWorkers int    `yaml:"embedding-workers,omitempty" json:"embedding_workers,omitempty"`
	EmbeddingPSs     int    `yaml:"embedding-pss,omitempty" json:"embedding_pss,omitempty"`
}

// settings returns all settings, the job itself first and the one that differs most from it next.
func settings() []setting {
	return []setting{
		{Name: "as it is"},
		{Name: "large network", Top: []int{512, 256, 128}},
		{Name: "small batches", Batch: 128},
		{Name: "wide rows", Dim: 128},
		{Name: "many servers", EmbeddingWorkers: 4, EmbeddingPSs: 8},
		{Name: "many ranks", Ranks: 8},
	}
}

// job returns the job of a setting and a mode under a seed. All modes merge gradients by rank, which
// asynchronous modes require, so that sync does the same work.
func (p *plan) job(s *setting, mode string, seed uint64) job.Job {
	j := p.Job
	if s.Top != nil {
		j.Model.Top = s.Top
	}
	j.Model.EmbeddingDim = cmp.Or(s.Dim, j.Model.EmbeddingDim)
	j.Training.GlobalBatch = cmp.Or(s.Batch, j.Training.GlobalBatch)
	j.Roles.Ranks = cmp.Or(s.Ranks, j.Roles.Ranks)
	j.Roles.EmbeddingWorkers = cmp.Or(s.EmbeddingWorkers, j.Roles.EmbeddingWorkers)
	j.Roles.EmbeddingPSs = cmp.Or(s.EmbeddingPSs, j.Roles.EmbeddingPSs)
	j = j.InMode(mode)
	j.Training.Merge, j.Training.Seed = job.MergeRank, seed
	return j
}

type results []*settingResult

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

// measurement is a plan that is being carried out.
type measurement struct {
	*plan
	backend backend.Backend
	meter   report.Meter
}

// measure runs every round of every setting. Settings that an interrupted run has ended are kept in
// cases.jsonl.
func (p *plan) measure(ctx context.Context, o report.Options) (r results, err error) {
	journal, err := report.OpenJournal[*settingResult](o, "cases.jsonl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	r = journal.Kept
	left := p.Settings[len(r):]
	m := &measurement{p, o.Backend,
		report.Meter{Total: len(left) * p.Rounds * 2 * len(p.Modes), Report: o.Progress}}
	for _, setting := range left {
		s := &settingResult{Setting: setting}
		for _, mode := range p.Modes {
			s.Modes = append(s.Modes, &modeResult{Mode: mode})
		}
		for n := range p.Rounds {
			if err := m.round(ctx, n, s); err != nil {
				return nil, fmt.Errorf("simvsreal: %s: round %d: %w", setting.Name, n+1, err)
			}
		}
		if err := journal.Add(s); err != nil {
			return nil, err
		}
		r = append(r, s)
	}
	return r, nil
}

// round measures the machine, then trains in every mode for real, and then simulates every mode. Sync runs
// first, because it calibrates the simulator; the order of the others rotates from round to round. The first
// round measures how many rows make a run long enough.
func (m *measurement) round(ctx context.Context, n int, s *settingResult) error {
	seed := m.Seed + uint64(n)
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
	whole := m.DataSet.WithSeed(seed)
	if s.Rows == 0 {
		m.meter.Show(0, 1, "warming up")
		warm, err := setup(job.Sync, few).RunReal(ctx, nil, paired.NewCalibration())
		if err != nil {
			return err
		}
		s.Rows = max(whole.Synthetic.TrainRows, int(math.Ceil(m.RunSeconds*warm.Throughput)))
	}
	whole.Synthetic.TrainRows = s.Rows
	m.meter.Show(0, 1, "generating rows")
	data, err := datasets.Open(whole, "")
	if err != nil {
		return err
	}
	var hardware *cost.Hardware
	for i := range s.Modes {
		mode := s.Modes[i]
		if others := len(s.Modes) - 1; i > 0 {
			mode = s.Modes[1+(i-1+n)%others]
		}
		calibration := paired.NewCalibration() // in every run, so that it slows all of them equally
		show := func(done, steps int) { m.meter.Show(done, steps, s.Setting.Name+", "+mode.Mode) }
		real, err := setup(mode.Mode, data).RunReal(ctx, show, calibration)
		if err != nil {
			return err
		}
		if i == 0 {
			hardware, err = s.calibrate(ctx, setup(job.Sync, few), calibration, real, &machine)
			if err != nil {
				return err
			}
		}
		mode.Real = append(mode.Real, newRun(real))
		m.meter.Done++
	}
	for _, mode := range s.Modes {
		m.meter.Show(0, 1, s.Setting.Name+", "+mode.Mode+", simulated")
		simulated, err := setup(mode.Mode, data).RunSimulated(ctx, hardware)
		if err != nil {
			return fmt.Errorf("%s: %w", mode.Mode, err)
		}
		mode.Simulated = append(mode.Simulated, newRun(simulated))
		m.meter.Done++
	}
	m.meter.Show(0, 1, "round done")
	return nil
}

// calibrate returns this machine as a cluster, by a real sync run. A simulated sync run counts the messages,
// among which what cores work beside is shared.
func (s *settingResult) calibrate(
	ctx context.Context, sync *paired.Setup, c *paired.Calibration, real *paired.Run, machine *probe.Result,
) (*cost.Hardware, error) {
	counted, err := sync.RunSimulated(ctx, c.Cluster(&sync.Job, machine, 0))
	if err != nil {
		return nil, err
	}
	overhead := c.Overhead(real, counted.Messages)
	s.MessageSeconds = append(s.MessageSeconds, overhead.Seconds())
	if recorded := c.Recorded(&sync.Job); s.Work == nil {
		for _, w := range recorded.Work {
			s.Work = append(s.Work, workTime{w.Kind.String(), w.Samples, w.Time.Seconds()})
		}
		for bucket, t := range recorded.Reduce {
			s.Work = append(s.Work, workTime{fmt.Sprintf("reduce bucket %d", bucket), 0, t.Seconds()})
		}
	}
	return c.Cluster(&sync.Job, machine, overhead), nil
}

func values(runs []*run, quantity func(r *run) float64) []float64 {
	list := make([]float64, len(runs))
	for i, r := range runs {
		list[i] = quantity(r)
	}
	return list
}

// sync returns the runs that calibrate. The other modes are predicted.
func (s *settingResult) sync() *modeResult { return s.Modes[0] }
