//go:build !amd64

package opt

// Other processors have only the portable forms: nothing calls these.

func adagradBeforeAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool {
	panic(noKernel)
}

func adagradBeforeAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool {
	panic(noKernel)
}

func adagradAfterAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool {
	panic(noKernel)
}

func adagradAfterAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool {
	panic(noKernel)
}

func descendAVX512(values, state, grad *float32, n int, rate, divisor, limit float32) bool {
	panic(noKernel)
}

func descendAVX2(values, state, grad *float32, n int, rate, divisor, limit float32) bool {
	panic(noKernel)
}

func squaresAVX512(grad *float32, n int) float32 { panic(noKernel) }
func squaresAVX2(grad *float32, n int) float32   { panic(noKernel) }

const noKernel = "opt: this processor has no vector kernels"
