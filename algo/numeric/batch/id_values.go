package batch

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// IDValues are the numbers of some ids, such as the mean of a label for each. Two are equal if ==
// says so, because one is the bytes of its entries: the id, 8 bytes, and the number as a float32, both with
// the most significant byte first, in ascending order of the ids. As JSON it is a text in base64.
type IDValues string

const idValueBytes = 8 + 4 // of an entry

// NewIDValues returns the numbers of ids.
func NewIDValues(of map[uint64]float32) IDValues {
	text := make([]byte, 0, len(of)*idValueBytes)
	for _, id := range slices.Sorted(maps.Keys(of)) {
		text = binary.BigEndian.AppendUint64(text, id)
		text = binary.BigEndian.AppendUint32(text, math.Float32bits(of[id]))
	}
	return IDValues(text)
}

// Len returns the number of ids.
func (v IDValues) Len() int { return len(v) / idValueBytes }

// At returns an id, in ascending order, and its number.
func (v IDValues) At(i int) (id uint64, value float32) {
	var entry [idValueBytes]byte
	copy(entry[:], v[i*idValueBytes:])
	return binary.BigEndian.Uint64(entry[:]), math.Float32frombits(binary.BigEndian.Uint32(entry[8:]))
}

// Of returns the number of an id, or 0 if it has none, by a binary search.
func (v IDValues) Of(id uint64) float32 {
	lo, hi := 0, v.Len()
	for lo < hi {
		middle := (lo + hi) / 2
		switch at, value := v.At(middle); {
		case at == id:
			return value
		case at < id:
			lo = middle + 1
		default:
			hi = middle
		}
	}
	return 0
}

// Validate returns an error unless ids ascend and numbers are finite.
func (v IDValues) Validate() error {
	if len(v)%idValueBytes != 0 {
		return fmt.Errorf("%d bytes are no numbers of ids, which have %d each", len(v), idValueBytes)
	}
	before := uint64(0)
	for i := range v.Len() {
		id, value := v.At(i)
		if i > 0 && id <= before {
			return errors.New("the ids do not ascend")
		}
		if math.IsInf(float64(value), 0) || value != value {
			return fmt.Errorf("id %d has the number %v", id, value)
		}
		before = id
	}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (v IDValues) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(v)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *IDValues) UnmarshalText(text []byte) error {
	entries, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	*v = IDValues(entries)
	return v.Validate()
}
