package checkpoint

import (
	"flag"
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
	signs, dst := make([]uint64, chunk), make([]float32, 16*chunk)
	for at := 0; at < *benchRows; at += chunk {
		for i := range signs {
			signs[i] = uint64(at + i)
		}
		if err := t.Lookup(signs, dst); err != nil {
			b.Fatal(err)
		}
	}
	return t
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
