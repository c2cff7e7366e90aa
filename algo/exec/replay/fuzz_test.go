package replay

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// FuzzReader reads any bytes: they are a stream, or an error that names the file and its kind, and reading
// them takes memory in proportion.
func FuzzReader(f *testing.F) {
	for _, n := range []int{0, 3} {
		f.Add(write(f, n))
	}
	f.Add([]byte("tandem recording 1\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var err error
		got := allocated(func() { _, _, err = read(stream) })
		known := errors.Is(err, ErrFormat) || errors.Is(err, ErrCutShort) || errors.Is(err, ErrDamaged)
		if err != nil && (!known || !strings.HasPrefix(err.Error(), "a file: ")) {
			t.Errorf("error %v", err)
		}
		// A Step is some 400 bytes, and an input at least 4 of a stream.
		if limit := uint64((memoryFactor+100)*len(stream) + 1<<20); got > limit {
			t.Errorf("%d bytes are read with %d bytes of memory", len(stream), got)
		}
	})
}

// FuzzSteps reads blocks of any content with valid checksums: a step that can be read is written in the same
// bytes, and names only roles, ranks and steps of its run.
func FuzzSteps(f *testing.F) {
	for i := range 3 {
		in, out := sample(i)
		f.Add(appendStep(nil, 5, &in, 7, appendOutputs(nil, out)))
	}
	work := role.Work{Kind: role.Split, Rank: 1, Step: 3}
	f.Add(appendStep(nil, 5, &role.Input{Kind: role.WorkDone, Work: work,
		Result: role.Result{Rows: []int32{1, 2, 3}}}, 7, nil))
	f.Add(appendStep(nil, 5, &role.Input{Kind: role.WorkFailed, Work: work, Reason: io.EOF}, 7, nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := NewReader(bytes.NewReader(streamOf(headerOf(someHeader()),
			append([]byte{stepsBlock}, body...))), "a file")
		if err != nil {
			t.Fatal(err)
		}
		var again []byte
		before := r.now
		for {
			s, err := r.Next()
			if err != nil {
				break
			}
			if m := s.Input.Message; s.Input.Kind == role.Received &&
				(m.Rank < 0 || m.Rank > 1 || m.To != somebody || !m.Kind.Known()) {
				t.Errorf("%+v", m)
			}
			again = appendStep(again, s.Now-before, &s.Input, s.Payload, s.outputs)
			before = s.Now
			checkOutputs(t, s)
		}
		if !bytes.HasPrefix(body, again) {
			t.Errorf("%x is written as %x", body, again)
		}
	})
}

// checkOutputs demands that outputs that can be read are written as the same bytes again.
func checkOutputs(t *testing.T, s *Step) {
	var out []role.Output
	for o, err := range s.Outputs() {
		if err != nil {
			return
		}
		out = append(out, o)
	}
	if again := appendOutputs(nil, out); len(out) > 0 && !bytes.Equal(again, s.outputs) {
		t.Errorf("outputs %x are written as %x", s.outputs, again)
	}
}

// FuzzReplay replays a recording with an arbitrary stream of one role: the result is another run or an error.
func FuzzReplay(f *testing.F) {
	type kind struct {
		mode string
		has  trouble
	}
	kinds := []kind{{job.Sync, trouble{}}, {job.SSP, trouble{}},
		{job.SSP, trouble{lose: true, twice: true, crash: true}}}
	var runs []*world
	for i, k := range kinds {
		cfg, p := setup(f, k.mode, k.has.retry())
		cfg.Steps = 2
		runs = append(runs, record(f, cfg, p, 1, k.has))
		for which, h := range runs[i].homes {
			f.Add(i, which, bodyOf(f, h.stream.Bytes()))
		}
	}
	f.Fuzz(func(t *testing.T, run, which int, body []byte) {
		if run < 0 || run >= len(runs) {
			return
		}
		k, w := kinds[run], runs[run]
		if which < 0 || which >= len(w.homes) {
			return
		}
		for _, withNumbers := range []bool{false, true} {
			cfg, p := setup(t, k.mode, k.has.retry())
			cfg.Steps = 2
			recording := w.recording(t)
			at := w.homes[which].state.Address()
			recording.readers[which] = fuzzed(t, cfg, at, body)
			if withNumbers {
				_, _ = recording.Replay(p)
			} else {
				_, _ = recording.Events()
			}
		}
	})
}

// fuzzed returns the stream of a role with a body of any bytes.
func fuzzed(t *testing.T, cfg *role.Config, at msg.Address, body []byte) *Reader {
	var all []byte // counts its inputs for the end mark
	h := Header{Role: at, Job: []byte("job"), Config: *cfg}
	h.Config.Rule = nil
	all = streamOf(headerOf(h), append([]byte{stepsBlock}, body...))
	steps, _, _ := read(all)
	all = streamOf(headerOf(h), append([]byte{stepsBlock}, body...),
		append([]byte{endBlock}, appendValue(nil, reflect.ValueOf(end{Inputs: uint64(len(steps))}))...))
	r, err := NewReader(bytes.NewReader(all), "a file")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bodyOf returns the steps of a stream of one block.
func bodyOf(f *testing.F, stream []byte) []byte {
	steps, _, err := read(stream)
	if err != nil {
		f.Fatal(err)
	}
	var body []byte
	for i, s := range steps {
		since := s.Now
		if i > 0 {
			since -= steps[i-1].Now
		}
		body = appendStep(body, since, &s.Input, s.Payload, s.outputs)
	}
	return body
}
