package metrics

import (
	"maps"
	"slices"
	"sync"
)

// Refused counts what a process refuses. The zero value has counted nothing. Its methods may be called from
// any goroutine.
type Refused struct {
	mu     sync.Mutex
	counts map[string]int
}

// Count counts a refusal for a reason, one of a fixed set.
func (r *Refused) Count(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[reason]++
}

// Collect adds the counts.
func (r *Refused) Collect(to *Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reason := range slices.Sorted(maps.Keys(r.counts)) {
		to.Add(Refusals, float64(r.counts[reason]), "reason", reason)
	}
}
