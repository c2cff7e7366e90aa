package fabric

// saturation is the level of the rising rates at which link of is full, if of ≥ 0, or flow ^of reaches its
// bound.
type saturation struct {
	level float64
	of    int32
}

// heapify makes h a binary heap with the lowest level first.
func heapify(h []saturation) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		sink(h, i)
	}
}

// drop removes the first entry.
func drop(h []saturation) []saturation {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	if last > 0 {
		sink(h, 0)
	}
	return h
}

// sink moves entry i down to where it belongs.
func sink(h []saturation, i int) {
	x := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].level < h[child].level {
			child++
		}
		if x.level <= h[child].level {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = x
}

// finishHeap is a binary heap of flow slots: the earliest finish first, of the members of a pool the one
// whose virtual time ends first and, at one instant, the flow that started first. Each flow holds its place
// in the heap, so that fix can move it.
type finishHeap []uint32

// before reports whether flow a finishes before flow b.
func (h finishHeap) before(flows []flow, a, b uint32) bool {
	x, y := &flows[a], &flows[b]
	if x.finish != y.finish {
		return x.finish < y.finish
	}
	if x.due != y.due {
		return x.due < y.due
	}
	return x.order < y.order
}

// set puts flow x at place i.
func (h finishHeap) set(flows []flow, i int, x uint32) {
	h[i] = x
	flows[x].place = int32(i)
}

// insert adds a flow.
func (h *finishHeap) insert(flows []flow, x uint32) {
	*h = append(*h, x)
	h.set(flows, len(*h)-1, x)
	h.fix(flows, x)
}

// remove removes a flow.
func (h *finishHeap) remove(flows []flow, x uint32) {
	i, last := flows[x].place, len(*h)-1
	end := (*h)[last]
	*h = (*h)[:last]
	if end != x {
		h.set(flows, int(i), end)
		h.fix(flows, end)
	}
}

// rebuild restores the order of the whole heap.
func (h finishHeap) rebuild(flows []flow) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(flows, i)
	}
}

// fix moves flow x, whose finish has changed, to where it belongs.
func (h finishHeap) fix(flows []flow, x uint32) {
	i := int(flows[x].place)
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(flows, x, h[parent]) {
			break
		}
		h.set(flows, i, h[parent])
		i = parent
	}
	h.set(flows, i, x)
	h.sink(flows, i)
}

// sink moves the flow at place i down to where it belongs.
func (h finishHeap) sink(flows []flow, i int) {
	x := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h.before(flows, h[child+1], h[child]) {
			child++
		}
		if h.before(flows, x, h[child]) {
			break
		}
		h.set(flows, i, h[child])
		i = child
	}
	h.set(flows, i, x)
}
