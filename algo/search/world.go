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
	"maps"
	"math/bits"
	"slices"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/unit"
)

// Setting is what to search.
type Setting struct {
	Config role.Config
	// Touches reports whether a rank's batch has rows on a PS; nil: always.
	Touches func(rank, step, shard int32) bool
	// Faults is how many messages may be lost or repeated and how many roles that
	// are a role.Restarter may crash and restart, in all.
	Faults int
	// EarlyTimers lets timers fire while other things can still happen, each
	// time as one of the Faults. Without it they fire when nothing else can.
	EarlyTimers bool
	// Eager delivers at once whatever commutes with everything else, instead
	// of trying every order of it: it reaches fewer worlds, and the same reads.
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
	roles   []role.Role
	inbox   []msg.Message  // in flight, sorted
	lanes   [][]role.Input // by role and lane: completions to come, in order
	buckets [][]role.Input // by rank: reduced buckets to come, in order
	fed     []int32        // by rank: buckets handed to the all-reduce, in all
	held    []map[role.Handle]bool
	credit  []*role.Credit // nil once a fault made the count meaningless
	own     uint64         // roles that no other world shares, as bits
	// What observers know, as bits of rank × Steps + step.
	applied  []uint64 // by PS
	pushed   []uint64 // by dense PS
	pulled   []int8   // by dense PS and rank: pushes applied when the rank's last pull was served
	issued   uint64
	done     uint64
	trained  uint64 // batches that the dense optimizer has stepped for
	copied   uint64 // averaging rounds that a rank has given its copy to
	averaged uint64 // … that a rank has folded in
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
	roles := role.New
	if set.Roles != nil {
		roles = set.Roles
	}
	w := &World{set: set, roles: roles(cfg), own: ^uint64(0), fed: make([]int32, cfg.Ranks), buckets: make([][]role.Input, cfg.Ranks),
		applied: make([]uint64, cfg.ParameterServers), pushed: make([]uint64, len(cfg.DenseServers)),
		pulled: make([]int8, len(cfg.DenseServers)*int(cfg.Ranks))}
	w.lanes = make([][]role.Input, len(w.roles)*role.Lanes)
	for range w.roles {
		w.held = append(w.held, map[role.Handle]bool{})
		w.credit = append(w.credit, role.NewCredit(cfg))
	}
	for i := range w.roles {
		if err := w.step(i, role.Input{Kind: role.Start}); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// index returns the position of an address in role.New's order.
func (w *World) index(a msg.Address) int {
	c := &w.set.Config
	switch a.Role {
	case msg.EmbeddingWorker:
		return 1 + int(a.Index)
	case msg.ParameterServer:
		return 1 + int(c.EmbeddingWorkers) + int(a.Index)
	case msg.NNWorker:
		return 1 + int(c.EmbeddingWorkers) + int(c.ParameterServers) + int(a.Index)
	case msg.DenseServer:
		return 1 + int(c.EmbeddingWorkers) + int(c.ParameterServers) + int(c.Ranks) + int(a.Index)
	case msg.Coordinator:
		return len(w.roles) - 1
	}
	return 0
}

func (w *World) batchBit(rank, step int32) uint64 { return 1 << (rank*w.set.Config.Steps + step) }

func (w *World) touches(rank, step, shard int32) bool {
	return w.set.Touches == nil || w.set.Touches(rank, step, shard)
}

// step hands a role one input and takes in what it asks for.
func (w *World) step(i int, in role.Input) error {
	var out role.Outputs
	w.touch(i)
	if in.Kind == role.Received && w.credit[i] != nil {
		w.credit[i].Received(in.Message)
	}
	w.roles[i].Step(0, in, &out)
	for _, o := range out.List {
		if err := w.take(i, in, o); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) take(i int, in role.Input, o role.Output) error {
	switch o.Kind {
	case role.Send:
		if w.credit[i] != nil {
			if err := w.credit[i].Sent(o.Message); err != nil {
				return err
			}
		}
		at, _ := slices.BinarySearchFunc(w.inbox, o.Message, compareMessages)
		w.inbox = slices.Insert(w.inbox, at, o.Message)
	case role.Do:
		w.perform(i, o.Work)
	case role.Feed:
		return w.feed(o)
	case role.Keep:
		w.held[i][role.PayloadHandle(in.Message)] = true
	case role.Release:
		if !w.held[i][o.Handle] {
			return fmt.Errorf("%v releases %+v, which it does not hold", w.roles[i].Address(), o.Handle)
		}
		delete(w.held[i], o.Handle)
	case role.Record:
		return w.observe(o.Event)
	case role.Finished:
		w.finished++
		for lane := range role.Lanes {
			if len(w.lanes[i*role.Lanes+lane]) > 0 {
				return fmt.Errorf("%v finishes with work in flight", w.roles[i].Address())
			}
		}
	case role.Halt:
		return o.Reason
	}
	return nil
}

// perform queues what work will come back with: one sample for every rank, one
// row on every PS that the batch touches.
func (w *World) perform(i int, work role.Work) {
	c := &w.set.Config
	lane := i*role.Lanes + work.Kind.Lane()
	result := role.Result{Bytes: 1}
	switch work.Kind {
	case role.Read:
		result.Samples = slices.Repeat([]int32{1}, int(c.Ranks))
		result.IDBytes = make([]unit.Bytes, c.Ranks)
		result.SampleBytes = make([]unit.Bytes, c.Ranks)
	case role.Split:
		result.Rows = make([]int32, c.ParameterServers)
		result.SignBytes = make([]unit.Bytes, c.ParameterServers)
		result.ValueBytes = make([]unit.Bytes, c.ParameterServers)
		for p := range c.ParameterServers {
			if w.touches(work.Rank, work.Step, p) {
				result.Rows[p] = 1
			}
		}
	case role.Backward:
		for b := range c.Buckets {
			w.lanes[lane] = append(w.lanes[lane], role.Input{Kind: role.WorkPart, Work: work, Bucket: int32(b)})
		}
	}
	w.lanes[lane] = append(w.lanes[lane], role.Input{Kind: role.WorkDone, Work: work, Result: result})
}

// feed reduces a bucket once every rank has handed it over.
func (w *World) feed(o role.Output) error {
	n := int32(len(w.set.Config.Buckets))
	number := o.Work.Step*n + o.Bucket
	if w.fed[o.Work.Rank] != number {
		return fmt.Errorf("rank %d feeds bucket %d of step %d out of order", o.Work.Rank, o.Bucket, o.Work.Step)
	}
	w.fed[o.Work.Rank]++
	if slices.Min(w.fed) <= number {
		return nil
	}
	for rank := range w.buckets {
		work := role.Work{Rank: int32(rank), Step: o.Work.Step}
		w.buckets[rank] = append(w.buckets[rank], role.Input{Kind: role.BucketReduced, Work: work, Bucket: o.Bucket})
	}
	return nil
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
			if w.touches(e.Rank, e.Step, int32(p)) && w.applied[p]&w.batchBit(e.Rank, e.Step) == 0 {
				return fmt.Errorf("rank %d step %d counts as done, but PS %d has not applied it", e.Rank, e.Step, p)
			}
		}
	case event.PutApplied:
		if w.applied[e.Role.Index]&w.batchBit(e.Rank, e.Step) != 0 {
			return fmt.Errorf("%v applies rank %d step %d a second time", e.Role, e.Rank, e.Step)
		}
		w.applied[e.Role.Index] |= w.batchBit(e.Rank, e.Step)
	case event.LookupServed:
		return w.observeRead(e)
	}
	return w.observeDense(e)
}

func (w *World) observeRead(e event.Record) error {
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
		for _, h := range sortedHandles(w.held[i]) {
			return fmt.Errorf("%w: %v holds %+v at the end", errLeak, w.roles[i].Address(), h)
		}
	}
	for d, pushed := range w.pushed {
		if pushed != all {
			return fmt.Errorf("%w: dense PS %d has %b of %b", errLost, d, pushed, all)
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

func sortedHandles(set map[role.Handle]bool) []role.Handle {
	var hs []role.Handle
	for h := range set { // order-free: sorted below
		hs = append(hs, h)
	}
	slices.SortFunc(hs, func(a, b role.Handle) int {
		return slices.Compare([]int32{int32(a.Kind), a.Rank, a.Step}, []int32{int32(b.Kind), b.Rank, b.Step})
	})
	return hs
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
	c.lanes = cloneQueues(w.lanes)
	c.buckets = cloneQueues(w.buckets)
	c.fed = slices.Clone(w.fed)
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
	w.held[i] = maps.Clone(w.held[i])
	if w.credit[i] != nil {
		w.credit[i] = w.credit[i].Clone()
	}
}

// cloneQueues copies the queues' ends; their items are never written.
func cloneQueues(qs [][]role.Input) [][]role.Input {
	out := make([][]role.Input, len(qs))
	for i, q := range qs {
		out[i] = slices.Clip(q)
	}
	return out
}

// hash returns a fingerprint of the state. Held handles and credit follow from
// the roles' own states and are left out.
func (w *World) hash(buf []byte) ([16]byte, []byte) {
	buf = buf[:0]
	for _, r := range w.roles {
		buf = r.AppendState(append(buf, 0xff))
	}
	for i := range w.inbox {
		for _, v := range messageKey(w.inbox[i]) {
			buf = binary.AppendVarint(buf, int64(v))
		}
	}
	for _, qs := range [][][]role.Input{w.lanes, w.buckets} {
		for _, q := range qs {
			buf = append(buf, 0xff)
			for _, in := range q {
				buf = append(buf, byte(in.Kind), byte(in.Work.Kind), byte(in.Work.Rank), byte(in.Work.Step), byte(in.Bucket))
			}
		}
	}
	if w.set.DenseOrders || !w.set.Eager { // else the orders on which it depends are not tried
		for _, p := range w.pulled {
			buf = append(buf, byte(p))
		}
	}
	for _, f := range w.fed {
		buf = binary.AppendVarint(buf, int64(f))
	}
	for _, known := range [][]uint64{w.applied, w.pushed, {w.issued, w.done, w.trained, w.copied, w.averaged, w.read}} {
		for _, bits := range known {
			buf = binary.LittleEndian.AppendUint64(buf, bits)
		}
	}
	buf = append(buf, byte(w.finished), byte(w.faults))
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16]), buf
}
