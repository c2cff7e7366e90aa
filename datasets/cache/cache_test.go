package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
)

// someRows returns rows with a slot of one id each and a slot of i%3, with weights.
func someRows(n int) *Rows {
	b := &batch.Batch{Samples: n, Slots: []batch.Jagged{{Offsets: []int32{0}}, {Offsets: []int32{0}}}}
	for i := range n {
		b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(i)<<40)
		for range i % 3 {
			b.Slots[1].IDs = append(b.Slots[1].IDs, uint64(i))
			b.Slots[1].Weights = append(b.Slots[1].Weights, float32(i)/7)
		}
		for s := range b.Slots {
			b.Slots[s].Offsets = append(b.Slots[s].Offsets, int32(len(b.Slots[s].IDs)))
		}
		b.Dense = append(b.Dense, float32(i), -0.5)
		b.Labels, b.Weights = append(b.Labels, float32(i%2)), append(b.Weights, float32(i)/3)
	}
	return &Rows{
		Slots: []string{"user", "tags"}, Dense: []string{"a", "b"}, Labels: []string{"clicked"}, Weight: "w",
		Weighted: []string{"tags"}, Batch: b, Dropped: 7,
		BadRows: []BadRow{{Line: 3, Column: "a", Value: []byte("\xff"), Reason: "not a number"}},
	}
}

