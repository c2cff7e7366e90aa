package wire

import (
	"slices"

	"tandem/algo/exec"
	"tandem/algo/numeric/compress"
)

func encodeSigns(w *writer, s compress.Signs) {
	writeArray(w, s.Plain)
	writeArray(w, s.Packed)
}

func decodeSigns(r *reader) compress.Signs {
	s := compress.Signs{Plain: readArray[uint64](r), Packed: readArray[byte](r)}
	if len(s.Plain) > 0 && len(s.Packed) > 0 {
		r.fail("signs are both plain and packed")
	}
	return s
}

// encodeValues encodes the form as its index in compress.Forms, counted from 1; 0 stands for no values at
// all.
func encodeValues(w *writer, v compress.Values) {
	w.number(slices.Index(compress.Forms(), v.Form) + 1)
	writeArray(w, v.Floats)
	writeArray(w, v.Packed)
}

func decodeValues(r *reader) compress.Values {
	form := r.number()
	v := compress.Values{Floats: readArray[float32](r), Packed: readArray[byte](r)}
	if form > len(compress.Forms()) {
		r.fail("values of form %d, want at most %d", form, len(compress.Forms()))
		return v
	}
	if form > 0 {
		v.Form = compress.Forms()[form-1]
	}
	if len(v.Floats) > 0 && v.Form != compress.FP32 || len(v.Packed) > 0 &&
		(v.Form == compress.FP32 || form == 0) {
		r.fail("%d values and %d bytes are not of form %q", len(v.Floats), len(v.Packed), string(v.Form))
	}
	return v
}

func encodePut(w *writer, p *exec.Put) {
	w.number(p.Samples)
	encodeSigns(w, p.Signs)
	encodeValues(w, p.Sums)
}

func decodePut(r *reader) exec.Payload {
	return &exec.Put{Samples: r.number(), Signs: decodeSigns(r), Sums: decodeValues(r)}
}
