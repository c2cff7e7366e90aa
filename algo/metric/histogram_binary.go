package metric

import (
	"encoding/binary"
	"errors"
	"slices"
)

// MarshalBinary writes all of h, for another process. There is no error.
func (h Histogram) MarshalBinary() ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(len(h.counts)))
	for _, v := range slices.Concat(h.counts, []uint64{h.overflow, h.count, h.sum, uint64(h.max)}) {
		out = binary.AppendUvarint(out, v)
	}
	return out, nil
}

var errHistogram = errors.New("metric: not a histogram, or cut short")

// UnmarshalBinary reads what MarshalBinary wrote.
func (h *Histogram) UnmarshalBinary(text []byte) error {
	values := []uint64{}
	for len(text) > 0 {
		v, n := binary.Uvarint(text)
		if n <= 0 {
			return errHistogram
		}
		values, text = append(values, v), text[n:]
	}
	if len(values) < 5 || values[0] > HistogramLimit || len(values) != int(values[0])+5 {
		return errHistogram
	}
	counts, rest := values[1:values[0]+1], values[values[0]+1:]
	*h = Histogram{counts: counts, overflow: rest[0], count: rest[1], sum: rest[2], max: int(rest[3])}
	return nil
}
