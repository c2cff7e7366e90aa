package stack_test

import (
	"sync"
	"testing"

	"tandem/algo/numeric/internal/stack"
)

// The result points to the variable wherever a stack has just enough room, or has to grow: on new goroutines
// of many depths. The race detector's build once moved the stack in between.
func TestPointerPointsToTheVariable(t *testing.T) {
	var group sync.WaitGroup
	for depth := range 300 {
		group.Go(func() {
			if !atDepth(depth, setsVariable) {
				t.Errorf("at depth %d the result points elsewhere", depth)
			}
		})
	}
	group.Wait()
}

func setsVariable() bool {
	var x [8]int
	stack.Pointer(&x)[7] = 1
	stack.Slice(x[:])[6] = 1
	return x == [8]int{6: 1, 7: 1}
}

// atDepth calls a function behind a number of frames.
//
//go:noinline
func atDepth(depth int, call func() bool) bool {
	if depth == 0 {
		return call()
	}
	var frame [5]int
	frame[depth%5] = depth
	return atDepth(depth-1, call) && frame[depth%5] == depth
}
