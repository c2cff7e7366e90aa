package grpcnet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Refusals counts what a process has refused, by peer and reason, and logs the first refusal of each pair.
// Its methods may be called from any goroutine. The zero value counts and logs nothing.
type Refusals struct {
	// Log, if not nil, receives the lines.
	Log func(line string)
	// Counted, if not nil, receives the reason of every refusal.
	Counted func(reason string)

	mu     sync.Mutex
	counts map[refusalKey]int
}

// refusalKey is what refusals are counted by.
type refusalKey struct{ peer, reason string }

// keysMax bounds the memory that peers can make Refusals use: pairs beyond it are counted under the peer
// "others".
const keysMax = 1024

// Add counts one refusal. Peer names a process or, before a process has introduced itself, its machine.
// Reason is the kind of refusal, one of a fixed set; text says what was refused and why.
func (r *Refusals) Add(peer, reason, text string) {
	r.mu.Lock()
	key := refusalKey{peer, reason}
	if r.counts == nil {
		r.counts = map[refusalKey]int{}
	}
	if r.counts[key] == 0 && len(r.counts) >= keysMax {
		key.peer = "others"
	}
	r.counts[key]++
	first := r.counts[key] == 1
	r.mu.Unlock()
	if r.Counted != nil {
		r.Counted(reason)
	}
	if first && r.Log != nil {
		r.Log(fmt.Sprintf("refused %s: %s", key.peer, text))
	}
}

// Count is how often something was refused.
type Count struct {
	Peer, Reason string
	Times        int
}

// Counts returns all counts, sorted by peer and reason.
func (r *Refusals) Counts() []Count {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(r.counts), func(a, b refusalKey) int {
		return cmp.Or(cmp.Compare(a.peer, b.peer), cmp.Compare(a.reason, b.reason))
	})
	counts := make([]Count, len(keys))
	for i, key := range keys {
		counts[i] = Count{key.peer, key.reason, r.counts[key]}
	}
	return counts
}

// LogCounts logs every count above 1, whose first refusal alone was logged.
func (r *Refusals) LogCounts() {
	if r.Log == nil {
		return
	}
	for _, c := range r.Counts() {
		if c.Times > 1 {
			r.Log(fmt.Sprintf("refused %s %d times: %s", c.Peer, c.Times, c.Reason))
		}
	}
}