func sameRows(t rapid.TB, got, want *Rows) {
	t.Helper()
	for s := range want.Batch.Slots {
		g, w := got.Batch.Slots[s], want.Batch.Slots[s]
		if !slices.Equal(g.IDs, w.IDs) || !slices.Equal(g.Offsets, w.Offsets) ||
			!slices.Equal(g.Weights, w.Weights) {
			t.Fatalf("slot %d: %v, want %v", s, g, w)
		}
	}
	if !slices.Equal(got.Batch.Dense, want.Batch.Dense) ||
		!slices.Equal(got.Batch.Labels, want.Batch.Labels) ||
		!slices.Equal(got.Batch.Weights, want.Batch.Weights) || got.Batch.Samples != want.Batch.Samples {
		t.Fatalf("batch %+v, want %+v", got.Batch, want.Batch)
	}
	got, want = &Rows{got.Slots, got.Dense, got.Labels, got.Weight, got.Weighted, nil, got.Dropped,
		got.BadRows},
		&Rows{want.Slots, want.Dense, want.Labels, want.Weight, want.Weighted, nil, want.Dropped,
			want.BadRows}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

// sourceKey writes a source and returns its key.
func sourceKey(t testing.TB, text string) Key {
	path := filepath.Join(t.TempDir(), "clicks.tsv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return keyOf(t, path)
}

func keyOf(t testing.TB, path string) Key {
	t.Helper()
	source, err := Identify(path)
	if err != nil {
		t.Fatal(err)
	}
	return Key{Sources: []Source{source}, Format: "criteo"}
}

func TestStoredRowsAreLoaded(t *testing.T) {
	key := sourceKey(t, "x")
	folder := Folder(filepath.Join(t.TempDir(), "new", "folder"))
	if _, err := folder.Load(key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
	for _, n := range []int{1, 2, 100, 0} {
		want := someRows(n)
		if err := folder.Store(key, want); err != nil {
			t.Fatal(err)
		}
		got, err := folder.Load(key)
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, got, want)
		// Standardising what was mapped must not reach the file.
		for i := range got.Batch.Dense {
			got.Batch.Dense[i] = 99
		}
		if again, err := folder.Load(key); err != nil {
			t.Fatal(err)
		} else {
			sameRows(t, again, want)
		}
	}
}

func TestOtherSourcesAndFormatsAreNotFound(t *testing.T) {
	folder, key := Folder(t.TempDir()), sourceKey(t, "some text")
	if err := folder.Store(key, someRows(5)); err != nil {
		t.Fatal(err)
	}
	path, stamp := key.Sources[0].Path, time.Unix(0, key.Sources[0].ModTime)
	reset := func(text string) error {
		return errors.Join(os.RemoveAll(path), os.WriteFile(path, []byte(text), 0o644),
			os.Chtimes(path, stamp, stamp))
	}
	for name, change := range map[string]func() error{
		"nothing":            func() error { return nil },
		"longer":             func() error { return reset("some text more") },
		"later":              func() error { return os.Chtimes(path, stamp, stamp.Add(time.Second)) },
		"same size and time": func() error { return reset("some_text") },
		"gone":               func() error { return os.Remove(path) },
	} {
		if err := errors.Join(reset("some text"), change()); err != nil {
			t.Fatal(err)
		}
		_, err := folder.Load(keyOf(t, path))
		if name == "nothing" && err != nil || name != "nothing" &&
			(err == nil || !strings.Contains(err.Error(), "clicks.tsv has changed since")) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	key.Format = "libfm"
	if _, err := folder.Load(key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another format: error %v", err)
	}
}

// A change of the first or last byte of a large file changes its sample.
func TestSamplesReachBothEnds(t *testing.T) {
	text := []byte(strings.Repeat("x", sampleCount*sampleBytes*2+12345))
	path := filepath.Join(t.TempDir(), "large")
	sample := func() string {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Identify(path)
		if err != nil {
			t.Fatal(err)
		}
		return s.Sample
	}
	plain := sample()
	for _, at := range []int{0, (len(text) - sampleBytes) / 63 * 63, sampleBytes - 1} {
		text[at] = 'y'
		if sample() == plain {
			t.Errorf("byte %d changed, the sample did not", at)
		}
		text[at] = 'x'
	}
}

// A change of any byte is found, except in the padding; so is a truncated file.
func TestEveryDamageIsFound(t *testing.T) {
	folder, key, want := Folder(t.TempDir()), sourceKey(t, "x"), someRows(5)
	if err := folder.Store(key, want); err != nil {
		t.Fatal(err)
	}
	path := folder.path(key)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	missed := 0
	for at := range whole {
		bad := slices.Clone(whole)
		bad[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := folder.Load(key); err == nil {
			sameRows(t, got, want)
			missed++
		}
	}
	// One padding after the header and one after each of five columns.
	if missed >= 6*alignment {
		t.Errorf("%d of %d changed bytes were not found", missed, len(whole))
	}
	for keep := range len(whole) - alignment {
		if err := os.WriteFile(path, whole[:keep], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.Load(key); err == nil {
			t.Fatalf("the first %d of %d bytes are believed", keep, len(whole))
		}
	}
	whole[len(magic)] = version + 1
	os.WriteFile(path, whole, 0o644)
	if _, err := folder.Load(key); !errors.Is(err, errVersion) {
		t.Errorf("version %d: error %v", version+1, err)
	}
}

// An intact header whose columns have another layout is an error, never a panic.
func TestHeadersThatDoNotFit(t *testing.T) {
	folder, key := Folder(t.TempDir()), sourceKey(t, "x")
	if err := folder.Store(key, someRows(5)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(folder.path(key))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(h *header){
		"nothing":         func(*header) {},
		"no columns":      func(h *header) { h.Columns = nil },
		"a column less":   func(h *header) { h.Columns = h.Columns[:len(h.Columns)-1] },
		"a column more":   func(h *header) { h.Columns = append(h.Columns, h.Columns[0]) },
		"a slot more":     func(h *header) { h.Slots = append(h.Slots, "more") },
		"a number more":   func(h *header) { h.Dense = append(h.Dense, "more") },
		"more rows":       func(h *header) { h.Rows++ },
		"rows below none": func(h *header) { h.Rows = -1 },
		"too many rows":   func(h *header) { h.Rows = 1 << 62 },
		"before":          func(h *header) { h.Columns[1].Offset = -alignment },
		"behind":          func(h *header) { h.Columns[1].Offset = 1 << 62 },
		"of less than no": func(h *header) { h.Columns[1].Bytes = -8 },
		"too long":        func(h *header) { h.Columns[1].Bytes = 1<<63 - 1 },
	} {
		h, begin, err := readHeader(whole)
		if err != nil {
			t.Fatal(err)
		}
		change(h)
		if _, err := read(whole, h, begin); (err == nil) != (name == "nothing") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Readers see whole files of one of the writers, and only one file remains.
func TestManyWritersAtOnce(t *testing.T) {
	folder, key, want := Folder(t.TempDir()), sourceKey(t, "x"), someRows(1000)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 20 {
				if err := folder.Store(key, want); err != nil {
					t.Error(err)
				}
			}
		})
		wait.Go(func() {
			for range 20 {
				switch _, err := folder.Load(key); {
				case err != nil && !errors.Is(err, fs.ErrNotExist):
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	files, err := os.ReadDir(string(folder))
	if err != nil || len(files) != 1 {
		t.Errorf("files %v, error %v, want one", files, err)
	}
	got, err := folder.Load(key)
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, want)
}

// fullDisk is a writer that fails after a number of bytes.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func TestStoreErrors(t *testing.T) {
	key := sourceKey(t, "x")
	for _, left := range []int{0, 10, 2000, 20_000} {
		if err := write(&fullDisk{left}, key, someRows(1000)); err == nil ||
			!strings.Contains(err.Error(), "no space left") {
			t.Errorf("space for %d bytes: error %v", left, err)
		}
	}
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Folder(inTheWay).Store(key, someRows(3)); err == nil ||
		!strings.HasPrefix(err.Error(), "cache: ") {
		t.Errorf("a file in place of the folder: error %v", err)
	}
}

func TestListAndClear(t *testing.T) {
	folder, key := Folder(t.TempDir()), sourceKey(t, "x")
	if all, err := Folder(filepath.Join(string(folder), "none")).List(); err != nil || len(all) != 0 {
		t.Errorf("no folder: %v, error %v", all, err)
	}
	if err := folder.Store(key, someRows(12)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine.txt", "a.columns.1" + unfinished} {
		if err := os.WriteFile(filepath.Join(string(folder), name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all, err := folder.List()
	if err != nil || len(all) != 2 || all[0].Source != "" || all[1].Source != key.Sources[0].Path ||
		all[1].Rows != 12 {
		t.Errorf("%+v, error %v; want the unfinished file and that of 12 rows", all, err)
	}
	files, bytes, err := folder.Clear()
	if err != nil || files != 2 || bytes != all[0].Bytes+all[1].Bytes {
		t.Errorf("%d files of %d bytes, error %v", files, bytes, err)
	}
	if left, _ := os.ReadDir(string(folder)); len(left) != 1 || left[0].Name() != "mine.txt" {
		t.Errorf("%v left, want mine.txt", left)
	}
}

// Rates of storing and loading a million rows, compared with copying as many bytes in memory.
func BenchmarkCache(b *testing.B) {
	folder, key, rows := Folder(b.TempDir()), sourceKey(b, "x"), someRows(1<<20)
	if err := folder.Store(key, rows); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(folder.path(key))
	if err != nil {
		b.Fatal(err)
	}
	from, to := make([]byte, info.Size()), make([]byte, info.Size())
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"copy", func() { copy(to, from) }},
		{"store", func() { folder.Store(key, rows) }},
		{"load", func() { folder.Load(key) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				c.do()
			}
		})
	}
}
