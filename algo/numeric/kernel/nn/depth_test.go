package nn

import (
	"sync"
	"testing"
)

// The loss does not depend on where the stack has to grow.
func TestCrossEntropyOnAnyStack(t *testing.T) {
	var group sync.WaitGroup
	for depth := range 300 {
		group.Go(func() {
			if loss := lossAtDepth(depth); !(loss > 0.5) {
				t.Errorf("at depth %d the loss is %v", depth, loss)
			}
		})
	}
	group.Wait()
}

//go:noinline
func lossAtDepth(depth int) float64 {
	if depth > 0 {
		var frame [5]int
		frame[depth%5] = depth
		return lossAtDepth(frame[depth%5] - 1)
	}
	var grad [2]float32
	return CrossEntropy(grad[:], []float32{0.5, 0.2}, []float32{1, 0}, []float32{1})
}
