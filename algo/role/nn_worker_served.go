package role

import (
	"slices"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/unit"
)

// served is what an NN worker knows about a dense network that lives on servers.
type served struct {
	pulled  []exchange // by dense PS, of the step in training; nil before it is asked for
	pushes  []push     // not acknowledged by every dense PS, in step order
	pushed  progress   // steps acknowledged by every dense PS; its floor is the rank's clock
	slowest int32      // the slowest rank's clock, as last heard
}

// push is the gradients of a step on their way to the dense PSs.
type push struct {
	step        int32
	samples     int32
	stepSamples int32
	asked       []exchange // by dense PS
}

// pull asks for the parameters of the next step when the rule lets it: when no
// other rank is too far behind, and, unless that is overlapped, when the rank's
// own last push is acknowledged and the embeddings are here.
func (w *NNWorker) pull(b *training, out *Outputs) {
	s := &w.served
	switch {
	case s.pulled != nil || int64(b.step)-int64(s.slowest) > int64(w.cfg.Rule.Lead()):
		return
	case !w.cfg.Rule.OverlapSync() && (len(s.pushes) > 0 || !b.pooled):
		return
	case len(s.pushes) >= int(w.cfg.Prefetch): // else there were no bound on what is in flight
		return
	}
	s.pulled = slices.Repeat([]exchange{asked}, len(w.cfg.DenseServers))
	w.askServers(msg.Pull, s.pulled, b.step, 0, 0, out)
}

// parameters takes a shard of the parameters.
func (w *NNWorker) parameters(m msg.Message, out *Outputs) {
	if m.Step == w.nextTrain && w.served.pulled != nil && w.served.pulled[m.From.Index] == asked {
		w.served.pulled[m.From.Index] = answered
		out.keep(PulledParams, w.rank, m.Step)
	}
}

// push hands the gradients of the step in training to the dense PSs and goes on
// to the next step.
func (w *NNWorker) push(now unit.Tick, b *training, out *Outputs) {
	p := push{b.step, b.samples, b.stepSamples, slices.Repeat([]exchange{asked}, len(w.cfg.DenseServers))}
	w.served.pushes = append(w.served.pushes, p)
	w.served.pulled = nil
	out.record(w.event(now, event.SyncStarted, b.step))
	w.askServers(msg.Push, p.asked, p.step, p.samples, p.stepSamples, out)
}

// pushAcked takes the acknowledgement of a dense PS.
func (w *NNWorker) pushAcked(now unit.Tick, m msg.Message, out *Outputs) {
	s := &w.served
	i := slices.IndexFunc(s.pushes, func(p push) bool { return p.step == m.Step })
	if i < 0 {
		return // an echo
	}
	s.pushes[i].asked[m.From.Index] = answered
	if !settled(s.pushes[i].asked) {
		return
	}
	s.pushes = slices.Delete(s.pushes, i, i+1)
	s.pushed.add(m.Step)
	out.release(DenseGradients, w.rank, m.Step)
	out.record(w.event(now, event.SyncDone, m.Step))
	out.record(w.event(now, event.DenseApplied, m.Step))
	w.reportClock(out)
}

// reportClock tells the coordinator how far the rank is, if there is one.
func (w *NNWorker) reportClock(out *Outputs) {
	if w.cfg.clocked() {
		w.send(out, msg.ReportClock, coordinator, w.served.pushed.floor, nil, 0)
	}
}

// askServers sends a request to every dense PS that has not answered it.
func (w *NNWorker) askServers(k msg.Kind, xs []exchange, step, samples, stepSamples int32, out *Outputs) {
	for i, x := range xs {
		if x != asked {
			continue
		}
		var payload Handle
		m := msg.Message{
			Kind: k, From: w.Address(), To: denseServer(int32(i)), Rank: w.rank, Step: step, Floor: w.served.pushed.floor,
			Samples: samples, StepSamples: stepSamples, Bytes: msg.HeaderBytes,
		}
		if k.HasPayload() {
			m.Bytes += w.cfg.DenseServers[i]
			payload = w.handle(DenseGradients, step)
		}
		out.send(m, payload)
	}
}

// resendServed is resend for what dense PSs and the coordinator have not answered.
func (w *NNWorker) resendServed(out *Outputs) {
	w.askServers(msg.Pull, w.served.pulled, w.nextTrain, 0, 0, out)
	for _, p := range w.served.pushes {
		w.askServers(msg.Push, p.asked, p.step, p.samples, p.stepSamples, out)
	}
	w.reportClock(out) // the coordinator may have lost it
}

func (s served) clone() served {
	s.pulled = slices.Clone(s.pulled)
	s.pushes = slices.Clone(s.pushes)
	for i := range s.pushes {
		s.pushes[i].asked = slices.Clone(s.pushes[i].asked)
	}
	s.pushed = s.pushed.clone()
	return s
}

func (s *served) append(dst []byte) []byte {
	dst = s.pushed.append(dst)
	dst = appendInts(dst, s.slowest, int32(len(s.pulled)), int32(len(s.pushes)))
	for _, x := range s.pulled {
		dst = append(dst, byte(x))
	}
	for _, p := range s.pushes {
		dst = appendInts(dst, p.step)
		for _, x := range p.asked {
			dst = append(dst, byte(x))
		}
	}
	return dst
}
