package opt

// The kernels of row_amd64.s, which algo/isa/generate makes of a template: the
// update of a whole row, n values, whose sizes are at most limit then. They
// change nothing and return false if a gradient is not finite. Each does as the
// portable form that update of its rule is.

//go:noescape
func adagradBeforeAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool

//go:noescape
func adagradBeforeAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool

//go:noescape
func adagradAfterAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool

//go:noescape
func adagradAfterAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool

// descend is values −= rate·grad/divisor.
//
//go:noescape
func descendAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool

//go:noescape
func descendAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool

// squares is sumOfSquares.
//
//go:noescape
func squaresAVX512(grad *float32, n int) float32

//go:noescape
func squaresAVX2(grad *float32, n int) float32
