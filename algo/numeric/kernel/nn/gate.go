package nn

import "tandem/algo/numeric/kernel/internal/shape"

// Gate multiplies two vectors and adds a third, which is the half of a cross layer
// that has no parameters:
//
//	out[i] = x[i]·y[i] + z[i]
//
// rounded after either operation. All have equal length; out overlaps none. It
// panics if the lengths differ.
func Gate(out, x, y, z []float32) {
	shape.Equal("x", len(x), len(out))
	shape.Equal("y", len(y), len(out))
	shape.Equal("z", len(z), len(out))
	active.gate(out, x, y, z)
}

func gate(out, x, y, z []float32) {
	for i := range out {
		out[i] = float32(x[i]*y[i]) + z[i]
	}
}

// GateBackward adds to the gradients of the inputs of Gate what flows back from
// grad, that of its output:
//
//	gradX[i] += grad[i]·y[i]    gradY[i] += grad[i]·x[i]    gradZ[i] += grad[i]
//
// in this order: gradients may be the same slice, and overlap nothing else. It
// panics if the lengths differ.
func GateBackward(gradX, gradY, gradZ, grad, x, y []float32) {
	for _, v := range [...][]float32{gradX, gradY, gradZ, x, y} {
		shape.Equal("vector", len(v), len(grad))
	}
	active.gateBackward(gradX, gradY, gradZ, grad, x, y)
}

func gateBackward(gradX, gradY, gradZ, grad, x, y []float32) {
	for i, g := range grad {
		gradX[i] += float32(g * y[i])
		gradY[i] += float32(g * x[i])
		gradZ[i] += g
	}
}
