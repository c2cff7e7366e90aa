package search

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Action is one event that can happen next in a State.
type Action struct {
	kind  actionKind
	index int // of the message, lane, rank or role
}

type actionKind uint8

const (
	deliver     actionKind = iota // message index arrives
	complete                      // the first piece of work in lane index ends
	reduce                        // the first reduced bucket of rank index arrives
	lose                          // message index is lost
	duplicate                     // message index arrives, and stays in flight
	crash                         // role index crashes
	crashUnsent                   // … and what it had sent is lost
	restart                       // role index, which has crashed, starts again
	timers                        // every timer fires, as no other action is possible
	earlyTimers                   // every timer fires, although other actions are possible
	drain                         // the run is requested to end
)

// isFault reports whether an action counts towards Setting.Faults.
func (a Action) isFault() bool {
	switch a.kind {
	case lose, duplicate, crash, crashUnsent, earlyTimers:
		return true
	}
	return false
}

// Actions returns the actions that are possible in s, in a fixed order. At the end there are none.
func (s *State) Actions() []Action {
	var acts []Action
	for i := range s.inbox {
		if s.isFirst(i) {
			acts = append(acts, Action{deliver, i})
		}
	}
	for i, m := range s.members {
		for lane := range m.lanes {
			if m.lanes[lane].Len() > 0 && s.away&(1<<i) == 0 {
				acts = append(acts, Action{complete, i*role.Lanes + lane})
			}
		}
	}
	for i := range s.buckets {
		if s.buckets[i].Len() > 0 {
			acts = append(acts, Action{reduce, i})
		}
	}
	if len(acts) == 0 && s.armed&^s.away != 0 && !s.allFinished() {
		acts = append(acts, Action{timers, 0})
	}
	for i := range s.members {
		if s.away&(1<<i) != 0 && s.canReturn(i) {
			acts = append(acts, Action{restart, i})
		}
	}
	if s.set.Eager {
		if i := slices.IndexFunc(acts, s.commutes); i >= 0 {
			acts = acts[i : i+1]
		}
	}
	if s.faults < s.set.Faults {
		acts = s.appendFaults(acts)
	}
	if s.set.Drain && !s.draining && !s.allFinished() {
		acts = append(acts, Action{drain, 0})
	}
	return acts
}

// isFirst reports whether message i is the first of equal ones.
func (s *State) isFirst(i int) bool {
	return i == 0 || messageKey(&s.inbox[i]) != messageKey(&s.inbox[i-1])
}

// commutes reports whether an action leads to the same state and the same reads before and after any other
// action. An action commutes if it only advances one batch in one role. The exceptions: the rows that a PS
// reads depend on the order of lookups and puts, and the outstanding batches depend on the time of PutDone.
// In the same way the parameters that a dense PS reads depend on the order of pulls and pushes, and pulls
// depend on the times of acknowledgements and clocks.
func (s *State) commutes(a Action) bool {
	if s.set.OnlyCrashes && s.concernsRanks(a) {
		return false
	}
	if a.kind != deliver {
		return true
	}
	switch s.inbox[a.index].Kind {
	case msg.Lookup, msg.Put, msg.PutDone:
		return s.set.DenseOrders
	case msg.Pull, msg.Push, msg.PushAck, msg.SlowestClock:
		return !s.set.DenseOrders
	case msg.ReportClock: // its order decides whose gradients count
		return s.set.Config.Rule.Dense().Quorum == 0
	}
	return true
}

// concernsRanks reports whether an action does not commute with the crash of a rank, or with its return. What
// a rank feeds does not commute with the crash of another.
func (s *State) concernsRanks(a Action) bool {
	switch a.kind {
	case deliver:
		return s.inbox[a.index].To.Role == msg.NNWorker
	case complete:
		return s.members[a.index/role.Lanes].Address().Role == msg.NNWorker
	case reduce:
		return s.mayCrash(msg.Address{Role: msg.NNWorker, Index: int32(a.index)})
	}
	return true
}

