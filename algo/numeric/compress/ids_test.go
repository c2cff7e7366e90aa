package compress

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// anyColumns draws columns of the shapes that data have: one id a sample or
// several or none, ids that are hashes, small numbers, neighbours or all equal.
func anyColumns(t *rapid.T) (columns []batch.Jagged, samples int) {
	samples = rapid.IntRange(0, 40).Draw(t, "samples")
	for range rapid.IntRange(0, 4).Draw(t, "columns") {
		most := rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "ids a sample, most")
		least := rapid.SampledFrom([]int{0, most}).Draw(t, "least")
		distinct := rapid.IntRange(1, 30).Draw(t, "distinct")
		hashed := rapid.Bool().Draw(t, "hashed")
		first := rapid.Uint64().Draw(t, "first")
		c := batch.Jagged{Offsets: []int32{0}}
		for range samples {
			for range rapid.IntRange(least, most).Draw(t, "ids") {
				id := first + uint64(rapid.IntRange(0, distinct-1).Draw(t, "id"))
				if hashed {
					id = rng.Mix(id)
				}
				c.IDs = append(c.IDs, id)
			}
			c.Offsets = append(c.Offsets, int32(len(c.IDs)))
		}
		columns = append(columns, c)
	}
	return columns, samples
}

func sameColumns(a, b []batch.Jagged) bool {
	return slices.EqualFunc(a, b, func(a, b batch.Jagged) bool {
		return slices.Equal(a.Offsets, b.Offsets) && slices.Equal(a.IDs, b.IDs)
	})
}

// ReadIDs returns every id of every sample in its order; equal columns have equal bytes; and truncated bytes
// are refused.
func TestIDsAreLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, samples := anyColumns(t)
		packed := AppendIDs(nil, columns)
		got, err := ReadIDs(packed, len(columns), samples)
		if err != nil {
			t.Fatal(err)
		}
		if !sameColumns(got, columns) {
			t.Fatalf("%+v became %+v", columns, got)
		}
		if !bytes.Equal(packed, AppendIDs(nil, got)) {
			t.Fatal("not the same bytes again")
		}
		if len(packed) > 0 {
			cut := rapid.IntRange(0, len(packed)-1).Draw(t, "cut")
			if got, err := ReadIDs(packed[:cut], len(columns), samples); err == nil {
				t.Fatalf("%d of %d bytes gave %+v", cut, len(packed), got)
			}
		}
	})
}

