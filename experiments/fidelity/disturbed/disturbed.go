// Package disturbed measures how well the simulator predicts this machine where modes differ: with messages
// that are late, and with roles that are slow.
//
// A sync run measures the time of every piece of work. The simulator then predicts every mode under every
// disturbance, and the same job runs for real. Both have the same rows and the same late messages,
// because the fate of a message is a pure function of its name. The real runs are short and take turns, so
// that a machine that gets slower does so for all of them.
package disturbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/experiments/internal/paired"
	"tandem/experiments/internal/report"
	"tandem/runtime/probe"
	"tandem/sim/cost"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "disturbed",
		Question: "How well does the simulator predict late messages and slow roles?",
		Help: `Each round has one seed. It measures the time of every piece of work in a sync run,
gives the means to the simulator, and then runs sync, hybrid, async-ps and
async-average under every disturbance, real and simulated:

  delays       every message is late by 0 to 2, 10 or 40 ms
  slow roles   one NN worker, one embedding worker or one embedding PS is slower
               than the other roles. These wait too, 7 times as long as they work,
               so that it is not the cores that bind, which all roles share

Delays are judged by the time of a step, beside a null model by which every mode
takes the real time of sync with the same delay. Slow roles are judged by the share
of the throughput that is lost, beside a null model without loss. Skill is the
median error divided by that of the null model: 0 is perfect, 1 is no better.

The machine should be idle. A round takes about fifteen seconds; the quick version
has three, the full one ten.`,
		QuickTime: time.Minute,
	}, func(o report.Options) (*plan, error) {
		p := newPlan(o.Seed, 10)
		if o.Quick {
			p.Rounds = 3
		}
		return p, nil
	}, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first run.
type plan struct {
	Seed         uint64         `yaml:"seed"` // of the first round
	Rounds       int            `yaml:"rounds"`
	Job          job.Job        `yaml:"job"` // what all cells share
	DataSet      report.DataSet `yaml:"data"`
	Modes        []string       `yaml:"modes"` // sync first
	Disturbances []disturbance  `yaml:"disturbances"`
}

// disturbance is what all modes are put under.
type disturbance struct {
	Name  string      `yaml:"name" json:"name"`
	Base  bool        `yaml:"base,omitempty" json:"base,omitempty"`   // calibrates, up to the next base
	Steps int         `yaml:"steps" json:"steps"`                     // of a run
	Delay unit.Tick   `yaml:"delay,omitempty" json:"delay,omitempty"` // each message is late by up to this
	Slow  fault.Slows `yaml:"slow,omitempty" json:"-"`
}

// retry is longer than messages are late: no role asks twice.
const retry = 10 * unit.Second

// newPlan returns the plan of a number of rounds.
func newPlan(seed uint64, rounds int) *plan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 16, []int{64, 32}
	j.Training.Prefetch = 4
	j.Wire.Retry = retry
	p := &plan{Seed: seed, Rounds: rounds, Job: j, DataSet: report.Generated(0.1, 0, 500),
		Modes: []string{job.Sync, job.Hybrid, job.AsyncPS, job.AsyncAverage},
		Disturbances: []disturbance{{Name: "none", Base: true, Steps: 60},
			{Delay: 2 * unit.Millisecond, Steps: 40}, {Delay: 10 * unit.Millisecond, Steps: 24},
			{Delay: 40 * unit.Millisecond, Steps: 12}}}
	for i := range p.Disturbances[1:] {
		d := &p.Disturbances[1+i]
		d.Name = fmt.Sprintf("up to %v late", d.Delay)
	}
	all := fault.Slows{}
	for _, role := range []msg.Role{msg.DataLoader, msg.EmbeddingWorker, msg.EmbeddingPS, msg.NNWorker} {
		target := fault.SlowTarget{Role: role, Index: fault.AllInstances}
		all = append(all, fault.Slow{Role: target, Factor: base})
	}
	p.Disturbances = append(p.Disturbances, disturbance{Name: fmt.Sprintf("all roles × %g", base), Base: true,
		Steps: 40, Slow: all})
	for _, s := range []struct {
		role   msg.Role
		factor float64
	}{{msg.NNWorker, 3}, {msg.EmbeddingWorker, 6}, {msg.EmbeddingPS, 6}} {
		at := fault.SlowTarget{Role: s.role, Index: 1}
		p.Disturbances = append(p.Disturbances, disturbance{Name: fmt.Sprintf("%v × %g more", at, s.factor),
			Steps: 40, Slow: append(slices.Clone(all), fault.Slow{Role: at, Factor: base * s.factor})})
	}
	return p
}

// base is how many times as long the work of all roles takes where one is slower still.
const base = 8.0

