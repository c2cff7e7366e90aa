package role

import (
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

var servedStrategy = strategy{
	worker:      func(*Config) denseSync { return &served{} },
	coordinator: func(cfg *Config) Role { return NewCoordinator(cfg) },
}

// served is dense synchronisation by dense PSs, which hold the parameters: a rank pulls the parameters before
// FC and pushes its gradients after BC.
type served struct {
	pulled  []requestStatus // by dense PS, for the current step; nil before the request
	pushes  []pendingPush   // pushes that some dense PS has not acknowledged, in step order
	pushed  progress        // steps that every dense PS has acknowledged; floor is the clock of the rank
	slowest int32           // the last slowest clock from the coordinator
}

// pendingPush is the push of a step that some dense PS has not acknowledged.
type pendingPush struct {
	step        int32
	samples     int32
	stepSamples int32
	asked       []requestStatus // by dense PS
}

func (s *served) receive(w *NNWorker, now unit.Tick, m msg.Message, out *Outputs) {
	switch m.Kind {
	case msg.Params:
		s.receiveParams(w, m, out)
	case msg.PushAck:
		s.receivePushAck(w, now, m, out)
	case msg.SlowestClock:
		s.slowest = max(s.slowest, m.Step)
	}
}

func (s *served) bucketReduced(*NNWorker, Input) {}

func (s *served) workDone(*NNWorker, unit.Tick, Work, *Outputs) {}

// advance pushes the gradients when BC has ended, starts PEG and continues with the next step.
func (s *served) advance(w *NNWorker, now unit.Tick, out *Outputs) {
	if w.phase != backward || !w.computed {
		return
	}
	b := w.find(w.nextTrain)
	s.pushGradients(w, now, b, out)
	w.putGradients(now, b, out)
	w.nextStep()
}

func (s *served) ready(w *NNWorker, b *trainingBatch, out *Outputs) bool {
	s.pullParameters(w, b, out)
	return s.pulled != nil && settled(s.pulled)
}

func (s *served) forwardReads(w *NNWorker, step int32) []Handle {
	return []Handle{w.handle(PulledParams, step)}
}

func (s *served) finished(w *NNWorker) bool { return s.pushed.floor >= w.end }

// pullParameters requests the parameters of the next step as soon as the rule allows it: when no other rank
// is too far behind and, unless pulls are early, when the last push of the rank is acknowledged and the
// embeddings are here.
func (s *served) pullParameters(w *NNWorker, b *trainingBatch, out *Outputs) {
	switch {
	case s.pulled != nil || int64(b.step)-int64(s.slowest) > int64(w.cfg.Rule.Lead()):
		return
	case !w.cfg.Rule.OverlapSync() && (len(s.pushes) > 0 || !b.pooled):
		return
	case len(s.pushes) >= int(w.cfg.Prefetch): // bounds the gradients in flight
		return
	}
	s.pulled = slices.Repeat([]requestStatus{asked}, len(w.cfg.DensePSs))
	s.sendRequests(w, msg.Pull, s.pulled, b.step, 0, 0, out)
}

// receiveParams handles the parameters of one dense PS.
func (s *served) receiveParams(w *NNWorker, m msg.Message, out *Outputs) {
	if m.Step == w.nextTrain && s.pulled != nil && s.pulled[m.From.Index] == asked {
		s.pulled[m.From.Index] = answered
		out.keep(PulledParams, w.rank, m.Step)
	}
}

// pushGradients sends the gradients of the current step to the dense PSs.
func (s *served) pushGradients(w *NNWorker, now unit.Tick, b *trainingBatch, out *Outputs) {
	p := pendingPush{b.step, b.samples, b.stepSamples,
		slices.Repeat([]requestStatus{asked}, len(w.cfg.DensePSs))}
	s.pushes = append(s.pushes, p)
	s.pulled = nil
	out.record(w.event(now, event.SyncStarted, b.step))
	s.sendRequests(w, msg.Push, p.asked, p.step, p.samples, p.stepSamples, out)
}

// receivePushAck handles the acknowledgement of one dense PS.
func (s *served) receivePushAck(w *NNWorker, now unit.Tick, m msg.Message, out *Outputs) {
	i := slices.IndexFunc(s.pushes, func(p pendingPush) bool { return p.step == m.Step })
	if i < 0 {
		return // a late duplicate
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
	s.reportClock(w, out)
}

// reportClock sends the clock of the rank to the coordinator, if there is one.
func (s *served) reportClock(w *NNWorker, out *Outputs) {
	if w.cfg.coordinated() {
		w.send(out, msg.ReportClock, coordinator, s.pushed.floor, nil, 0)
	}
}

// sendRequests sends a request to every dense PS that has not answered it.
func (s *served) sendRequests(w *NNWorker, k msg.Kind, xs []requestStatus, step, samples, stepSamples int32,
	out *Outputs) {
	for i, x := range xs {
		if x != asked {
			continue
		}
		var payload Handle
		m := msg.Message{
			Kind: k, From: w.Address(), To: densePS(int32(i)), Rank: w.rank, Step: step,
			Floor: s.pushed.floor, Samples: samples, StepSamples: stepSamples, Bytes: msg.HeaderBytes,
		}
		if k.HasPayload() {
			m.Bytes += w.cfg.pushBytes(int32(i))
			payload = w.handle(DenseGradients, step)
		}
		out.send(m, payload)
	}
}

func (s *served) resend(w *NNWorker, out *Outputs) {
	s.sendRequests(w, msg.Pull, s.pulled, w.nextTrain, 0, 0, out)
	for _, p := range s.pushes {
		s.sendRequests(w, msg.Push, p.asked, p.step, p.samples, p.stepSamples, out)
	}
	s.reportClock(w, out) // the coordinator may have lost the clock
}

func (s *served) clone() denseSync {
	c := *s
	c.pulled = slices.Clone(s.pulled)
	c.pushes = slices.Clone(s.pushes)
	for i := range c.pushes {
		c.pushes[i].asked = slices.Clone(c.pushes[i].asked)
	}
	c.pushed = s.pushed.clone()
	return &c
}

func (s *served) appendState(dst []byte) []byte {
	dst = s.pushed.appendState(dst)
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
