package compress

import (
	"slices"
	"testing"

	"tandem/algo/numeric/batch"
)

// damaged calls a function with bytes of which one is changed, in every way.
func damaged(packed []byte, f func([]byte)) {
	for at := range packed {
		for b := range 256 {
			changed := slices.Clone(packed)
			changed[at] = byte(b)
			f(changed)
		}
	}
}

// Checking refuses exactly what reading refuses, with the same error, and counts what reading returns, for
// input with one wrong byte.
func TestChecksRefuseWhatReadingRefuses(t *testing.T) {
	same := func(packed []byte, counted, read int, refused, err error) {
		if (err == nil) != (refused == nil) || err != nil && err.Error() != refused.Error() ||
			err == nil && counted != read {
			t.Fatalf("%v: checking gives %d, %v; reading %d, %v", packed, counted, refused, read, err)
		}
	}
	accepted := 0
	columns := []batch.Jagged{
		// A dictionary of 3 ids.
		{Offsets: []int32{0, 4, 7, 8}, IDs: []uint64{1 << 40, 3 << 50, 7 << 45, 1 << 40, 7 << 45, 3 << 50,
			1 << 40, 7 << 45}},
		{Offsets: []int32{0, 1, 2, 2}, IDs: []uint64{5, 6}},
	}
	damaged(AppendIDs(nil, columns), func(packed []byte) {
		read, err := ReadIDs(packed, 2, 3)
		ids := 0
		for _, c := range read {
			ids += len(c.IDs)
		}
		counted, refused := CountIDs(packed, 2, 3)
		same(packed, counted, ids, refused, err)
		if err == nil {
			accepted++
		}
	})
	damaged(PackSigns([]uint64{1 << 60, 1<<60 + 5, 2 << 60}, 4).Packed, func(packed []byte) {
		read, err := Signs{Packed: packed}.Unpack()
		counted, refused := Signs{Packed: packed}.Count()
		same(packed, counted, len(read), refused, err)
	})
	damaged(Pack(FP16Block, make([]float32, 130)).Packed, func(packed []byte) {
		v := Values{Form: FP16Block, Packed: packed}
		_, err := v.Unpack(130)
		same(packed, 0, 0, v.Check(FP16Block, 130), err)
	})
	if accepted == 0 {
		t.Error("no damage is harmless")
	}
}

// The number of values follows from the size. Sizes that no number of values has are those of half a number,
// and of the end of a block without a value.
func TestLenIsTheNumberOfValues(t *testing.T) {
	for _, f := range Forms() {
		sizes := map[int]bool{}
		for n := range 300 {
			v := Pack(f, make([]float32, n))
			if sizes[v.Size()] = true; v.Len() != n {
				t.Errorf("%v: %d values, want %d", f, v.Len(), n)
			}
		}
		for size := range 300 {
			v := Values{Form: f, Packed: make([]byte, size)}
			if f != FP32 && (v.Len() >= 0) != sizes[size] {
				t.Errorf("%v: %d values in %d bytes", f, v.Len(), size)
			}
		}
	}
}

// Checking allocates no memory.
func TestChecksDoNotAllocate(t *testing.T) {
	ids := AppendIDs(nil, []batch.Jagged{{Offsets: []int32{0, 1000}, IDs: make([]uint64, 1000)}})
	signs := PackSigns([]uint64{1 << 60, 1<<60 + 5, 2 << 60}, 4)
	values := Pack(FP16Block, make([]float32, 1000))
	if n := testing.AllocsPerRun(10, func() {
		if n, err := CountIDs(ids, 1, 1); n != 1000 || err != nil {
			t.Error(n, err)
		}
		if n, err := signs.Count(); n != 3 || err != nil {
			t.Error(n, err)
		}
		if err := values.Check(FP16Block, 1000); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
