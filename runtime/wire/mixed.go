package wire

import (
	"tandem/algo/exec"
	"tandem/algo/numeric/route"
)

func encodeMixed(w *writer, m *exec.MixedRows) {
	encodeValues(w, m.Values)
	w.number(m.Cold)
	writeArray(w, m.Places)
	w.number(len(m.Slots))
	for _, bags := range m.Slots {
		writeArray(w, bags.Rows)
		writeArray(w, bags.Offsets)
	}
	writeArray(w, []byte(m.Winners))
}

func decodeMixed(r *reader) exec.Payload {
	m := &exec.MixedRows{Values: decodeValues(r), Cold: r.number(), Places: readArray[int32](r)}
	for range r.count(16) { // two lengths at least
		m.Slots = append(m.Slots, route.Bags{Rows: readArray[int32](r), Offsets: readArray[int32](r)})
	}
	m.Winners = readArray[byte](r)
	return m
}

func encodePooled(w *writer, p *exec.Pooled) {
	encodeValues(w, p.Values)
	writeArray(w, []byte(p.Winners))
}

func decodePooled(r *reader) exec.Payload {
	return &exec.Pooled{Values: decodeValues(r), Winners: readArray[byte](r)}
}

func encodePooledAndIDs(w *writer, p *exec.PooledAndIDs) {
	encodePooled(w, &p.Pooled)
	encodeIDs(w, &p.IDs)
}

func decodePooledAndIDs(r *reader) exec.Payload {
	pooled, ids := decodePooled(r).(*exec.Pooled), decodeIDs(r).(*exec.IDs)
	return &exec.PooledAndIDs{Pooled: *pooled, IDs: *ids}
}
