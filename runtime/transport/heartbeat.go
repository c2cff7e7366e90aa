package transport

import "time"

const (
	// ticksPerSilence is the number of ticks of monitor in Options.Silence.
	ticksPerSilence = 12
	// heartbeatTicks is the number of ticks after which an idle stream sends a heartbeat.
	heartbeatTicks = 2
	// silentTicksMax is the number of ticks in a row in which a process may send nothing. A process that
	// pauses for less than ticksPerSilence may have paused when its heartbeat was due, and may continue just
	// after a tick. Ticks are counted instead of comparing times, so that a pause of this process counts as
	// one tick, however long it is.
	silentTicksMax = ticksPerSilence + heartbeatTicks + 2
)

// monitor is the goroutine that sends heartbeats and notices processes that hang.
func (n *Endpoint) monitor() {
	ticker := time.NewTicker(n.options.Silence / ticksPerSilence)
	defer ticker.Stop()
	for tick := 0; ; tick++ {
		select {
		case <-ticker.C:
		case <-n.running.Done():
			return
		}
		n.mu.Lock()
		var hung []*inStream
		for c := range n.streams {
			if c.countSilence() {
				hung = append(hung, c)
			}
		}
		if tick%heartbeatTicks == 0 {
			for _, l := range n.out {
				l.outbox.addHeartbeat()
			}
		}
		n.mu.Unlock()
		for _, c := range hung {
			c.hung.Store(true)
			c.close()
		}
	}
}

// countSilence counts the ticks in a row in which this process waited for data and nothing came. It reports
// whether they are too many.
func (c *inStream) countSilence() bool {
	reads := c.conn.reads.Load()
	if reads != c.reads || !c.isWaiting() {
		c.reads, c.silentTicks = reads, 0
		return false
	}
	c.silentTicks++
	return c.silentTicks > silentTicksMax
}

// isWaiting reports whether this process waits for data. The caller holds Endpoint.mu.
func (c *inStream) isWaiting() bool {
	if c.ring != nil {
		return c.ring.Waiting()
	}
	return c.waiting.Load()
}
