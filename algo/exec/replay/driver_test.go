package replay

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

const (
	batchSize = 16
	steps     = 12
)

// samples is a source of random samples: one slot of one id, one numeric feature.
type samples struct{}

func (samples) Steps() int      { return steps }
func (samples) Samples(int) int { return batchSize }
func (samples) Schema() *batch.Schema {
	return &batch.Schema{Slots: []batch.Slot{{Name: "user", Dim: 2}}, Dense: []string{"age"},
		Labels: []string{"click"}, PrefixBits: 8}
}

func (samples) Read(step int) (*batch.Batch, error) {
	draw := rng.New(1, "samples", uint64(step))
	b := &batch.Batch{Samples: batchSize, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
	for i := range batchSize {
		b.Slots[0].IDs = append(b.Slots[0].IDs, draw.Uint64N(20))
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(i+1))
		b.Dense = append(b.Dense, float32(draw.NormFloat64()))
		b.Labels = append(b.Labels, float32(draw.IntN(2)))
	}
	return b, nil
}

// training returns the training of a small network on 2 ranks, 2 EWs, 2 PSs and 2 dense PSs.
func training(mode string) job.Job {
	t := job.Default()
	t.Training.Mode, t.Roles.Ranks, t.Training.GlobalBatch, t.Training.Groups, t.Training.Prefetch = mode, 2,
		batchSize, 4, 3
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 2, Top: []int{4}, Activation: model.ReLU,
		BatchNorm: true}
	t.Model.Optimizer.Rate, t.Roles.DensePSs, t.Training.ModeSettings = 0.05, 2,
		map[string]int{"every": 3, "slack": 1}
	return t.InMode(mode)
}

// retry is the number of ticks that the roles of a world with faults wait for a reply: about ten inputs.
const retry = 100

