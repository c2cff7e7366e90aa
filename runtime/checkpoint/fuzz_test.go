//go:build unix

package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tandem/algo/exec/dense"
	"tandem/algo/numeric/table"
)

// A manifest is read as it was written or refused; no text crashes the reader.
func FuzzManifest(f *testing.F) {
	folder := filepath.Join(f.TempDir(), "model")
	q, m := small(f)
	if err := Save(folder, m, q); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, ManifestFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"tandem-model","version":1}`))
	f.Add([]byte(`{"format":"tandem-model","version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := decodeManifest(text)
		if err != nil {
			return
		}
		if again, err := read.encode(); err != nil || string(again) != string(text) {
			t.Fatalf("another text:\n%s\nerror %v", again, err)
		}
	})
}

// Files of candidates with any bytes are an error, or are what is written for the candidates in them.
func FuzzCandidates(f *testing.F) {
	var text bytes.Buffer
	some := []table.Candidate{{Sign: 7, Step: 9, Seen: 2}, {Sign: 1 << 63, Seen: 255, Old: true}}
	if err := encodeCandidates(&text, some); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add(text.Bytes()[:text.Len()/2])
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := decodeCandidates(text)
		if err != nil || len(all) == 0 {
			return
		}
		var again bytes.Buffer
		if err := encodeCandidates(&again, all); err != nil {
			t.Fatal(err)
		}
		if same, err := decodeCandidates(again.Bytes()); err != nil || !slices.Equal(same, all) {
			t.Fatalf("%v become %v, error %v", all, same, err)
		}
	})
}

// Files of rows and of changes with any bytes and right checksums are an error, or have rows that can be read
// one by one and in order.
func FuzzRows(f *testing.F) {
	state, _ := small(f)
	rows, dim := state.Tables(0)[0], state.Schema().Slots[0].Dim
	var texts [2][]byte
	for i := range texts {
		frozen, text := rows.FreezeNoted(nil, nil), new(bytes.Buffer)
		if _, err := encodeRows(text, frozen, i == 1); err != nil {
			f.Fatal(err)
		}
		frozen.Release()
		texts[i] = text.Bytes()
		changeFirst(state)
	}
	format := DimRows{Dim: dim, StateValues: rows.StateBytes() / 4, Precision: rows.Precision().String()}
	m := &Manifest{Schema: schemaOf(state.Schema()),
		Rows: Rows{Dim: format.Dim, StateValues: format.StateValues, Precision: rows.Precision().String()}}
	f.Add(texts[0], []byte{}, uint16(rows.Len()))
	f.Add(texts[0], texts[1], uint16(rows.Len()))
	f.Add(texts[0], texts[1], uint16(rows.Len()-1))
	f.Fuzz(func(t *testing.T, all, changes []byte, count uint16) {
		file := new(rowsFile)
		for i, text := range [][]byte{all, changes} {
			if i == 1 && len(text) == 0 {
				break
			}
			sums := new(blockWriter)
			if _, err := sums.Write(text); err != nil {
				t.Fatal(err)
			}
			blocks, err := newBlocks(text, sums.end())
			if err != nil {
				t.Fatal(err)
			}
			one, err := readRowsFile("rows", text, blocks, format, i == 1)
			if err != nil {
				return
			}
			file.files = append(file.files, one)
		}
		m.Rows.Servers = []Server{{Rows: int(count), Changes: len(file.files) - 1}}
		if file.join(int(count)) != nil {
			return
		}
		r, err := newRowReader(m, []*rowsFile{file})
		if err != nil {
			return
		}
		read, ordered := make([]float32, dim), 0
		for b := range file.batches() {
			for _, sign := range b.Signs {
				if missing, err := r.Read([]uint64{sign}, read); err != nil || missing > 0 {
					t.Fatalf("sign %#x: %d missing, error %v", sign, missing, err)
				}
				ordered++
			}
		}
		if ordered != int(count) || r.Len() != ordered {
			t.Fatalf("%d rows in order, %d by sign, want %d", ordered, r.Len(), count)
		}
	})
}

// What a process has written of a model, in a folder that others may write to, is collected or an error.
func FuzzCollect(f *testing.F) {
	state, m := small(f)
	w, err := NewWriter(filepath.Join(f.TempDir(), "model"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(w.Discard)
	export, err := BeginExport(w.Folder(), "part", state, nil, new(Chain))
	if err == nil {
		err = export.Wait()
	}
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(w.Folder(), "part")
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(bytes.Replace(text, []byte(`\"Owner\":0`), []byte(`\"Owner\":7`), 1))
	f.Add(bytes.Replace(text, []byte(`\"Files\"`), []byte(`\"Filed\"`), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		w.rows, w.parts = map[int]rowsPart{}, nil
		if w.Collect("part") != nil {
			return
		}
		full := *m
		_ = w.describeRows(&full, state.Plan(), state.Schema().Dims()) // with or without an error
		_ = dense.CheckParts(w.parts, state.Layout())
	})
}
