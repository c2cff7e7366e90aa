package station

// before reports whether ending a comes first.
func (a ending) before(b ending) bool {
	if a.virtual != b.virtual {
		return a.virtual < b.virtual
	}
	return a.order < b.order
}

// push adds an ending to the queue.
func (c *Shared) push(x ending) {
	c.queue = append(c.queue, x)
	i := len(c.queue) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(c.queue[parent]) {
			break
		}
		c.queue[i] = c.queue[parent]
		i = parent
	}
	c.queue[i] = x
}

// purge removes invalid endings until the first one is of a running activity.
func (c *Shared) purge() {
	for len(c.queue) > 0 && !c.runs(c.queue[0].id) {
		last := len(c.queue) - 1
		x := c.queue[last]
		c.queue = c.queue[:last]
		if last > 0 {
			c.sink(x)
		}
	}
}

// sink puts x in the first place and moves it down to its place in the order.
func (c *Shared) sink(x ending) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(c.queue) {
			break
		}
		if child+1 < len(c.queue) && c.queue[child+1].before(c.queue[child]) {
			child++
		}
		if x.before(c.queue[child]) {
			break
		}
		c.queue[i] = c.queue[child]
		i = child
	}
	c.queue[i] = x
}
