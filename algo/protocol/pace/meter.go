package pace

import (
	"fmt"
	"slices"

	"tandem/algo/histogram"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
)

// Staleness has the numbers of updates that the reads and pushes of a run have missed.
type Staleness struct {
	// Own has a value for each read: the number of missed steps of the reader's own rank.
	Own histogram.Histogram `json:"own"`
	// Cross has a value for each read and each other rank: the number of missed steps of that rank.
	Cross histogram.Histogram `json:"cross"`
	// Inflight has a value for each read: the number of other batches that are outstanding on any rank.
	Inflight histogram.Histogram `json:"inflight"`
	// Dense has a value for each push to a dense PS: the number of updates of the shard since the pull from
	// which the gradient was computed.
	Dense histogram.Histogram `json:"dense"`
	// Dropped is the number of gradients that do not count: of whole batches, or of the part of a batch on
	// one PS.
	Dropped uint64 `json:"dropped,omitempty"`
}

// Meter measures staleness from the records of a run. It is an event.Observer and has no other input, so it
// measures in the same way in every driver.
//
// A read is a LookupServed record of a batch that has rows on the PS. A batch that is served twice reads
// twice. The read of rank r for step k on a PS misses step j < k of rank q if that batch has rows on the PS
// and its put is not yet applied there. Own is the number of such j for q = r, and Cross the number for one
// other q. No read misses a batch whose gradients do not count. A LookupServed for such a batch is not a read
// if the decision is known before.
//
// When a fast rank reads, the EW may not have routed an earlier step of a slower rank, so the PSs of that
// batch are not known. The count stays open until the batch is routed, and includes the batch if it has rows
// on the PS of the read.
//
// Cost: the first read of a step on a PS, and a read while some rank is not routed up to the step, visit one
// or two words for each rank while fewer than 64 steps of the rank are in flight. Other reads cost as much as
// there are different numbers of missed steps, unless reads of a PS are of more than talliesMost steps in
// turn. A put that is applied changes the count of its rank in as many tallies as later steps are read.
// Memory is proportional to the number of batches in flight, and for tallies at most to ranks × talliesMost.
type Meter struct {
	ranks       int32
	ledger      ledger
	outstanding int
	unfinished  [][]int32     // by rank: its outstanding steps
	back        []int32       // by rank: the step before which it was last back
	open        [][]openCount // by rank whose missed steps are counted
	closed      Staleness
	versions    map[int32]int   // by dense PS: pushes applied
	pulled      map[pullKey]int // version of the shard at the pull
}

// pullKey identifies a pull whose push has not been applied.
type pullKey struct{ ps, rank, step int32 }

// openCount is a count that may still grow, because some steps are not routed.
type openCount struct {
	ps     int32
	reader int32
	step   int32 // of the read: only earlier steps count
	missed int   // so far
}

// NewMeter returns a meter for a run with a number of ranks and of embedding PSs, both at least 1. The meter
// must observe the run from the start.
func NewMeter(ranks, pss int) *Meter {
	if ranks < 1 || pss < 1 {
		panic(fmt.Sprintf("pace: meter for %d ranks and %d embedding PSs; want at least 1", ranks, pss))
	}
	return &Meter{
		ranks:      int32(ranks),
		ledger:     newLedger(int32(ranks), int32(pss)),
		unfinished: make([][]int32, ranks), back: make([]int32, ranks),
		open: make([][]openCount, ranks), versions: map[int32]int{}, pulled: map[pullKey]int{},
	}
}

