package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// A stream with valid checksums may still come from an attacker.

// streamOf returns a stream of blocks of any content, with the sums that a Writer would give them.
func streamOf(blocks ...[]byte) []byte {
	stream, sum := []byte(title+version+"\n"), uint32(0)
	for _, b := range blocks { // of the kind and the body
		whole := binary.LittleEndian.AppendUint32([]byte{b[0]}, uint32(len(b)-1))
		whole = append(whole, b[1:]...)
		sum = crc32.Update(sum, castagnoli, whole)
		stream = binary.LittleEndian.AppendUint32(append(stream, whole...), sum)
	}
	return stream
}

func headerOf(h Header) []byte {
	return appendValue([]byte{headerBlock}, reflect.ValueOf(prelude{shape, h}))
}

// stepOf returns the block of one step with such an input, and no outputs.
func stepOf(in role.Input) []byte {
	return appendStep([]byte{stepsBlock}, 0, &in, 0, appendOutputs(nil, nil))
}

// An input that names something outside the run is an error with file, byte and field.
func TestInputsOutOfRange(t *testing.T) {
	valid := msg.Message{Kind: msg.Rows, From: msg.Address{Role: msg.EmbeddingPS, Index: 2}, To: somebody,
		Rank: 1, Step: 9}
	message := func(change func(*msg.Message)) role.Input {
		m := valid
		change(&m)
		return role.Input{Kind: role.Received, Message: m}
	}
	split := role.Work{Kind: role.Split, Rank: 1, Step: 3}
	counts := func(rows []int32, signs []unit.Bytes) role.Input {
		return role.Input{Kind: role.WorkDone, Work: split,
			Result: role.Result{Rows: rows, SignBytes: signs, ValueBytes: make([]unit.Bytes, 3)}}
	}
	for _, c := range []struct {
		in   role.Input
		want string // "" if the input can be
	}{
		{message(func(m *msg.Message) {}), ""},
		{message(func(m *msg.Message) { m.Rank = 2 }), "Message.Rank: 2 is out of range; want 0 to 1"},
		{message(func(m *msg.Message) { m.Rank = -1 }), "Message.Rank: -1 is out of range"},
		{message(func(m *msg.Message) { m.Step = 10_001 }),
			"Message.Step: 10001 is out of range; want 0 to 10000"},
		{message(func(m *msg.Message) { m.Floor = -5 }), "Message.Floor: -5 is out of range"},
		{message(func(m *msg.Message) { m.Samples = -1 }), "Message.Samples: -1"},
		{message(func(m *msg.Message) { m.StepSamples = -1 }), "Message.StepSamples: -1"},
		{message(func(m *msg.Message) { m.Bytes = -1 }), "Message.Bytes: -1"},
		{message(func(m *msg.Message) { m.Kind = 200 }), "Message.Kind: 200 is no kind of message"},
		{message(func(m *msg.Message) { m.From.Role = 200 }), "Message.From.Role: 200 is no role"},
		{message(func(m *msg.Message) { m.From.Index = 3 }),
			"Message.From.Index: 3 is out of range; the run has 3 of role embedding-ps"},
		{message(func(m *msg.Message) { m.From = msg.Address{Role: msg.DensePS} }),
			"Message.From.Index: 0 is out of range; the run has 0"},
		{message(func(m *msg.Message) { m.To.Index = 0 }),
			"Message.To: embedding-worker 3 received what is for embedding-worker 0"},
		{role.Input{Kind: role.BucketReduced, Bucket: 1}, "Bucket: 1 is out of range; want 0 to 0"},
		{role.Input{Kind: role.BucketReduced}, "Kind: a reduced bucket for embedding-worker 3"},
		{role.Input{Kind: role.WorkPart, Work: split, Bucket: -1}, "Bucket: -1 is out of range"},
		{role.Input{Kind: role.WorkFailed, Work: split}, "Reason: work failed for no reason"},
		{role.Input{Kind: role.WorkFailed, Work: split, Reason: errors.New("x")}, ""},
		{role.Input{Kind: role.WorkDone, Work: role.Work{Kind: 99}},
			"Work.Kind: 99 is no kind of work of embedding-worker 3"},
		{role.Input{Kind: role.WorkDone, Work: role.Work{Kind: role.Forward}},
			"Work.Kind: 4 is no kind of work of embedding-worker 3"},
		{role.Input{Kind: role.WorkDone, Work: role.Work{Kind: role.Pool, Rank: -1}},
			"Work.Rank: -1 is out of range"},
		{role.Input{Kind: role.WorkDone, Work: role.Work{Kind: role.Pool, Step: math.MaxInt32}},
			"Work.Step: 2147483647 is out of range"},
		{counts(make([]int32, 3), make([]unit.Bytes, 3)), ""},
		{counts(make([]int32, 2), make([]unit.Bytes, 3)), "Result.Rows: 2 numbers; want 3"},
		{counts([]int32{0, -1, 0}, make([]unit.Bytes, 3)), "Result.Rows[1]: -1 is out of range"},
		{counts([]int32{math.MaxInt32, 1, 0}, make([]unit.Bytes, 3)), "Result.Rows[1]: 1 is out of range"},
		{counts(make([]int32, 3), nil), "Result.SignBytes: 0 numbers; want 3"},
		{role.Input{Kind: 77}, "Kind: 77 is no kind of input"},
	} {
		header := headerOf(someHeader())
		_, _, err := read(streamOf(header, stepOf(c.in),
			append([]byte{endBlock}, appendValue(nil, reflect.ValueOf(end{1, 0}))...)))
		// A title, a head and a sum of the header come before the steps, and their head.
		where := "a file: the recording is damaged: byte " +
			strconv.Itoa(len(title)+len(version)+1+blockHead+len(header)-1+4+blockHead) + ", input 1: "
		if c.want == "" && err != nil || c.want != "" &&
			(!errors.Is(err, ErrDamaged) || !strings.HasPrefix(err.Error(), where+c.want)) {
			t.Errorf("%+v: %v, want %s%s", c.in, err, where, c.want)
		}
	}
}

