//go:build race

package ring

import "sync"

// fenced is locked by both ends: the race detector does not see that they synchronise in the shared memory,
// which matters where both are in one process, in tests.
var fenced sync.Mutex

// fence orders what one end does before it changes its position before what the other end does once it has
// read the position.
func fence() {
	fenced.Lock()
	defer fenced.Unlock()
}
