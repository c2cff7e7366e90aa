package transport

import "time"

const (
	// ticks is how often in Options.Silence the heart beats.
	ticksPerSilence = 12
	// heartbeatTicks is how many ticks a link may be idle before it sends a sign of life.
	heartbeatTicks = 2
	// silentTicksMax is how many ticks in a row a process may send nothing. A process that pauses for less than ticks may
	// have begun to when a sign of life was due, and may continue just behind a tick. Ticks are counted, not times
	// compared: a pause of this process is one tick, however long it is.
	silentTicksMax = ticksPerSilence + heartbeatTicks + 2
)

// monitor is the goroutine that sends signs of life and notices processes that hang.
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

// countSilence counts the ticks in a row in which nothing came though this process waited for it, and reports whether
// they are too many.
func (c *inStream) countSilence() bool {
	reads := c.conn.reads.Load()
	if reads != c.reads || !c.waiting.Load() {
		c.reads, c.silentTicks = reads, 0
		return false
	}
	c.silentTicks++
	return c.silentTicks > silentTicksMax
}
