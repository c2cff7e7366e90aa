package compress

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/rng"
)

// Signs of any slots are unpacked in their order.
func TestSignsAreLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefixBits := rapid.IntRange(1, 32).Draw(t, "prefix bits")
		var signs []uint64
		for range rapid.IntRange(0, 5).Draw(t, "runs") {
			prefix := rapid.Uint64().Draw(t, "prefix") << (64 - prefixBits)
			rangeBits := rapid.IntRange(0, 64-prefixBits).Draw(t, "range bits")
			for range rapid.IntRange(1, 30).Draw(t, "n") {
				sign := prefix | rapid.Uint64().Draw(t, "id")>>(64-rangeBits)
				if !slices.Contains(signs, sign) {
					signs = append(signs, sign)
				}
			}
		}
		packed := PackSigns(signs, prefixBits)
		got, err := packed.Unpack()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, signs) {
			t.Fatalf("%x became %x", signs, got)
		}
	})
}

func TestPlainSignsAreNotCopied(t *testing.T) {
	s := Signs{Plain: []uint64{1, 2}}
	if got, err := s.Unpack(); err != nil || &got[0] != &s.Plain[0] || s.Size() != 16 {
		t.Errorf("%v, %v, %d bytes", got, err, s.Size())
	}
}

// A hashed id takes the bits that the prefix leaves it: 256 signs of a slot take
// 7 bytes each with a prefix of 8 bits, plus one byte for that, two for 256 and
// one each for the prefix, 56 and the least. A single one stays as it is.
func TestSizeOfHashedSigns(t *testing.T) {
	var signs []uint64
	for i := range uint64(256) {
		signs = append(signs, 3<<56|rng.Mix(i)>>8)
	}
	if got := PackSigns(signs, 8).Size(); got != 256*7+6 {
		t.Errorf("%d bytes, want %d", got, 256*7+6)
	}
	if got := PackSigns(signs[1:2], 8); got.Size() != 8 || got.Packed != nil {
		t.Errorf("one sign takes %d bytes, want 8 as it is", got.Size())
	}
}

func TestSignsRefuse(t *testing.T) {
	for _, c := range []struct {
		packed []byte
		want   string
	}{
		{[]byte{8, 2}, "end early"},
		{[]byte{8, 2, 5}, "end early"},
		{[]byte{64, 1, 1, 8, 0, 1}, "a prefix of 64 bits"},
		{[]byte{8, 2, 1, 0, 1}, "2 numbers of 0 bits"},
		{[]byte{8, 1, 1, 65, 1, 0}, "of 65 bits"},
		{[]byte{8, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1, 1, 0}, "end early"},
		{[]byte{8, 3, 1, 8, 1, 0}, "end early"},
	} {
		if got, err := (Signs{Packed: c.packed}).Unpack(); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gave %v, %v, want %q", c.packed, got, err, c.want)
		}
	}
}

// Unpacking any bytes returns an error, or at most eight signs per byte, which
// survive packing and unpacking.
func FuzzSigns(f *testing.F) {
	f.Add(PackSigns([]uint64{1 << 60, 1<<60 + 5, 2 << 60, math.MaxUint64}, 4).Packed)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Signs{Packed: data}.Unpack()
		counted, refused := Signs{Packed: data}.Count()
		if (err == nil) != (refused == nil) {
			t.Fatalf("unpacking: %v; counting: %v", err, refused)
		}
		if err != nil {
			return
		}
		if len(got) > 8*len(data) || len(got) != counted {
			t.Fatalf("%d signs from %d bytes", len(got), len(data))
		}
		slices.Sort(got)
		got = slices.Compact(got)
		again, err := PackSigns(got, 8).Unpack()
		if err != nil || !slices.Equal(again, got) {
			t.Fatalf("%x became %x, %v", got, again, err)
		}
	})
}

func BenchmarkSigns(b *testing.B) {
	var signs []uint64
	for i := range uint64(8192) {
		signs = append(signs, (1+i>>9)<<56|rng.Mix(i)>>8)
	}
	packed := PackSigns(signs, 8)
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(8 * len(signs)))
		for b.Loop() {
			PackSigns(signs, 8)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(8 * len(signs)))
		for b.Loop() {
			if _, err := packed.Unpack(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
