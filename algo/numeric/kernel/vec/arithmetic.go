package vec

import "tandem/algo/numeric/kernel/internal/shape"

// Axpy adds a multiple of one vector to another:
//
//	dst[i] += alpha·x[i]
//
// Dst and x have equal length and may not overlap, except that they may be the
// same slice. It panics if the lengths differ. Cost: 2·len(x) operations, no
// allocation.
//
// Source: level 1 BLAS.
func Axpy(dst []float32, alpha float32, x []float32) {
	shape.Equal("x", len(x), len(dst))
	active.axpy(dst, x, alpha)
}

func axpy(dst, x []float32, alpha float32) {
	for i, v := range x {
		dst[i] += float32(alpha * v)
	}
}

// Add adds a vector, dst[i] += x[i]. The rules are those of Axpy.
func Add(dst, x []float32) {
	shape.Equal("x", len(x), len(dst))
	active.add(dst, x)
}

func add(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

// AddFour adds four vectors in pairs, a = (a+b) + (c+d), in one pass. All have equal
// length and may not overlap; it panics otherwise.
func AddFour(a, b, c, d []float32) {
	shape.Equal("b", len(b), len(a))
	shape.Equal("c", len(c), len(a))
	shape.Equal("d", len(d), len(a))
	active.sumFour(a, b, c, d)
}

func sumFour(a, b, c, d []float32) {
	for i := range a {
		a[i] = (a[i] + b[i]) + (c[i] + d[i])
	}
}

// AddEight adds eight vectors in pairs, a = ((a+b)+(c+d)) + ((e+f)+(g+h)), in one pass.
// The rules are those of AddFour.
func AddEight(a, b, c, d, e, f, g, h []float32) {
	for _, x := range [...][]float32{b, c, d, e, f, g, h} {
		shape.Equal("vector", len(x), len(a))
	}
	active.sumEight(a, b, c, d, e, f, g, h)
}

func sumEight(a, b, c, d, e, f, g, h []float32) {
	for i := range a {
		a[i] = ((a[i] + b[i]) + (c[i] + d[i])) + ((e[i] + f[i]) + (g[i] + h[i]))
	}
}

// Scale multiplies a vector by a factor, x[i] *= factor.
func Scale(x []float32, factor float32) { active.scale(x, factor) }

func scale(x []float32, factor float32) {
	for i := range x {
		x[i] *= factor
	}
}

// Divide divides a vector, x[i] /= divisor, which makes a mean of a sum. It rounds as
// a division does, not as a product with the inverse does.
func Divide(x []float32, divisor float32) { active.divide(x, divisor) }

func divide(x []float32, divisor float32) {
	for i := range x {
		x[i] /= divisor
	}
}

// Quotient is Divide to another place, dst[i] = x[i] / divisor. The rules for dst and x are those of Axpy.
func Quotient(dst, x []float32, divisor float32) {
	shape.Equal("x", len(x), len(dst))
	active.quotient(dst, x, divisor)
}

func quotient(dst, x []float32, divisor float32) {
	for i, v := range x {
		dst[i] = v / divisor
	}
}
