package wire

import "tandem/algo/exec"

// Chunk is the payload that members of an all-reduce send each other (see package allreduce). It never
// reaches a role. Of the message that carries a Chunk only From, To and Step have a meaning.
type Chunk struct {
	exec.Travels
	Bucket int
	// Sum says that Values are the sum over all members; otherwise they are the sender's own values. Own says
	// of a sum that the receiver is the member that makes it, and is back after a crash.
	Sum, Own bool
	Values   []float32
	// Stats are the batch-norm statistics of the sender, in the place of values.
	Stats []float32
}

func encodeChunk(w *writer, c Chunk) {
	w.number(c.Bucket)
	what := uint64(0)
	switch {
	case c.Own:
		what = 2
	case c.Sum:
		what = 1
	}
	w.uint64(what)
	writeArray(w, c.Values)
	writeArray(w, c.Stats)
}

func decodeChunk(r *reader) exec.Payload {
	c := Chunk{Bucket: r.number()}
	what := r.uint64()
	if what > 2 {
		r.fail("%d is neither a sum nor a part", what)
	}
	c.Sum, c.Own = what > 0, what == 2
	c.Values, c.Stats = readArray[float32](r), readArray[float32](r)
	return c
}
