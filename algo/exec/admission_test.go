package exec

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/route"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// parcel is a message with its payload.
type parcel struct {
	m       msg.Message
	payload Payload
}

// exchange performs a step of sync training for rank 1 and returns one message of each kind with its payload:
// of several, the message from or to PS 1.
func exchange(t *testing.T, settings job.Job) (
	p *Executor, stores map[msg.Address]*Store, all map[msg.Kind]parcel,
) {
	return exchangeOf(t, settings, exectest.NewColumns(16, 16))
}

// exchangeOf is exchange on some data.
func exchangeOf(t *testing.T, settings job.Job, columns *exectest.Columns) (
	p *Executor, stores map[msg.Address]*Store, all map[msg.Kind]parcel,
) {
	s := newScript(t, settings, columns)
	all = map[msg.Kind]parcel{}
	s.read = s.do(dataLoader, role.Read, event.NoRank)
	send := func(k msg.Kind, from, to msg.Address) {
		m := msg.Message{Kind: k, From: from, To: to, Rank: 1, Samples: s.read.Samples[1], StepSamples: 16}
		payload := s.p.Payload(s.stores[from], m, s.sent(k, 1))
		m.Bytes = msg.HeaderBytes
		if part, ok := payload.(Samples); ok {
			m.Bytes += unit.Bytes(4 * (len(part.Dense) + len(part.Labels)))
		} else {
			m.Bytes += sizeOf(t, payload)
		}
		if err := examine(s.p, s.stores[to], m, payload); err != nil {
			t.Errorf("a correct message is refused: %v", err)
		}
		all[k] = parcel{m, payload}
		s.send(k, from, to, 1)
	}
	send(msg.IDFeatures, dataLoader, embeddingWorker)
	send(msg.Samples, dataLoader, nnWorker(1))
	s.do(embeddingWorker, role.Split, 1)
	for i := range s.servers() {
		send(msg.Lookup, embeddingWorker, server(i))
		s.do(server(i), role.ReadRows, 1)
		send(msg.Rows, server(i), embeddingWorker)
	}
	s.do(embeddingWorker, role.Pool, 1)
	send(msg.Embeddings, embeddingWorker, nnWorker(1))
	s.do(nnWorker(1), role.Forward, 1)
	s.do(nnWorker(1), role.Backward, 1)
	send(msg.PutGradients, nnWorker(1), embeddingWorker)
	s.do(embeddingWorker, role.Merge, 1)
	for i := range s.servers() {
		send(msg.Put, embeddingWorker, server(i))
	}
	return s.p, s.stores, all
}

// CheckPayload accepts what correct roles send, in every form, and refuses a payload of another kind.
func TestCorrectPayloadsPass(t *testing.T) {
	for _, wire := range compress.Forms() {
		for _, index := range []string{job.IndexRaw, job.IndexCompressed} {
			settings := exectest.Job(2, 2)
			settings.Wire.Precision, settings.Wire.Index = wire, index
			exchange(t, withHotRows(t, settings))
			exchangeOf(t, settings, withMaxima())
			exchangeOf(t, settings, withWeights(16))
			exchangeOf(t, withHotRows(t, settings), withMaxima())
			p, _, all := exchange(t, settings)
			for kind, own := range all {
				for other, wrong := range all {
					same := kind == other || values(kind) && values(other)
					if !same && p.Admission().CheckPayload(own.m, wrong.payload) == nil {
						t.Errorf("a payload of %v passes for one of %v", other, kind)
					}
				}
				if p.Admission().CheckPayload(own.m, nil) == nil {
					t.Errorf("%v without a payload passes", kind)
				}
			}
		}
	}
}

// withWeights returns the columns of exchange, in which the ids of the second slot have weights, of a mean.
func withWeights(samples int) *exectest.Columns {
	columns := exectest.NewColumns(samples, 16)
	columns.Fields.Slots[1] = batch.Slot{Name: "history", Dim: 3, Scale: batch.Mean, Weighted: true}
	own := &columns.All.Slots[1]
	for i := range own.IDs {
		own.Weights = append(own.Weights, 0.5+float32(i%4))
	}
	return columns
}

