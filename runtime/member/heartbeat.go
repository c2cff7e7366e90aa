package member

import (
	"sync/atomic"
	"time"
)

const (
	// heartbeatsPerLimit is the number of heartbeats that both sides send within the hang limit.
	heartbeatsPerLimit = 5
	// ticksPerLimit is the number of ticks in the hang limit. Silence is measured in ticks.
	ticksPerLimit = 10
)

// silenceDetector notices that the peer of a stream is silent. It counts its own ticks and does not compare
// times. While this process is paused it cannot read, but the pause counts as one tick only, and not as
// silence of the peer.
type silenceDetector struct {
	received atomic.Bool // something was received since the last tick
	busy     atomic.Bool // a message is being handled; no other message is read meanwhile
}

// watch calls silent when nothing was received for limit, and returns. It also returns when gone is closed.
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

// heartbeat calls send at regular intervals until gone is closed.
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
