package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// A model that is sent and received has the files that it had, and the manifest comes last. One of which a
// bit changes on the way, or a byte is added, in any file, is received as an error, and leaves nothing.
func TestModelsAreSentAndReceived(t *testing.T) {
	s, m := small(t)
	m.Graph = []byte("a graph")
	from := filepath.Join(t.TempDir(), "model")
	if err := Save(from, m, s); err != nil {
		t.Fatal(err)
	}
	var names []string
	sent := map[string][]byte{}
	before := openFiles(t)
	err := Send(from, func(f File, content io.Reader) error {
		text, err := io.ReadAll(content)
		if len(text) != int(f.Bytes) {
			t.Errorf("%s has %d bytes, announced %d", f.Name, len(text), f.Bytes)
		}
		names, sent[f.Name] = append(names, f.Name), text
		return err
	})
	entries, errRead := os.ReadDir(from)
	if err != nil || errRead != nil || len(names) != len(entries) || names[len(names)-1] != ManifestFile {
		t.Fatalf("%q are sent of %v: %v, %v", names, entries, err, errRead)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open before, and %d after", before, after)
	}
	parent := t.TempDir()
	to := filepath.Join(parent, "received")
	flip := func(text []byte) []byte { text[len(text)/2] ^= 1; return text }
	longer := func(text []byte) []byte { return append(text, 0) }
	receive := func(damaged string, damage func([]byte) []byte) error {
		return Receive(to, func(name string) (io.ReadCloser, error) {
			text := bytes.Clone(sent[name])
			if name == damaged {
				text = damage(text)
			}
			return io.NopCloser(bytes.NewReader(text)), nil
		})
	}
	for _, name := range names {
		if err := receive(name, flip); !IsDamage(err) {
			t.Errorf("%s is damaged: %v", name, err)
		}
		if err := receive(name, longer); !IsDamage(err) {
			t.Errorf("%s has a byte more: %v", name, err)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
			t.Errorf("%v is left of what was not received, %v", left, err)
		}
	}
	if err := receive("", nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range sent {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs, %v", name, err)
		}
	}
}

// openFiles returns how many files are open, where the system says so.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(all)
}

// A model whose parts cannot begin to write leaves nothing.
func TestPartsThatDoNotBeginLeaveNothing(t *testing.T) {
	s, m := small(t)
	parent, lost := t.TempDir(), errors.New("a process is lost")
	_, err := BeginApart(filepath.Join(parent, "model"), m, s, func(string) ([]string, error) {
		return nil, lost
	})
	left, errRead := os.ReadDir(parent)
	if !errors.Is(err, lost) || errRead != nil || len(left) != 0 {
		t.Errorf("%v; %v is left: %v", err, left, errRead)
	}
}

// Numbers are read from any place of a file.
func TestNumbersAtAnyPlace(t *testing.T) {
	data := []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0}
	for at, want := range [][]uint64{{1, 2 | 3<<56}, {2 << 56, 3 << 48}} {
		if got := numbersOf[uint64](data[at : at+16]); !slices.Equal(got, want) {
			t.Errorf("from byte %d on: %x, want %x", at, got, want)
		}
	}
}

// endless is a manifest without an end, which counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.read += len(p)
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// Of a manifest that does not end 64 MiB are read.
func TestManifestsOfOthersEnd(t *testing.T) {
	e := new(endless)
	err := Receive(filepath.Join(t.TempDir(), "model"), func(string) (io.ReadCloser, error) { return e, nil })
	if err == nil || e.read > 64<<20 {
		t.Errorf("%d bytes are read: %v", e.read, err)
	}
}