// Weights of ids that a slot cannot have are refused before anything is computed from them.
func TestWrongWeightsAreRefused(t *testing.T) {
	for _, index := range []string{job.IndexRaw, job.IndexCompressed} {
		settings := exectest.Job(2, 2)
		settings.Wire.Index = index
		p, stores, all := exchangeOf(t, settings, withWeights(16))
		honest := all[msg.IDFeatures]
		good := honest.payload.(*IDs).Weights
		changed := func(to float32) []float32 {
			weights := slices.Clone(good)
			weights[1] = to
			return weights
		}
		for want, weights := range map[string][]float32{
			"weights of ids: 1, and there are more ids": good[:1],
			"and there are fewer ids":                   append(changed(1), 1),
			"is not a finite":                           changed(float32(math.NaN())),
			"+Inf of an id is":                          changed(float32(math.Inf(1))),
			"a mean needs weights of at least 0":        changed(-1),
			"ids are 0, or so small":                    make([]float32, len(good)),
		} {
			wrong, m := *honest.payload.(*IDs), honest.m
			wrong.Weights = weights
			m.Bytes = msg.HeaderBytes + unit.Bytes(wrong.Size())
			err := examine(p, stores[m.To], m, &wrong)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", index, err, want)
			}
		}
		wrong, m := *honest.payload.(*IDs), honest.m // without weights, all are 1
		wrong.Weights = nil
		m.Bytes = msg.HeaderBytes + unit.Bytes(wrong.Size())
		if err := examine(p, stores[m.To], m, &wrong); err != nil {
			t.Errorf("%s: no weights: %v", index, err)
		}
	}
	p, stores, all := exchange(t, exectest.Job(2, 2)) // no slot has weights
	wrong, m := *all[msg.IDFeatures].payload.(*IDs), all[msg.IDFeatures].m
	wrong.Weights = []float32{1}
	m.Bytes += 4
	err := examine(p, stores[m.To], m, &wrong)
	if err == nil || !strings.Contains(err.Error(), "fewer ids") {
		t.Errorf("weights of no slot: %v", err)
	}
}

// withMaxima returns the columns of exchange, of which the raw slot takes maxima.
func withMaxima() *exectest.Columns {
	columns := exectest.NewColumns(16, 16)
	columns.Fields.Slots[1] = batch.Slot{Name: "history", Dim: 3, Pooling: batch.Max}
	return columns
}

// Winners that do not fit their batch are refused before anything is computed from them.
func TestWrongWinnersAreRefused(t *testing.T) {
	p, stores, all := exchangeOf(t, exectest.Job(2, 2), withMaxima())
	for _, kind := range []msg.Kind{msg.Embeddings, msg.PutGradients} {
		honest := all[kind]
		good := honest.payload.(*Pooled)
		for _, c := range []struct {
			payload Payload
			want    string
		}{
			{&Pooled{good.Values, good.Winners[1:]}, "winners: 23 bytes, want 1, 2 or 4 for each of 24"},
			{&Pooled{compress.Pack(compress.FP32, make([]float32, 5)), good.Winners}, "values: "},
			{Values{good.Values}, "where slots take maxima"},
		} {
			if err := examine(p, stores[honest.m.To], honest.m, c.payload); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v, want %q", kind, err, c.want)
			}
		}
	}
}

// An EW that has the ids of a batch refuses a maximum of an id that its bag does not have.
func TestWinnersOfNoIDAreRefused(t *testing.T) {
	p, stores, all := exchangeOf(t, exectest.Job(2, 2), withMaxima())
	honest := all[msg.PutGradients]
	good := honest.payload.(*Pooled)
	wrong := &Pooled{good.Values, slices.Repeat(Winners{200}, len(good.Winners))}
	err := examine(p, stores[honest.m.To], honest.m, wrong)
	if err == nil || !strings.Contains(err.Error(), "slot history: id 200 of sample 0 has a maximum") {
		t.Error(err)
	}
}

