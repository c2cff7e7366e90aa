package compress

import (
	"fmt"
	"math"
	"math/bits"
)

// A payload from another process is checked before it is stored. The checks accept exactly what Unpack and
// ReadIDs accept, and allocate no memory.

// Len returns the number of values, or −1 if no number of values of the form has this size.
func (v Values) Len() int {
	size := v.Size()
	if size == 0 {
		return 0
	}
	switch v.Form {
	case FP32:
		return len(v.Floats)
	case FP16:
		if size%2 == 0 {
			return size / 2
		}
	case FP16Block:
		const block = 2*BlockValues + 1
		if rest := size % block; rest == 0 {
			return size / block * BlockValues
		} else if rest >= 3 && rest%2 == 1 {
			return size/block*BlockValues + rest/2
		}
	}
	return -1
}

// Check returns an error unless v is n values in a form, as Pack encodes them.
func (v Values) Check(form Form, n int) error {
	if v.Form != form && (n > 0 || v.Size() > 0) {
		return fmt.Errorf("compress: values of form %q, want %q", string(v.Form), string(form))
	}
	floats, packedBytes := n, 0
	if form != FP32 {
		floats, packedBytes = 0, form.Size(n)
	}
	if len(v.Floats) != floats || len(v.Packed) != packedBytes {
		return fmt.Errorf("compress: %d numbers in %s take %d bytes, got %d", n, form, form.Size(n), v.Size())
	}
	if form == FP16Block {
		for at := 0; at < len(v.Packed); at += 1 + 2*BlockValues {
			if err := checkScale(v.Packed[at]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Count returns the number of signs. It returns an error if Unpack does.
func (s Signs) Count() (int, error) {
	if len(s.Packed) == 0 {
		return len(s.Plain), nil
	}
	if s.Packed[0] > 63 {
		return 0, fmt.Errorf("compress: signs with a prefix of %d bits", s.Packed[0])
	}
	count := 0
	for src := s.Packed[1:]; len(src) > 0; {
		run, rest, err := readUvarint(src)
		if err == nil {
			_, rest, err = readUvarint(rest)
		}
		if err != nil {
			return 0, err
		}
		if run > uint64(8*len(rest)) {
			return 0, errShort
		}
		if _, _, src, err = parseList(rest, int(run), 1); err != nil {
			return 0, err
		}
		count += int(run)
	}
	return count, nil
}

// CountIDs returns the number of ids in src, which AppendIDs has written for a number of columns and samples.
// It returns an error if ReadIDs does. Cost: a pass over the counts, and over the positions of ids in
// dictionaries.
func CountIDs(src []byte, columns, samples int) (int, error) {
	total := 0
	for range columns {
		counts, body, rest, err := parseList(src, samples, samples)
		if err != nil {
			return 0, err
		}
		n := 0
		for i := range samples {
			count := counts.at(body, i)
			if count > uint64(math.MaxInt32-n) {
				return 0, errMany
			}
			n += int(count)
		}
		if src, err = checkColumn(rest, n, samples); err != nil {
			return 0, err
		}
		total += n
	}
	if len(src) > 0 {
		return 0, fmt.Errorf("compress: %d bytes behind the last of %d columns", len(src), columns)
	}
	return total, nil
}

// checkColumn checks n ids and returns the bytes behind them.
func checkColumn(src []byte, n, samples int) (rest []byte, err error) {
	if len(src) == 0 {
		return nil, errShort
	}
	switch how := src[0]; how {
	case direct:
		_, _, rest, err = parseList(src[1:], n, samples)
		return rest, err
	case dictionary:
		return checkDictionary(src[1:], n, samples)
	default:
		return nil, fmt.Errorf("compress: ids written in unknown way %d", how)
	}
}

// checkDictionary checks n ids in a dictionary and returns the bytes behind them.
func checkDictionary(src []byte, n, samples int) (rest []byte, err error) {
	size, src, err := readUvarint(src)
	if err != nil {
		return nil, err
	}
	if size < 1 || size > uint64(n) {
		return nil, fmt.Errorf("compress: %d distinct ids among %d", size, n)
	}
	if _, src, err = readUvarint(src); err != nil {
		return nil, err
	}
	if _, _, src, err = parseList(src, int(size)-1, samples); err != nil {
		return nil, err
	}
	positions := numbers{width: max(1, bits.Len64(size-1))}
	body, rest, err := positions.cut(src, n)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if p := positions.at(body, i); p >= size {
			return nil, fmt.Errorf("compress: id %d of %d distinct ones", p, size)
		}
	}
	return rest, nil
}
