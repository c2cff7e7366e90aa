package member

import (
	"maps"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
)

// batchID identifies a batch.
type batchID struct{ rank, step int32 }

// mergeRecords merges the records of several roles, each in its own order, into one order on which observers
// of staleness can rely: by time, except that no PS reads or updates rows of a batch before the batch is
// routed and its lookup is issued. Times alone do not give this order, because the clocks of machines differ.
//
// A batch that was routed by an embedding worker which died may have no BatchRouted record, or two. The
// result has one. If the record is missing, it is derived from the PSs that have read or updated rows of the
// batch.
func mergeRecords(roles [][]event.Record, servers int) []event.Record {
	m := merger{routes: routes(roles, servers), issued: map[batchID]bool{}}
	next := make([]int, len(roles))
	for {
		best, held := -1, true
		for i, records := range roles {
			if next[i] == len(records) {
				continue
			}
			r := &records[next[i]]
			holds := m.mustWait(r)
			if best < 0 || held && !holds || held == holds && r.At < roles[best][next[best]].At {
				best, held = i, holds
			}
		}
		if best < 0 {
			return m.all
		}
		m.add(roles[best][next[best]])
		next[best]++
	}
}

// merger is a merge in progress.
type merger struct {
	all    []event.Record
	issued map[batchID]bool
	routes map[batchID]event.Record // of batches whose BatchRouted is not in all yet
}

// mustWait reports whether a record must wait for an earlier record of another role.
func (m *merger) mustWait(r *event.Record) bool {
	return r.Kind == event.LookupServed && !m.issued[batchID{r.Rank, r.Step}]
}

// add appends a record, after the BatchRouted of its batch.
func (m *merger) add(r event.Record) {
	name := batchID{r.Rank, r.Step}
	switch r.Kind {
	case event.LookupIssued:
		m.issued[name] = true
	case event.BatchRouted, event.LookupServed, event.PutApplied:
		if route, waits := m.routes[name]; waits {
			delete(m.routes, name)
			route.At = r.At
			m.all = append(m.all, route)
		}
		if r.Kind == event.BatchRouted {
			return
		}
	}
	m.all = append(m.all, r)
}

// routes returns the BatchRouted of every batch that was routed.
func routes(roles [][]event.Record, servers int) map[batchID]event.Record {
	recorded, derived := map[batchID]event.Record{}, map[batchID]event.Record{}
	for _, records := range roles {
		for _, r := range records {
			if r.Kind == event.BatchRouted {
				recorded[batchID{r.Rank, r.Step}] = r
			}
		}
	}
	for _, records := range roles {
		for _, r := range records {
			name := batchID{r.Rank, r.Step}
			if r.Role.Role != msg.EmbeddingPS || r.Kind != event.LookupServed && r.Kind != event.PutApplied ||
				recorded[name].Rows != nil {
				continue
			}
			if derived[name].Rows == nil {
				derived[name] = event.Record{
					Role: msg.Address{Role: msg.EmbeddingWorker}, Kind: event.BatchRouted, Rank: r.Rank,
					Step: r.Step,
					Rows: make([]int32, servers),
				}
			}
			derived[name].Rows[r.Role.Index] = 1
		}
	}
	maps.Copy(recorded, derived)
	return recorded
}
