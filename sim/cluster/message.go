package cluster

import (
	"tandem/algo/exec"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// The stages of a delivery, in their order.
const (
	copyFromDevice int32 = iota // gradients leave the accelerator
	chargeSender
	transferPayload
	awaitLatency
	chargeReceiver
	copyToDevice // samples, pooled embeddings and pulled parameters enter the accelerator
	arrive
)

// send begins the delivery of a message, or of one that is lost on its way.
func (w *simulation) send(from int32, p fault.Parcel[exec.Payload], lost bool) {
	m := &p.Message
	to := w.roleIndex(m.To)
	many := max(w.places[from].instances, w.places[to].instances)
	w.messages += int64(many) * int64(w.fold.size(m.Rank))
	w.sent += m.Bytes * unit.Bytes(many) * unit.Bytes(w.fold.size(m.Rank))
	due := w.clock.Now() + p.Delay
	if p.Delay > 0 {
		due += w.prices.TimerLate()
	}
	var on *way
	if source, target := &w.places[from], &w.places[to]; source.host != target.host {
		on = w.way(source, target)
	}
	i := w.openTask(task{
		kind: delivering, way: on, role: from, to: to, copies: int32(many), since: due, message: *m,
		payload: p.Payload, lost: lost, jitter: w.messageJitter(from, to, m),
	})
	w.recorder.send(w, i)
	if p.Delay > 0 {
		w.waitUntil(i, due, passing)
		return
	}
	w.proceed(i)
}

// deliverStage begins the current stage of a delivery and reports whether the delivery has ended.
func (w *simulation) deliverStage(i int32) (ended bool) {
	t := &w.tasks[i]
	m := &t.message
	source, target := &w.places[t.role], &w.places[t.to]
	remote := source.host != target.host
	switch t.stage {
	case copyFromDevice:
		out := m.Kind == msg.PutGradients || m.Kind == msg.Push
		if bytes := w.copied(m); out && bytes > 0 && !w.prices.Colocated() {
			w.serve(i, &w.accelerators[m.Rank].copyOut, copyEngines, w.copyTime(bytes, t.jitter), t.jitter)
		}
	case chargeSender:
		if remote {
			w.joinConnection(i)
		}
		w.chargeMessage(i, source, remote)
	case transferPayload:
		if remote {
			w.enterConnection(i)
		}
	case awaitLatency:
		if remote {
			far := w.prices.NetworkWire.Latency + t.way.farther
			w.waitUntil(i, w.clock.Now()+w.rates.time(latency, far).Scale(t.jitter), latency)
		}
	case chargeReceiver:
		if t.lost || w.instances[t.to].away {
			w.dropMessage(i)
			return true
		}
		w.chargeMessage(i, target, remote)
	case copyToDevice:
		in := m.Kind == msg.Samples || m.Kind == msg.Embeddings || m.Kind == msg.Params
		if bytes := w.copied(m); in && bytes > 0 && !w.prices.Colocated() {
			w.serve(i, &w.accelerators[m.Rank].copyIn, copyEngines, w.copyTime(bytes, t.jitter), t.jitter)
		}
	case arrive:
		if w.instances[t.to].away {
			w.dropMessage(i)
			return true
		}
		to, in := t.to, role.Input{Kind: role.Received, Message: t.message}
		w.incoming, w.cause = t.payload, w.traces[i].path
		w.received += m.Bytes * unit.Bytes(t.copies) * unit.Bytes(w.fold.size(m.Rank))
		w.recorder.arrive(w, i)
		w.closeTask(i)
		w.handleInput(to, in)
		return true
	}
	return false
}

// copied returns how many bytes of a message from or to a rank cross the link of its accelerator: all, but
// for rows on accelerators, whose ids stay on the host until the forward pass. Pooled embeddings are as large
// as their gradients.
func (w *simulation) copied(m *msg.Message) unit.Bytes {
	if m.Kind != msg.Embeddings && m.Kind != msg.PutGradients || !w.prices.Job.HasRowsOnGPU() {
		return m.Bytes
	}
	samples := w.prices.Samples(int(m.Rank), w.stepSamples(m.Step))
	pooled := w.prices.BatchOn(w.places[w.roleOfRank(m.Rank)].device, samples).GradientBytes
	if pooled == 0 {
		return 0 // the rows of all slots are there
	}
	return msg.HeaderBytes + pooled
}

// copyTime returns the time of one copy between a host and an accelerator.
func (w *simulation) copyTime(bytes unit.Bytes, jitter float64) unit.Tick {
	return w.rates.time(copyEngines, w.prices.HostLinkWire.Time(bytes)).Scale(jitter)
}

// dropMessage ends the delivery of a message that no role receives.
func (w *simulation) dropMessage(i int32) {
	t := &w.tasks[i]
	w.dropped += t.message.Bytes * unit.Bytes(t.copies) * unit.Bytes(w.fold.size(t.message.Rank))
	w.recorder.lose(i)
	w.closeTask(i)
}

// chargeMessage charges one end of a message: a fixed core time, and a copy of a payload that crosses a
// network. Inside one machine messages pass pointers.
func (w *simulation) chargeMessage(i int32, at *place, remote bool) {
	t := &w.tasks[i]
	m := &t.message
	payload := unit.Bytes(0)
	if m.Kind.HasPayload() {
		payload = m.Bytes
	}
	price := w.prices.Message(w.hosts[at.host].model, payload, remote)
	w.charge(i, at.host, price.Scale(t.jitter), 1, at.copies(int(t.copies)),
		w.fold.shareOf(at, m.Rank, t.jitter, 0))
}
