package coord

import (
	"sync/atomic"
	"time"
)

const (
	// beatsPerLimit is how many signs of life both sides send within the limit for
	// silence.
	beatsPerLimit = 5
	// ticksPerLimit is how finely silence is measured.
	ticksPerLimit = 10
)

// listener notices that the other side of a stream is silent. It counts ticks of
// its own and compares no times: a pause of this process, in which nothing could be
// read, counts as one tick and not as silence of the other side.
type listener struct {
	heard atomic.Bool // since the last tick
	busy  atomic.Bool // what was heard is being handled, and nothing else is read
}

// watch calls silent when nothing was heard for limit, and ends then, or with gone.
func (l *listener) watch(limit time.Duration, gone <-chan struct{}, silent func()) {
	ticker := time.NewTicker(limit / ticksPerLimit)
	defer ticker.Stop()
	for missed := 0; missed < ticksPerLimit; {
		select {
		case <-ticker.C:
			missed++
			if l.heard.Swap(false) || l.busy.Load() {
				missed = 0
			}
		case <-gone:
			return
		}
	}
	silent()
}

// beat calls send regularly until gone, so that the other side hears this one.
func beat(limit time.Duration, gone <-chan struct{}, send func()) {
	ticker := time.NewTicker(limit / beatsPerLimit)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			send()
		case <-gone:
			return
		}
	}
}
