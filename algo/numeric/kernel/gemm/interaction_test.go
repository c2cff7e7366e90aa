package gemm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
)

// interact is Interaction.Forward as its definition, with the rounding of a set.
func interact(out, vectors []float32, count, dim int, s isa.Set) {
	at := 0
	for r := range count {
		for j := range r {
			out[at] = 0
			for l := range dim {
				out[at] = multiplyAdd(vectors[r*dim+l], vectors[j*dim+l], out[at], s)
			}
			at++
		}
	}
}

// interactBackward adds S·V to grad, one term of S after the other.
func interactBackward(gradVectors, vectors, grad []float32, count, dim int, s isa.Set) {
	full := make([]float32, count*count)
	for r, at := 0, 0; r < count; r++ {
		for j := range r {
			full[r*count+j], full[j*count+r] = grad[at], grad[at]
			at++
		}
	}
	for i := range gradVectors {
		for j := range count {
			gradVectors[i] = multiplyAdd(full[i/dim*count+j], vectors[j*dim+i%dim], gradVectors[i], s)
		}
	}
}

// multiplyAdd returns x·y + z, rounded once or, without vectors, twice.
func multiplyAdd(x, y, z float32, s isa.Set) float32 {
	if s == isa.Portable {
		return z + float32(x*y)
	}
	return fusedMultiplyAdd(x, y, z)
}

// A gradient of −0 stays one where it is turned, and so do sums of −0 alone.
func TestInteractionKeepsTheSignOfZero(t *testing.T) {
	for _, set := range isa.Sets() {
		vectors, grad := []float32{-1, 1}, []float32{kerneltest.NegativeZero}
		got, want := []float32{kerneltest.NegativeZero, kerneltest.NegativeZero},
			[]float32{kerneltest.NegativeZero, kerneltest.NegativeZero}
		interactBackward(want, vectors, grad, 2, 1, set)
		newInteraction(2, 1, set).Backward(got, vectors, grad, false)
		if err := kerneltest.SameBits(got, want); err != nil {
			t.Errorf("%v: %v", set, err)
		}
	}
}

func TestInteractionHasTheBitsOfItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.IntRange(1, 40), rapid.Just(257)).Draw(t, "vectors")
		dim := rapid.SampledFrom([]int{1, 3, 8, 16, 17, 32, 33, 64, 128, 257}).Draw(t, "values")
		if count == 257 {
			dim %= 7 // enough
		}
		overwrite, seed := rapid.Bool().Draw(t, "overwrite"), rapid.Uint64().Draw(t, "seed")
		values := rapid.SampledFrom([]func(*rand.Rand, int) []float32{kerneltest.Awkward,
			kerneltest.Tame}).Draw(t, "values")
		pairs := count * (count - 1) / 2
		for _, s := range isa.Sets() {
			kernel := newInteraction(count, dim, s)
			if count > depth {
				s = isa.Portable
			}
			r := rand.New(rand.NewPCG(seed, 1))
			for range 2 { // the scratch of one sample must not show in the next
				vectors, grad, was := values(r, count*dim), values(r, pairs), values(r, count*dim)
				out, want := make([]float32, pairs), make([]float32, pairs)
				interact(want, vectors, count, dim, s)
				kernel.Forward(out, vectors)
				if err := kerneltest.SameBits(out, want); err != nil {
					t.Fatalf("%v: product %v", s, err)
				}
				got, want := kerneltest.Misaligned(was), make([]float32, count*dim)
				if !overwrite {
					copy(want, was)
				}
				interactBackward(want, vectors, grad, count, dim, s)
				kernel.Backward(got, vectors, grad, overwrite)
				if err := kerneltest.SameBits(got, want); err != nil {
					t.Fatalf("%v: gradient %v", s, err)
				}
			}
		}
	})
}

func TestInteractionOfThreeVectors(t *testing.T) {
	forSets(t, func(t *testing.T, set isa.Set) {
		// v = (1,2), (3,4), (5,6): ⟨v1,v0⟩ = 11, ⟨v2,v0⟩ = 17, ⟨v2,v1⟩ = 39. With
		// gradients 1, 10, 100: v0 gets 1·v1 + 10·v2, v1 gets 1·v0 + 100·v2, and v2
		// gets 10·v0 + 100·v1.
		kernel, vectors := newInteraction(3, 2, set), []float32{1, 2, 3, 4, 5, 6}
		out, grad := make([]float32, 3), make([]float32, 6)
		kernel.Forward(out, vectors)
		kerneltest.WantSlice(t, "products", out, []float32{11, 17, 39})
		kernel.Backward(grad, vectors, []float32{1, 10, 100}, true)
		kerneltest.WantSlice(t, "gradient", grad, []float32{53, 64, 501, 602, 310, 420})
		kerneltest.WantPanic(t, "short", "kernel: len(products) = 2, want 3",
			func() { kernel.Forward(out[:2], vectors) })
	})
}

// BenchmarkInteraction reports the operations that the formulas count.
func BenchmarkInteraction(b *testing.B) {
	const count, samples = 27, 64
	for _, dim := range []int{16, 32, 64, 128} {
		r := rand.New(rand.NewPCG(1, 2))
		vectors, out, grad := kerneltest.Random(r, samples*count*dim),
			kerneltest.Random(r, samples*pair(count, 0)), kerneltest.Random(r, samples*count*dim)
		kernel, pairs, width := NewInteraction(count, dim), pair(count, 0), count*dim
		for _, pass := range []struct {
			name  string
			flops float64
			run   func(i int)
		}{
			{"forward", 2 * float64(pairs*dim),
				func(i int) { kernel.Forward(out[i*pairs:][:pairs], vectors[i*width:][:width]) }},
			{"backward", 4 * float64(pairs*dim), func(i int) {
				kernel.Backward(grad[i*width:][:width], vectors[i*width:][:width], out[i*pairs:][:pairs],
					true)
			}},
		} {
			b.Run(fmt.Sprintf("%s/%dx%d", pass.name, count, dim), func(b *testing.B) {
				for b.Loop() {
					for i := range samples {
						pass.run(i)
					}
				}
				rate := pass.flops * samples * float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rate/1e9, "GFLOP/s")
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N*samples)*1e9, "ns/sample")
			})
		}
	}
}