// A maximum of an id that its bag does not have is an error, where the EW had no ids yet when it was
// admitted.
func TestFalseWinnersAreAnError(t *testing.T) {
	s := newScript(t, exectest.Job(1, 1), withMaxima())
	s.read = s.do(dataLoader, role.Read, event.NoRank)
	s.send(msg.IDFeatures, dataLoader, embeddingWorker, 0)
	s.send(msg.Samples, dataLoader, nnWorker(0), 0)
	s.do(embeddingWorker, role.Split, 0)
	s.send(msg.Lookup, embeddingWorker, server(0), 0)
	s.do(server(0), role.ReadRows, 0)
	s.send(msg.Rows, server(0), embeddingWorker, 0)
	s.do(embeddingWorker, role.Pool, 0)
	s.send(msg.Embeddings, embeddingWorker, nnWorker(0), 0)
	s.do(nnWorker(0), role.Forward, 0)
	s.do(nnWorker(0), role.Backward, 0)
	m := msg.Message{Kind: msg.PutGradients, From: nnWorker(0), To: embeddingWorker}
	s.p.Payload(s.stores[nnWorker(0)], m, s.sent(m.Kind, 0)).(*Pooled).Winners[0] = 200
	s.send(msg.PutGradients, nnWorker(0), embeddingWorker, 0)
	w := role.Work{Kind: role.Merge, Samples: 16, StepSamples: 16}
	_, err := s.p.Execute(embeddingWorker, s.stores[embeddingWorker], w, s.operands(w), nil)
	if err == nil || !strings.Contains(err.Error(), "slot history: id 200 of sample 0 has a maximum") {
		t.Errorf("error %v", err)
	}
}

// The memory of embeddings may be used again when they are unpacked: what a rank returns of them does not
// change with it.
func TestWinnersOutliveTheirMessage(t *testing.T) {
	s := newScript(t, exectest.Job(1, 1), withMaxima())
	s.read = s.do(dataLoader, role.Read, event.NoRank)
	s.lookup(0)
	s.do(nnWorker(0), role.Forward, 0)
	m := msg.Message{Kind: msg.Embeddings, From: embeddingWorker, To: nnWorker(0)}
	lent := s.p.Payload(s.stores[embeddingWorker], m, s.sent(m.Kind, 0)).(*Pooled).Winners
	want := slices.Clone(lent)
	for i := range lent {
		lent[i] = 200
	}
	s.do(nnWorker(0), role.Backward, 0)
	m.Kind = msg.PutGradients
	got := s.p.Payload(s.stores[nnWorker(0)], m, s.sent(m.Kind, 0)).(*Pooled).Winners
	if !slices.Equal(got, want) {
		t.Errorf("winners %v, want %v", got, want)
	}
}

// Winners travel in the fewest bytes that hold all, and come back the same.
func TestWinnersTravel(t *testing.T) {
	for largest, size := range map[int32]int{0: 1, 255: 1, 256: 2, 65_535: 2, 65_536: 4, 1<<31 - 1: 4} {
		numbers := []int32{0, largest, largest / 2}
		packed := packWinners(numbers)
		got, err := packed.unpack(3)
		if err != nil || !slices.Equal(got, numbers) || len(packed) != 3*size {
			t.Errorf("%v: %v in %d bytes, error %v", numbers, got, len(packed), err)
		}
	}
}

// withHotRows returns a job in which some rows of the exchange's data are hot.
func withHotRows(t *testing.T, settings job.Job) job.Job {
	settings.Rows.Hot = job.Hot{Share: 0.1}
	if err := frequent.Choose(&settings, exectest.NewColumns(16, 16), 0); err != nil {
		t.Fatal(err)
	}
	return settings
}

