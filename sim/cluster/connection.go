package cluster

import (
	"math"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/sim/fabric"
)

// connection is what one process sends to another, in the order of sending. Every role is a process.
type connection struct {
	pair    [2]int32 // sender and receiver
	waiting []int32  // deliveries that have not left, in their order
	leaving int      // flows of those that have left
}

// joinConnection gives a delivery that reaches its sender's cores its place behind those before it.
func (w *simulation) joinConnection(i int32) {
	if !w.prices.System.Messages.Connections.Given() {
		return // there is a connection for every message
	}
	t := &w.tasks[i]
	pair := [2]int32{t.role, t.to}
	t.connection = w.connections[pair]
	if t.connection == nil {
		t.connection = w.newConnection()
		t.connection.pair = pair
		w.connections[pair] = t.connection
	}
	t.connection.waiting = append(t.connection.waiting, i)
}

// newConnection returns a connection without deliveries. There are many pairs of roles, and few have messages
// for each other at one time: a connection is kept while it is in use.
func (w *simulation) newConnection() *connection {
	if n := len(w.unused); n > 0 {
		c := w.unused[n-1]
		w.unused = w.unused[:n-1]
		return c
	}
	return &connection{}
}

// closeIdle removes a connection without deliveries, to which no task points any more.
func (w *simulation) closeIdle(c *connection) {
	if len(c.waiting) == 0 && c.leaving == 0 {
		delete(w.connections, c.pair)
		w.unused = append(w.unused, c)
	}
}

// enterConnection sends a delivery that has left its sender's cores, as soon as all before it have left and a
// connection is free. A message without a payload takes no time there.
func (w *simulation) enterConnection(i int32) {
	t := &w.tasks[i]
	if t.connection == nil {
		if t.message.Kind.HasPayload() {
			t.activities++
			w.startMessageFlow(i)
		}
		return
	}
	t.activities++ // to wait, and to travel
	t.ready = true
	c := t.connection
	w.advanceConnection(c, i)
	w.closeIdle(c)
}

// advanceConnection sends the deliveries that can leave a connection after one of them, which has become
// ready or has arrived. The others have waited for that one: they continue its critical path.
func (w *simulation) advanceConnection(c *connection, i int32) {
	for len(c.waiting) > 0 {
		next := c.waiting[0]
		t := &w.tasks[next]
		if !t.ready || c.leaving >= w.connectionsOf(t) {
			return
		}
		c.waiting = c.waiting[:copy(c.waiting, c.waiting[1:])]
		if next != i {
			w.cause = w.traces[i].path
			w.beginTrace(next)
		}
		switch {
		case t.message.Kind.HasPayload():
			c.leaving++
			w.startMessageFlow(next)
		case next == i:
			t.connection = nil
			t.activities-- // it has not waited
		default:
			t.connection = nil
			w.endActivity(next, bandwidth)
		}
	}
}

// leaveConnection ends the place of a delivery whose flow has ended.
func (w *simulation) leaveConnection(i int32) {
	if c := w.tasks[i].connection; c != nil {
		w.tasks[i].connection = nil
		c.leaving--
		w.advanceConnection(c, i)
		w.closeIdle(c)
	}
}

// startMessageFlow begins the flow of a delivery, an activity that has been counted.
func (w *simulation) startMessageFlow(i int32) {
	t := &w.tasks[i]
	source, target := &w.places[t.role], &w.places[t.to]
	w.net.Start(w.clock.Now(), fabric.Flow{
		Path:  w.pathOf(t.way, source, target, int(t.copies), w.fold.size(t.message.Rank)),
		Bytes: t.message.Bytes, Tag: int64(i), Limit: w.rateLimit(t, source, target),
	})
}

// connectionsOf returns how many messages at once can be on the wires from the sender of one to its receiver.
// If ranks are folded, there are connections between all EWs and ranks that the two stand for.
func (w *simulation) connectionsOf(t *task) int {
	n := max(1, w.prices.System.Messages.Connections.Mid)
	return max(1, int(math.Ceil(float64(n)*w.connectionShare(t))))
}

// connectionShare returns the number of equal connections that a message uses, over the number of messages
// that it stands for: above 1 if there are connections to spare, below 1 if messages wait for each other.
func (w *simulation) connectionShare(t *task) float64 {
	isWorker := func(i int32) bool { return w.instances[i].at.Role == msg.EmbeddingWorker }
	if w.fold == nil || w.places[t.role].own || w.places[t.to].own || !isWorker(t.role) && !isWorker(t.to) {
		return 1 // each rank has connections of its own
	}
	return w.fold.workers / w.fold.size(t.message.Rank)
}

// rateLimit returns the rate that the flow of a message cannot exceed, or 0. Where the cards of several hosts
// are one, each message still has those of one host.
func (w *simulation) rateLimit(t *task, source, target *place) unit.BytesPerSec {
	limit := w.windowLimit(t.way, source, target)
	if w.fold == nil {
		return limit
	}
	limit *= unit.BytesPerSec(min(1, w.connectionShare(t)))
	for _, at := range []*place{source, target} {
		if w.wires(at, w.fold.size(t.message.Rank)) >= 1 {
			continue
		}
		card := unit.BytesPerSec(0)
		for _, link := range w.graph.HostCards(w.hosts[at.host].node) {
			card += w.graph.Links()[link].Capacity * unit.BytesPerSec(w.rates[bandwidth])
		}
		if limit == 0 || card < limit {
			limit = card
		}
	}
	return limit
}

// windowLimit returns the rate of a connection of which at most a window of bytes is under way: a window in
// the time in which a byte and its acknowledgement cross an idle network. It is 0, which is no limit, without
// a window. Several hosts that a role stands for have a connection each.
func (w *simulation) windowLimit(on *way, source, target *place) unit.BytesPerSec {
	window := w.prices.System.Messages.Window.Mid
	round := 2 * w.rates.time(latency, w.prices.NetworkWire.Latency+on.farther)
	if window == 0 || round == 0 {
		return 0
	}
	return unit.BytesPerSec(float64(window) / round.Seconds() / (source.stripe * target.stripe))
}
