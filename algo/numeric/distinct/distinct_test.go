package distinct_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/distinct"
	"tandem/algo/rng"
)

// number is the plain form of Table.Number.
func number(values []uint64, known map[uint64]int32, found []uint64) ([]int32, []uint64) {
	numbers := make([]int32, len(values))
	for i, v := range values {
		n, met := known[v]
		if !met {
			n = int32(len(found))
			known[v], found = n, append(found, v)
		}
		numbers[i] = n
	}
	return numbers, found
}

// One table numbers list after list as a map does, and each list in parts; the
// values before the list's own in found stay out of it.
func TestNumberIsWhatAMapSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table distinct.Table
		var found, want []uint64
		for range rapid.IntRange(1, 3).Draw(t, "lists") {
			// Few small values repeat; any others collide in the table.
			value := rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64())
			values := rapid.SliceOfN(value, 0, 200).Draw(t, "values")
			cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
			table.Reset(len(values) + rapid.IntRange(0, 300).Draw(t, "spare"))
			known := map[uint64]int32{}
			for _, part := range [][]uint64{values[:cut], values[cut:]} {
				numbers := make([]int32, len(part))
				found = table.Number(numbers, part, found)
				var plain []int32
				plain, want = number(part, known, want)
				if !slices.Equal(numbers, plain) || !slices.Equal(found, want) {
					t.Fatalf("%d: numbers %d of %d; want %d of %d", part, numbers, found, plain, want)
				}
			}
		}
	})
}

func TestNumberPanics(t *testing.T) {
	var table distinct.Table
	table.Reset(3)
	for want, call := range map[string]func(){
		"distinct: len(dst) = 1, want 2": func() {
			table.Number(make([]int32, 1),
				[]uint64{1, 2}, nil)
		},
		"distinct: 2 values more than the table has room for": func() {
			table.Number(make([]int32, 5),
				make([]uint64, 5), nil)
		},
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %q", got, want)
				}
			}()
			call()
		}()
	}
}

// radix numbers distinct values by sorting them: eight passes over bytes, less those
// in which all values agree, and one over the sorted. It is what Table is measured
// against; its numbers are in ascending order of values.
type radix struct{ values, moved []uint64 }

// sort sorts values and the positions that they came from.
func (r *radix) number(dst []int32, values, found []uint64, from, fromMoved []int32) []uint64 {
	a, b := append(r.values[:0], values...), slices.Grow(r.moved[:0], len(values))[:len(values)]
	for i := range a {
		from[i] = int32(i)
	}
	for shift := 0; shift < 64; shift += 8 {
		var first [257]int
		for _, v := range a {
			first[v>>shift&255+1]++
		}
		if slices.Contains(first[:], len(a)) {
			continue
		}
		for i := range 256 {
			first[i+1] += first[i]
		}
		for i, v := range a {
			at := first[v>>shift&255]
			first[v>>shift&255]++
			b[at], fromMoved[at] = v, from[i]
		}
		a, b, from, fromMoved = b, a, fromMoved, from
	}
	for i, v := range a {
		if i == 0 || v != a[i-1] {
			found = append(found, v)
		}
		dst[from[i]] = int32(len(found) - 1)
	}
	r.values, r.moved = a, b
	return found
}

// BenchmarkNumber is one slot of a batch: ids scattered over 56 bits, as signs are.
func BenchmarkNumber(b *testing.B) {
	for _, distribution := range []string{"uniform", "zipf-1.05"} {
		for _, size := range []int{256, 4096} {
			random := rng.New(1, "number")
			zipf := rand.NewZipf(random, 1.05, 1, 1<<20)
			values, numbers := make([]uint64, size), make([]int32, size)
			for i := range values {
				values[i] = rng.Mix(random.Uint64N(1<<20)) >> 8
				if distribution != "uniform" {
					values[i] = rng.Mix(zipf.Uint64()) >> 8
				}
			}
			found := make([]uint64, 0, size)
			report := func(b *testing.B) {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/value")
			}
			name := fmt.Sprintf("%s/%d/", distribution, size)
			b.Run(name+"table", func(b *testing.B) {
				var table distinct.Table
				for b.Loop() {
					table.Reset(size)
					table.Number(numbers, values, found)
				}
				report(b)
			})
			b.Run(name+"radix", func(b *testing.B) {
				var r radix
				from, moved := make([]int32, size), make([]int32, size)
				for b.Loop() {
					r.number(numbers, values, found, from, moved)
				}
				report(b)
			})
			b.Run(name+"map", func(b *testing.B) {
				for b.Loop() {
					number(values, make(map[uint64]int32, size), found)
				}
				report(b)
			})
		}
	}
}
