package wire

import (
	"math"

	"tandem/algo/exec"
)

// Chunk is the payload that members of an all-reduce send each other (see package allreduce). It never
// reaches a role. Of the message that carries a Chunk only From, To and Step have a meaning.
type Chunk struct {
	exec.Travels
	// View is the view in which the members formed their group.
	View   uint32
	Bucket int
	// Sum says that Values are the sum over all members; otherwise they are the sender's own values.
	Sum    bool
	Values []float32
	// Stats are the batch-norm statistics of the sender, in the place of values.
	Stats []float32
}

func encodeChunk(w *writer, c Chunk) {
	w.uint64(uint64(c.View))
	w.number(c.Bucket)
	sum := uint64(0)
	if c.Sum {
		sum = 1
	}
	w.uint64(sum)
	writeArray(w, c.Values)
	writeArray(w, c.Stats)
}

func decodeChunk(r *reader) exec.Payload {
	view := r.uint64()
	if view > math.MaxUint32 {
		r.fail("view %d, want at most %d", view, uint32(math.MaxUint32))
	}
	c := Chunk{View: uint32(view), Bucket: r.number()}
	sum := r.uint64()
	if sum > 1 {
		r.fail("%d is neither a sum nor a part", sum)
	}
	c.Sum = sum == 1
	c.Values, c.Stats = readArray[float32](r), readArray[float32](r)
	return c
}
