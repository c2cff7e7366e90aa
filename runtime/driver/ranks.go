package driver

import (
	"context"
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/protocol/role"
)

// RankSteps returns, during Run, the number of steps that every rank of this process has made at least; 0 if
// it has none.
func (p *Local) RankSteps() (steps int) {
	for i, n := range p.run.ranks {
		if made := int(n.applied.Load()); i == 0 || made < steps {
			steps = made
		}
	}
	return steps
}

// CopyRank returns, during Run, what the ranks of this process have in common, between two pieces of their
// work. They wait until it is copied. The process must have ranks, which reduce gradients in every step.
func (p *Local) CopyRank() (exec.RankState, error) {
	r := p.run
	here, copied := make(chan struct{}, len(r.ranks)), make(chan struct{})
	for _, n := range r.ranks {
		n.lanes[role.DenseApply.Lane()].tasks.push(task{read: func() {
			here <- struct{}{}
			select {
			case <-copied:
			case <-r.ended.Done():
			}
		}})
	}
	defer close(copied)
	for range r.ranks {
		select {
		case <-here:
		case <-r.ended.Done():
			return exec.RankState{}, context.Cause(r.ended)
		}
	}
	return exec.CopyRank(r.executor.Model())
}

// SetRank gives the ranks of this process, before Run, what a rank of another process has: the process is
// back, and that one has not crashed. Options.Incarnation must be above 0.
func (p *Local) SetRank(s exec.RankState) error {
	if s.Steps < 0 || s.Steps > int(p.run.cfg.Steps) {
		return fmt.Errorf("driver: a rank has made %d of %d steps", s.Steps, p.run.cfg.Steps)
	}
	p.run.fed.Skip(int32(s.Steps))
	return exec.SetRank(p.run.executor.Model(), s)
}
