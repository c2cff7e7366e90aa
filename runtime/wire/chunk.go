package wire

// Chunk is what the members of an all-reduce (runtime/allreduce) send each
// other. It is a driver's own affair: of the message that carries it, only
// From, To and Step mean something, and it never reaches a role.
type Chunk struct {
	Bucket int
	// Sum says that Values are the sum over all members, on its way back, and
	// not the sender's own.
	Sum    bool
	Values []float32
	// Stats are the sender's own batch-norm statistics; only beside own values.
	Stats []float32
}

func encodeChunk(w *writer, c Chunk) {
	w.number(c.Bucket)
	w.uint64(map[bool]uint64{true: 1}[c.Sum])
	section(w, c.Values)
	section(w, c.Stats)
}

func decodeChunk(r *reader) any {
	c := Chunk{Bucket: r.number()}
	sum := r.uint64()
	if sum > 1 {
		r.fail("%d is neither a sum nor a part", sum)
	}
	c.Sum = sum == 1
	c.Values, c.Stats = array[float32](r), array[float32](r)
	return c
}
