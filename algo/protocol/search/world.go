// Package search checks the laws of the roles by trying every order of events.
//
// A World is a cluster without time: the roles, and everything that could
// happen to one of them next. Explore walks all worlds that can be reached
// from the start, breadth first, so the history it prints for a broken law is
// a shortest one. The same worlds, walked at random, serve larger settings.
package search

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Setting is what to search.
type Setting struct {
	Config role.Config
	// Touches reports whether a rank's batch has rows on a PS; nil: always.
	Touches func(rank, step, shard int32) bool
	// Faults is how many messages may be lost or repeated and how many roles, other than NN workers, may crash
	// and come back at any later time, in all. Of a PS and a dense PS, what is applied survives; they do not crash
	// where they acknowledge what they have not applied yet, nor a coordinator that cannot restart.
	Faults int
	// EarlyTimers lets timers fire while other things can still happen, each
	// time as one of the Faults. Without it they fire when nothing else can.
	EarlyTimers bool
	// Eager delivers at once whatever commutes with everything else, instead
	// of trying every order of it: it reaches fewer worlds, and the same reads.
	// It needs Faults = 0: a fault may come between two actions that commute, and an echo commutes with
	// nothing.
	Eager bool
	// DenseOrders makes Eager spare the orders that reads of dense PSs depend on,
	// instead of those that reads of embedding PSs do.
	DenseOrders bool
	// Roles makes the roles, role.New if nil; planted bugs come in here.
	Roles func(*role.Config) []role.Role
}

// Seen is the largest staleness of any read, and the number of reads.
type Seen struct {
	Own, Cross, Inflight int
	Reads                int
	// Lead is how many steps a rank was ahead, when it started FC, of what another
	// had pushed to every dense PS, and Dense the number of pushes that a dense PS
	// applied between a pull and the push that followed from it.
	Lead, Dense int
}

func (s *Seen) merge(o Seen) {
	s.Own, s.Cross, s.Inflight = max(s.Own, o.Own), max(s.Cross, o.Cross), max(s.Inflight, o.Inflight)
	s.Lead, s.Dense = max(s.Lead, o.Lead), max(s.Dense, o.Dense)
	s.Reads += o.Reads
}

// World is one state of a cluster.
type World struct {
	set     *Setting
	roster  role.Roster
	roles   []role.Role
	inbox   []msg.Message                 // in flight, sorted
	lanes   []role.LaneQueues[completion] // by role: completions to come
	buckets []role.Queue[role.Input]      // by rank: reduced buckets to come
	barrier *role.Reduction
	held    [][]role.Handle // by role, sorted
	credit  []*role.Credit
	crashes []uint8 // by role
	away    uint64  // roles that have crashed and are not back, as bits
	armed   uint64  // roles whose timer is set, as bits
	own     uint64  // roles that no other world shares, as bits
	// What observers know, as bits of rank × Steps + step.
	applied  []uint64 // by PS
	pushed   []uint64 // by dense PS
	pulled   []int8   // by dense PS and rank: pushes applied when the rank's last pull was served
	issued   uint64
	done     uint64
	trained  uint64 // batches that the dense optimizer has stepped for
	copied   uint64 // averaging rounds that a rank has given its copy to
	averaged uint64 // … that a rank has folded in
	dropped  uint64 // batches whose gradients do not count
	read     uint64 // global batches, as bits of step
	finished int32
	faults   int
	// Seen collects the reads of the last action; it is no part of the state.
	Seen Seen
}

