package cluster

import (
	"fmt"

	"tandem/algo/role"
	"tandem/algo/unit"
)

// audit checks that roles and driver keep to the contract of package role:
// credit windows, ownership of handles, conservation of bytes, a clock that
// never goes back.
type audit struct {
	world  *world
	credit []*role.Credit
	held   []map[role.Handle]bool
	now    unit.Tick
}

func newAudit(w *world) *audit {
	a := &audit{world: w}
	for range w.roles {
		a.credit = append(a.credit, role.NewCredit(w.config))
		a.held = append(a.held, map[role.Handle]bool{})
	}
	return a
}

// before is told of an input before a role is.
func (a *audit) before(i int32, in role.Input) error {
	now := a.world.clock.Now()
	if now < a.now {
		return fmt.Errorf("cluster: the clock goes back from %v to %v", a.now, now)
	}
	a.now = now
	switch in.Kind {
	case role.Received:
		a.credit[i].Received(in.Message)
	case role.WorkDone:
		for _, h := range role.Products(in.Work) {
			a.held[i][h] = true
		}
	}
	return nil
}

// after is told of every output.
func (a *audit) after(i int32, in role.Input, o *role.Output) error {
	switch o.Kind {
	case role.Send:
		return a.credit[i].Sent(o.Message)
	case role.Keep:
		a.held[i][role.PayloadHandle(in.Message)] = true
	case role.Release:
		if !a.held[i][o.Handle] {
			return fmt.Errorf("cluster: %v releases %+v, which it does not hold", a.world.roles[i].Address(), o.Handle)
		}
		delete(a.held[i], o.Handle)
	}
	return nil
}

// end checks what must hold when all is over.
func (a *audit) end() error {
	for i, held := range a.held {
		if len(held) > 0 {
			return fmt.Errorf("cluster: %v holds %d handles at the end", a.world.roles[i].Address(), len(held))
		}
	}
	if w := a.world; w.sent != w.received {
		return fmt.Errorf("cluster: %d bytes sent, %d received", w.sent, w.received)
	}
	if n := a.world.net.Flows(); n > 0 {
		return fmt.Errorf("cluster: %d flows at the end", n)
	}
	return nil
}