// hash returns a digest of what stored results depend on.
func (p *plan) hash() (string, error) {
	text, err := yaml.Marshal(p)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// job returns the job of a mode under a disturbance. All modes merge gradients by rank, which asynchronous
// modes require, so that sync does the same work.
func (p *plan) job(d *disturbance, mode string, seed uint64) job.Job {
	j := p.Job.InMode(mode)
	j.Training.Merge, j.Training.Seed, j.Slow = job.MergeRank, seed, d.Slow
	if d.Delay > 0 {
		j.Faults = fault.Plan{Seed: seed, Delay: fault.Delay{Rate: 1, Max: d.Delay}}
	}
	return j
}

// results are the cells by disturbance and mode, in the order of the plan.
type results struct {
	Hash  string  `json:"plan_hash"`
	Cells []*cell `json:"cells"`
}

// cell holds the seconds of a step of a mode under a disturbance, by round.
type cell struct {
	Disturbance disturbance `json:"disturbance"`
	Slow        string      `json:"slow,omitempty"`
	Mode        string      `json:"mode"`
	Real        []float64   `json:"real_step_s"`
	Simulated   []float64   `json:"simulated_step_s"`

	// The latest real run.
	run         *paired.Run
	calibration *paired.Calibration
}

// measurement is a plan that is being carried out.
type measurement struct {
	*plan
	backend backend.Backend
	meter   report.Meter
	results *results
}

// measure runs every round.
func (p *plan) measure(ctx context.Context, o report.Options) (*results, error) {
	hash, err := p.hash()
	if err != nil {
		return nil, err
	}
	r := &results{Hash: hash}
	for _, d := range p.Disturbances {
		for _, mode := range p.Modes {
			c := &cell{Disturbance: d, Mode: mode}
			if len(d.Slow) > 0 {
				c.Slow = d.Slow.String()
			}
			r.Cells = append(r.Cells, c)
		}
	}
	m := &measurement{p, o.Backend, report.Meter{Total: p.Rounds * 2 * len(r.Cells), Unit: "runs",
		Report: o.Progress}, r}
	for n := range p.Rounds {
		if err := m.round(ctx, n); err != nil {
			return nil, fmt.Errorf("disturbed: round %d: %w", n+1, err)
		}
	}
	return r, nil
}

// round runs all cells for real, and then simulated. The order of the real runs goes backward in every second
// round.
func (m *measurement) round(ctx context.Context, n int) error {
	seed := m.Seed + uint64(n)
	machine, err := probe.Run()
	if err != nil {
		return err
	}
	cells := m.results.Cells
	for i := range cells {
		c := cells[i]
		if n%2 == 1 {
			c = cells[len(cells)-1-i]
		}
		setup, err := m.setup(&c.Disturbance, c.Mode, seed)
		if err != nil {
			return err
		}
		m.meter.Show(0, 1, c.name())
		c.calibration = paired.NewCalibration() // of every run, so that it slows all of them equally
		if c.run, err = setup.RunReal(ctx, nil, c.calibration); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		c.Real = append(c.Real, c.run.StepSeconds)
		m.meter.Done++
	}
	var hardware *cost.Hardware
	for i, c := range cells {
		if c.Disturbance.Base && i%len(m.Modes) == 0 {
			if hardware, err = m.hardware(ctx, c, seed, &machine); err != nil {
				return err
			}
		}
		m.meter.Show(0, 1, c.name()+", simulated")
		setup, err := m.setup(&c.Disturbance, c.Mode, seed)
		if err != nil {
			return err
		}
		simulated, err := setup.RunSimulated(ctx, hardware)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		c.Simulated = append(c.Simulated, simulated.StepSeconds)
		m.meter.Done++
	}
	return nil
}

func (c *cell) name() string { return c.Mode + ", " + c.Disturbance.Name }

// setup opens the data of a run. Rows of a seed are the same in all modes.
func (m *measurement) setup(d *disturbance, mode string, seed uint64) (*paired.Setup, error) {
	config := m.DataSet.WithSeed(seed)
	config.Synthetic.TrainRows = d.Steps * m.Job.Training.GlobalBatch
	data, err := datasets.Open(config, "")
	if err != nil {
		return nil, err
	}
	return &paired.Setup{Job: m.job(d, mode, seed), Data: data, Backend: m.backend}, nil
}

// hardware returns this machine as a cluster, by the latest run of sync under a base: its times of work, and
// what cores work beside it, shared among the messages that a simulated run counts.
func (m *measurement) hardware(ctx context.Context, sync *cell, seed uint64, machine *probe.Result) (
	*cost.Hardware, error) {
	setup, err := m.setup(&sync.Disturbance, sync.Mode, seed)
	if err != nil {
		return nil, err
	}
	counted, err := setup.RunSimulated(ctx, sync.calibration.Cluster(&setup.Job, machine, 0))
	if err != nil {
		return nil, err
	}
	overhead := sync.calibration.Overhead(sync.run, counted.Messages)
	return sync.calibration.Cluster(&setup.Job, machine, overhead), nil
}