// mayCrash reports whether a role may crash.
func (s *State) mayCrash(at msg.Address) bool {
	if at.Role == msg.NNWorker && !s.set.Config.CanRestart(at.Role) {
		return false
	}
	return s.set.Crashes == nil || s.set.Crashes(at)
}

func (s *State) appendFaults(acts []Action) []Action {
	for i := range s.inbox {
		if s.isFirst(i) && !s.set.OnlyCrashes {
			acts = append(acts, Action{lose, i}, Action{duplicate, i})
		}
	}
	for i, m := range s.members {
		at := m.Address()
		if !s.mayCrash(at) || s.away&(1<<i) != 0 {
			continue
		}
		acts = append(acts, Action{crash, i})
		if (s.redoes(at.Role) || at.Role == msg.NNWorker) && s.hasSent(at) {
			acts = append(acts, Action{crashUnsent, i})
		}
	}
	if s.set.EarlyTimers {
		acts = append(acts, Action{earlyTimers, 0})
	}
	return acts
}

// Describe returns an action of s in words, for histories.
func (s *State) Describe(a Action) string {
	switch a.kind {
	case deliver:
		return s.inbox[a.index].String()
	case complete:
		m := s.members[a.index/role.Lanes]
		in := m.lanes[a.index%role.Lanes].Front().input
		what := "done"
		if in.Kind == role.WorkPart {
			what = fmt.Sprintf("bucket %d ready", in.Bucket)
		}
		return fmt.Sprintf("%v: %v rank %d step %d %s", m.Address(), in.Work.Kind, in.Work.Rank, in.Work.Step,
			what)
	case reduce:
		in := s.buckets[a.index].Front()
		return fmt.Sprintf("nn-worker %d: bucket %d of step %d reduced", a.index, in.Bucket, in.Work.Step)
	case lose:
		return "LOST " + s.inbox[a.index].String()
	case duplicate:
		return "TWICE " + s.inbox[a.index].String()
	case crash:
		return fmt.Sprintf("CRASH of %v", s.members[a.index].Address())
	case crashUnsent:
		return fmt.Sprintf("CRASH of %v, which loses what it has sent", s.members[a.index].Address())
	case restart:
		return fmt.Sprintf("%v is back", s.members[a.index].Address())
	case earlyTimers:
		return "timers fire EARLY"
	case drain:
		return "DRAIN"
	}
	return "timers fire"
}

// Advance performs an action of s in place, and sets s.Seen. The error describes the broken invariant.
func (s *State) Advance(a Action) error {
	s.Seen = Seen{}
	if a.isFault() {
		s.faults++
	}
	switch a.kind {
	case deliver:
		m := s.inbox[a.index]
		s.inbox = slices.Delete(s.inbox, a.index, a.index+1)
		return s.receive(m)
	case complete:
		return s.complete(a.index)
	case reduce:
		in := s.buckets[a.index].Pop()
		i, _ := s.roster.Index(msg.Address{Role: msg.NNWorker, Index: int32(a.index)})
		return s.handleInput(i, in)
	case lose:
		s.inbox = slices.Delete(s.inbox, a.index, a.index+1)
	case duplicate:
		return s.receive(s.inbox[a.index])
	case crash, crashUnsent:
		for _, i := range s.crashing(a.index) {
			from := s.members[i].Address()
			if a.kind == crashUnsent {
				s.inbox = slices.DeleteFunc(s.inbox, func(m msg.Message) bool { return m.From == from })
			}
			s.crash(i)
		}
	case restart:
		return s.restart(a.index)
	case drain:
		s.draining = true
		return s.requestDrain()
	case earlyTimers, timers:
		return s.fireTimers()
	}
	return nil
}

