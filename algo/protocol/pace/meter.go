package pace

import (
	"fmt"
	"slices"

	"tandem/algo/histogram"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
)

// Staleness is how much the reads of a run have missed, in batches.
type Staleness struct {
	Own      histogram.Histogram `json:"own"`      // a value for each read: earlier steps of the reader's own rank
	Cross    histogram.Histogram `json:"cross"`    // a value for each read and each other rank: earlier steps of that rank
	Inflight histogram.Histogram `json:"inflight"` // a value for each read: other batches outstanding anywhere
	// Dense has, where dense PSs hold the network, a value for each push: updates
	// of the shard between the pull that the gradient was computed from and it.
	Dense histogram.Histogram `json:"dense"`
	// Dropped is the number of gradients that the mode has not let count: of whole batches, or of the part of
	// a batch that one server has.
	Dropped uint64 `json:"dropped,omitempty"`
}

// Meter measures staleness from the records of a run. It is an event.Observer
// and knows nothing else, so it measures alike in every driver.
//
// A read is a LookupServed of a batch that has rows on the PS; a batch served
// twice has read twice. The read of rank r for step k misses step j < k of
// rank q, on that PS, if that batch has rows there and they were not updated
// yet. No read misses a batch whose gradients do not count, and a lookup that is
// served for such a batch once that is known is not a read. Own is the number of
// such j for q = r, Cross the number for one other q.
//
// An EW may not yet have routed a step of a slower rank when a faster one reads,
// so that nobody knows which PSs it touches. It is missed if it turns out to
// touch the PS of the read: the count stays open until then.
//
// Cost: a read takes one or two words for each rank while less than 64 steps
// of that rank are in flight; memory is that of what is in flight.
type Meter struct {
	ranks       int32
	ledger      ledger
	outstanding int
	open        [][]openCount // by rank that the count is about
	closed      Staleness
	versions    map[int32]int // by dense PS: pushes applied
	pulled      map[pullKey]int
}

// pulled names a pull whose push has not been applied; its value is the version
// that it was served.
type pullKey struct{ server, rank, step int32 }

// openCount is a count that steps yet to be routed may add to.
type openCount struct {
	server int32
	reader int32
	step   int32 // of the reader: earlier steps are missed
	missed int   // so far
}

// NewMeter returns a meter for a run with so many NN workers and PSs. It must
// observe the run from its start.
func NewMeter(ranks, servers int) *Meter {
	if ranks < 1 || servers < 1 {
		panic(fmt.Sprintf("pace: meter for %d ranks and %d servers, want at least 1", ranks, servers))
	}
	return &Meter{
		ranks:  int32(ranks),
		ledger: newLedger(int32(ranks), int32(servers)),
		open:   make([][]openCount, ranks), versions: map[int32]int{}, pulled: map[pullKey]int{},
	}
}

// Observe implements event.Observer. Records that say nothing about staleness
// are passed over.
func (m *Meter) Observe(r event.Record) {
	switch r.Kind {
	case event.BatchRouted:
		m.route(r.Rank, r.Step, r.Rows)
	case event.LookupIssued:
		m.outstanding++
	case event.BatchDone:
		m.outstanding--
	case event.LookupServed:
		if r.Role.Role == msg.EmbeddingPS {
			m.read(r.Role.Index, r.Rank, r.Step)
		}
	case event.PutApplied:
		if r.Role.Role == msg.EmbeddingPS {
			m.ledger.apply(r.Role.Index, r.Rank, r.Step)
		}
	case event.PutDropped:
		m.closed.Dropped++
		m.ledger.apply(r.Role.Index, r.Rank, r.Step)
	case event.PushDropped:
		m.closed.Dropped++
		delete(m.pulled, pullKey{r.Role.Index, r.Rank, r.Step})
	case event.BatchDropped:
		m.closed.Dropped++
	case event.StepClosed:
		m.ledger.close(r.Role.Index, r.Step)
	case event.PullServed:
		m.pulled[pullKey{r.Role.Index, r.Rank, r.Step}] = m.versions[r.Role.Index]
	case event.PushApplied:
		m.push(pullKey{r.Role.Index, r.Rank, r.Step})
	}
}

// route learns which PSs a batch touches, and closes the counts that waited
// for it.
func (m *Meter) route(rank, step int32, rows []int32) {
	rows, first := m.ledger.route(rank, step, rows)
	if !first {
		return // an EW that came back has routed it again
	}
	for i := range m.open[rank] {
		if c := &m.open[rank][i]; step < c.step && rows[c.server] > 0 {
			c.missed++
		}
	}
	m.open[rank] = slices.DeleteFunc(m.open[rank], func(c openCount) bool {
		if c.step > m.ledger.routed(rank) {
			return false
		}
		m.closed.add(rank, c)
		return true
	})
}

// add records a count about rank.
func (s *Staleness) add(rank int32, c openCount) {
	if rank == c.reader {
		s.Own.Add(c.missed)
	} else {
		s.Cross.Add(c.missed)
	}
}

// read measures one read. A PS serves no batch whose put it has applied, so
// that a batch has rows on the PS exactly if its own put is missing there.
func (m *Meter) read(server, reader, step int32) {
	if !m.ledger.missing(server, reader, step) {
		return
	}
	m.closed.Inflight.Add(m.outstanding - 1)
	missed, times := 0, uint64(0) // neighbouring ranks often miss the same
	for rank := range m.ranks {
		n := m.ledger.count(server, rank, step)
		switch {
		case step > m.ledger.routed(rank):
			m.open[rank] = append(m.open[rank], openCount{server, reader, step, n})
		case rank == reader:
			m.closed.Own.Add(n)
		case n == missed:
			times++
		default:
			m.closed.Cross.AddCount(missed, times)
			missed, times = n, 1
		}
	}
	m.closed.Cross.AddCount(missed, times)
}

// push measures a push. One whose pull was never seen counts no staleness.
func (m *Meter) push(p pullKey) {
	if version, seen := m.pulled[p]; seen {
		m.closed.Dense.Add(m.versions[p.server] - version)
		delete(m.pulled, p)
	}
	m.versions[p.server]++
}

// Staleness returns what has been measured up to now. Steps that nobody has
// routed yet count as not missed. The result is the caller's own.
func (m *Meter) Staleness() Staleness {
	s := Staleness{m.closed.Own.Clone(), m.closed.Cross.Clone(), m.closed.Inflight.Clone(), m.closed.Dense.Clone(), m.closed.Dropped}
	for rank, counts := range m.open {
		for _, c := range counts {
			s.add(int32(rank), c)
		}
	}
	return s
}
