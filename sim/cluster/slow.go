package cluster

import (
	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// CheckSlow reports the first slow role that a training does not have at a position of the ranges.
func CheckSlow(h *cost.Hardware, t job.Job) error {
	cfg, err := Roles(h, &t)
	if err != nil {
		return err
	}
	return t.Slow.ValidateRoles(cfg)
}

// Roles returns how many roles of each kind a training has on hardware, and the rule of its mode.
func Roles(h *cost.Hardware, t *job.Job) (*role.Config, error) {
	rule, err := t.Rule()
	if err != nil {
		return nil, err
	}
	cfg := &role.Config{Ranks: int32(t.Roles.Ranks), Rule: rule,
		EmbeddingWorkers: int32(h.EmbeddingWorkers.Count.Mid * h.EmbeddingWorkers.PerHost),
		EmbeddingPSs:     int32(h.EmbeddingPSs.Count.Mid * h.EmbeddingPSs.PerHost)}
	if rule.Dense().DensePSs {
		cfg.DensePSs = make([]unit.Bytes, t.Roles.DensePSs)
	}
	return cfg, nil
}

// lag lengthens a stage of a slow role's work on a host that has just ended, and reports whether it did. The
// stage lasts as many times as long as the role is slow, from when the work had its first core. It uses no
// core while it lags. On a measured machine the timer that ends it is late. As in the runtime, the excess of
// a wait is taken from the next one of the lane.
func (w *simulation) lag(i int32, on resource) bool {
	t := &w.tasks[i]
	lags := t.kind == working && t.onHost
	t.onHost = false
	if !lags || w.instances[t.role].slow == 1 {
		return false
	}
	n := &w.instances[t.role]
	now, owed := w.clock.Now(), &n.owed[t.work.Kind.Lane()]
	*owed += (now - t.began).Scale(n.slow - 1)
	if *owed <= 0 {
		return false
	}
	late := w.prices.TimerLate()
	w.waitUntil(i, now+*owed+late, on)
	*owed = -late
	return true
}

// slowness returns how many times as long the kernels of a piece of work, and their launches, take.
func (w *simulation) slowness(k role.Work) float64 {
	return w.instances[w.roleIndex(msg.Address{Role: msg.NNWorker, Index: k.Rank})].slow
}
