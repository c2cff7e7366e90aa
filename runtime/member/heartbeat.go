package member

import (
	"sync/atomic"
	"time"
)

const (
	// heartbeatsPerLimit is how many signs of life both sides send within the limit for
	// silence.
	heartbeatsPerLimit = 5
	// ticksPerLimit is how finely silence is measured.
	ticksPerLimit = 10
)

// listener notices that the other side of a stream is silent. It counts ticks of
// its own and compares no times: a pause of this process, in which nothing could be
// read, counts as one tick and not as silence of the other side.
type silenceDetector struct {
	received atomic.Bool // since the last tick
	busy     atomic.Bool // what was received is being handled, and nothing else is read
}

// watch calls silent when nothing was received for limit. It ends then, or with gone.
func (l *silenceDetector) watch(limit time.Duration, gone <-chan struct{}, silent func()) {
	ticker := time.NewTicker(limit / ticksPerLimit)
	defer ticker.Stop()
	for missed := 0; missed < ticksPerLimit; {
		select {
		case <-ticker.C:
			missed++
			if l.received.Swap(false) || l.busy.Load() {
				missed = 0
			}
		case <-gone:
			return
		}
	}
	silent()
}

// heartbeat calls send regularly until gone, as signs of life for the other side.
func heartbeat(limit time.Duration, gone <-chan struct{}, send func()) {
	ticker := time.NewTicker(limit / heartbeatsPerLimit)
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