// Observe implements event.Observer. It ignores records that do not affect staleness.
func (m *Meter) Observe(r event.Record) {
	switch r.Kind {
	case event.BatchRouted:
		m.route(r.Rank, r.Step, r.Rows)
	case event.LookupIssued:
		m.issue(r.Rank, r.Step)
	case event.BatchDone:
		m.finish(r.Rank, r.Step)
	case event.RankReturned:
		m.comeBack(r.Rank, r.Step)
	case event.LookupServed:
		if r.Role.Role == msg.EmbeddingPS {
			m.read(r.Role.Index, r.Rank, r.Step)
		}
	case event.PutApplied:
		if r.Role.Role == msg.EmbeddingPS {
			m.apply(r.Role.Index, r.Rank, r.Step)
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

// issue counts a batch as outstanding, unless it is: a rank that is back issues lookups again.
func (m *Meter) issue(rank, step int32) {
	if !slices.Contains(m.unfinished[rank], step) {
		m.unfinished[rank] = append(m.unfinished[rank], step)
		m.outstanding++
	}
}

// finish ends an outstanding batch.
func (m *Meter) finish(rank, step int32) {
	if i := slices.Index(m.unfinished[rank], step); i >= 0 {
		m.unfinished[rank] = slices.Delete(m.unfinished[rank], i, i+1)
		m.outstanding--
	}
}

// apply removes a missing put. A batch of a rank from before a crash then ends with its last put: the record
// that it is done may have been lost with the process of the rank.
func (m *Meter) apply(ps, rank, step int32) {
	m.ledger.apply(ps, rank, step)
	if step < m.back[rank] && m.ledger.isOver(rank, step) {
		m.finish(rank, step)
	}
}

// comeBack ends the outstanding batches of a rank that is back before a step, unless puts of earlier ones are
// missing: see apply. The rank issues the lookups of later ones again.
func (m *Meter) comeBack(rank, next int32) {
	m.back[rank] = next
	for _, step := range slices.Clone(m.unfinished[rank]) {
		if step >= next || m.ledger.isOver(rank, step) {
			m.finish(rank, step)
		}
	}
}

// route records the PSs that a batch has rows on, and closes the counts that waited for this batch.
func (m *Meter) route(rank, step int32, rows []int32) {
	rows, first := m.ledger.route(rank, step, rows)
	if !first {
		return // an EW has routed the batch again after a restart
	}
	for i := range m.open[rank] {
		if c := &m.open[rank][i]; step < c.step && rows[c.ps] > 0 {
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

// add adds a count of missed steps of rank.
func (s *Staleness) add(rank int32, c openCount) {
	if rank == c.reader {
		s.Own.Add(c.missed)
	} else {
		s.Cross.Add(c.missed)
	}
}

// read measures one read. A PS does not serve a batch whose put it has applied, so a batch has rows on the PS
// if and only if its own put is missing there.
func (m *Meter) read(ps, reader, step int32) {
	if !m.ledger.missing(ps, reader, step) {
		return
	}
	// The reader's own batch is outstanding, unless records were merged without all earlier ones.
	m.closed.Inflight.Add(max(m.outstanding-1, 0))
	if step > m.ledger.front.lowest {
		m.readRanks(ps, reader, step)
		return
	}
	own := m.ledger.count(ps, reader, step)
	m.closed.Own.Add(own)
	for n, ranks := range m.ledger.tallyOf(ps, step) {
		if n == own {
			ranks-- // the reader
		}
		m.closed.Cross.AddCount(n, uint64(ranks))
	}
}

// readRanks measures the missed steps of a read one rank after the other. The counts of ranks that are not
// routed up to the step stay open.
func (m *Meter) readRanks(ps, reader, step int32) {
	for rank := range m.ranks {
		switch n := m.ledger.count(ps, rank, step); {
		case step > m.ledger.routed(rank):
			m.open[rank] = append(m.open[rank], openCount{ps, reader, step, n})
		case rank == reader:
			m.closed.Own.Add(n)
		default:
			m.closed.Cross.Add(n)
		}
	}
}

// push measures a push, unless the meter has not seen the pull.
func (m *Meter) push(p pullKey) {
	if version, seen := m.pulled[p]; seen {
		m.closed.Dense.Add(m.versions[p.ps] - version)
		delete(m.pulled, p)
	}
	m.versions[p.ps]++
}

// Merge adds the staleness of another run.
func (s *Staleness) Merge(other *Staleness) {
	s.Own.Merge(&other.Own)
	s.Cross.Merge(&other.Cross)
	s.Inflight.Merge(&other.Inflight)
	s.Dense.Merge(&other.Dense)
	s.Dropped += other.Dropped
}

// Staleness returns the staleness up to now. Steps that are not routed count as not missed. The caller owns
// the result.
func (m *Meter) Staleness() Staleness {
	s := Staleness{m.closed.Own.Clone(), m.closed.Cross.Clone(), m.closed.Inflight.Clone(),
		m.closed.Dense.Clone(), m.closed.Dropped}
	for rank, counts := range m.open {
		for _, c := range counts {
			s.add(int32(rank), c)
		}
	}
	return s
}
