package gemm

// depthOfDot is the number of columns of A and B that gemmDot multiplies at a time, so
// that four rows of B (4 KiB) and the rows of A stay in the cache.
const depthOfDot = 256

// gemmDot adds A·Bᵀ to C, where A is m×k and B is n×k. It works in tiles
// of 2 rows of A by 4 rows of B: eight sums in registers, none of which waits
// for another, each adding its terms in ascending l.
func gemmDot(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	for l := 0; l < k; l += depthOfDot {
		depth := min(depthOfDot, k-l)
		j := 0
		for ; j+4 <= n; j += 4 {
			b0 := b[j*ldb+l:][:depth]
			b1 := b[(j+1)*ldb+l:][:depth]
			b2 := b[(j+2)*ldb+l:][:depth]
			b3 := b[(j+3)*ldb+l:][:depth]
			i := 0
			for ; i+2 <= m; i += 2 {
				dotTile(a[i*lda+l:][:depth], a[(i+1)*lda+l:][:depth], b0, b1, b2, b3,
					c[i*ldc+j:][:4], c[(i+1)*ldc+j:][:4])
			}
			if i < m {
				row, sums := a[i*lda+l:][:depth], c[i*ldc+j:][:4]
				sums[0] = dotRow(sums[0], row, b0)
				sums[1] = dotRow(sums[1], row, b1)
				sums[2] = dotRow(sums[2], row, b2)
				sums[3] = dotRow(sums[3], row, b3)
			}
		}
		for ; j < n; j++ {
			for i := range m {
				c[i*ldc+j] = dotRow(c[i*ldc+j], a[i*lda+l:][:depth], b[j*ldb+l:][:depth])
			}
		}
	}
}

// dotTile adds the eight products of the rows a0, a1 with b0 … b3 to c0[0:4] and
// c1[0:4]. All rows have equal length.
func dotTile(a0, a1, b0, b1, b2, b3, c0, c1 []float32) {
	a1, b0, b1, b2, b3 = a1[:len(a0)], b0[:len(a0)], b1[:len(a0)], b2[:len(a0)], b3[:len(a0)]
	c0, c1 = c0[:4], c1[:4]
	s00, s01, s02, s03 := c0[0], c0[1], c0[2], c0[3]
	s10, s11, s12, s13 := c1[0], c1[1], c1[2], c1[3]
	for l, x := range a0 {
		x0, x1 := x, a1[l]
		y0, y1, y2, y3 := b0[l], b1[l], b2[l], b3[l]
		s00 += float32(x0 * y0)
		s01 += float32(x0 * y1)
		s02 += float32(x0 * y2)
		s03 += float32(x0 * y3)
		s10 += float32(x1 * y0)
		s11 += float32(x1 * y1)
		s12 += float32(x1 * y2)
		s13 += float32(x1 * y3)
	}
	c0[0], c0[1], c0[2], c0[3] = s00, s01, s02, s03
	c1[0], c1[1], c1[2], c1[3] = s10, s11, s12, s13
}

// dotRow returns sum + Σ_l a[l]·b[l], added in ascending l.
func dotRow(sum float32, a, b []float32) float32 {
	b = b[:len(a)]
	for l, x := range a {
		sum += float32(x * b[l])
	}
	return sum
}
