// Package processes compares one training in this process with the same training in several processes of
// this machine: one process for all PSs and one for the other roles, and a process for every role.
package processes

import (
	"fmt"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "processes",
		Question: "How much of its rate does a training keep in processes of this machine?",
		Help: `The same training runs in turns

  in-process    with all roles in this process
  colocated     in one process for all PSs and one for all other roles
  apart         in a process for every role, as cmd/train --processes starts it

in modes hybrid and sync, with 2 and 4 ranks and batches of 1,024 and 8,192 of
400,000 generated rows of Criteo's shape; network 64-32. In sync, the trained bits
must be the same in all three; in hybrid, the losses on test rows must agree.

A case has at least 10 rounds, more if --seeds is more; the quick version has 3 and
fewer cases and rows. The share of the in-process rate is taken in every round, and
the median counts. Goals: 85 % colocated, 50 % apart, and at most 40 context
switches a step with 4 ranks. The machine should be idle.

Context switches and CPU time are read in /proc, and left out on systems without
it. The full version takes about half an hour on two cores.`,
		QuickTime: 120 * time.Second,
	}, newPlan, (*plan).measure, (*plan).report)
}

// inProcess is the way of a training with all roles in this process. The other ways are placements.
const inProcess = "in-process"

// ways returns how a training runs, in the order of tables. The shares are of the first.
func ways() []string { return []string{inProcess, job.Colocated, job.Apart} }

// Goals for the share of the in-process rate and for context switches a step.
//
// Source: goals that were set for this comparison before its first run.
const (
	goalColocated     = 0.85
	goalApart         = 0.5
	goalSwitches      = 40.0
	goalSwitchesRanks = 4 // the number of ranks that goalSwitches is for
)

// goalShare returns the least share of the in-process rate that is ok.
func goalShare(way string) float64 {
	return map[string]float64{job.Colocated: goalColocated, job.Apart: goalApart}[way]
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed   uint64        `yaml:"seed"`
	Rounds int           `yaml:"rounds"`
	Rows   job.Synthetic `yaml:"rows"`
	Roles  job.Roles     `yaml:"roles"` // but for the number of ranks
	Cases  []testCase    `yaml:"cases"`
}

// testCase is a training.
type testCase struct {
	Mode  string `json:"mode" yaml:"mode"`
	Ranks int    `json:"ranks" yaml:"ranks"`
	Batch int    `json:"batch" yaml:"batch"` // samples of all ranks
}

// String returns the name of a case.
func (c testCase) String() string {
	return fmt.Sprintf("%s, %d ranks, batch %d", c.Mode, c.Ranks, c.Batch)
}

// The least number of rounds of the full version, and the number of the quick one.
const (
	roundsFull  = 10
	roundsQuick = 3
)

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) (*plan, error) {
	p := &plan{Seed: o.Seed, Rounds: max(roundsFull, o.Seeds), Roles: job.Default().Roles}
	train, ranks := 400_000, []int{2, 4}
	if o.Quick {
		p.Rounds, train, ranks = roundsQuick, 200_000, []int{4}
	}
	p.Rows = job.Synthetic{Preset: job.PresetCriteo, Seed: o.Seed, TrainRows: train, TestRows: 4096}.Resolve()
	for _, mode := range []string{job.Hybrid, job.Sync} {
		for _, n := range ranks {
			for _, batch := range []int{1024, 8192} {
				p.Cases = append(p.Cases, testCase{mode, n, batch})
			}
		}
	}
	return p, nil
}

// job returns the job of a case, run in a way.
func (p *plan) job(c testCase, way string) (job.Job, error) {
	j := job.Default()
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &p.Rows}
	j.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 16, Top: []int{64, 32},
		Activation: model.ReLU}
	j.Training.Seed, j.Training.Mode, j.Training.GlobalBatch = p.Seed, c.Mode, c.Batch
	j.Roles = p.Roles
	j.Roles.Ranks, j.Training.Groups = c.Ranks, c.Ranks // more groups would only add sums
	if way != inProcess {
		var err error
		if j.Roles.Placement, err = job.ParsePlacement(way); err != nil {
			return j, err
		}
	}
	return j, j.Validate()
}
