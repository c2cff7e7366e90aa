package replay

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tandem/algo/batch"
	"tandem/algo/event"
	"tandem/algo/job"
	"tandem/algo/model"
	"tandem/algo/msg"
	"tandem/algo/pace"
	"tandem/algo/rng"
	"tandem/algo/role"
	"tandem/algo/unit"
	"tandem/algo/work"
)

const (
	batchSize = 16
	steps     = 8
)

// samples is a source of random samples: one slot of one id, one numeric feature.
type samples struct{}

func (samples) Steps() int      { return steps }
func (samples) Samples(int) int { return batchSize }
func (samples) Schema() *batch.Schema {
	return &batch.Schema{Slots: []batch.Slot{{Name: "user", Dim: 2}}, Dense: []string{"age"}, Labels: []string{"click"}, PrefixBits: 8}
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

// training is of a small network on 2 ranks, 2 EWs, 2 PSs and 2 dense PSs.
func training(mode string) job.Training {
	t := job.Default()
	t.Mode, t.Ranks, t.GlobalBatch, t.Groups, t.Prefetch = mode, 2, batchSize, 4, 3
	t.Model = model.Spec{Kind: model.FeedForward, EmbeddingDim: 2, Top: []int{4}, Activation: model.ReLU, BatchNorm: true}
	t.Dense.Rate, t.DenseServers, t.AverageEvery, t.Slack = 0.05, 2, 3, 1
	return t
}

// setup returns what a driver needs, for a run that loses no message if retry is 0.
func setup(t testing.TB, mode string, retry unit.Tick) (*role.Config, *work.Performer) {
	t.Helper()
	training := training(mode)
	rule, err := training.Rule()
	if err != nil {
		t.Fatal(err)
	}
	p, err := work.New(training, samples{}, work.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := &role.Config{
		Ranks: 2, EmbeddingWorkers: 2, ParameterServers: 2, Steps: steps, Rule: rule, Prefetch: 3, Window: 3, Retry: retry,
	}
	for _, b := range p.Layout().Buckets {
		cfg.Buckets = append(cfg.Buckets, unit.Bytes(4*(b.Hi-b.Lo)))
	}
	if rule.Dense().Kind == pace.Served {
		for _, s := range training.DenseShards(p.Layout()) {
			cfg.DenseServers = append(cfg.DenseServers, unit.Bytes(4*(s.Hi-s.Lo)))
		}
	}
	return cfg, p
}

// world is a driver that lets one thing happen at a time, any that can, and
// performs work at any time between its issue and its end. Roles live on
// machines whose clocks are apart.
type world struct {
	cfg       *role.Config
	performer *work.Performer
	draw      *rand.Rand
	trouble   trouble
	now       unit.Tick
	homes     []*home
	mail      []letter
	fed       map[bucket]int32
	observed  []event.Record
	finished  int32 // ranks
}

// trouble is what a world has to bear.
type trouble struct {
	lose  bool // messages are lost, one in ten
	apart bool // clocks are up to a thousand ticks apart
}

// home is where one role lives.
type home struct {
	state  role.Role
	store  *work.Store
	stream bytes.Buffer
	log    *Writer
	skew   unit.Tick
	asked  [role.Lanes][]role.Work
	inputs [role.Lanes][]role.Input // of work
	timer  bool
}

type letter struct {
	to      *home
	in      role.Input
	payload any
}

// record runs a training to its end in an order that the seed picks, and returns
// the streams.
func record(t testing.TB, cfg *role.Config, p *work.Performer, seed uint64, has trouble) *world {
	t.Helper()
	w := &world{cfg: cfg, performer: p, draw: rng.New(seed, "order"), trouble: has, fed: map[bucket]int32{}}
	for _, state := range role.New(cfg) {
		h := &home{state: state, store: work.NewStore()}
		if has.apart {
			h.skew = unit.Tick(w.draw.IntN(1000))
		}
		var err error
		if h.log, err = NewWriter(&h.stream, Header{Role: state.Address(), Job: []byte("job"), Config: *cfg}); err != nil {
			t.Fatal(err)
		}
		w.homes = append(w.homes, h)
	}
	for _, h := range w.homes {
		w.step(t, letter{to: h, in: role.Input{Kind: role.Start}})
	}
	for w.happen(t) {
	}
	for _, h := range w.homes {
		w.step(t, letter{to: h, in: role.Input{Kind: role.Stop}})
	}
	for _, h := range w.homes {
		if h.store.Len() > 0 {
			t.Fatalf("%v holds %d handles", h.state.Address(), h.store.Len())
		}
		if err := h.log.Finish(p.Digest(h.state.Address())); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// happen lets one thing happen; it returns false if there is none.
func (w *world) happen(t testing.TB) bool {
	var able []func()
	if n := len(w.mail); n > 0 {
		able = append(able, func() {
			i := w.draw.IntN(n)
			l := w.mail[i]
			w.mail = append(w.mail[:i], w.mail[i+1:]...)
			if w.trouble.lose && l.in.Kind == role.Received && w.draw.IntN(10) == 0 {
				return
			}
			w.step(t, l)
		})
	}
	for _, h := range w.homes {
		for lane := range h.asked {
			if len(h.asked[lane]) > 0 {
				able = append(able, func() { w.perform(h, lane) })
			}
			if len(h.inputs[lane]) > 0 {
				able = append(able, func() {
					in := h.inputs[lane][0]
					h.inputs[lane] = h.inputs[lane][1:]
					w.step(t, letter{to: h, in: in})
				})
			}
		}
	}
	for _, h := range w.homes {
		if h.timer && w.finished < w.cfg.Ranks && (len(able) == 0 || w.draw.IntN(50) == 0) {
			able = append(able, func() { h.timer = false; w.step(t, letter{to: h, in: role.Input{Kind: role.TimerFired}}) })
		}
	}
	if len(able) == 0 {
		return false
	}
	able[w.draw.IntN(len(able))]()
	return true
}

// perform does the next work of a lane.
func (w *world) perform(h *home, lane int) {
	item := h.asked[lane][0]
	h.asked[lane] = h.asked[lane][1:]
	result, err := w.performer.Do(h.state.Address(), h.store, item, func(bucket int32) {
		h.inputs[lane] = append(h.inputs[lane], role.Input{Kind: role.WorkPart, Work: item, Bucket: bucket})
	})
	done := role.Input{Kind: role.WorkDone, Work: item, Result: result}
	if err != nil {
		done = role.Input{Kind: role.WorkFailed, Work: item, Reason: err}
	}
	h.inputs[lane] = append(h.inputs[lane], done)
}

// step hands a role one input and does what it asks for.
func (w *world) step(t testing.TB, l letter) {
	w.now += unit.Tick(w.draw.IntN(3))
	var out role.Outputs
	now := w.now + l.to.skew
	l.to.state.Step(now, l.in, &out)
	if err := l.to.log.Step(now, &l.in, l.payload, out.List); err != nil {
		t.Fatal(err)
	}
	for _, o := range out.List {
		switch o.Kind {
		case role.Send:
			w.mail = append(w.mail, letter{
				w.home(o.Message.To), role.Input{Kind: role.Received, Message: o.Message}, w.performer.Payload(l.to.store, o.Message),
			})
		case role.Do:
			l.to.asked[o.Work.Kind.Lane()] = append(l.to.asked[o.Work.Kind.Lane()], o.Work)
		case role.Feed:
			w.feed(bucket{o.Work.Step, o.Bucket})
		case role.Keep:
			w.performer.Keep(l.to.store, l.in.Message, l.payload)
		case role.Release:
			l.to.store.Release(o.Handle)
		case role.SetTimer:
			l.to.timer = true
		case role.Record:
			w.observed = append(w.observed, o.Event)
		case role.Finished:
			w.finished++
		case role.Halt:
			t.Fatal(o.Reason)
		}
	}
}

func (w *world) feed(b bucket) {
	if w.fed[b]++; w.fed[b] < w.cfg.Ranks {
		return
	}
	w.performer.Reduce(b.index)
	for rank := range w.cfg.Ranks {
		w.mail = append(w.mail, letter{to: w.home(msg.Address{Role: msg.NNWorker, Index: rank}), in: role.Input{
			Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: b.step}, Bucket: b.index,
		}})
	}
}

func (w *world) home(at msg.Address) *home {
	for _, h := range w.homes {
		if h.state.Address() == at {
			return h
		}
	}
	return nil
}

// recording returns the streams, as edit, if not nil, has changed their steps.
func (w *world) recording(t testing.TB, edit func(at msg.Address, number int, in *role.Input, payload *uint64, out []role.Output)) *Recording {
	t.Helper()
	var readers []*Reader
	for _, h := range w.homes {
		stream := h.stream.Bytes()
		if edit != nil {
			stream = edited(t, stream, edit)
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
func edited(t testing.TB, stream []byte, edit func(at msg.Address, number int, in *role.Input, payload *uint64, out []role.Output)) []byte {
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
		out := outputsOf(t, s)
		edit(r.Header().Role, i+1, &s.Input, &s.Payload, out)
		if err := w.add(s.Now, &s.Input, s.Payload, appendOutputs(nil, out)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(r.end.Digest); err != nil {
		t.Fatal(err)
	}
	return changed.Bytes()
}