// setup returns what a driver needs, for a run that loses no message if retry is 0.
func setup(t testing.TB, mode string, retry unit.Tick) (*role.Config, *exec.Executor) {
	t.Helper()
	training := training(mode)
	training.Wire.Retry = retry
	p, err := exec.New(training, samples{}, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := training.RoleConfig(p.Model().Layout(), 0, steps)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, p
}

// world is a driver that executes one possible event at a time, chosen at random, and performs work at any
// time between its issue and its end. Roles live on machines whose clocks differ.
type world struct {
	t        testing.TB
	cfg      *role.Config
	roster   role.Roster
	executor *exec.Executor
	draw     *rand.Rand
	trouble  trouble
	now      unit.Tick
	homes    []*home // by roster
	mail     []letter
	barrier  *role.Reduction
	observed []event.Record
	finished int32 // ranks
	crashed  []msg.Role
	lost     int
	repeated int
}

// trouble lists the faults of a world.
type trouble struct {
	lose  bool // messages are lost, one in ten
	twice bool // messages are repeated, one in ten
	crash bool // roles that can restart crash, three times in all, and are away for a while
	apart bool // clocks are up to a thousand ticks apart
}

// needsRetry reports whether messages can be lost.
func (has trouble) needsRetry() bool { return has.lose || has.crash || has.twice }

func (has trouble) retry() unit.Tick {
	if has.needsRetry() {
		return retry
	}
	return 0
}

// home is one role with its store, its clock and its queues.
type home struct {
	*world
	state       role.Role
	store       *exec.Store
	stream      bytes.Buffer
	log         *Writer
	skew        unit.Tick
	asked       role.LaneQueues[order]
	inputs      role.LaneQueues[role.Input] // of work
	reduced     role.Queue[role.Input]
	timer       unit.Tick // by its own clock
	timerSet    bool
	incarnation uint32
	away        bool
	handled     letter
}

type letter struct {
	to      *home
	in      role.Input
	payload exec.Payload
}

// record runs a training to its end in an order that the seed picks, and returns the streams.
func record(t testing.TB, cfg *role.Config, p *exec.Executor, seed uint64, has trouble) *world {
	t.Helper()
	w := &world{t: t, cfg: cfg, roster: cfg.Roster(), executor: p, draw: rng.New(seed, "order"), trouble: has,
		barrier: role.NewReduction(int(cfg.Ranks), len(cfg.Buckets))}
	for _, state := range role.New(cfg) {
		h := &home{world: w, state: state, store: exec.NewStore()}
		if has.apart {
			h.skew = unit.Tick(w.draw.IntN(1000))
		}
		var err error
		if h.log, err = NewWriter(&h.stream, Header{Role: state.Address(), Job: []byte("job"),
			Config: *cfg}); err != nil {
			t.Fatal(err)
		}
		w.homes = append(w.homes, h)
	}
	for _, h := range w.homes {
		w.step(letter{to: h, in: role.Input{Kind: role.Start}})
	}
	for w.happen() {
	}
	for _, h := range w.homes {
		if h.away {
			h.comeBack()
		}
		w.step(letter{to: h, in: role.Input{Kind: role.Stop}})
	}
	for _, h := range w.homes {
		if h.store.Len() > 0 {
			t.Fatalf("%v holds %d handles", h.state.Address(), h.store.Len())
		}
		if err := h.log.Finish(p.Model().Digest(h.state.Address())); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// happen executes one event; it returns false if none is possible.
func (w *world) happen() bool {
	var able []func()
	if n := len(w.mail); n > 0 {
		able = append(able, func() { w.deliver(w.draw.IntN(n)) })
	}
	for _, h := range w.homes {
		if h.away {
			able = append(able, func() {
				if w.draw.IntN(5) == 0 {
					h.comeBack()
				}
			})
		}
		for lane := range h.asked {
			if h.asked[lane].Len() > 0 {
				able = append(able, func() { h.perform(h.asked[lane].Pop()) })
			}
			if h.inputs[lane].Len() > 0 {
				able = append(able, func() { w.step(letter{to: h, in: h.inputs[lane].Pop()}) })
			}
		}
		if h.reduced.Len() > 0 {
			able = append(able, func() { w.step(letter{to: h, in: h.reduced.Pop()}) })
		}
	}
	for _, h := range w.homes {
		if h.timerSet && w.finished < w.cfg.Ranks && (len(able) == 0 || h.timer <= w.now+h.skew) {
			able = append(able, func() {
				w.now, h.timerSet = max(w.now, h.timer-h.skew), false
				w.step(letter{to: h, in: role.Input{Kind: role.TimerFired}})
			})
		}
	}
	if len(able) == 0 {
		return false
	}
	able[w.draw.IntN(len(able))]()
	return true
}

// deliver removes a letter from the mail and delivers it, unless a fault prevents that.
func (w *world) deliver(i int) {
	l := w.mail[i]
	if w.trouble.twice && w.draw.IntN(10) == 0 {
		w.repeated++
		w.mail = append(w.mail, l)
	}
	w.mail = append(w.mail[:i], w.mail[i+1:]...)
	switch {
	case l.to.away, w.trouble.lose && w.draw.IntN(10) == 0:
		w.lost++
	case w.trouble.crash && len(w.crashed) < 3 && l.to.restarts() && w.draw.IntN(30) == 0:
		l.to.crash()
	default:
		w.step(l)
	}
}

func (h *home) restarts() bool { return h.cfg.CanRestart(h.state.Address().Role) }

// crash removes all state of a role.
func (h *home) crash() {
	h.crashed = append(h.crashed, h.state.Address().Role)
	h.away, h.timerSet, h.store = true, false, exec.NewStore()
	h.asked.Clear()
	h.inputs.Clear()
}

// comeBack starts the next incarnation of a role.
func (h *home) comeBack() {
	h.away = false
	h.incarnation++
	h.step(letter{to: h, in: role.Input{Kind: role.Start, Incarnation: h.incarnation}})
}

// order is work that a role has asked for.
type order struct {
	work     role.Work
	operands role.Operands
}

// perform does work.
func (h *home) perform(of order) {
	w := of.work
	lane := h.inputs.Lane(w.Kind)
	result, err := h.executor.Execute(h.state.Address(), h.store, w, of.operands, func(bucket int32) {
		lane.Push(role.Input{Kind: role.WorkPart, Work: w, Bucket: bucket})
	})
	done := role.Input{Kind: role.WorkDone, Work: w, Result: result}
	if err != nil {
		done = role.Input{Kind: role.WorkFailed, Work: w, Reason: err}
	}
	lane.Push(done)
}

// step passes one input to a role and executes its outputs.
func (w *world) step(l letter) {
	w.now += unit.Tick(w.draw.IntN(3))
	var out role.Outputs
	now := w.now + l.to.skew
	l.to.state.HandleInput(now, l.in, &out)
	if err := l.to.log.Step(now, &l.in, l.payload, out.List); err != nil {
		w.t.Fatal(err)
	}
	l.to.handled = l
	if err := role.Dispatch(&l.in, &out, l.to); err != nil {
		w.t.Fatal(err)
	}
}

// A home is the role.Driver of its role.

func (h *home) Send(m msg.Message, payload role.Handle) error {
	to, _ := h.roster.Index(m.To)
	h.mail = append(h.mail, letter{
		h.homes[to], role.Input{Kind: role.Received, Message: m}, h.executor.Payload(h.store, m, payload),
	})
	return nil
}

func (h *home) QueueWork(w role.Work, o role.Operands) error {
	h.asked.Lane(w.Kind).Push(order{w, o})
	return nil
}

func (h *home) Feed(c role.Contribution) error {
	h.executor.Feed(h.store, c)
	fed, err := h.barrier.Feed(int(c.Rank), c.Step, c.Bucket)
	if err != nil || fed != role.Complete {
		return err
	}
	h.executor.Reduce(c.Step, c.Bucket)
	for rank := range h.cfg.Ranks {
		to, _ := h.roster.Index(msg.Address{Role: msg.NNWorker, Index: rank})
		h.homes[to].reduced.Push(role.Input{
			Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: c.Step}, Bucket: c.Bucket,
		})
	}
	return nil
}

func (h *home) Keep(m msg.Message, as role.Handle) error {
	h.executor.Keep(h.store, m, as, h.handled.payload, nil)
	return nil
}

func (h *home) Release(handle role.Handle) error {
	h.store.Release(handle)
	return nil
}

func (h *home) SetTimer(at unit.Tick) error {
	h.timer, h.timerSet = at, true
	return nil
}

func (h *home) Observe(e event.Record) error {
	h.observed = append(h.observed, e)
	return nil
}

func (h *home) Finish() error {
	h.finished++
	return nil
}

func (h *home) Halt(reason error) error { return reason }

// entry is one step of a stream, which a test may change.
type entry struct {
	number  int // from 1
	now     unit.Tick
	in      *role.Input
	payload uint64
	out     []role.Output
	drop    bool // leave it out
}

// recording returns the streams.
func (w *world) recording(t testing.TB) *Recording { return w.edited(t, msg.Address{}, nil) }

// edited returns the streams, of which change, if not nil, has changed the steps of one role.
func (w *world) edited(t testing.TB, at msg.Address, change func(*entry)) *Recording {
	t.Helper()
	var readers []*Reader
	for _, h := range w.homes {
		stream := h.stream.Bytes()
		if change != nil && h.state.Address() == at {
			stream = edited(t, stream, change)
		}
		r, err := NewReader(bytes.NewReader(stream), h.state.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	recording, err := New(w.cfg.Rule, readers)
	if err != nil {
		t.Fatal(err)
	}
	return recording
}

// edited returns a stream whose steps are changed and whose sums are right.
func edited(t testing.TB, stream []byte, change func(*entry)) []byte {
	t.Helper()
	all, r, err := read(stream)
	if err != nil {
		t.Fatal(err)
	}
	var changed bytes.Buffer
	w, err := NewWriter(&changed, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range all {
		e := entry{i + 1, s.Now, &s.Input, s.Payload, outputsOf(t, s), false}
		if change(&e); e.drop {
			continue
		}
		if err := w.add(e.now, e.in, e.payload, appendOutputs(nil, e.out)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(r.end.Digest); err != nil {
		t.Fatal(err)
	}
	return changed.Bytes()
}