// Pooled embeddings that leave bags to the rank are refused if the rank could not make sense of them.
func TestWrongMixedRowsAreRefused(t *testing.T) {
	p, stores, all := exchange(t, withHotRows(t, exectest.Job(2, 2)))
	honest := all[msg.Embeddings]
	hot := p.numerics.plan.Hot().Len()
	slot := -1 // the first with hot rows
	for _, c := range []struct {
		change func(m *MixedRows, own *route.Bags)
		want   string
	}{
		{func(m *MixedRows, _ *route.Bags) { m.Places[0] = int32(hot) }, "hot row 0: place"},
		{func(m *MixedRows, _ *route.Bags) { m.Places[0] = -1 }, "hot row 0: place -1"},
		{func(m *MixedRows, _ *route.Bags) { m.Places[1] = m.Places[0] }, "comes twice"},
		{func(m *MixedRows, _ *route.Bags) { m.Slots = m.Slots[1:] }, "bags of 1 slots, want 2"},
		{func(_ *MixedRows, own *route.Bags) { own.Offsets = own.Offsets[1:] }, "offsets do not cut"},
		{func(_ *MixedRows, own *route.Bags) { own.Offsets[1] = 99 }, "sample 1 has -"},
		{func(m *MixedRows, own *route.Bags) { own.Rows[0] = int32(m.Cold + len(m.Places)) }, ": row "},
		{func(_ *MixedRows, own *route.Bags) { own.Rows[0] = -1 }, ": row -1 of"},
		{func(m *MixedRows, _ *route.Bags) { m.Cold = 1 << 30 }, "want at most 65536 of each"},
		{func(m *MixedRows, _ *route.Bags) { m.Cold++ }, "values: compress: "},
		{func(m *MixedRows, _ *route.Bags) { m.Slots[0], m.Slots[1] = m.Slots[1], m.Slots[0] },
			"hot rows of a raw slot"},
	} {
		m := *honest.payload.(*MixedRows)
		m.Places, m.Slots = slices.Clone(m.Places), slices.Clone(m.Slots)
		for s, own := range m.Slots {
			m.Slots[s] = route.Bags{Rows: slices.Clone(own.Rows), Offsets: slices.Clone(own.Offsets)}
			if len(own.Rows) > 0 {
				slot = s
			}
		}
		c.change(&m, &m.Slots[slot])
		if err := examine(p, stores[honest.m.To], honest.m, &m); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if p.Admission().CheckPayload(honest.m, Values{}) == nil {
		t.Error("pooled embeddings pass that leave no bag to the rank")
	}
}

// examine runs all checks that a payload must pass before it is used.
func examine(p *Executor, s *Store, m msg.Message, payload Payload) error {
	if err := p.Admission().CheckPayload(m, payload); err != nil {
		return err
	}
	return p.Admission().CheckHeld(s, m, payload)
}

// values reports whether payloads of a kind are Values.
func values(k msg.Kind) bool { return k == msg.Rows || k == msg.Embeddings || k == msg.PutGradients }

// A wrong count is refused, and the error names it.
func TestWrongPayloadsAreRefused(t *testing.T) {
	p, stores, all := exchange(t, exectest.Job(2, 2))
	ids := func(change func(*IDs)) any {
		c := *all[msg.IDFeatures].payload.(*IDs)
		c.Bounds, c.Columns = slices.Clone(c.Bounds), slices.Clone(c.Columns)
		change(&c)
		return &c
	}
	part := func(change func(*batch.Part)) any {
		c := *all[msg.Samples].payload.(Samples).Part
		b := *c.Batch
		c.Batch = &b
		change(&c)
		return &c
	}
	var fewerValues compress.Values
	put := func(change func(*Put)) any {
		c := *all[msg.Put].payload.(*Put)
		change(&c)
		return &c
	}
	// A consistent message of a batch that has more samples.
	fewer := func(m *msg.Message) {
		m.Samples, m.StepSamples, m.Bytes = 4, 8, msg.HeaderBytes+unit.Bytes(fewerValues.Size())
	}
	bytes := func(n unit.Bytes) func(*msg.Message) {
		return func(m *msg.Message) { m.Bytes = msg.HeaderBytes + n }
	}
	fewerValues = compress.Pack(compress.FP32, make([]float32, 4*p.numerics.width))
	for _, c := range []struct {
		kind    msg.Kind
		message func(*msg.Message)
		payload any // nil: the honest one
		want    string
	}{
		{msg.Lookup, func(m *msg.Message) { m.Rank = 2 }, nil, "rank: 2, want 0 to 1"},
		{msg.Lookup, func(m *msg.Message) { m.Rank = -1 }, nil, "rank: -1"},
		{msg.Lookup, func(m *msg.Message) { m.StepSamples = 17 }, nil,
			"samples of the step: 17, want 1 to 16"},
		{msg.Lookup, func(m *msg.Message) { m.StepSamples = 0 }, nil, "samples of the step: 0"},
		{msg.Lookup, func(m *msg.Message) { m.Samples = 9 }, nil,
			"samples: 9 of the step's 16, but rank 1 has 8 of them"},
		{msg.Lookup, func(m *msg.Message) { m.Bytes++ }, nil, "bytes: "},
		{msg.IDFeatures, nil, ids(func(i *IDs) { i.Samples = 7 }), "samples: 7, but the message states 8"},
		{msg.IDFeatures, nil, ids(func(i *IDs) { i.FirstGroup = 0 }), "first group: 0, want 4"},
		{msg.IDFeatures, nil, ids(func(i *IDs) { i.Bounds = i.Bounds[1:] }), "bounds: 4, want 5"},
		{msg.IDFeatures, nil, ids(func(i *IDs) { i.Bounds[2]++ }), "bounds: 5 of group 6, want 4"},
		{msg.IDFeatures, nil, ids(func(i *IDs) { i.Columns = i.Columns[1:] }),
			"ids: 1 raw columns and 0 compressed bytes, want 2 columns"},
		{msg.IDFeatures, nil, ids(func(i *IDs) { i.Packed = []byte{1} }),
			"ids: 2 raw columns and 1 compressed bytes"},
		{msg.IDFeatures, nil, ids(func(i *IDs) { i.Columns[1].IDs = nil }),
			"ids of slot 1: 9 offsets do not cut 0 ids into 8 samples"},
		{msg.IDFeatures, nil, ids(func(i *IDs) { i.Columns[0] = many(8) }),
			"want at most 65536: 4096 a sample and slot"},
		{msg.Samples, nil, part(func(p *batch.Part) { p.Samples = 7 }),
			"samples: 7, but the message states 8"},
		{msg.Samples, nil, part(func(p *batch.Part) { p.Dense = p.Dense[1:] }),
			"numeric features: 7, want 8"},
		{msg.Samples, nil, part(func(p *batch.Part) { p.Labels = nil }), "labels: 0, want 8"},
		{msg.Samples, nil, part(func(p *batch.Part) { p.Weights = []float32{1} }), "weights: 1, want 0"},
		{msg.Samples, nil, &batch.Part{}, "samples: none"},
		{msg.Lookup, nil, compress.Signs{Packed: []byte{8, 1, 1, 1, 1, 1}},
			"signs: compressed, want them plain"},
		{msg.Lookup, nil, compress.Signs{Plain: make([]uint64, 65537)}, "signs: 65537, want at most 65536"},
		{msg.Rows, bytes(6), compress.Pack(compress.FP16, make([]float32, 3)),
			`values of form "fp16", want "fp32"`},
		{msg.Rows, bytes(12), compress.Pack(compress.FP32, make([]float32, 3)), "numbers in fp32 take"},
		{msg.Embeddings, nil, compress.Pack(compress.FP32, make([]float32, 3)), "numbers in fp32 take"},
		{msg.Embeddings, fewer, fewerValues, "numbers in fp32 take"},
		{msg.PutGradients, fewer, fewerValues, "numbers in fp32 take"},
		{msg.PutGradients, nil, compress.Pack(compress.FP32, make([]float32, 3)), "numbers in fp32 take"},
		{msg.Put, nil, put(func(p *Put) { p.Samples = 3 }), "samples: 3, but the message states 8"},
		{msg.Put, nil, put(func(p *Put) { p.Sums = compress.Pack(compress.FP32, make([]float32, 1)) }),
			"sums of "},
		{msg.Put, bytes(20), &Put{Samples: 8, Signs: compress.Signs{Plain: []uint64{1}},
			Sums: compress.Pack(compress.FP32, make([]float32, 3))}, "signs: a put of 1, but "},
		{msg.PutAck, nil, []float32{1}, "type: exec.DenseShard is not that of PutAck"},
		{msg.Params, nil, []float32{1}, "dense: the mode has no dense PS"},
		{msg.Push, nil, compress.Values{}, "type: exec.Values is not that of Push"},
	} {
		honest := all[c.kind]
		m, payload := honest.m, honest.payload
		m.Kind, m.Rank = c.kind, 1
		if c.message != nil {
			c.message(&m)
		}
		if c.payload != nil {
			payload = travelling(c.payload)
		}
		err := examine(p, stores[m.To], m, payload)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.kind, err, c.want)
		}
	}
}

