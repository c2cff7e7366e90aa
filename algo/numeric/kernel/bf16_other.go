//go:build !amd64

package kernel

import "tandem/algo/numeric/isa"

func toBF16(dst []uint16, src []float32) { toBF16Scalar(dst, src) }

func toBF16With(_ isa.Set, dst []uint16, src []float32) { toBF16Scalar(dst, src) }
