package engine

import (
	"fmt"

	"tandem/algo/numeric/batch"
	"tandem/runtime/cuda"
)

// recorded is the work of a step on a part whose groups have certain sizes. The work of such a part is
// appended call by call the first time, which chooses how to multiply; it is recorded as graphs the second
// time, one for the forward pass and one for each bucket, or one for all buckets of a single rank, and a
// graph is launched by one call from then on.
type recorded struct {
	steps  int // with such parts
	graphs []*cuda.Graph
}

// launched reports whether the work of a step is launched as graphs, which were recorded before.
func (c *recorded) launched() bool { return c.steps > 2 }

// recordedMax is the largest number of sizes whose work is recorded. Batches of a training differ in size at
// the end of an epoch alone.
const recordedMax = 8

// recordedFor returns the recorded work of parts like one, or nil if there are too many others.
func (r *replica) recordedFor(part *batch.Part) *recorded {
	key := fmt.Sprint(part.Bounds, r.bare)
	c := r.graphs[key]
	if c == nil && len(r.graphs) < recordedMax {
		c = &recorded{graphs: make([]*cuda.Graph, len(r.program.Layout.Buckets)+1)}
		r.graphs[key] = c
	}
	if c != nil {
		c.steps++
	}
	return c
}

// perform appends work to the compute stream: a bucket of the backward pass, or all of them at the place of
// the first, or, behind these, the forward pass.
func (r *replica) perform(segment int, work func()) {
	if r.err != nil {
		return
	}
	if r.current == nil || r.current.steps == 1 {
		work()
		return
	}
	graph := &r.current.graphs[segment]
	if *graph == nil {
		if r.err = r.compute.BeginCapture(); r.err != nil {
			return
		}
		work()
		captured, err := r.compute.EndCapture()
		if r.err == nil {
			r.err = err
		}
		if r.err != nil {
			return
		}
		*graph = captured
		r.memory.closers = append(r.memory.closers, captured)
	}
	r.err = r.compute.LaunchGraph(*graph)
}
