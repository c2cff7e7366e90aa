package member

import (
	"maps"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
)

// batchID names a batch.
type batchID struct{ rank, step int32 }

// mergeRecords merges the records of roles, each in its own order, into one order that
// observers of staleness can rely on: by time, except that no PS reads or updates rows
// of a batch before the batch is routed and its lookup issued. Times alone do not give
// that: the clocks of machines differ.
//
// A batch that was routed by an embedding worker which died may have no record of it,
// or two. It is in the result once; where its record is missing, it follows from the
// PSs that have read or updated rows of it.
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

// merger is a merge of records under way.
type merger struct {
	all    []event.Record
	issued map[batchID]bool
	routes map[batchID]event.Record // of batches that are not in all yet
}

// mustWait reports whether a record waits for an earlier one of another role.
func (m *merger) mustWait(r *event.Record) bool {
	return r.Kind == event.LookupServed && !m.issued[batchID{r.Rank, r.Step}]
}

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
					Role: msg.Address{Role: msg.EmbeddingWorker}, Kind: event.BatchRouted, Rank: r.Rank, Step: r.Step,
					Rows: make([]int32, servers),
				}
			}
			derived[name].Rows[r.Role.Index] = 1
		}
	}
	maps.Copy(recorded, derived)
	return recorded
}
