package redo_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/runtime/redo"
	"tandem/runtime/wire"
)

var (
	run   = wire.RunID{1, 2, 3}
	owner = msg.Address{Role: msg.EmbeddingPS}
)

// headerSize is the size of what is before the entries.
const headerSize = 48

// kept is an input with what a Log keeps of it.
type kept struct {
	now     unit.Tick
	in      role.Input
	payload exec.Payload
}

// inputs are inputs of an embedding PS.
func inputs() []kept {
	worker, server := msg.Address{Role: msg.EmbeddingWorker, Index: 1}, msg.Address{Role: msg.EmbeddingPS}
	lookup := role.Input{Kind: role.Received, Message: msg.Message{Kind: msg.Lookup, From: worker, To: server,
		Rank: 1, Step: 7, Samples: 3, StepSamples: 6, Bytes: 120}}
	end := role.Input{Kind: role.Received, Message: msg.Message{Kind: msg.SetEnd,
		From: msg.Address{Role: msg.DataLoader}, To: server, Step: 9, Bytes: 72}}
	return []kept{
		{5, lookup, exec.Signs{Signs: compress.Signs{Plain: []uint64{3, 1 << 60, 12}}}},
		{8, role.Input{Kind: role.WorkDone, Work: role.Work{Kind: role.ReadRows}}, nil},
		{9, end, nil},
		{1 << 40, role.Input{Kind: role.TimerFired}, nil},
	}
}

// written returns the file of a Log with inputs.
func written(t *testing.T, all []kept) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.redo")
	log, err := redo.Create(name, run, owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		if err := log.Keep(k.now, &k.in, k.payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// replayed opens a file, returns its inputs, keeps another one unless it is nil, and closes the file.
func replayed(name string, more *kept) (all []kept, err error) { return replayedBy(name, owner, more) }

// replayedBy is replayed by a role.
func replayedBy(name string, by msg.Address, more *kept) (all []kept, err error) {
	log, err := redo.Open(name, run, by)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	err = log.Replay(func(now unit.Tick, in *role.Input, payload exec.Payload) error {
		all = append(all, kept{now, *in, payload})
		return nil
	})
	if err == nil && more != nil {
		err = log.Keep(more.now, &more.in, more.payload)
	}
	return all, err
}

func TestReplayHasTheInputsThatWereKept(t *testing.T) {
	want := inputs()
	name := written(t, want[:3])
	got, err := replayed(name, &want[3]) // it goes on
	if err != nil || !reflect.DeepEqual(got, want[:3]) {
		t.Fatalf("%+v, error %v; want %+v", got, err, want[:3])
	}
	if got, err = replayed(name, nil); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, error %v; want %+v", got, err, want)
	}
}

// An entry of an input that is no message has its kind, the kind of its work, six zeros and the time, behind
// its length, two sums and four zeros, so that the entries of a run are the same whichever build wrote them.
func TestBytesOfAnEntry(t *testing.T) {
	entries := func(n int) []byte {
		text, err := os.ReadFile(written(t, inputs()[:n]))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for i, k := range inputs() {
		if k.in.Kind == role.Received {
			continue
		}
		before := len(entries(i))
		entry := entries(i + 1)[before:]
		want := []byte{byte(k.in.Kind), byte(k.in.Work.Kind), 0, 0, 0, 0, 0, 0}
		want = binary.LittleEndian.AppendUint64(want, uint64(k.now))
		if len(entry) != 16+len(want) || entry[0] != byte(len(want)) ||
			!bytes.Equal(entry[12:], append(make([]byte, 4), want...)) {
			t.Errorf("input %d: %x, want it to end with %x", i, entry, want)
		}
	}
}

// If a dead process has written a part of its last entry, the entries before it are there, and the Log goes
// on after them.
func TestTornEntryIsRemoved(t *testing.T) {
	want := inputs()
	whole, err := os.ReadFile(written(t, want[:2]))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(written(t, want[:1]))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "torn.redo")
	for size := len(before); size < len(whole); size++ {
		torn := append(bytes.Clone(before), whole[len(before):size]...)
		if err := os.WriteFile(name, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := replayed(name, &want[1])
		if err != nil || !reflect.DeepEqual(got, want[:1]) {
			t.Fatalf("%d bytes: %+v, error %v", size, got, err)
		}
		if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, whole) {
			t.Fatalf("%d bytes, and one entry more: %d bytes, error %v; want %d", size, len(now), err,
				len(whole))
		}
	}
}

// If a dead process has written its last entry and not yet how many there are, the entry is there, and the
// Log goes on after it.
func TestLastEntryNeedNotBeCounted(t *testing.T) {
	want := inputs()
	whole, err := os.ReadFile(written(t, want[:2]))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(written(t, want[:1]))
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(written(t, want[:3]))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "uncounted.redo")
	text := append(bytes.Clone(before), whole[len(before):]...)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := replayed(name, &want[2])
	if err != nil || !reflect.DeepEqual(got, want[:2]) {
		t.Fatalf("%+v, error %v", got, err)
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, after) {
		t.Errorf("%d bytes, error %v; want %d", len(now), err, len(after))
	}
}

