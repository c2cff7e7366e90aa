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
