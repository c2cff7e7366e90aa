package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Setting describes a search: the cluster, the faults, and which orders of actions to try.
type Setting struct {
	Config role.Config
	// Touches reports whether the batch of a rank and step has rows on an embedding PS; nil: always.
	Touches func(rank, step, shard int32) bool
	// Faults is the largest number of faults in a history: messages lost, messages repeated, and roles that
	// crash and come back at any later time. Roles that cannot restart come back by a redo log; what they had
	// sent may be lost. NN workers crash if Config.RankRecovery lets them come back.
	Faults int
	// Crashes reports whether a role that can come back may crash; nil: always. With OnlyCrashes no other
	// fault happens.
	Crashes     func(msg.Address) bool
	OnlyCrashes bool
	// Process lists roles that crash together, which counts as one fault; others crash alone.
	Process []msg.Address
	// EarlyTimers lets timers fire while other actions are possible; each time counts as a fault. Otherwise
	// timers fire only when no other action is possible.
	EarlyTimers bool
	// Behind gives an NN worker that is back the parameters of a rank that has not made the step before the
	// open one yet, where there may be one: some of its gradients may have been reduced for other ranks only.
	Behind bool
	// Eager performs an action that commutes with all others at once, instead of trying every order. It
	// reaches fewer states, but the same reads. It requires that there are no faults, which may come between
	// two actions that commute, or only crashes of ranks, with which most actions commute.
	Eager bool
	// DenseOrders makes Eager try the orders that reads of dense PSs depend on, instead of the orders that
	// reads of embedding PSs depend on.
	DenseOrders bool
	// Drain tries to end the run early, by a request at any time. With Eager the request may come at every
	// time of the histories that are tried.
	Drain bool
	// Roles returns the roles of the cluster; nil: role.New. Tests plant bugs here.
	Roles func(*role.Config) []role.Role
	// kept returns what a redo log has kept of the inputs of a role; nil: all. Tests plant bugs here.
	kept func([]role.Input) []role.Input
}

// Seen is the largest staleness of any read, and the number of reads, of one history or of all.
type Seen struct {
	Own, Cross, Inflight int
	Reads                int
	// Lead is the largest number of steps by which a rank that started FC was ahead of the pushes of another
	// rank that every dense PS had applied. Dense is the largest number of pushes that a dense PS applied
	// between a pull and the push computed from it.
	Lead, Dense int
}

func (s *Seen) merge(o Seen) {
	s.Own, s.Cross, s.Inflight = max(s.Own, o.Own), max(s.Cross, o.Cross), max(s.Inflight, o.Inflight)
	s.Lead, s.Dense = max(s.Lead, o.Lead), max(s.Dense, o.Dense)
	s.Reads += o.Reads
}

// State is one state of a cluster. It is not safe for concurrent use.
type State struct {
	set     *Setting
	roster  role.Roster
	members []*member                // by role
	inbox   []msg.Message            // messages in flight, sorted
	buckets []role.Queue[role.Input] // by rank: reduced buckets in flight
	barrier *role.Reduction
	away    uint64        // set of roles that have crashed and are not back
	armed   uint64        // set of roles whose timer is set
	owned   uint64        // set of roles whose member no other State shares
	out     *role.Outputs // of the last input; all copies share the memory
	// Facts from the records of the roles, as sets of batches: bit rank × Steps + step.
	applied  []uint64 // by PS
	pushed   []uint64 // by dense PS
	pulled   []int8   // by dense PS and rank: pushes applied when the rank's last pull was served
	issued   uint64
	done     uint64
	trained  uint64 // batches on which the dense optimizer has made its step
	copied   uint64 // averaging rounds to which a rank has contributed its copy
	averaged uint64 // averaging rounds whose mean a rank has added
	dropped  uint64 // batches whose gradients do not count
	read     uint64 // set of global batches, by step
	finished uint64 // set of ranks
	draining bool   // the run is requested to end
	decided  bool   // end is the answer to the request
	end      int32  // the step before which the run ends
	faults   int
	// Seen has the reads of the last action only; it does not affect equality of states.
	Seen Seen
}

