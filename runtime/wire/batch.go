package wire

import (
	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
)

// A part of a batch travels in two halves: id features go to the EW, the rest to the NN worker. Both halves
// contain the groups of the samples.

func encodeGroups(w *writer, samples, firstGroup int, bounds []int) {
	w.number(samples)
	w.number(firstGroup)
	w.number(len(bounds))
	for _, b := range bounds {
		w.number(b)
	}
}

func decodeGroups(r *reader) (samples, firstGroup int, bounds []int) {
	samples, firstGroup = r.number(), r.number()
	bounds = make([]int, r.count(8))
	before := 0
	for i := range bounds {
		bounds[i] = r.number()
		if i == 0 && bounds[i] != 0 || bounds[i] < before {
			r.fail("bound %d is %d after %d", i, bounds[i], before)
		}
		before = bounds[i]
	}
	if len(bounds) == 0 || before != samples {
		r.fail("groups of %d samples in all, want %d", before, samples)
	}
	return samples, firstGroup, bounds
}

func encodeIDs(w *writer, ids *exec.IDs) {
	encodeGroups(w, ids.Samples, ids.FirstGroup, ids.Bounds)
	w.number(len(ids.Columns))
	for _, slot := range ids.Columns {
		writeArray(w, slot.Offsets)
		writeArray(w, slot.IDs)
	}
	writeArray(w, ids.Packed)
	writeArray(w, ids.Weights)
}

func decodeIDs(r *reader) exec.Payload {
	var ids exec.IDs
	ids.Samples, ids.FirstGroup, ids.Bounds = decodeGroups(r)
	ids.Columns = make([]batch.Jagged, r.count(16)) // two lengths at least
	for s := range ids.Columns {
		slot := &ids.Columns[s]
		slot.Offsets, slot.IDs = readArray[int32](r), readArray[uint64](r)
		if r.err == nil && !jagged(slot, ids.Samples) {
			r.fail("slot %d: offsets do not cut %d ids into %d samples", s, len(slot.IDs), ids.Samples)
		}
	}
	ids.Packed, ids.Weights = readArray[byte](r), readArray[float32](r)
	if len(ids.Columns) > 0 && len(ids.Packed) > 0 {
		r.fail("id features are both raw and compressed")
	}
	return &ids
}

// jagged reports whether the offsets of a slot are as batch.Jagged requires.
func jagged(slot *batch.Jagged, samples int) bool {
	if len(slot.Offsets) != samples+1 || slot.Offsets[0] != 0 || int(slot.Offsets[samples]) != len(slot.IDs) {
		return false
	}
	for i, offset := range slot.Offsets[1:] {
		if offset < slot.Offsets[i] {
			return false
		}
	}
	return true
}

func encodeSamples(w *writer, p exec.Samples) {
	encodeGroups(w, p.Samples, p.FirstGroup, p.Bounds)
	writeArray(w, p.Dense)
	writeArray(w, p.Labels)
	writeArray(w, p.Weights)
}

func decodeSamples(r *reader) exec.Payload {
	p := &batch.Part{Batch: &batch.Batch{}}
	p.Samples, p.FirstGroup, p.Bounds = decodeGroups(r)
	p.Dense, p.Labels = readArray[float32](r), readArray[float32](r)
	p.Weights = readArray[float32](r)
	fit := rows(p.Dense, p.Samples) && rows(p.Labels, p.Samples) && rows(p.Weights, p.Samples)
	if r.err == nil && !fit {
		r.fail("%d numeric features, %d labels and %d weights are not rows of %d samples", len(p.Dense),
			len(p.Labels), len(p.Weights), p.Samples)
	}
	return exec.Samples{Part: p}
}

// rows reports whether values are that number of rows of equal width.
func rows(values []float32, samples int) bool {
	if samples == 0 {
		return len(values) == 0
	}
	return len(values)%samples == 0
}