// many returns a column of more ids than samples may have.
func many(samples int32) batch.Jagged {
	c := batch.Jagged{Offsets: make([]int32, samples+1), IDs: make([]uint64, 2*idsMax*int(samples)+1)}
	c.Offsets[samples] = int32(len(c.IDs))
	return c
}

// Compressed ids and signs are checked like raw ones.
func TestWrongCompressedPayloadsAreRefused(t *testing.T) {
	settings := exectest.Job(2, 2)
	settings.Wire.Index = job.IndexCompressed
	p, stores, all := exchange(t, settings)
	honest := all[msg.IDFeatures].payload.(*IDs)
	cut, raw, signs := *honest, *honest, all[msg.Lookup]
	cut.Packed = honest.Packed[:len(honest.Packed)-1]
	raw.Columns = make([]batch.Jagged, 2)
	for _, c := range []struct {
		m       msg.Message
		payload any
		want    string
	}{
		{all[msg.IDFeatures].m, &cut, "ids: compress: the bytes end early"},
		{all[msg.IDFeatures].m, &raw, "ids: raw, want them compressed"},
		{signs.m, compress.Signs{Packed: []byte{8, 200}}, "signs: compress: the bytes end early"},
		{signs.m, compress.Signs{Packed: []byte{8}, Plain: []uint64{1}},
			"signs: compressed, want them plain"},
	} {
		if err := examine(p, stores[c.m.To], c.m, travelling(c.payload)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// Shards of the dense network and gradients for them have the lengths of their dense PS.
func TestShardsOfAnotherLengthAreRefused(t *testing.T) {
	settings := exectest.Job(2, 1)
	settings.Training.Mode, settings.Roles.DensePSs = job.AsyncPS, 2
	p := mustNew(t, settings, exectest.NewColumns(16, 16))
	layout := p.Model().Layout()
	shard := settings.DenseShards(layout)[0]
	length := shard.Hi - shard.Lo
	at := msg.Address{Role: msg.DensePS}
	params := msg.Message{Kind: msg.Params, From: at, To: nnWorker(1), Rank: 1}
	push := msg.Message{Kind: msg.Push, From: nnWorker(1), To: at, Rank: 1}
	for _, c := range []struct {
		m    msg.Message
		n    int
		good bool
	}{
		{params, length + layout.Running, true}, {params, length, false}, {params, 0, false},
		{push, length + settings.Training.Groups/settings.Roles.Ranks*layout.Stats, true},
		{push, length, false},
	} {
		c.m.Bytes = msg.HeaderBytes + unit.Bytes(4*c.n)
		if err := p.Admission().CheckPayload(c.m, DenseShard(make([]float32, c.n))); (err == nil) != c.good {
			t.Errorf("%v of %d: %v", c.m.Kind, c.n, err)
		}
	}
	params.From.Index = 2
	if err := p.Admission().CheckPayload(params, DenseShard{}); err == nil ||
		!strings.Contains(err.Error(), "server: 2, want 0 to 1") {
		t.Error(err)
	}
}

// A put and a lookup of one batch that differ in length are refused when the second of them comes, also while
// the work on the first is under way.
func TestPutAndLookupOfAnotherLengthAreRefused(t *testing.T) {
	p := mustNew(t, exectest.Job(1, 1), exectest.NewColumns(16, 16))
	put := &Put{Samples: 16, Signs: plain(1, 2), Sums: compress.Pack(compress.FP32, make([]float32, 6))}
	message := func(k msg.Kind) msg.Message { return msg.Message{Kind: k, To: server(0)} }
	for _, c := range []struct {
		signs []uint64
		good  bool
	}{{[]uint64{1, 2}, true}, {[]uint64{1}, false}, {nil, false}} {
		lookup := Signs{plain(c.signs...)}
		first, second := NewStore(), NewStore()
		p.Keep(first, message(msg.Lookup), role.Handle{Kind: role.ShardSigns}, lookup, nil)
		p.Keep(second, message(msg.Put), role.Handle{Kind: role.ShardGrads}, put, nil)
		for _, err := range []error{
			p.Admission().CheckHeld(first, message(msg.Put), put),
			p.Admission().CheckHeld(second, message(msg.Lookup), lookup),
		} {
			if (err == nil) != c.good {
				t.Errorf("a put of 2 signs, a lookup of %d: %v", len(c.signs), err)
			}
		}
	}
}

// A put of signs that differ from the lookup's is an error of the work, not a panic.
func TestPutOfAnotherLengthIsAnError(t *testing.T) {
	for _, scale := range []string{job.ScaleGlobal, job.ScaleRank} {
		settings := exectest.Job(1, 1)
		settings.Training.Scale = scale
		s := newScript(t, settings, exectest.NewColumns(16, 16))
		s.read = s.do(dataLoader, role.Read, event.NoRank)
		s.lookup(0)
		s.stores[server(0)].set(role.Handle{Kind: role.ShardGrads, Rank: 0, Step: 0}, &Put{
			Samples: 16, Signs: compress.Signs{Plain: []uint64{1}},
			Sums: compress.Pack(compress.FP32, make([]float32, 3)),
		})
		_, err := s.p.Execute(server(0), s.stores[server(0)],
			role.Work{Kind: role.ApplyStep, Rank: event.NoRank, StepSamples: 16},
			role.Operands{Reads: []role.Handle{{Kind: role.ShardGrads}}}, nil)
		if err == nil || !strings.Contains(err.Error(), "put of rank 0, step 0: 1 signs, but ") {
			t.Errorf("%s: %v", scale, err)
		}
	}
}
