package job

import (
	"fmt"

	"tandem/algo/protocol/pace"
)

// defaultWindow is the window of a job that sets neither Prefetch nor Staleness.
const defaultWindow = 10

// Window returns the number of batches that the data loader deals out to a rank
// while none of them is done: Prefetch or, where that is not set, τ+1.
func (j *Job) Window() int {
	switch {
	case j.Training.Prefetch != 0:
		return j.Training.Prefetch
	case j.Training.Staleness != nil:
		return *j.Training.Staleness + 1
	}
	return defaultWindow
}

// tau returns τ, which fills the window where Staleness is not set.
func (j *Job) tau() int {
	if j.Training.Staleness != nil {
		return *j.Training.Staleness
	}
	return j.Window() - 1
}

// Depth returns the number of batches that a rank may have outstanding in the
// job's mode: min(window, τ+1) where the embeddings are asynchronous, fewer
// where the mode's rule asks for that, 1 for sequential training. Drivers compute
// with it, and reports print it as what runs.
func (j *Job) Depth() int {
	rule, err := j.Rule()
	if err != nil {
		return 1 // without roles
	}
	return pace.Depth(rule, j.Window())
}

// validateDepth reports a staleness that the window does not let happen.
func (j *Job) validateDepth() error {
	if j.Training.Staleness != nil && j.Window() < *j.Training.Staleness+1 {
		return fmt.Errorf("training.staleness = %d needs %d batches in flight, and prefetch = %d allows %d;"+
			" raise prefetch, or leave it out", *j.Training.Staleness, *j.Training.Staleness+1,
			j.Training.Prefetch, j.Training.Prefetch)
	}
	return nil
}
