package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// withoutBlocks makes a model one as they were before files of rows had checksums of blocks.
func withoutBlocks(t *testing.T, folder string) {
	t.Helper()
	path := filepath.Join(folder, checkpoint.ManifestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m checkpoint.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	m.Files = slices.DeleteFunc(m.Files, func(f checkpoint.File) bool {
		blocks := strings.HasSuffix(f.Name, ".crc32c")
		if blocks {
			err = os.Remove(filepath.Join(folder, f.Name))
		}
		return blocks
	})
	m.SHA256 = ""
	unsigned, failed := json.MarshalIndent(&m, "", "  ")
	sum := sha256.Sum256(unsigned)
	m.SHA256 = hex.EncodeToString(sum[:])
	signed, again := json.MarshalIndent(&m, "", "  ")
	for _, err := range []error{err, failed, again, os.WriteFile(path, append(signed, '\n'), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Of a file with a flipped bit no row is read that is not as it was written: opening the model, or reading
// the row, is an error that names the file. Rows of other blocks are read.
func TestDamagedBlocksAreNotRead(t *testing.T) {
	const dim = 256 // a row is a quarter of a block
	j, data, folder := exectest.Job(1, 1), columns(), filepath.Join(t.TempDir(), "model")
	j.Model.EmbeddingDim, data.Fields.Slots[0].Dim, data.Fields.Slots[1].Dim = dim, dim, dim
	state := trainUnequal(t, j, data, train.Options{})
	if err := checkpoint.Save(folder, manifest(j), state); err != nil {
		t.Fatal(err)
	}
	name := checkpoint.RowsFile(0, 1)
	path := filepath.Join(folder, name)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(path + ".crc32c")
	if err != nil {
		t.Fatal(err)
	}
	for block := range slices.Chunk(good, 4096) {
		if crc32.Checksum(block, crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(sums) {
			t.Errorf("another checksum of a block, %d from the last", len(sums)/4-1)
		}
		sums = sums[4:]
	}
	want := map[uint64][]float32{}
	whole, err := mustOpen(t, folder).Rows()
	if err != nil {
		t.Fatal(err)
	}
	for sign, embedding := range whole.Trained() {
		want[sign] = slices.Clone(embedding)
	}
	right, refused := 0, 0
	for at := 0; at < len(good); at += 509 {
		broken := bytes.Clone(good)
		broken[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, broken, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Open(folder)
		var rows *checkpoint.RowReader
		if err == nil {
			rows, err = c.Rows()
		}
		if err != nil {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("byte %d: error %v", at, err)
			}
			continue
		}
		got := make([]float32, dim)
		for sign := range want {
			_, err := rows.Read([]uint64{sign}, got)
			switch {
			case err == nil && slices.Equal(got, want[sign]):
				right++
			case err == nil:
				t.Errorf("byte %d: another row of sign %#x, and no error", at, sign)
			case !strings.Contains(err.Error(), name+": bytes "):
				t.Errorf("byte %d: error %v", at, err)
			default:
				refused++
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 || right < refused {
		t.Errorf("%d rows are read beside the damage, and %d are refused", right, refused)
	}
}

// A model that was written before there were checksums of blocks is read, and a training that begins with it
// writes all rows, with checksums.
func TestModelsWithoutChecksumsOfBlocks(t *testing.T) {
	j := exectest.Job(2, 2)
	_, state := trained(t, j)
	s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}
	folder := checkpoint.StepFolder(chained(t, s, j, state, 3), 3)
	now := mustOpen(t, folder)
	if now.Manifest.Rows.Servers[0].Changes != 1 {
		t.Fatalf("%d files of changes", now.Manifest.Rows.Servers[0].Changes)
	}
	withoutBlocks(t, folder)
	before := mustOpen(t, folder)
	if err := before.Verify(); err != nil {
		t.Error(err)
	}
	equalReaders(t, before, now)
	restored := untrained(t, j)
	if _, err := before.Restore(restored); err != nil {
		t.Fatal(err)
	}
	later := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}
	later.Chain.Begin(before)
	at := filepath.Join(t.TempDir(), "next")
	saveNext(t, later, at, j, restored)
	next := mustOpen(t, at)
	blocks := 0
	for _, f := range next.Files {
		if strings.HasSuffix(f.Name, ".crc32c") {
			blocks++
		}
	}
	if next.Manifest.Rows.Servers[0].Changes != 0 || blocks != 2 {
		t.Errorf("%d files of changes, %d files of blocks; want 0 and 2",
			next.Manifest.Rows.Servers[0].Changes, blocks)
	}
}
