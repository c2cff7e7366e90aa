package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

var somebody = msg.Address{Role: msg.EmbeddingWorker, Index: 3}

func someHeader() Header {
	return Header{Role: somebody, Job: []byte("name: x\n"), Config: role.Config{
		Ranks: 2, EmbeddingWorkers: 4, EmbeddingPSs: 3, Steps: 10_000, Buckets: []unit.Bytes{8},
	}}
}

// outputsOf returns the outputs of a step.
func outputsOf(t testing.TB, s *Step) (all []role.Output) {
	t.Helper()
	for o, err := range s.Outputs() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// write returns a stream of a number of steps without much content.
func write(t testing.TB, steps int) []byte {
	t.Helper()
	var stream bytes.Buffer
	w, err := NewWriter(&stream, someHeader())
	if err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		in, out := sample(i)
		if err := w.Step(unit.Tick(i*100), &in, exec.DenseShard{1, 2}, out); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(77); err != nil {
		t.Fatal(err)
	}
	return stream.Bytes()
}

// sample returns the i-th step of such a stream.
func sample(i int) (role.Input, []role.Output) {
	m := msg.Message{Kind: msg.Rows, From: msg.Address{Role: msg.EmbeddingPS}, To: somebody, Rank: 1,
		Step: int32(i), Samples: 100, Bytes: 1 << 20}
	return role.Input{Kind: role.Received, Message: m}, []role.Output{
		{Kind: role.Record, Event: event.Record{Role: somebody, Kind: event.Pooled, Step: int32(i),
			Rows: []int32{5, 6}}},
		{Kind: role.Send, Message: m},
	}
}

// read reads a whole stream.
func read(stream []byte) (steps []*Step, r *Reader, err error) {
	if r, err = NewReader(bytes.NewReader(stream), "a file"); err != nil {
		return nil, nil, err
	}
	for {
		s, err := r.Next()
		if errors.Is(err, io.EOF) {
			return steps, r, nil
		}
		if err != nil {
			return steps, r, err
		}
		steps = append(steps, s)
	}
}

// A stream of any number of blocks is read as it was written.
func TestStreamComesBack(t *testing.T) {
	for _, n := range []int{0, 1, 5000} {
		stream := write(t, n)
		steps, r, err := read(stream)
		if err != nil || len(steps) != n || r.end.Digest != 77 || r.Header().Role != somebody ||
			string(r.Header().Job) != "name: x\n" || r.Header().Config.Ranks != 2 {
			t.Fatalf("%d of %d steps, %+v, %v", len(steps), n, r, err)
		}
		for i, s := range steps {
			in, out := sample(i)
			if got := outputsOf(t, s); fmt.Sprint(got) != fmt.Sprint(out) ||
				fmt.Sprint(s.Input) != fmt.Sprint(in) || s.Now != unit.Tick(i*100) || s.Payload == 0 {
				t.Fatalf("step %d: %+v, %v", i, s, err)
			}
		}
		if blocks := bytes.Count(stream, []byte{0, 'S'}); n == 5000 && len(stream) < 3*blockSize {
			t.Errorf("%d bytes, about %d blocks: the test needs several", len(stream), blocks)
		}
	}
}

// A stream that is cut anywhere is reported as cut short.
func TestCutShort(t *testing.T) {
	stream := write(t, 20)
	for n := range stream {
		if _, _, err := read(stream[:n]); !errors.Is(err, ErrCutShort) ||
			!strings.HasPrefix(err.Error(), "a file: the recording is cut short: ") {
			t.Fatalf("%d of %d bytes: %v", n, len(stream), err)
		}
	}
}

// A change of any bit makes a stream invalid.
func TestDamaged(t *testing.T) {
	stream := write(t, 20)
	for i := range stream {
		for bit := range 8 {
			damaged := slices.Clone(stream)
			damaged[i] ^= 1 << bit
			_, _, err := read(damaged)
			switch {
			case errors.Is(err, ErrDamaged):
			case i < len(title)+len(version)+1 && errors.Is(err, ErrFormat):
			case errors.Is(err, ErrCutShort): // the length of a block has grown
			default:
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
	if _, _, err := read(append(stream, 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

// Valid blocks in the wrong order are found, too.
func TestBlocksOutOfOrder(t *testing.T) {
	stream := write(t, 5000)
	head := len(title) + len(version) + 1
	var blocks [][]byte
	for rest := stream[head:]; len(rest) > 0; {
		n := blockHead + int(rest[1]) + int(rest[2])<<8 + int(rest[3])<<16 + 4
		blocks = append(blocks, rest[:n])
		rest = rest[n:]
	}
	blocks[1], blocks[2] = blocks[2], blocks[1]
	_, _, err := read(append(stream[:head:head], bytes.Join(blocks, nil)...))
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("blocks exchanged: %v", err)
	}
}

func TestOtherFormats(t *testing.T) {
	stream := write(t, 1)
	for _, c := range []struct{ stream, want string }{
		{"{\"a\": 1}\n", `a file: not a recording that this Tandem reads: it does not begin with "tandem ` +
			`recording "`},
		{strings.Replace(string(stream), "recording 4\n", "recording 1\n", 1),
			"it is in version 1 of the format, this Tandem reads version 4"},
		{"tandem", "cut short"},
	} {
		if _, _, err := read([]byte(c.stream)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: %v, want %q", c.stream, err, c.want)
		}
	}
	// of an EW, by the release before this format
	first, err := os.ReadFile("testdata/first-format.recording")
	if err != nil {
		t.Fatal(err)
	}
	const want = "a file: not a recording that this Tandem reads: it is in version 1 of the format, " +
		"this Tandem reads version 4: replay it with the Tandem that recorded it, or record the run again"
	if _, _, err := read(first); !errors.Is(err, ErrFormat) || err.Error() != want {
		t.Errorf("the first format: %v, want %s", err, want)
	}
	defer func(own uint64) { shape = own }(shape)
	shape++
	if _, _, err := read(stream); !errors.Is(err, ErrFormat) ||
		!strings.Contains(err.Error(), "had other messages, work or events") {
		t.Errorf("other types: %v", err)
	}
}

// A difference names the step, even the first, and the input if there is one.
func TestDifferencesNameTheirPlace(t *testing.T) {
	worker := msg.Address{Role: msg.NNWorker, Index: 1}
	for _, c := range []struct {
		d    Difference
		want string
	}{
		{Difference{Role: worker, Step: 0, Input: 3, Of: "forward", Field: "f", Recorded: "a", Replayed: "b"},
			"nn-worker 1, step 0, input 3 (forward): f: recorded a, replayed b"},
		{Difference{Role: worker, Step: -1, Field: "f", Recorded: "a", Replayed: "b"},
			"nn-worker 1: f: recorded a, replayed b"},
	} {
		if got := c.d.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A file whose first line does not end is refused before much of it is read.
func TestFirstLineIsBounded(t *testing.T) {
	rest := bytes.NewReader(slices.Repeat([]byte("x"), 1<<20))
	if _, err := NewReader(rest, "a file"); !errors.Is(err, ErrFormat) {
		t.Errorf("a line of 1 MiB: %v", err)
	}
	if read := 1<<20 - rest.Len(); read > 1<<17 {
		t.Errorf("%d bytes of the line were read", read)
	}
}

func TestNothingAfterTheEnd(t *testing.T) {
	var stream bytes.Buffer
	w, err := NewWriter(&stream, someHeader())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(0); err == nil {
		t.Error("a stream ended twice")
	}
}

// The cost of recording, without the payloads.
func BenchmarkStep(b *testing.B) {
	w, err := NewWriter(io.Discard, someHeader())
	if err != nil {
		b.Fatal(err)
	}
	in, out := sample(1)
	for i := 0; b.Loop(); i++ {
		if err := w.Step(unit.Tick(i), &in, exec.DenseShard{1}, out); err != nil {
			b.Fatal(err)
		}
	}
}