func TestHeadersOutOfRange(t *testing.T) {
	for _, c := range []struct {
		change func(*Header)
		want   string
	}{
		{func(h *Header) { h.Config.Ranks = 0 }, "Config.Ranks: 0 is out of range"},
		{func(h *Header) { h.Config.Steps = -1 }, "Config.Steps: -1 is out of range"},
		{func(h *Header) { h.Role.Index = 4 },
			"Role.Index: 4 is out of range; the run has 4 of role embedding-worker"},
		{func(h *Header) { h.Role.Role = 9 }, "Role.Role: 9 is no role"},
	} {
		h := someHeader()
		c.change(&h)
		_, _, err := read(streamOf(headerOf(h)))
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(),
			"a file: the recording is damaged: its header: "+c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A field that cannot be decoded is named, with its byte.
func TestFieldsThatAreNone(t *testing.T) {
	step := stepOf(role.Input{Kind: role.Received, Message: msg.Message{Kind: msg.Rows, Rank: 1}})
	// The rank 1 is a byte 2; the fingerprint, of 8 bytes, and no outputs follow.
	rank := bytes.LastIndexByte(step[:len(step)-10], 2)
	step[rank] = 0x80 // the rest of the number is what follows, the fingerprint: 0
	_, _, err := read(streamOf(headerOf(someHeader()), step))
	if err == nil || !strings.Contains(err.Error(), ", input 1: input.Message.Rank: not a number") {
		t.Errorf("a number with another form: %v", err)
	}
	for bad, want := range map[string]string{
		"\x01\x00":             "N: zero, and marked as another value",
		"\x80":                 "the whole: more than 3 fields",
		"\x02\x02":             "B: 2 is neither true nor false",
		"\x04\xff\xff\x03":     "L: 65535 elements in 0 bytes",
		"\x04\x02\x01\x80\x00": "L[1]: not a number",
		"\x01\x80\x80\x02":     "N: 16384 does not fit",
		"\x01\x02\x02":         "the whole: 1 bytes too many",
	} {
		d := decode([]byte(bad))
		err := d.whole(reflect.ValueOf(new(struct {
			N int8
			B bool
			L []uint8
		})).Elem())
		if err == nil || err.Error() != want {
			t.Errorf("%x: %v, want %s", bad, err, want)
		}
	}
}

// allocated returns the bytes that f allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// memoryFactor is the memory that reading takes for every byte of a stream, beside 128 KiB: 8 for the widest
// numbers of a slice, the rest for bytes that are copied while memory for them grows.
const memoryFactor = 16

// Reading takes memory in proportion to the length of the stream, regardless of the sizes that it states.
func TestMemoryFollowsTheInput(t *testing.T) {
	const many = 4 << 20
	claim := append([]byte(title+version+"\n"), headerBlock, 0, 0, 0, 4) // states a length of 64 MiB
	outputs := append(binary.AppendUvarint(nil, many), make([]byte, 2*many)...)
	steps := appendStep([]byte{stepsBlock}, 0, &role.Input{}, 0, outputs)
	wide, buckets := someHeader(), someHeader()
	wide.Config.Buckets = make([]unit.Bytes, many)
	buckets.Job = make([]byte, many)
	results := role.Input{Kind: role.WorkDone, Work: role.Work{Kind: role.Split},
		Result: role.Result{Rows: make([]int32, many)}}
	for name, stream := range map[string][]byte{
		"a block that is not there": claim,
		"outputs of 2 bytes":        streamOf(headerOf(someHeader()), steps),
		"buckets of a byte":         streamOf(headerOf(wide)),
		"a long job":                streamOf(headerOf(buckets)),
		"results of a byte":         streamOf(headerOf(someHeader()), stepOf(results)),
		"a slice that is not there": streamOf(headerOf(someHeader()),
			[]byte{stepsBlock, 0, 0x10, 1, 0xff, 0xff, 0xff, 0x7f}),
		"outputs that are not there": streamOf(headerOf(someHeader()),
			[]byte{stepsBlock, 0, 0, 5, 0xff, 0xff, 0xff, 0xff, 0x7f}),
	} {
		seen := 0
		got := allocated(func() {
			r, err := NewReader(bytes.NewReader(stream), "a file")
			for err == nil {
				var s *Step
				if s, err = r.Next(); err == nil {
					for range s.Outputs() {
						seen++
					}
				}
			}
		})
		// The race detector makes a reader's own blocks up to twice as large.
		if limit := uint64(memoryFactor*len(stream) + 6*blockSize); got > limit {
			t.Errorf("%s: %d bytes are read with %d bytes of memory, want at most %d", name, len(stream), got,
				limit)
		}
		if name == "outputs of 2 bytes" && seen != many {
			t.Errorf("%s: %d were seen, want %d", name, seen, many)
		}
	}
}

// The elements of no slice are larger than 12 bytes in all, so that a decoder's memory is bounded; others
// would need to be read one by one, as outputs are.
func TestSlicesHoldNumbers(t *testing.T) {
	var walk func(t *testing.T, typ reflect.Type)
	walk = func(t *testing.T, typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				walk(t, typ.Field(i).Type)
			}
		case reflect.Slice:
			walk(t, typ.Elem())
			if kind := typ.Elem().Kind(); kind != reflect.Struct &&
				(kind < reflect.Int || kind > reflect.Float64) || typ.Elem().Size() > 12 {
				t.Errorf("%v", typ)
			}
		}
	}
	for _, typ := range types {
		walk(t, typ)
	}
}

