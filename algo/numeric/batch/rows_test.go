package batch_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
)

// numbered returns n samples that are known by their content: sample i has i%3
// ids i in the first slot, with weights 3i and 3i+1, and the id 2i in the second,
// with weight −i, the dense values i and −i, the label i%2 and the weight i/2.
func numbered(n int) *batch.Batch {
	b := &batch.Batch{Samples: n, Slots: []batch.Jagged{{Offsets: []int32{0}}, {Offsets: []int32{0}}}}
	for i := range n {
		for k := range i % 3 {
			b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(i))
			b.Slots[0].Weights = append(b.Slots[0].Weights, float32(3*i+k))
		}
		b.Slots[1].IDs = append(b.Slots[1].IDs, uint64(2*i))
		b.Slots[1].Weights = append(b.Slots[1].Weights, float32(-i))
		for s := range b.Slots {
			b.Slots[s].Offsets = append(b.Slots[s].Offsets, int32(len(b.Slots[s].IDs)))
		}
		b.Dense = append(b.Dense, float32(i), float32(-i))
		b.Labels = append(b.Labels, float32(i%2))
		b.Weights = append(b.Weights, float32(i)/2)
	}
	return b
}

// mustBeSamples checks that b holds the numbered samples of the given numbers.
func mustBeSamples(t rapid.TB, b *batch.Batch, want []int) {
	t.Helper()
	if b.Samples != len(want) || len(b.Dense) != 2*len(want) || len(b.Labels) != len(want) ||
		len(b.Weights) != len(want) {
		t.Fatalf("%d samples, %d dense values, %d labels; want %d samples", b.Samples, len(b.Dense),
			len(b.Labels), len(want))
	}
	for i, n := range want {
		ids, second := slices.Repeat([]uint64{uint64(n)}, n%3), []uint64{uint64(2 * n)}
		if !slices.Equal(b.Slots[0].SampleIDs(i), ids) || !slices.Equal(b.Slots[1].SampleIDs(i), second) ||
			b.Dense[2*i] != float32(n) || b.Dense[2*i+1] != float32(-n) || b.Labels[i] != float32(n%2) ||
			b.Weights[i] != float32(n)/2 {
			t.Fatalf("sample %d is not number %d: ids %v and %v, dense %v, label %v",
				i, n, b.Slots[0].SampleIDs(i), b.Slots[1].SampleIDs(i), b.Dense[2*i:2*i+2], b.Labels[i])
		}
	}
	for i, n := range want {
		weights := []float32{float32(3 * n), float32(3*n + 1)}[:n%3]
		if !slices.Equal(b.Slots[0].SampleWeights(i), weights) ||
			b.Slots[1].SampleWeights(i)[0] != float32(-n) {
			t.Fatalf("sample %d is not number %d: weights %v and %v", i, n, b.Slots[0].SampleWeights(i),
				b.Slots[1].SampleWeights(i))
		}
	}
	for s, slot := range b.Slots {
		if len(slot.Offsets) != b.Samples+1 || slot.Offsets[0] != 0 ||
			int(slot.Offsets[b.Samples]) != len(slot.IDs) {
			t.Fatalf("slot %d: offsets %v of %d ids", s, slot.Offsets, len(slot.IDs))
		}
	}
}

func numbers(lo, hi int) []int {
	var ns []int
	for i := lo; i < hi; i++ {
		ns = append(ns, i)
	}
	return ns
}

func TestSliceIsARange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "samples")
		lo := rapid.IntRange(0, n).Draw(t, "lo")
		hi := rapid.IntRange(lo, n).Draw(t, "hi")
		slice := batch.Slice(numbered(n), lo, hi)
		mustBeSamples(t, slice, numbers(lo, hi))
		from := rapid.IntRange(0, hi-lo).Draw(t, "from")
		mustBeSamples(t, batch.Slice(slice, from, hi-lo), numbers(lo+from, hi)) // a slice of a slice
	})
}

func TestGatherFollowsThePositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "samples")
		positions := rapid.SliceOf(rapid.Int32Range(0, int32(n)-1)).Draw(t, "positions") // repeats included
		want := make([]int, len(positions))
		for i, p := range positions {
			want[i] = int(p)
		}
		mustBeSamples(t, batch.Gather(numbered(n), positions), want)
	})
}

func TestSliceAliasesAndGatherDoesNot(t *testing.T) {
	b := numbered(6)
	slice, gathered := batch.Slice(b, 2, 4), batch.Gather(b, []int32{2, 3})
	if !reflect.DeepEqual(slice.Slots, gathered.Slots) {
		t.Fatalf("slice %v, gathered %v", slice.Slots, gathered.Slots)
	}
	b.Dense[4], b.Slots[1].IDs[2] = 99, 99
	if slice.Dense[0] != 99 || slice.Slots[1].IDs[0] != 99 {
		t.Error("the slice is a copy")
	}
	mustBeSamples(t, gathered, []int{2, 3})
}

func TestSlicePanicsOutsideTheSamples(t *testing.T) {
	for _, r := range [][2]int{{-1, 2}, {2, 1}, {2, 4}} {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			want := fmt.Sprintf("batch: Slice: range [%d, %d) of 3 samples", r[0], r[1])
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %q", got, want)
				}
			}()
			batch.Slice(numbered(3), r[0], r[1])
		})
	}
}

// Slots of one id a sample, sharing their offsets or not, are gathered and sliced
// as any others.
func TestGathererGivesWhatGatherGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := numbered(rapid.IntRange(1, 40).Draw(t, "samples"))
		b.Slots = append(b.Slots, b.Slots[1], b.Slots[0],
			batch.Jagged{Offsets: b.Slots[1].Offsets, IDs: b.Slots[1].IDs}) // without weights
		rows := rapid.SliceOfN(rapid.Int32Range(0, int32(b.Samples)-1), 0, 60).Draw(t, "rows")
		got, want := batch.NewGatherer(b).Rows(rows), batch.Gather(b, rows)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("gathered %+v, want %+v", got, want)
		}
		lo := rapid.IntRange(0, b.Samples).Draw(t, "lo")
		hi := rapid.IntRange(lo, b.Samples).Draw(t, "hi")
		got = batch.Slice(b, lo, hi)
		for s := range b.Slots {
			for i := range hi - lo {
				if !slices.Equal(got.Slots[s].SampleIDs(i), b.Slots[s].SampleIDs(lo+i)) {
					t.Fatalf("slot %d, sample %d of [%d, %d): %v", s, i, lo, hi, got.Slots[s].SampleIDs(i))
				}
			}
		}
	})
}
