package wire

import (
	"tandem/algo/batch"
	"tandem/algo/msg"
)

// A part of a batch travels in two halves: id features to the EW, the rest to
// the NN worker. Either half decodes to a *batch.Part that lacks the other.
type (
	idFeatures struct{ *batch.Part }
	samples    struct{ *batch.Part }
)

// view picks the half of a part that belongs to a kind of message, and leaves
// other payloads as they are.
func view(k msg.Kind, payload any) any {
	part, ok := payload.(*batch.Part)
	switch {
	case ok && k == msg.IDFeatures:
		return idFeatures{part}
	case ok && k == msg.Samples:
		return samples{part}
	}
	return payload
}

// encodeGroups writes what both halves need: sample count and groups.
func encodeGroups(w *writer, p *batch.Part) {
	w.number(p.Samples)
	w.number(p.FirstGroup)
	w.number(len(p.Bounds))
	for _, b := range p.Bounds {
		w.number(b)
	}
}

func decodeGroups(r *reader) *batch.Part {
	p := &batch.Part{Batch: &batch.Batch{Samples: r.number()}, FirstGroup: r.number()}
	p.Bounds = make([]int, r.count(8))
	before := 0
	for i := range p.Bounds {
		p.Bounds[i] = r.number()
		if i == 0 && p.Bounds[i] != 0 || p.Bounds[i] < before {
			r.fail("bound %d is %d after %d", i, p.Bounds[i], before)
		}
		before = p.Bounds[i]
	}
	if len(p.Bounds) == 0 || before != p.Samples {
		r.fail("groups of %d samples in all, want %d", before, p.Samples)
	}
	return p
}

func encodeIDs(w *writer, ids idFeatures) {
	encodeGroups(w, ids.Part)
	w.number(len(ids.Slots))
	for _, slot := range ids.Slots {
		section(w, slot.Offsets)
		section(w, slot.IDs)
	}
}

func decodeIDs(r *reader) any {
	p := decodeGroups(r)
	p.Slots = make([]batch.Jagged, r.count(16)) // two lengths at least
	for s := range p.Slots {
		slot := &p.Slots[s]
		slot.Offsets, slot.IDs = array[int32](r), array[uint64](r)
		if r.err == nil && !jagged(slot, p.Samples) {
			r.fail("slot %d: offsets do not cut %d ids into %d samples", s, len(slot.IDs), p.Samples)
		}
	}
	return p
}

// jagged reports whether the offsets of a slot are what batch.Jagged demands.
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

func encodeSamples(w *writer, s samples) {
	encodeGroups(w, s.Part)
	section(w, s.Dense)
	section(w, s.Labels)
}

func decodeSamples(r *reader) any {
	p := decodeGroups(r)
	p.Dense, p.Labels = array[float32](r), array[float32](r)
	if r.err == nil && !(rows(p.Dense, p.Samples) && rows(p.Labels, p.Samples)) {
		r.fail("%d numeric features and %d labels are not rows of %d samples", len(p.Dense), len(p.Labels), p.Samples)
	}
	return p
}

// rows reports whether values are samples rows of equal width.
func rows(values []float32, samples int) bool {
	if samples == 0 {
		return len(values) == 0
	}
	return len(values)%samples == 0
}
