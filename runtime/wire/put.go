package wire

import "tandem/algo/route"

func encodePut(w *writer, p route.Put) {
	w.number(p.Rank)
	w.number(p.Samples)
	section(w, p.Signs)
	section(w, p.Sums)
}

func decodePut(r *reader) any {
	p := route.Put{Rank: r.number(), Samples: r.number(), Signs: array[uint64](r), Sums: array[float32](r)}
	if r.err == nil && !rows(p.Sums, len(p.Signs)) {
		r.fail("%d sums are not rows of %d signs", len(p.Sums), len(p.Signs))
	}
	return p
}
