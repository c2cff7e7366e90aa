package histogram

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// MarshalBinary returns all counts of h, for another process. The error is always nil.
func (h Histogram) MarshalBinary() ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(len(h.counts)))
	for _, v := range slices.Concat(h.counts, []uint64{h.overflow, h.count, h.sum, uint64(h.max)}) {
		out = binary.AppendUvarint(out, v)
	}
	return out, nil
}

var errHistogram = errors.New("histogram: the bytes are not a histogram, or are cut short")

// UnmarshalBinary sets h to a histogram from MarshalBinary. It returns an error, and does not change h, if
// the bytes are incomplete, too many or contradict each other. Memory: 8 bytes for each value below Limit.
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

// consistent reports whether the counts add up to the total and the maximum is a value that occurred.
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