// A configuration with the largest number of roles is refused because streams are missing, before any role is
// made.
func TestRolesThatHaveNoStream(t *testing.T) {
	h := someHeader()
	h.Config.Ranks, h.Config.EmbeddingWorkers = role.InstancesMax, role.InstancesMax
	h.Config.EmbeddingPSs = role.InstancesMax
	h.Config.Prefetch, h.Config.EdgeWindow = 1, 1
	r, err := NewReader(bytes.NewReader(streamOf(headerOf(h))), "a file")
	if err != nil {
		t.Fatal(err)
	}
	rule, err := pace.New(job.Sync, pace.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	got := allocated(func() { _, err = New(rule, []*Reader{r}) })
	if err == nil || !strings.HasPrefix(err.Error(), "data-loader 0 has no stream") || got > 1<<20 {
		t.Errorf("%v, with %d bytes of memory", err, got)
	}
}

// A recording whose job differs from the configuration of its roles is refused, because meters and executors
// are made from the job.
func TestJobOfTheRecording(t *testing.T) {
	for _, mode := range []string{job.Sync, job.AsyncPS} {
		cfg, p := setup(t, mode, 0)
		recording := record(t, cfg, p, 1, trouble{}).recording(t)
		own := training(mode)
		if err := recording.CheckJob(&own); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		for key, change := range map[string]func(*job.Job){
			"roles.ranks = 1":             func(t *job.Job) { t.Roles.Ranks = 1 },
			"roles.embedding-workers = 9": func(t *job.Job) { t.Roles.EmbeddingWorkers = 9 },
			"roles.embedding-ps = 1":      func(t *job.Job) { t.Roles.EmbeddingPSs = 1 },
			"roles.dense-ps = 1":          func(t *job.Job) { t.Roles.DensePSs = 1 },
		} {
			other := training(mode)
			change(&other)
			err := recording.CheckJob(&other)
			if key == "roles.dense-ps = 1" && mode == job.Sync {
				if err != nil { // it has none
					t.Errorf("%s: %v", mode, err)
				}
			} else if !errors.Is(err, ErrDamaged) ||
				!strings.Contains(err.Error(), "its job has "+key+", its roles were given 2") {
				t.Errorf("%s: %s: %v", mode, key, err)
			}
		}
	}
}

// Any input in place of a recorded one, at any time, leads to an error or to another run, never to a panic.
func TestAnyInputInPlaceOfAnother(t *testing.T) {
	for i, mode := range append(modes(), modes()...) {
		has := trouble{}
		if i < len(modes()) {
			has = trouble{lose: true, twice: true, crash: true}
		}
		cfg, p := setup(t, mode, has.retry())
		w := record(t, cfg, p, 1, has)
		draw := rng.New(1, "inputs", uint64(len(mode)))
		refused := 0
		for range 10 * int(seeds()) {
			target := w.homes[draw.IntN(len(w.homes))].state.Address()
			place := 1 + draw.IntN(60)
			edit := func(e *entry) {
				if e.number != place {
					return
				}
				work := role.Work{Kind: role.WorkKind(draw.IntN(14)), Rank: int32(draw.IntN(2)),
					Step: int32(draw.IntN(steps + 1))}
				kind := role.InputKind(draw.IntN(8))
				if draw.IntN(2) == 0 { // of what the role does there
					work, kind = e.in.Work, []role.InputKind{e.in.Kind, role.WorkPart, role.WorkDone,
						role.BucketReduced}[draw.IntN(4)]
				}
				*e.in = role.Input{Kind: kind, Message: e.in.Message, Work: work,
					Bucket: int32(draw.IntN(len(cfg.Buckets))), Result: e.in.Result, Reason: io.EOF}
			}
			var err error
			if draw.IntN(4) == 0 {
				_, again := setup(t, mode, has.retry())
				_, err = w.edited(t, target, edit).Replay(again)
			} else {
				_, err = w.edited(t, target, edit).Events()
			}
			if err != nil {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("%s, %+v: every recording was believed", mode, has)
		}
	}
}
