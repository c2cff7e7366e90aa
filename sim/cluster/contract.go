package cluster

import (
	"fmt"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// contractCheck checks that roles and driver keep the contract of package role: admissible messages, credit
// windows, ownership of handles, conservation of bytes, a clock that never goes back.
type contractCheck struct {
	simulation *simulation
	credit     []*role.Credit
	held       []map[role.Handle]bool
	now        unit.Tick
}

func newContractCheck(w *simulation) *contractCheck {
	a := &contractCheck{simulation: w}
	for range w.instances {
		a.credit = append(a.credit, role.NewCredit(w.config))
		a.held = append(a.held, map[role.Handle]bool{})
	}
	return a
}

// checkInput checks an input before the role takes it.
func (a *contractCheck) checkInput(i int32, in *role.Input) error {
	now := a.simulation.clock.Now()
	if now < a.now {
		return fmt.Errorf("cluster: the clock goes back from %v to %v", a.now, now)
	}
	a.now = now
	if in.Kind == role.Received {
		a.credit[i].Received(in.Message)
	}
	return nil
}

// checkSend checks a message that a role sends.
func (a *contractCheck) checkSend(i int32, m msg.Message, payload role.Handle) error {
	if err := a.checkReads(i, payload); err != nil {
		return err
	}
	if err := role.Admit(a.simulation.config, m); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return a.credit[i].Sent(m)
}

// addHeld notes that a role holds a handle.
func (a *contractCheck) addHeld(i int32, h role.Handle) { a.held[i][h] = true }

// checkReads checks that a role holds what it sends or has worked on.
func (a *contractCheck) checkReads(i int32, handles ...role.Handle) error {
	for _, h := range handles {
		if h.Kind != role.NoData && !a.held[i][h] {
			return fmt.Errorf("cluster: %v reads %+v, which it does not hold", a.simulation.instances[i].at,
				h)
		}
	}
	return nil
}

// checkRelease checks that a role holds what it releases.
func (a *contractCheck) checkRelease(i int32, h role.Handle) error {
	if !a.held[i][h] {
		return fmt.Errorf("cluster: %v releases %+v, which it does not hold", a.simulation.instances[i].at, h)
	}
	delete(a.held[i], h)
	return nil
}

// resetRole notes that a role has lost all that it had.
func (a *contractCheck) resetRole(i int32) {
	a.credit[i] = role.NewCredit(a.simulation.config)
	clear(a.held[i])
}

// checkEnd checks what must hold when all is over.
func (a *contractCheck) checkEnd() error {
	for i, held := range a.held {
		if len(held) > 0 {
			return fmt.Errorf("cluster: %v holds %d handles at the end", a.simulation.instances[i].at,
				len(held))
		}
	}
	if w := a.simulation; w.sent != w.received+w.dropped {
		return fmt.Errorf("cluster: %d bytes sent, %d received, %d lost", w.sent, w.received, w.dropped)
	}
	if n := a.simulation.net.Flows(); n > 0 {
		return fmt.Errorf("cluster: %d flows at the end", n)
	}
	return nil
}