// receive gives a message to its receiver, unless the receiver is away.
func (s *State) receive(m msg.Message) error {
	i, _ := s.roster.Index(m.To)
	if s.away&(1<<i) != 0 {
		return nil
	}
	if err := role.CheckCredit(&s.set.Config, s.members[i].Role, m); err != nil {
		return err
	}
	return s.handleInput(i, role.Input{Kind: role.Received, Message: m})
}

// crashing returns the roles that crash with role i, and itself, unless they are away.
func (s *State) crashing(i int) (all []int) {
	if !slices.Contains(s.set.Process, s.members[i].Address()) {
		return []int{i}
	}
	for _, at := range s.set.Process {
		if j, _ := s.roster.Index(at); s.away&(1<<j) == 0 {
			all = append(all, j)
		}
	}
	return all
}

// crash removes the handles, the work, the timer and the credit of role i. The role itself drops its volatile
// state when it handles Start. A role with a redo log keeps all of that here, and is compared with it when it
// is back.
func (s *State) crash(i int) {
	s.away |= 1 << i
	if s.redoes(s.members[i].Address().Role) {
		return
	}
	s.armed &^= 1 << i
	m := s.change(i)
	m.crashes++
	m.held = nil
	m.lanes.Clear()
	m.credit = role.NewCredit(&s.set.Config)
	switch at := m.Address(); at.Role {
	case msg.DataLoader:
		s.read = 0 // the loader reads again
	case msg.NNWorker:
		s.buckets[at.Index].Clear()
		s.barrier.Withdraw(int(at.Index))
		s.finished &^= 1 << at.Index
	}
}

// restart starts role i again. A data loader receives again what was requested of it.
func (s *State) restart(i int) error {
	s.away &^= 1 << i
	if s.redoes(s.members[i].Address().Role) {
		return s.redo(i)
	}
	start := role.Input{Kind: role.Start, Incarnation: uint32(s.members[i].crashes)}
	at := s.members[i].Address()
	if at.Role == msg.NNWorker {
		start.Next = s.barrier.Open()
		if s.set.Behind && start.Next > 0 && s.barrier.OpenBucket() == 0 {
			start.Next--
			s.barrier.Rewind(int(at.Index), start.Next)
		}
	}
	err := s.handleInput(i, start)
	if err != nil || at.Role != msg.DataLoader || !s.draining {
		return err
	}
	return s.requestDrain()
}

// canReturn reports whether a role that is away can start again: an NN worker can when another rank has the
// parameters that it needs.
func (s *State) canReturn(i int) bool {
	at, next := s.members[i].Address(), s.barrier.Open()
	if at.Role != msg.NNWorker || next == 0 {
		return true
	}
	for rank := range s.set.Config.Ranks {
		j, _ := s.roster.Index(msg.Address{Role: msg.NNWorker, Index: rank})
		if s.away&(1<<j) == 0 && s.trained&s.batchBit(rank, next-1) != 0 {
			return true
		}
	}
	return false
}

// requestDrain asks the data loader to end the run, unless it is away.
func (s *State) requestDrain() error {
	i, _ := s.roster.Index(msg.Address{Role: msg.DataLoader})
	if s.away&(1<<i) != 0 {
		return nil
	}
	return s.handleInput(i, role.Input{Kind: role.Drain})
}

// fireTimers fires every timer that is set.
func (s *State) fireTimers() error {
	for i := range s.members {
		if s.armed&^s.away&(1<<i) == 0 {
			continue
		}
		s.armed &^= 1 << i
		if err := s.handleInput(i, role.Input{Kind: role.TimerFired}); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) complete(lane int) error {
	i := lane / role.Lanes
	m := s.change(i)
	done := m.lanes[lane%role.Lanes].Pop()
	for _, h := range done.makes {
		if m.holds(h) && h.Kind != role.PooledGrads {
			return fmt.Errorf("%v makes %+v, which it already holds", m.Address(), h)
		}
		m.hold(h)
	}
	return s.handleInput(i, done.input)
}
