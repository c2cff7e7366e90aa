package histogram

import (
	"encoding/binary"
	"errors"
	"math"
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

var errHistogram = errors.New("histogram: not a histogram, or cut short")

// UnmarshalBinary reads what MarshalBinary wrote. It returns an error, and leaves h as it is, if that is
// not all of the text or if the numbers contradict each other. Memory: 8 bytes for each value below Limit.
func (h *Histogram) UnmarshalBinary(text []byte) error {
	var values []uint64
	for len(text) > 0 {
		v, n := binary.Uvarint(text)
		if n <= 0 || len(values) == Limit+5 {
			return errHistogram
		}
		values, text = append(values, v), text[n:]
	}
	if len(values) < 5 || values[0] > Limit || len(values) != int(values[0])+5 {
		return errHistogram
	}
	counts, rest := values[1:values[0]+1], values[values[0]+1:]
	read := Histogram{counts: counts, overflow: rest[0], count: rest[1], sum: rest[2], max: int(rest[3])}
	if rest[3] > math.MaxInt || !read.consistent() {
		return errHistogram
	}
	*h = read
	return nil
}

// consistent reports whether the counts come to the count of all, and the largest value is one that occurred.
func (h *Histogram) consistent() bool {
	sum, largest := h.overflow, 0
	for value, count := range h.counts {
		if count > math.MaxUint64-sum {
			return false
		}
		if sum += count; count > 0 {
			largest = value
		}
	}
	if h.overflow > 0 {
		return sum == h.count && h.max >= Limit
	}
	return sum == h.count && h.max == largest
}
