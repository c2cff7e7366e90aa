package cluster

import (
	"tandem/algo/msg"
	"tandem/algo/role"
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

// send begins the delivery of a message.
func (w *world) send(from int32, m msg.Message) {
	w.messages += int64(w.everywhere(m))
	w.sent += m.Bytes * unit.Bytes(w.everywhere(m))
	t := task{kind: delivering, role: from, message: m}
	if w.numbers != nil {
		t.payload = w.numbers.Payload(m)
	}
	i := w.open(t)
	w.proceed(i)
}

// everywhere is the number of like messages that one stands for.
func (w *world) everywhere(m msg.Message) int {
	return max(w.places[w.indexOf(m.From)].everywhere, w.places[w.indexOf(m.To)].everywhere)
}

// deliver begins the present stage of a delivery and reports whether that was
// the last.
func (w *world) deliver(i int32) (ended bool) {
	t := &w.tasks[i]
	m := t.message
	from, to := t.role, w.indexOf(m.To)
	source, target := &w.places[from], &w.places[to]
	remote := source.host != target.host
	switch t.stage {
	case copyFromDevice:
		if (m.Kind == msg.PutGradients || m.Kind == msg.Push) && w.prices.hostLink != nil {
			_, end := w.ranks[m.Rank].copyOut.Run(w.clock.Now(), w.prices.linkWire.Time(m.Bytes))
			w.wait(i, end)
		}
	case sendCores:
		w.handle(i, source, m, remote)
	case cross:
		if remote && m.Kind.HasPayload() {
			many := w.everywhere(m)
			w.transfer(i, m.Bytes,
				fabric.Hop{Link: w.hosts[source.host].up, Multiplicity: source.copies(many)},
				fabric.Hop{Link: w.hosts[target.host].down, Multiplicity: target.copies(many)})
		}
	case travel:
		if remote {
			w.wait(i, w.clock.Now()+w.prices.netWire.Latency)
		}
	case receiveCores:
		w.handle(i, target, m, remote)
	case copyToDevice:
		if (m.Kind == msg.Samples || m.Kind == msg.Embeddings || m.Kind == msg.Params) && w.prices.hostLink != nil {
			_, end := w.ranks[m.Rank].copyIn.Run(w.clock.Now(), w.prices.linkWire.Time(m.Bytes))
			w.wait(i, end)
		}
	case hand:
		w.handed = t.payload
		w.close(i)
		w.received += m.Bytes * unit.Bytes(w.everywhere(m))
		w.step(to, role.Input{Kind: role.Received, Message: m})
		return true
	}
	return false
}

// handle charges one end of a message: a fixed core time, and a copy of what
// crosses a network. Inside one machine messages pass pointers.
func (w *world) handle(i int32, at *place, m msg.Message, remote bool) {
	cost := device.HostCost{Core: w.prices.messageTime}
	if remote && m.Kind.HasPayload() {
		cost = cost.Add(w.hosts[at.host].model.CopyCost(m.Bytes))
	}
	w.charge(i, at.host, cost, 1, at.copies(w.everywhere(m)))
}
