package opt

// The kernels of row_amd64_gen.s: the
// update of rows, whose values are of size limit at most then. A row whose
// gradient is not finite stays as it is. Each does as the portable form in update
// of its rule.

//go:noescape
func adagradBeforeAVX512(b *batch)

//go:noescape
func adagradBeforeAVX2(b *batch)

//go:noescape
func adagradAfterAVX512(b *batch)

//go:noescape
func adagradAfterAVX2(b *batch)

// descend is values −= rate·grad/divisor.
//
//go:noescape
func descendAVX512(b *batch)

//go:noescape
func descendAVX2(b *batch)

// squares is sumOfSquares.
//
//go:noescape
func squaresAVX512(grad *float32, n int) float32

//go:noescape
func squaresAVX2(grad *float32, n int) float32