// A flipped bit before the last entry is an error, and no input after it is handled.
func TestDamageIsAnError(t *testing.T) {
	want := inputs()
	name := written(t, want)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{49, 72, 88, 166} { // length, time, header and signs of the first entry
		text := bytes.Clone(whole)
		text[at] ^= 4
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := replayed(name, nil)
		if err == nil || len(got) > 0 ||
			!strings.Contains(err.Error(), "at byte 48: the entry is damaged: ") {
			t.Errorf("byte %d: %d inputs, error %v", at, len(got), err)
		}
	}
	for _, other := range []struct {
		run wire.RunID
		of  msg.Address
	}{{wire.RunID{9}, owner}, {run, msg.Address{Role: msg.EmbeddingPS, Index: 1}},
		{run, msg.Address{Role: msg.DensePS}}} {
		_, err := redo.Open(name, other.run, other.of)
		if err == nil || !strings.Contains(err.Error(), "of another run or role") {
			t.Errorf("the log of %v in run %v: %v", other.of, other.run, err)
		}
	}
	if _, err := redo.Open(filepath.Join(t.TempDir(), "none"), run, owner); !os.IsNotExist(err) &&
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("no log: %v", err)
	}
}

// Wherever a file ends before its last entry does, replaying it is an error.
func TestShortFileIsAnError(t *testing.T) {
	want := inputs()
	name := written(t, want)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(whole) {
		if err := os.WriteFile(name, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := replayed(name, nil); err == nil ||
			size >= headerSize && !strings.Contains(err.Error(), "of 4 entries: the file is damaged") {
			t.Errorf("%d of %d bytes: error %v", size, len(whole), err)
		}
	}
}

func BenchmarkKeep(b *testing.B) {
	log, err := redo.Create(filepath.Join(b.TempDir(), "a.redo"), run, owner)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	k := inputs()[0]
	k.payload = exec.Signs{Signs: compress.Signs{Plain: make([]uint64, 4096)}}
	for b.Loop() {
		if err := log.Keep(k.now, &k.in, k.payload); err != nil {
			b.Fatal(err)
		}
	}
}

// The process before may hang and go on later: it keeps its log to itself.
func TestLogOfALivingProcessIsNotOpened(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.redo")
	log, err := redo.Create(name, run, owner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := redo.Open(name, run, owner); err == nil || !strings.Contains(err.Error(), "still has it") {
		t.Errorf("opened beside its process: %v", err)
	}
	_, err = redo.Create(name, run, owner)
	if err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("replaced beside its process: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := replayed(name, nil); err != nil {
		t.Error(err)
	}
}

// Hostile bytes make no panic, no more memory is used than a file has bytes, and there are as many inputs as
// the file says, or there is an error.
func FuzzReplay(f *testing.F) {
	name := filepath.Join(f.TempDir(), "a.redo")
	log, err := redo.Create(name, run, owner)
	if err != nil {
		f.Fatal(err)
	}
	for _, k := range inputs() {
		if err := log.Keep(k.now, &k.in, k.payload); err != nil {
			f.Fatal(err)
		}
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint64(4), whole[headerSize:])
	f.Add(uint64(3), whole[headerSize:])
	f.Add(uint64(5), whole[headerSize:])
	f.Fuzz(func(t *testing.T, count uint64, entries []byte) {
		const countSize = 12
		text := bytes.Clone(whole[:headerSize-countSize])
		text = binary.LittleEndian.AppendUint64(text, count)
		text = binary.LittleEndian.AppendUint32(text,
			crc32.Checksum(text[len(text)-8:], crc32.MakeTable(crc32.Castagnoli)))
		name := filepath.Join(t.TempDir(), "b.redo")
		if err := os.WriteFile(name, append(text, entries...), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := replayed(name, nil); err == nil && uint64(len(got)) < count {
			t.Errorf("%d inputs of %d, and no error", len(got), count)
		}
	})
}
