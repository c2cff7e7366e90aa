package job

import (
	"fmt"

	"tandem/algo/protocol/pace"
)

// defaultWindow is the window of a training that sets neither Prefetch nor Staleness.
const defaultWindow = 10

// Window returns the number of batches that the data loader deals out to a rank
// while none of them is done: Prefetch or, where that is not set, τ+1.
func (t *Training) Window() int {
	switch {
	case t.Prefetch != 0:
		return t.Prefetch
	case t.Staleness != nil:
		return *t.Staleness + 1
	}
	return defaultWindow
}

// tau returns τ, which fills the window where Staleness is not set.
func (t *Training) tau() int {
	if t.Staleness != nil {
		return *t.Staleness
	}
	return t.Window() - 1
}

// Depth returns the number of batches that a rank may have outstanding in the
// training's mode: min(window, τ+1) where the embeddings are asynchronous, fewer
// where the mode's rule asks for that, 1 for sequential training. Drivers compute
// with it, and reports print it as what runs.
func (t *Training) Depth() int {
	rule, err := t.Rule()
	if err != nil {
		return 1 // without roles
	}
	return pace.Depth(rule, t.Window())
}

// validateDepth reports a staleness that the window does not let happen.
func (t *Training) validateDepth() error {
	if t.Staleness != nil && t.Window() < *t.Staleness+1 {
		return fmt.Errorf("staleness = %d needs %d batches in flight, and prefetch = %d allows %d;"+
			" raise prefetch, or leave it out", *t.Staleness, *t.Staleness+1, t.Prefetch, t.Prefetch)
	}
	return nil
}
