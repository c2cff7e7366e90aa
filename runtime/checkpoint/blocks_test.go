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

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// withoutBlocks makes a model one as they were before files of rows had checksums of blocks.
func withoutBlocks(t *testing.T, folder string) {
	t.Helper()
	rewriteManifest(t, folder, func(m *checkpoint.Manifest) {
		m.Files = slices.DeleteFunc(m.Files, func(f checkpoint.File) bool {
			if !strings.HasSuffix(f.Name, ".crc32c") {
				return false
			}
			if err := os.Remove(filepath.Join(folder, f.Name)); err != nil {
				t.Fatal(err)
			}
			return true
		})
	})
}

// rewriteManifest changes the manifest of a model, and gives it the right checksum.
func rewriteManifest(t *testing.T, folder string, change func(m *checkpoint.Manifest)) {
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
	change(&m)
	m.SHA256 = ""
	unsigned, err := json.MarshalIndent(&m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(unsigned)
	m.SHA256 = hex.EncodeToString(sum[:])
	signed, err := json.MarshalIndent(&m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, append(signed, '\n'))
}

// Of a file with a flipped bit no row is read that is not as it was written: opening the model, or reading
// the row, is an error that names the file. Rows of other blocks are read.
func TestDamagedBlocksAreNotRead(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "model")
	j, state := quarters(t)
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
		got := make([]float32, quarterDim)
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

const quarterDim = 256 // values of an embedding that takes a quarter of a block

// quarters returns a job whose embeddings have a quarter of a block, and a state that was trained.
func quarters(t *testing.T) (job.Job, exec.State) {
	j, data := exectest.Job(1, 1), columns()
	j.Model.EmbeddingDim = quarterDim
	for i := range data.Fields.Slots {
		data.Fields.Slots[i].Dim = quarterDim
	}
	return j, trainUnequal(t, j, data, train.Options{})
}

// firstDamaged returns the error of the first row that cannot be read.
func firstDamaged(t *testing.T, c *checkpoint.Checkpoint) error {
	t.Helper()
	rows, err := c.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for sign := range rows.Trained() {
		if _, err := rows.Read([]uint64{sign}, make([]float32, rows.Dims()[0])); err != nil {
			return err
		}
	}
	return nil
}

// A model does not inherit damage that was found in the model before, of whose files it has copies. Before it
// was found, an error names the file that is mapped, and not the copy.
func TestDamageIsNotInherited(t *testing.T) {
	j, state := quarters(t)
	folder := chained(t, &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}, j, state, 4)
	before, after := checkpoint.StepFolder(folder, 3), checkpoint.StepFolder(folder, 4)
	path := filepath.Join(before, checkpoint.RowsFile(0, 1))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[bytes.Index(data, embeddingIn(t, before, checkpoint.RowsFile(0, 1)))+6000] ^= 1
	if err := os.Remove(path); err != nil { // and with it the link to those of the other checkpoints
		t.Fatal(err)
	}
	write(t, path, data)
	damaged := mustOpen(t, before)
	inherits, err := damaged.OpenNext(after)
	if err != nil {
		t.Fatal(err)
	}
	defer inherits.Close()
	if err := firstDamaged(t, inherits); err == nil || !checkpoint.IsDamage(err) ||
		!strings.HasPrefix(err.Error(), "model "+before+": "+checkpoint.RowsFile(0, 1)+": bytes ") {
		t.Errorf("error %v", err)
	}
	intact, err := inherits.OpenNext(after)
	if err != nil {
		t.Fatal(err)
	}
	defer intact.Close()
	if err := firstDamaged(t, intact); err != nil {
		t.Error(err)
	}
}

// Verifying a model finds checksums of blocks that were wrong when they were written.
func TestWrongSumsAreVerified(t *testing.T) {
	j, state := quarters(t)
	folder := filepath.Join(t.TempDir(), "model")
	if err := checkpoint.Save(folder, manifest(j), state); err != nil {
		t.Fatal(err)
	}
	name := checkpoint.RowsFile(0, 1) + ".crc32c"
	sums, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	sums[len(sums)/2] ^= 1
	write(t, filepath.Join(folder, name), sums)
	rewriteManifest(t, folder, func(m *checkpoint.Manifest) {
		for i := range m.Files {
			if sum := sha256.Sum256(sums); m.Files[i].Name == name {
				m.Files[i].SHA256 = hex.EncodeToString(sum[:])
			}
		}
	})
	if err := mustOpen(t, folder).Verify(); err == nil || !checkpoint.IsDamage(err) ||
		!strings.Contains(err.Error(), name+" has not the blocks of "+checkpoint.RowsFile(0, 1)+": bytes ") {
		t.Errorf("error %v", err)
	}
}