// NewWorld returns the cluster after every role has started.
func NewWorld(set *Setting) (*World, error) {
	cfg := &set.Config
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if roles := 2 + cfg.Ranks + cfg.EmbeddingWorkers + cfg.ParameterServers + int32(len(cfg.DenseServers)); int64(cfg.Ranks)*int64(cfg.Steps) > 64 || roles > 64 {
		return nil, fmt.Errorf("search: %d ranks × %d steps, %d roles; at most 64 of each fit", cfg.Ranks, cfg.Steps, roles)
	}
	if set.Eager && set.Faults > 0 {
		return nil, errors.New("search: eager delivery does not reach every outcome of a fault; search one or the other")
	}
	roles := role.New
	if set.Roles != nil {
		roles = set.Roles
	}
	w := &World{set: set, roster: cfg.Roster(), roles: roles(cfg), own: ^uint64(0),
		barrier: role.NewReduction(int(cfg.Ranks), len(cfg.Buckets)), buckets: make([]role.Queue[role.Input], cfg.Ranks),
		applied: make([]uint64, cfg.ParameterServers), pushed: make([]uint64, len(cfg.DenseServers)),
		pulled: make([]int8, len(cfg.DenseServers)*int(cfg.Ranks))}
	w.lanes = make([]role.LaneQueues[completion], len(w.roles))
	w.held = make([][]role.Handle, len(w.roles))
	w.crashes = make([]uint8, len(w.roles))
	for range w.roles {
		w.credit = append(w.credit, role.NewCredit(cfg))
	}
	for i := range w.roles {
		if err := w.step(i, role.Input{Kind: role.Start}); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// completion is what work comes back with, and what it makes.
type completion struct {
	input role.Input
	makes []role.Handle
}

func (w *World) batchBit(rank, step int32) uint64 { return 1 << (rank*w.set.Config.Steps + step) }

func (w *World) touches(rank, step, shard int32) bool {
	return w.set.Touches == nil || w.set.Touches(rank, step, shard)
}

// observe checks each event against the laws.
func (w *World) observe(e event.Record) error {
	switch e.Kind {
	case event.BatchRead:
		if w.read&(1<<e.Step) != 0 {
			return fmt.Errorf("step %d is read a second time", e.Step)
		}
		w.read |= 1 << e.Step
	case event.DenseApplied:
		if w.trained&w.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("rank %d trains on step %d a second time", e.Rank, e.Step)
		}
		w.trained |= w.batchBit(e.Rank, e.Step)
	case event.LookupIssued:
		w.issued |= w.batchBit(e.Rank, e.Step)
	case event.BatchDone:
		w.done |= w.batchBit(e.Rank, e.Step)
		for p := range w.applied {
			if !w.set.Config.Rule.Dense().Buffered && w.touches(e.Rank, e.Step, int32(p)) && w.applied[p]&w.batchBit(e.Rank, e.Step) == 0 {
				return fmt.Errorf("rank %d step %d counts as done, but PS %d has not applied it", e.Rank, e.Step, p)
			}
		}
	case event.PutApplied:
		if w.applied[e.Role.Index]&w.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("%v applies rank %d step %d a second time", e.Role, e.Rank, e.Step)
		}
		w.applied[e.Role.Index] |= w.batchBit(e.Rank, e.Step)
	case event.PutDropped:
		w.applied[e.Role.Index] |= w.batchBit(e.Rank, e.Step)
	case event.BatchDropped:
		w.dropped |= w.batchBit(e.Rank, e.Step)
		for p := range w.applied {
			w.applied[p] |= w.batchBit(e.Rank, e.Step)
		}
	case event.LookupServed:
		return w.observeRead(e)
	}
	return w.observeDense(e)
}

func (w *World) observeRead(e event.Record) error {
	if w.dropped&w.batchBit(e.Rank, e.Step) != 0 {
		return nil // nothing comes of it
	}
	c := &w.set.Config
	shard := e.Role.Index
	s := Seen{Reads: 1}
	for rank := range c.Ranks {
		missed := 0
		for step := range e.Step {
			if w.touches(rank, step, shard) && w.applied[shard]&w.batchBit(rank, step) == 0 {
				missed++
			}
		}
		if rank == e.Rank {
			s.Own = missed
		} else {
			s.Cross = max(s.Cross, missed)
		}
	}
	s.Inflight = bits.OnesCount64(w.issued &^ w.done &^ w.batchBit(e.Rank, e.Step))
	w.Seen.merge(s)
	b := c.Rule.Bounds(int(c.Ranks))
	if s.Own > b.Own || s.Cross > b.Cross || s.Inflight > b.Inflight {
		return fmt.Errorf("rank %d's read for step %d on PS %d is too stale: own %d, cross %d, inflight %d; promised %d, %d, %d",
			e.Rank, e.Step, shard, s.Own, s.Cross, s.Inflight, b.Own, b.Cross, b.Inflight)
	}
	return nil
}

var (
	errDeadlock = errors.New("deadlock: from here no rank can finish any more")
	errLeak     = errors.New("a handle is never released")
	errLost     = errors.New("a put or push is never applied")
)

