package checkpoint

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/runtime/memory"
)

var benchRows = flag.Int("bench-rows", 1_000_000, "rows of the benchmarks of files")

// filled returns a table of rows of 16 values with as many of state.
func filled(b *testing.B) *table.Table {
	spec := opt.DefaultRow()
	optimizer, err := opt.NewRow(spec)
	if err != nil {
		b.Fatal(err)
	}
	arena := new(memory.Arena)
	b.Cleanup(func() { arena.Close() })
	t, err := table.New(table.Config{Dim: 16, Optimizer: optimizer, Seed: 1, InitBound: 0.01}, arena)
	if err != nil {
		b.Fatal(err)
	}
	const chunk = 1 << 14
	rows := table.NewColumns(chunk, t.EmbeddingBytes(), t.StateBytes())
	for at := 0; at < *benchRows; at += chunk {
		for i := range rows.Signs {
			rows.Signs[i], rows.Updates[i] = uint64(at+i), 1
		}
		if err := t.AddRows(rows); err != nil {
			b.Fatal(err)
		}
	}
	return t
}

// Looking up rows at random, with checksums of blocks, as in a model that has none, and for the first time.
func BenchmarkLookUp(b *testing.B) {
	folder := b.TempDir()
	p, err := new(Chain).write(disk{}, folder, shelf{Dims: 1}, 1, filled(b).Freeze(nil, nil))
	if err != nil {
		b.Fatal(err)
	}
	m := &Manifest{Files: p.Files,
		Schema: Schema{Slots: []Slot{{Name: "a", Dim: 16, Pooling: "sum"}}, Labels: []string{"y"},
			PrefixBits: 8},
		Rows: Rows{Dim: 16, Precision: p.Precision, StateValues: p.StateValues, Servers: []Server{p.Server}}}
	name := p.Files[0].Name
	for _, way := range []string{"checked", "without", "first"} {
		c := &Checkpoint{Manifest: *m, folder: folder}
		file, err := c.mapRows(name,
			DimRows{Dim: 16, StateValues: p.StateValues, Precision: p.Precision}, false)
		if err != nil {
			b.Fatal(err)
		}
		f := &rowsFile{files: []*mappedRows{file}}
		if err := f.join(p.Server.Rows); err != nil {
			b.Fatal(err)
		}
		rows, err := newRowReader(m, []*rowsFile{f})
		if err != nil {
			b.Fatal(err)
		}
		const n = 1024
		signs, dst := make([]uint64, n), make([]float32, 16*n)
		if way == "without" {
			file.blocks = nil
		}
		b.Run(way, func(b *testing.B) {
			draws := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				for i := range signs {
					signs[i] = draws.Uint64N(uint64(p.Server.Rows))
				}
				if way == "first" {
					clear(file.blocks.intact)
				}
				if _, err := rows.Read(signs, dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/row")
		})
		if err := f.release(); err != nil {
			b.Fatal(err)
		}
	}
}

// Writing rows through to the disk, beside writing as many zeros.
func BenchmarkWriteRows(b *testing.B) {
	t := filled(b)
	folder := b.TempDir()
	for b.Loop() {
		p, err := new(Chain).write(disk{}, folder, shelf{Dims: 1}, 1, t.Freeze(nil, nil))
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(p.Written)
		if err := os.Remove(filepath.Join(folder, p.Files[0].Name)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteZeros(b *testing.B) {
	folder := b.TempDir()
	zeros := make([]byte, 1<<20)
	const mebibytes = 130
	b.SetBytes(mebibytes << 20)
	for b.Loop() {
		name := filepath.Join(folder, "zeros")
		f, err := disk{}.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		for range mebibytes {
			if _, err := f.Write(zeros); err != nil {
				b.Fatal(err)
			}
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		f.Close()
		if err := os.Remove(name); err != nil {
			b.Fatal(err)
		}
	}
}
