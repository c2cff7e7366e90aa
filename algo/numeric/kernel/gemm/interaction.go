package gemm

import (
	"math"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/shape"
	"tandem/algo/numeric/kernel/vec"
)

// Interaction computes the dot products of all pairs of vectors of a sample, and holds
// the scratch of one goroutine. The vectors v_0, v_1, … are stored one after the other;
// the products are the strictly lower triangle of their Gram matrix, row by row:
//
//	⟨v_1,v_0⟩, ⟨v_2,v_0⟩, ⟨v_2,v_1⟩, ⟨v_3,v_0⟩, …
//
// Sums run in ascending index, with the rounding of the built-in products in the
// same set of instructions. Samples of more than 256 vectors, which no known data set
// has, are computed in Go.
type Interaction struct {
	count, dim int
	assembly   *assembly // nil: in Go
	a, b       []float32 // packed operands
	gram       []float32 // products of all vectors; only the triangle is valid
	lower      []float32 // gradients of the triangle
}

// NewInteraction returns the scratch for samples of count vectors of dim values.
func NewInteraction(count, dim int) *Interaction { return newInteraction(count, dim, isa.Best()) }

func newInteraction(count, dim int, set isa.Set) *Interaction {
	t := &Interaction{count: count, dim: dim}
	v := bySet[set]
	if v == nil || count > depth {
		return t
	}
	t.assembly = v
	wide := ceil(count, v.width()) * v.width()
	t.a = aligned(wide * packedStride)
	t.b = aligned(max(wide, ceil(dim, v.width())*v.width()) * depth)
	t.gram, t.lower = aligned(wide*wide), aligned(wide*wide)
	for i := range t.lower {
		if i%(wide+1) != 0 { // off the diagonal
			t.lower[i] = negativeZero
		}
	}
	return t
}

// Forward writes the count·(count−1)/2 products of one sample to out. It panics if
// a length disagrees. Cost: count²·dim operations; no allocation.
func (t *Interaction) Forward(out, vectors []float32) {
	t.check(out, vectors)
	if t.assembly == nil {
		t.forward(out, vectors)
		return
	}
	// Rows of a from count on stay 0, and with them the last columns of b, so that
	// only whole blocks are transposed.
	v, wide := t.assembly, ceil(t.count, t.assembly.width())*t.assembly.width()
	for l := 0; l < t.dim; l += depth {
		k := min(depth, t.dim-l)
		vec.CopyColumns(t.a, packedStride, 0, vectors, t.dim, l, t.count, k)
		v.packB(t.b, matrix{t.a, packedStride, true}, k, wide)
		for r := 0; r < t.count; r += v.rows {
			rows := min(v.rows, t.count-r)
			v.multiply(rows, r+rows, k, left{t.a[r*packedStride:], packedStride}, v.packed(t.b, k),
				t.gram[r*wide:], wide, l > 0)
		}
	}
	for r := 1; r < t.count; r++ {
		copy(out[:r], t.gram[r*wide:])
		out = out[r:]
	}
}

// forward is Forward in Go.
func (t *Interaction) forward(out, vectors []float32) {
	for r := 1; r < t.count; r++ {
		x := vectors[r*t.dim:][:t.dim]
		for j := range out[:r] {
			y, sum := vectors[j*t.dim:][:t.dim], float32(0)
			for l, v := range x {
				sum += float32(v * y[l])
			}
			out[j] = sum
		}
		out = out[r:]
	}
}

// Backward computes the gradient of the vectors of one sample from grad, the gradient
// of their products, and adds it to gradVectors or overwrites them. Since ⟨v_r, v_j⟩
// contributes v_j to the gradient of v_r and v_r to the gradient of v_j,
//
//	gradVectors += S·V
//
// where S is symmetric, with grad in its triangles and 0 on its diagonal. It
// panics if a length disagrees. Cost: 2·count²·dim operations; no allocation.
func (t *Interaction) Backward(gradVectors, vectors, grad []float32, overwrite bool) {
	t.check(grad, vectors)
	shape.Equal("gradVectors", len(gradVectors), len(vectors))
	if t.assembly == nil {
		t.backward(gradVectors, vectors, grad, overwrite)
		return
	}
	// The lower triangle, and its transposition as the upper one. Whole blocks can be
	// transposed and added, because lower is 0 on the diagonal and −0, which changes no
	// value, above it.
	v, wide := t.assembly, ceil(t.count, t.assembly.width())*t.assembly.width()
	for r := range t.count {
		copy(t.lower[r*wide:][:r], grad)
		grad = grad[r:]
	}
	v.transposeTo(t.a, packedStride, t.lower, wide, wide, wide)
	vec.AddColumns(t.a, packedStride, 0, t.lower, wide, 0, t.count, wide)
	if width := v.width(); t.dim < width { // as packB, but without the columns that are not read
		vec.CopyColumns(t.b, width, 0, vectors, t.dim, 0, t.count, t.dim)
	} else {
		v.packB(t.b, matrix{vectors, t.dim, false}, t.count, t.dim)
	}
	v.multiply(t.count, t.dim, t.count, left{t.a, packedStride}, v.packed(t.b, t.count), gradVectors, t.dim,
		!overwrite)
}

// backward is Backward in Go.
func (t *Interaction) backward(gradVectors, vectors, grad []float32, overwrite bool) {
	if overwrite {
		clear(gradVectors)
	}
	for k := range t.count {
		sums := gradVectors[k*t.dim:][:t.dim]
		for j := range t.count {
			g := float32(0)
			if j != k {
				g = grad[pair(max(j, k), min(j, k))]
			}
			for l, v := range vectors[j*t.dim:][:t.dim] {
				sums[l] += float32(g * v)
			}
		}
	}
}

// negativeZero added to x is x for every x, −0 included.
var negativeZero = float32(math.Copysign(0, -1))

// pair returns the place of ⟨v_r, v_j⟩, j < r, among all products.
func pair(r, j int) int { return r*(r-1)/2 + j }

// check panics unless products and vectors are those of one sample.
func (t *Interaction) check(products, vectors []float32) {
	shape.Equal("products", len(products), pair(t.count, 0))
	shape.Equal("vectors", len(vectors), t.count*t.dim)
}
