package cluster

import (
	"tandem/algo/exec"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/fabric"
)

// The stages of a delivery, in their order.
const (
	copyFromDevice int32 = iota // gradients leave the accelerator
	sendCores
	cross
	travel
	receiveCores
	copyToDevice // samples, pooled embeddings and pulled parameters enter the accelerator
	hand
)

// send begins the delivery of a message, or of one that is lost on its way.
func (w *world) send(from int32, p fault.Parcel[exec.Payload], lost bool) {
	m := &p.Message
	to := w.indexOf(m.To)
	many := max(w.places[from].everywhere, w.places[to].everywhere)
	w.messages += int64(many)
	w.sent += m.Bytes * unit.Bytes(many)
	due := w.clock.Now() + p.Delay
	i := w.open(task{
		kind: delivering, role: from, to: to, many: int32(many), since: due, message: *m, payload: p.Payload, lost: lost,
	})
	if p.Delay > 0 {
		w.wait(i, due)
		return
	}
	w.proceed(i)
}

// deliver begins the present stage of a delivery and reports whether that was
// the last.
func (w *world) deliver(i int32) (ended bool) {
	t := &w.tasks[i]
	m := &t.message
	source, target := &w.places[t.role], &w.places[t.to]
	remote := source.host != target.host
	switch t.stage {
	case copyFromDevice:
		if (m.Kind == msg.PutGradients || m.Kind == msg.Push) && w.prices.hostLink != nil {
			_, end := w.ranks[m.Rank].copyOut.Run(w.clock.Now(), w.prices.linkWire.Time(m.Bytes))
			w.wait(i, end)
		}
	case sendCores:
		w.handle(i, source, remote)
	case cross:
		if remote && m.Kind.HasPayload() {
			many := int(t.many)
			w.transfer(i, m.Bytes,
				fabric.Hop{Link: w.hosts[source.host].up, Multiplicity: source.copies(many)},
				fabric.Hop{Link: w.hosts[target.host].down, Multiplicity: target.copies(many)})
		}
	case travel:
		if remote {
			w.wait(i, w.clock.Now()+w.prices.netWire.Latency)
		}
	case receiveCores:
		if t.lost || w.instances[t.to].away {
			w.drop(i)
			return true
		}
		w.handle(i, target, remote)
	case copyToDevice:
		if (m.Kind == msg.Samples || m.Kind == msg.Embeddings || m.Kind == msg.Params) && w.prices.hostLink != nil {
			_, end := w.ranks[m.Rank].copyIn.Run(w.clock.Now(), w.prices.linkWire.Time(m.Bytes))
			w.wait(i, end)
		}
	case hand:
		if w.instances[t.to].away {
			w.drop(i)
			return true
		}
		to, in := t.to, role.Input{Kind: role.Received, Message: t.message}
		w.handed = t.payload
		w.received += m.Bytes * unit.Bytes(t.many)
		w.close(i)
		w.step(to, in)
		return true
	}
	return false
}

// drop ends the delivery of a message that nobody receives.
func (w *world) drop(i int32) {
	t := &w.tasks[i]
	w.dropped += t.message.Bytes * unit.Bytes(t.many)
	w.close(i)
}

// handle charges one end of a message: a fixed core time, and a copy of what
// crosses a network. Inside one machine messages pass pointers.
func (w *world) handle(i int32, at *place, remote bool) {
	t := &w.tasks[i]
	m := &t.message
	cost := device.HostCost{Core: w.prices.messageTime}
	if remote && m.Kind.HasPayload() {
		cost = cost.Add(w.hosts[at.host].model.CopyCost(m.Bytes))
	}
	w.charge(i, at.host, cost, 1, at.copies(int(t.many)))
}