// The sizes, derived. 64 samples of one id each have their counts in 2 bytes
// (no bits; least 1). Of one byte each the tag, the bits of a number, the
// number of distinct ids and, here, the least id.
func TestSizesOfColumns(t *testing.T) {
	column := func(id func(i int) uint64) []batch.Jagged {
		c := batch.Jagged{Offsets: []int32{0}}
		for i := range 64 {
			c.IDs = append(c.IDs, id(i))
			c.Offsets = append(c.Offsets, int32(i+1))
		}
		return []batch.Jagged{c}
	}
	for _, c := range []struct {
		name string
		id   func(i int) uint64
		want int
	}{
		{"all equal", func(int) uint64 { return 7 }, 2 + 1 + 2},
		{"0 to 15", func(i int) uint64 { return uint64(i % 16) }, 2 + 1 + 2 + 64*4/8},
		// Two ids 2⁴⁰ apart: dictionary of 2; a difference of 0 bits above a least of
		// 2⁴⁰, a varint of 6 bytes; a position bit each.
		{"far apart", func(i int) uint64 { return uint64(i%2) << 40 }, 2 + 1 + 2 + (1 + 6) + 64/8},
		// All distinct over the whole range: 8 bytes each; a least would save nothing.
		{"hashes", func(i int) uint64 { return rng.Mix(uint64(i)) }, 2 + 1 + 2 + 64*64/8},
	} {
		if got := len(AppendIDs(nil, column(c.id))); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

// A few bytes that claim many ids are refused before memory is taken.
func TestIDsAllocateNoMoreThanTheyShould(t *testing.T) {
	for _, packed := range [][]byte{
		{0, 0xff, 0xff, 0xff, 0xff, 0x07, direct, 0, 9},     // 2³¹ − 1 ids of 0 bits in the one sample
		{0, 0xff, 0xff, 0xff, 0xff, 0x07, direct, 1, 9},     // … of 1 bit
		{0, 0xff, 0xff, 0xff, 0xff, 0x0f, direct, 0, 9},     // more than a column may have
		{0, 0xff, 0xff, 0xff, 0x0f, dictionary, 1, 9, 0, 0}, // positions without bits
	} {
		allocated := testing.AllocsPerRun(1, func() {
			if got, err := ReadIDs(packed, 1, 1); err == nil {
				t.Errorf("%v gave %d ids", packed, len(got[0].IDs))
			}
		})
		if allocated > 10 {
			t.Errorf("%v: %v allocations", packed, allocated)
		}
	}
}

// ReadIDs returns for any bytes an error, or columns of the given shape, no longer
// than 64 times the input and one id per column and sample, which survive writing
// and reading.
func FuzzIDs(f *testing.F) {
	f.Add(AppendIDs(nil, []batch.Jagged{{Offsets: []int32{0, 1, 3}, IDs: []uint64{5, 1 << 40, 5}}}), uint8(1),
		uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, columns, samples uint8) {
		got, err := ReadIDs(data, int(columns), int(samples))
		counted, refused := CountIDs(data, int(columns), int(samples))
		if (err == nil) != (refused == nil) {
			t.Fatalf("reading: %v; counting: %v", err, refused)
		}
		if err != nil {
			return
		}
		ids := 0
		for _, c := range got {
			ids += len(c.IDs)
			if len(c.Offsets) != int(samples)+1 || int(c.Offsets[samples]) != len(c.IDs) {
				t.Fatalf("column %+v of %d samples", c, samples)
			}
		}
		if len(got) != int(columns) || ids != counted || ids > 8*len(data)+int(columns)*int(samples) {
			t.Fatalf("%d columns, %d ids from %d bytes", len(got), ids, len(data))
		}
		again, err := ReadIDs(AppendIDs(nil, got), int(columns), int(samples))
		if err != nil || !sameColumns(again, got) {
			t.Fatalf("%+v became %+v, %v", got, again, err)
		}
	})
}

func BenchmarkIDs(b *testing.B) {
	draw := rng.New(1, "ids")
	var columns []batch.Jagged
	n := 0
	for s := range 26 {
		c := batch.Jagged{Offsets: []int32{0}}
		for i := range 1024 {
			c.IDs = append(c.IDs, rng.Mix(draw.Uint64N(1+1<<(s/2))))
			c.Offsets = append(c.Offsets, int32(i+1))
		}
		n += 1024
		columns = append(columns, c)
	}
	packed := AppendIDs(nil, columns)
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(8 * n))
		for b.Loop() {
			AppendIDs(nil, columns)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(8 * n))
		for b.Loop() {
			if _, err := ReadIDs(packed, 26, 1024); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A dictionary lists its ids in ascending order, so the same ids take the same number of bytes in any order.
func TestOrderOfIDsDoesNotChangeTheirSize(t *testing.T) {
	column := func(at func(i int) int) []batch.Jagged {
		c := batch.Jagged{Offsets: []int32{0}}
		for i := range 1000 {
			c.IDs = append(c.IDs, 1<<40+1000*uint64(at(i)%20))
			c.Offsets = append(c.Offsets, int32(i+1))
		}
		return []batch.Jagged{c}
	}
	rising := AppendIDs(nil, column(func(i int) int { return i }))
	mixed := AppendIDs(nil, column(func(i int) int { return 7 * i })) // 7 and 20 have no common factor
	if len(rising) != len(mixed) {
		t.Errorf("in rising order %d bytes, in another %d", len(rising), len(mixed))
	}
	// 1,000 positions of 5 bits; ids alone, in 15 bits, would take three times as many bytes.
	if len(rising) > 1000*5/8+100 {
		t.Errorf("%d bytes, want about %d", len(rising), 1000*5/8)
	}
}
