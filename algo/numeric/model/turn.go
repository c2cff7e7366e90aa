package model

import (
	"fmt"
	"math"
)

// turn holds a pass to the order that Pass demands: a training Forward with
// labels, then Backward for bucket 0, 1, …, then EmbeddingGrad.
type turn struct {
	buckets int
	next    int // bucket whose Backward is due; unready before a training Forward
}

const unready = math.MaxInt

// begin starts the turn of one group. Without labels or in evaluation no
// backward pass may follow.
func (t *turn) begin(in Input, train bool) {
	t.next = unready
	if train && (in.Labels != nil || in.Samples == 0) {
		t.next = 0
	}
}

// take panics unless bucket is the one that is due.
func (t *turn) take(bucket int) {
	if t.next == unready {
		panic(fmt.Sprintf("model: Backward of bucket %d, want a training Forward with labels first", bucket))
	}
	if bucket != t.next || bucket >= t.buckets {
		panic(fmt.Sprintf("model: Backward of bucket %d, want %d of %d", bucket, t.next, t.buckets))
	}
	t.next++
}

// end panics unless every bucket has been taken.
func (t *turn) end() {
	if t.next != t.buckets {
		panic("model: EmbeddingGrad before Backward of the last bucket")
	}
}

// checkCall panics unless the arguments of Forward fit the layout and the pass.
func checkCall(l *Layout, samplesMax int, params, running []float32, in Input) {
	if in.Samples < 0 || in.Samples > samplesMax {
		panic(fmt.Sprintf("model: %d samples, want 0 to %d", in.Samples, samplesMax))
	}
	checkLen("params", len(params), l.Params)
	checkLen("running", len(running), l.Running)
	checkLen("Embeddings", len(in.Embeddings), in.Samples*l.EmbeddingWidth)
	checkLen("Dense", len(in.Dense), in.Samples*l.DenseWidth)
	if in.EmbeddingGrad != nil {
		checkLen("EmbeddingGrad", len(in.EmbeddingGrad), len(in.Embeddings))
	}
	if in.Labels != nil {
		checkLen("Labels", len(in.Labels), in.Samples*l.Labels)
	}
	if in.Weights != nil {
		checkLen("Weights", len(in.Weights), in.Samples)
	}
}

// checkLen panics unless the slice called name has exactly want elements.
func checkLen(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("model: len(%s) = %d, want %d", name, got, want))
	}
}
