package pace_test

import (
	"tandem/algo/histogram"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
)

// reference measures staleness by its definition: it keeps all records and, at the end, counts for every read
// the puts after it.
type reference struct {
	ranks   int32
	records []event.Record
}

func (r *reference) Observe(e event.Record) { r.records = append(r.records, e) }

// batch identifies a batch, and share its part on one PS.
type (
	batch struct{ rank, step int32 }
	share struct {
		batch
		server int32
	}
)

func (r *reference) Staleness() pace.Staleness {
	touches := map[share]bool{}
	applied := map[share]int{} // index of the record
	for n, e := range r.records {
		b := batch{e.Rank, e.Step}
		switch e.Kind {
		case event.BatchRouted:
			for server, rows := range e.Rows {
				touches[share{b, int32(server)}] = rows > 0
			}
		case event.PutApplied:
			applied[share{b, e.Role.Index}] = n
		}
	}
	var s pace.Staleness
	for n, e := range r.records {
		if e.Kind != event.LookupServed || !touches[share{batch{e.Rank, e.Step}, e.Role.Index}] {
			continue
		}
		for q := range r.ranks {
			missed := 0
			for step := range e.Step {
				earlier := share{batch{q, step}, e.Role.Index}
				if at, ever := applied[earlier]; touches[earlier] && (!ever || at > n) {
					missed++
				}
			}
			if q == e.Rank {
				s.Own.Add(missed)
			} else {
				s.Cross.Add(missed)
			}
		}
		s.Inflight.Add(r.outstanding(n) - 1)
	}
	return s
}

// outstanding counts the batches outstanding after the first n records.
func (r *reference) outstanding(n int) int {
	open := map[batch]bool{}
	for _, e := range r.records[:n] {
		switch e.Kind {
		case event.LookupIssued:
			open[batch{e.Rank, e.Step}] = true
		case event.BatchDone:
			delete(open, batch{e.Rank, e.Step})
		}
	}
	return len(open)
}

// equal reports whether two histograms have the same counts.
func equal(a, b *histogram.Histogram) bool {
	if a.Summary() != b.Summary() {
		return false
	}
	for n := range a.Count() {
		// This quantile is the n-th of the sorted values; the half avoids rounding errors of q × count.
		q := (float64(n) + 0.5) / float64(a.Count())
		if a.Quantile(q) != b.Quantile(q) {
			return false
		}
	}
	return true
}
