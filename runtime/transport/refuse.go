package transport

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tandem/runtime/wire"
)

// peersMax bounds the peers whose refusals are counted apart; further ones are counted together.
const peersMax = 1024

// refusals counts what has been refused, by peer and reason. A peer is the name of a process or, before its
// introduction, its network host.
type refusals struct {
	log func(string) // may be nil

	mu     sync.Mutex
	counts map[refusalKey]int
}

type refusalKey struct {
	peer   string
	reason wire.Reason
}

// add counts a refusal, and logs it if it is the first of its peer and reason.
func (r *refusals) add(peer string, err error) {
	reason := wire.Inadmissible
	if refusal := (*wire.Refusal)(nil); errors.As(err, &refusal) {
		reason = refusal.Reason
	}
	r.mu.Lock()
	key := refusalKey{peer, reason}
	if r.counts == nil {
		r.counts = map[refusalKey]int{}
	}
	if r.counts[key] == 0 && len(r.counts) >= peersMax {
		key.peer = "others"
	}
	r.counts[key]++
	first := r.counts[key] == 1
	r.mu.Unlock()
	if first && r.log != nil {
		r.log(fmt.Sprintf("transport: refused %s: %v", key.peer, err))
	}
}

// count returns the number of refusals for a reason.
func (r *refusals) count(reason wire.Reason) (count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, c := range r.counts {
		if key.reason == reason {
			count += c
		}
	}
	return count
}

// logCounts logs what was refused more than once.
func (r *refusals) logCounts() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil {
		return
	}
	keys := slices.SortedFunc(maps.Keys(r.counts), func(a, b refusalKey) int {
		return cmp.Or(cmp.Compare(a.peer, b.peer), cmp.Compare(a.reason, b.reason))
	})
	for _, key := range keys {
		if count := r.counts[key]; count > 1 {
			r.log(fmt.Sprintf("transport: refused %s %d times: %s", key.peer, count, key.reason))
		}
	}
}