// NewState returns the cluster in which every role has handled Start.
func NewState(set *Setting) (*State, error) {
	cfg := &set.Config
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	roleCount := 2 + cfg.Ranks + cfg.EmbeddingWorkers + cfg.EmbeddingPSs + int32(len(cfg.DensePSs))
	if int64(cfg.Ranks)*int64(cfg.Steps) > 64 || roleCount > 64 {
		return nil, fmt.Errorf("search: %d ranks × %d steps, %d roles; want at most 64 batches and 64 roles",
			cfg.Ranks, cfg.Steps, roleCount)
	}
	if set.Eager && set.Faults > 0 && !set.OnlyCrashes {
		return nil, errors.New("search: Eager with Faults; want only one of them, as Eager omits orders " +
			"that matter with faults")
	}
	s := &State{set: set, roster: cfg.Roster(), owned: ^uint64(0), out: new(role.Outputs),
		barrier: role.NewReduction(int(cfg.Ranks), len(cfg.Buckets)),
		buckets: make([]role.Queue[role.Input], cfg.Ranks),
		applied: make([]uint64, cfg.EmbeddingPSs), pushed: make([]uint64, len(cfg.DensePSs)),
		pulled: make([]int8, len(cfg.DensePSs)*int(cfg.Ranks)), end: cfg.Steps}
	for _, r := range set.roles() {
		s.members = append(s.members, &member{Role: r, credit: role.NewCredit(cfg)})
	}
	for i := range s.members {
		if err := s.handleInput(i, role.Input{Kind: role.Start}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// roles returns the roles of a cluster.
func (set *Setting) roles() []role.Role {
	if set.Roles != nil {
		return set.Roles(&set.Config)
	}
	return role.New(&set.Config)
}

func (s *State) batchBit(rank, step int32) uint64 { return 1 << (rank*s.set.Config.Steps + step) }

func (s *State) touches(rank, step, shard int32) bool {
	return s.set.Touches == nil || s.set.Touches(rank, step, shard)
}

// observe checks the invariants about an event.
func (s *State) observe(e event.Record) error {
	switch e.Kind {
	case event.BatchRead:
		if s.read&(1<<e.Step) != 0 {
			return fmt.Errorf("step %d is read a second time", e.Step)
		}
		s.read |= 1 << e.Step
	case event.DenseApplied:
		if s.trained&s.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("rank %d trains on step %d a second time", e.Rank, e.Step)
		}
		s.trained |= s.batchBit(e.Rank, e.Step)
	case event.RankReturned:
		for step := range s.set.Config.Steps {
			if step < e.Step {
				s.trained |= s.batchBit(e.Rank, step)
			} else {
				s.trained &^= s.batchBit(e.Rank, step) // to be made again
			}
		}
	case event.LookupIssued:
		s.issued |= s.batchBit(e.Rank, e.Step)
	case event.BatchDone:
		s.done |= s.batchBit(e.Rank, e.Step)
		buffered := s.set.Config.Rule.Dense().Buffered
		for p := range s.applied {
			missing := s.touches(e.Rank, e.Step, int32(p)) && s.applied[p]&s.batchBit(e.Rank, e.Step) == 0
			if missing && !buffered {
				return fmt.Errorf("rank %d step %d counts as done, but PS %d has not applied it", e.Rank,
					e.Step, p)
			}
		}
	case event.PutApplied:
		if s.applied[e.Role.Index]&s.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("%v applies rank %d step %d a second time", e.Role, e.Rank, e.Step)
		}
		s.applied[e.Role.Index] |= s.batchBit(e.Rank, e.Step)
	case event.PutDropped:
		s.applied[e.Role.Index] |= s.batchBit(e.Rank, e.Step)
	case event.BatchDropped:
		s.dropped |= s.batchBit(e.Rank, e.Step)
		for p := range s.applied {
			s.applied[p] |= s.batchBit(e.Rank, e.Step)
		}
	case event.LookupServed:
		return s.observeRead(e)
	case event.EndDecided:
		if s.decided && s.end != e.Step {
			return fmt.Errorf("the run ends before step %d, and after a crash before step %d", s.end, e.Step)
		}
		s.decided, s.end = true, e.Step
	}
	return s.observeDense(e)
}

func (s *State) observeRead(e event.Record) error {
	if s.dropped&s.batchBit(e.Rank, e.Step) != 0 {
		return nil // no gradient of the batch counts
	}
	c := &s.set.Config
	shard := e.Role.Index
	seen := Seen{Reads: 1}
	for rank := range c.Ranks {
		missed := 0
		for step := range e.Step {
			if s.touches(rank, step, shard) && s.applied[shard]&s.batchBit(rank, step) == 0 {
				missed++
			}
		}
		if rank == e.Rank {
			seen.Own = missed
		} else {
			seen.Cross = max(seen.Cross, missed)
		}
	}
	seen.Inflight = bits.OnesCount64(s.issued &^ s.done &^ s.batchBit(e.Rank, e.Step))
	s.Seen.merge(seen)
	b := c.Rule.Bounds(int(c.Ranks))
	if seen.Own > b.Own || seen.Cross > b.Cross || seen.Inflight > b.Inflight {
		return fmt.Errorf("read of rank %d step %d on PS %d is too stale: "+
			"own %d, cross %d, inflight %d; promised %d, %d, %d",
			e.Rank, e.Step, shard, seen.Own, seen.Cross, seen.Inflight, b.Own, b.Cross, b.Inflight)
	}
	return nil
}

var (
	errDeadlock = errors.New("deadlock: from here not every rank can finish")
	errLeak     = errors.New("a handle is never released")
	errLost     = errors.New("a put or push is never applied")
)

// checkEnd checks a state in which no action is possible.
func (s *State) checkEnd() error {
	c := &s.set.Config
	if !s.allFinished() {
		return errDeadlock
	}
	all := s.all()
	if s.trained != all {
		return fmt.Errorf("not every batch is trained on: %b of %b", s.trained, all)
	}
	if s.copied != s.averaged {
		return fmt.Errorf("ranks contributed copies to rounds %b, but added the means of %b", s.copied,
			s.averaged)
	}
	for i := range s.members {
		if err := s.handleInput(i, role.Input{Kind: role.Stop}); err != nil {
			return err
		}
		for _, h := range s.members[i].held {
			return fmt.Errorf("%w: %v holds %+v at the end", errLeak, s.members[i].Address(), h)
		}
	}
	for d, pushed := range s.pushed {
		if pushed != all {
			return fmt.Errorf("%w: dense-ps %d has %b of %b", errLost, d, pushed, all)
		}
	}
	for p := range s.applied {
		for rank := range c.Ranks {
			for step := range s.end {
				if s.touches(rank, step, int32(p)) && s.applied[p]&s.batchBit(rank, step) == 0 {
					return fmt.Errorf("%w: rank %d step %d on PS %d", errLost, rank, step, p)
				}
			}
		}
	}
	return nil
}

// allFinished reports whether every rank has finished.
func (s *State) allFinished() bool { return bits.OnesCount64(s.finished) == int(s.set.Config.Ranks) }

// all returns the set of the batches to train.
func (s *State) all() (set uint64) {
	for rank := range s.set.Config.Ranks {
		for step := range s.end {
			set |= s.batchBit(rank, step)
		}
	}
	return set
}

func compareMessages(a, b msg.Message) int {
	x, y := messageKey(&a), messageKey(&b)
	return slices.Compare(x[:], y[:])
}

func messageKey(m *msg.Message) [8]int32 {
	return [...]int32{int32(m.Kind), int32(m.To.Role), m.To.Index, m.Rank, m.Step, int32(m.From.Role),
		m.From.Index, m.Floor}
}

// clone returns a copy that shares the members with s until one of the two changes them.
func (s *State) clone() *State {
	s.owned = 0
	c := *s
	c.members = slices.Clone(s.members)
	c.inbox = slices.Clone(s.inbox)
	c.buckets = slices.Clone(s.buckets)
	for rank := range c.buckets {
		c.buckets[rank] = c.buckets[rank].Clone()
	}
	c.barrier = s.barrier.Clone()
	c.applied = slices.Clone(s.applied)
	c.pushed = slices.Clone(s.pushed)
	c.pulled = slices.Clone(s.pulled)
	return &c
}

// change returns the member of role i for a change. If another State shares it, s gets its own copy first.
func (s *State) change(i int) *member {
	if s.owned&(1<<i) == 0 {
		s.owned |= 1 << i
		s.members[i] = s.members[i].clone()
	}
	s.members[i].hashed = false
	return s.members[i]
}

// fingerprint returns a hash of the state, and buf for the next call. The hash includes held handles and
// credit: correct roles determine them, but roles that leak do not.
func (s *State) fingerprint(buf []byte) ([16]byte, []byte) {
	for _, m := range s.members {
		buf = m.updateHash(buf)
	}
	buf = buf[:0]
	for _, m := range s.members {
		buf = append(buf, m.hash[:]...)
	}
	for rank := range s.buckets {
		buf = append(buf, 0xff)
		for _, in := range s.buckets[rank].Items() {
			buf = appendInput(buf, &in)
		}
	}
	buf = s.barrier.AppendState(buf)
	for i := range s.inbox {
		for _, v := range messageKey(&s.inbox[i]) {
			buf = binary.AppendVarint(buf, int64(v))
		}
	}
	// otherwise the search does not try the orders that pulled depends on
	if s.set.DenseOrders || !s.set.Eager {
		for _, p := range s.pulled {
			buf = append(buf, byte(p))
		}
	}
	sets := []uint64{s.issued, s.done, s.trained, s.copied, s.averaged, s.dropped, s.read, s.away, s.armed,
		s.finished}
	for _, known := range [][]uint64{s.applied, s.pushed, sets} {
		for _, bits := range known {
			buf = binary.LittleEndian.AppendUint64(buf, bits)
		}
	}
	buf = append(buf, byte(s.faults), byte(s.end))
	if s.draining {
		buf = append(buf, 1)
	}
	if s.decided {
		buf = append(buf, 2)
	}
	return hash(buf), buf
}
