package wire

import (
	"math"

	"tandem/algo/exec"
)

// Chunk is what the members of an all-reduce (runtime/allreduce) send each
// other. It is a driver's own affair: of the message that carries it, only
// From, To and Step mean something, and it never reaches a role.
type Chunk struct {
	exec.Travels
	// View is that in which the members formed their group.
	View   uint32
	Bucket int
	// Sum says that Values are the sum over all members, on its way back, and
	// not the sender's own.
	Sum    bool
	Values []float32
	// Stats are the sender's own batch-norm statistics; only beside own values.
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
