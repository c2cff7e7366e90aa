package member

import (
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// batchID identifies a batch.
type batchID struct{ rank, step int32 }

// merger merges the records of several roles, each in its own order, into one order on which observers of
// staleness can rely: by time, except that no PS reads or updates rows of a batch before the batch is routed
// and its lookup is issued. Times alone do not give this order, because the clocks of machines differ.
//
// Records are merged while they arrive, so that the memory does not grow with the number of steps. A record
// waits until no earlier one can arrive: a process says, with its records, up to which time it has sent all.
//
// A rank that is back has its turn after what PSs did before: its earlier batches end with their last puts.
//
// A batch that was routed by an embedding worker which died may have no BatchRouted record, or two. The
// result has one. If the record is missing, it is derived, after the batch is done, from the PSs that have
// read or updated rows of it.
type merger struct {
	observe func(event.Record)
	servers int
	roles   []roleRecords
	waiting int         // number of records that wait, of all roles
	issued  []int32     // by rank: lookups of the steps below it are issued
	back    []unit.Tick // by rank: when it was last back
	routed  []stepSet
	routes  map[batchID]event.Record // BatchRouted records that have arrived before their turn
	done    map[batchID]unit.Tick    // batches that are done before their BatchRouted has arrived
}

// roleRecords are the records of one role that wait for their turn.
type roleRecords struct {
	records []event.Record
	next    int       // records before it have had their turn
	through unit.Tick // all records up to this time have arrived
	ended   bool      // no record is to be expected: the process is dead, or its report has come
}

// waitingMax is the number of records that may wait, about 16 MB: what processes send in some seconds. Above
// it, while a process pauses, records have their turn although an earlier one may arrive.
const waitingMax = 1 << 18

func newMerger(roles, ranks, servers int, observe func(event.Record)) *merger {
	return &merger{
		observe: observe, servers: servers, roles: make([]roleRecords, roles), issued: make([]int32, ranks),
		back: make([]unit.Tick, ranks), routed: make([]stepSet, ranks),
		routes: map[batchID]event.Record{}, done: map[batchID]unit.Tick{},
	}
}

// add adds a record of a role. merge may then pass on records.
func (m *merger) add(role int, r event.Record) {
	q := &m.roles[role]
	if q.next > cap(q.records)/2 {
		q.records = q.records[:copy(q.records, q.records[q.next:])]
		q.next = 0
	}
	q.records = append(q.records, r)
	m.waiting++
	b := batchID{r.Rank, r.Step}
	switch r.Kind {
	case event.RankReturned:
		m.back[r.Rank] = r.At
	case event.BatchRouted:
		if !m.routed[r.Rank].has(r.Step) {
			m.routes[b] = r
			delete(m.done, b)
		}
	case event.BatchDone:
		if _, known := m.routes[b]; !known && !m.routed[r.Rank].has(r.Step) {
			m.done[b] = r.At
		}
	}
}

// sent notes that a role has sent all records up to a time.
func (m *merger) sent(role int, through unit.Tick) {
	q := &m.roles[role]
	q.through, q.ended = max(q.through, through), false
}

// end notes that no record of a role is to be expected, until sent is called.
func (m *merger) end(role int) { m.roles[role].ended = true }

// merge passes on the records whose turn has come. With all, that is every record.
func (m *merger) merge(all bool) {
	for m.waiting > 0 {
		best, held := m.best()
		q := &m.roles[best]
		r := q.records[q.next]
		if !all && m.waiting <= waitingMax && (held || !m.complete(r.At)) {
			return
		}
		q.next++
		if q.next == len(q.records) {
			q.records, q.next = q.records[:0], 0
		}
		m.waiting--
		m.pass(r)
	}
}

// best returns the role whose record is next, and whether that record must wait for one that has not arrived.
func (m *merger) best() (best int, held bool) {
	best, held = -1, true
	var at unit.Tick
	for i := range m.roles {
		q := &m.roles[i]
		if q.next == len(q.records) {
			continue
		}
		r := &q.records[q.next]
		holds := m.mustWait(r)
		if best < 0 || held && !holds || held == holds && r.At < at {
			best, held, at = i, holds, r.At
		}
	}
	return best, held
}

// complete reports whether all records up to a time have arrived.
func (m *merger) complete(at unit.Tick) bool {
	for i := range m.roles {
		q := &m.roles[i]
		if q.next == len(q.records) && q.through < at && !q.ended {
			return false
		}
	}
	return true
}

// mustWait reports whether a record must wait for an earlier record of another role.
func (m *merger) mustWait(r *event.Record) bool {
	if r.Kind == event.RankReturned {
		return m.waitsOnPS(r.At)
	}
	if r.Role.Role != msg.EmbeddingPS || r.Kind != event.LookupServed && r.Kind != event.PutApplied {
		return false
	}
	b := batchID{r.Rank, r.Step}
	// The record that a lookup was issued before a crash may be lost with the process of the rank.
	if r.Kind == event.LookupServed && r.Step >= m.issued[r.Rank] && r.At >= m.back[r.Rank] {
		return true
	}
	if _, arrived := m.routes[b]; arrived || m.routed[r.Rank].has(r.Step) {
		return false
	}
	at, done := m.done[b]
	return !done || !m.complete(at)
}

// waitsOnPS reports whether a record of a PS from before a time must wait.
func (m *merger) waitsOnPS(before unit.Tick) bool {
	return slices.ContainsFunc(m.roles, func(q roleRecords) bool {
		if q.next == len(q.records) {
			return false
		}
		r := &q.records[q.next]
		return r.Role.Role == msg.EmbeddingPS && r.At < before && m.mustWait(r)
	})
}

// pass passes on a record, after the BatchRouted of its batch.
func (m *merger) pass(r event.Record) {
	switch {
	case r.Kind == event.RankReturned: // records of its earlier lookups may be lost
		m.issued[r.Rank] = max(m.issued[r.Rank], r.Step)
	case r.Kind == event.LookupIssued:
		m.issued[r.Rank] = max(m.issued[r.Rank], r.Step+1)
	case r.Kind == event.BatchRouted:
		m.route(r)
		return
	case r.Role.Role == msg.EmbeddingPS && (r.Kind == event.LookupServed || r.Kind == event.PutApplied):
		m.route(r)
	}
	m.observe(r)
}

// route passes on the BatchRouted of the batch of a record, unless it has been.
func (m *merger) route(r event.Record) {
	b := batchID{r.Rank, r.Step}
	if m.routed[r.Rank].has(r.Step) {
		return
	}
	route, arrived := m.routes[b]
	if !arrived {
		route = m.derive(r)
	}
	route.At = r.At
	delete(m.routes, b)
	delete(m.done, b)
	m.routed[r.Rank].add(r.Step)
	m.observe(route)
}

// derive returns a BatchRouted for the batch of a PS's record.
func (m *merger) derive(first event.Record) event.Record {
	route := event.Record{Role: msg.Address{Role: msg.EmbeddingWorker}, Kind: event.BatchRouted,
		Rank: first.Rank, Step: first.Step, Rows: make([]int32, m.servers)}
	route.Rows[first.Role.Index] = 1
	for i := range m.roles {
		q := &m.roles[i]
		for _, r := range q.records[q.next:] {
			if r.Role.Role == msg.EmbeddingPS && r.Rank == first.Rank && r.Step == first.Step &&
				(r.Kind == event.LookupServed || r.Kind == event.PutApplied) {
				route.Rows[r.Role.Index] = 1
			}
		}
	}
	return route
}

// stepSet is a set of steps to which steps are added in about ascending order.
type stepSet struct {
	floor int32          // all steps below it are in the set
	above map[int32]bool // the others that are
}

// aboveMax is the largest number of steps above the floor. Steps that are never added, because the embedding
// worker of a batch without reads has died, then count as in the set.
const aboveMax = 1 << 14

func (s *stepSet) has(step int32) bool { return step < s.floor || s.above[step] }

func (s *stepSet) add(step int32) {
	if s.above == nil {
		s.above = map[int32]bool{}
	}
	s.above[step] = true
	if len(s.above) > aboveMax {
		s.floor = step
		for b := range s.above {
			s.floor = min(s.floor, b)
		}
	}
	for s.above[s.floor] {
		delete(s.above, s.floor)
		s.floor++
	}
}
