//go:build !amd64

package opt

// Other processors have only the portable forms: nothing calls these.

const noKernel = "opt: this processor has no vector kernels"

func adagradBeforeAVX512(b *batch)               { panic(noKernel) }
func adagradBeforeAVX2(b *batch)                 { panic(noKernel) }
func adagradAfterAVX512(b *batch)                { panic(noKernel) }
func adagradAfterAVX2(b *batch)                  { panic(noKernel) }
func descendAVX512(b *batch)                     { panic(noKernel) }
func descendAVX2(b *batch)                       { panic(noKernel) }
func squaresAVX512(grad *float32, n int) float32 { panic(noKernel) }
func squaresAVX2(grad *float32, n int) float32   { panic(noKernel) }
