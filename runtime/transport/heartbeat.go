package transport

import "time"

const (
	// ticks is how often in Options.Silence the heart beats.
	ticks = 12
	// beatTicks is how many ticks a link may be idle before it sends a sign of life.
	beatTicks = 2
	// quietMax is how many ticks in a row a process may send nothing. A process that pauses for less than ticks may
	// have begun to when a sign of life was due, and may continue just behind a tick. Ticks are counted, not times
	// compared: a pause of this process is one tick, however long it is.
	quietMax = ticks + beatTicks + 2
)

// beat is the goroutine that sends signs of life and notices processes that hang.
func (n *Node) beat() {
	ticker := time.NewTicker(n.options.Silence / ticks)
	defer ticker.Stop()
	for tick := 0; ; tick++ {
		select {
		case <-ticker.C:
		case <-n.life.Done():
			return
		}
		n.mu.Lock()
		var hung []*claim
		for c := range n.claims {
			if c.isQuiet() {
				hung = append(hung, c)
			}
		}
		if tick%beatTicks == 0 {
			for _, l := range n.links {
				l.box.beat()
			}
		}
		n.mu.Unlock()
		for _, c := range hung {
			c.hung.Store(true)
			c.hangUp()
		}
	}
}

// isQuiet counts the ticks in a row in which nothing came though this process waited for it, and reports whether
// they are too many.
func (c *claim) isQuiet() bool {
	reads := c.gate.reads.Load()
	if reads != c.reads || !c.waiting.Load() {
		c.reads, c.quiet = reads, 0
		return false
	}
	c.quiet++
	return c.quiet > quietMax
}