// checkEnd checks a world in which nothing more can happen.
func (w *World) checkEnd() error {
	c := &w.set.Config
	if w.finished < c.Ranks {
		return errDeadlock
	}
	all := ^uint64(0) >> (64 - c.Ranks*c.Steps)
	if w.trained != all {
		return fmt.Errorf("not every batch is trained on: %b of %b", w.trained, all)
	}
	if w.copied != w.averaged {
		return fmt.Errorf("a rank gave its copy to rounds %b, and folded in %b", w.copied, w.averaged)
	}
	for i := range w.roles {
		if err := w.step(i, role.Input{Kind: role.Stop}); err != nil {
			return err
		}
		for _, h := range w.held[i] {
			return fmt.Errorf("%w: %v holds %+v at the end", errLeak, w.roles[i].Address(), h)
		}
	}
	for d, pushed := range w.pushed {
		if pushed != all {
			return fmt.Errorf("%w: dense-ps %d has %b of %b", errLost, d, pushed, all)
		}
	}
	for p := range w.applied {
		for rank := range c.Ranks {
			for step := range c.Steps {
				if w.touches(rank, step, int32(p)) && w.applied[p]&w.batchBit(rank, step) == 0 {
					return fmt.Errorf("%w: rank %d step %d on PS %d", errLost, rank, step, p)
				}
			}
		}
	}
	return nil
}

func compareMessages(a, b msg.Message) int {
	return slices.Compare(messageKey(a), messageKey(b))
}

func messageKey(m msg.Message) []int32 {
	return []int32{int32(m.Kind), int32(m.To.Role), m.To.Index, m.Rank, m.Step, int32(m.From.Role), m.From.Index, m.Floor}
}

// clone returns a copy that shares roles, and what is kept beside them, with w
// until one of them takes a step.
func (w *World) clone() *World {
	c := *w
	c.roles = slices.Clone(w.roles)
	c.held = slices.Clone(w.held)
	c.credit = slices.Clone(w.credit)
	c.own = 0
	c.inbox = slices.Clone(w.inbox)
	c.lanes = slices.Clone(w.lanes)
	for i := range c.lanes {
		for lane := range c.lanes[i] {
			c.lanes[i][lane] = c.lanes[i][lane].Clone()
		}
	}
	c.buckets = slices.Clone(w.buckets)
	for rank := range c.buckets {
		c.buckets[rank] = c.buckets[rank].Clone()
	}
	c.barrier = w.barrier.Clone()
	c.crashes = slices.Clone(w.crashes)
	c.applied = slices.Clone(w.applied)
	c.pushed = slices.Clone(w.pushed)
	c.pulled = slices.Clone(w.pulled)
	c.Seen = Seen{}
	return &c
}

// touch makes role i, which is about to change, the world's own.
func (w *World) touch(i int) {
	if w.own&(1<<i) != 0 {
		return
	}
	w.own |= 1 << i
	w.roles[i] = w.roles[i].Clone()
	w.held[i] = slices.Clone(w.held[i])
	w.credit[i] = w.credit[i].Clone()
}

// hash returns a fingerprint of the state. Held handles and credit are part of it: they follow from the
// states of correct roles, not from those of roles that leak.
func (w *World) hash(buf []byte) ([16]byte, []byte) {
	buf = buf[:0]
	for i, r := range w.roles {
		buf = r.AppendState(append(buf, 0xff, w.crashes[i]))
		for _, h := range w.held[i] {
			buf = append(buf, byte(h.Kind), byte(h.Rank), byte(h.Step))
		}
		buf = w.credit[i].AppendState(append(buf, 0xff))
		for lane := range w.lanes[i] {
			buf = append(buf, 0xff)
			for _, c := range w.lanes[i][lane].Items() {
				buf = appendInput(buf, &c.input)
			}
		}
	}
	for rank := range w.buckets {
		buf = append(buf, 0xff)
		for _, in := range w.buckets[rank].Items() {
			buf = appendInput(buf, &in)
		}
	}
	buf = w.barrier.AppendState(buf)
	for i := range w.inbox {
		for _, v := range messageKey(w.inbox[i]) {
			buf = binary.AppendVarint(buf, int64(v))
		}
	}
	if w.set.DenseOrders || !w.set.Eager { // else the orders on which it depends are not tried
		for _, p := range w.pulled {
			buf = append(buf, byte(p))
		}
	}
	for _, known := range [][]uint64{w.applied, w.pushed, {w.issued, w.done, w.trained, w.copied, w.averaged, w.dropped, w.read, w.away, w.armed}} {
		for _, bits := range known {
			buf = binary.LittleEndian.AppendUint64(buf, bits)
		}
	}
	buf = append(buf, byte(w.finished), byte(w.faults))
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16]), buf
}

func appendInput(buf []byte, in *role.Input) []byte {
	return append(buf, byte(in.Kind), byte(in.Work.Kind), byte(in.Work.Rank), byte(in.Work.Step), byte(in.Bucket))
}
