package batch

import (
	"errors"
	"slices"
)

// Dims are the different lengths of the rows of a schema, in the order of the first slots that have them.
//
// Where a list of signs is followed, or answered, by the values of their rows, the signs of one length are
// together, and the lengths in the order of Dims. So the values need no lengths of their own: the prefix of a
// sign names its feature group, and the slots of a group have one length.
type Dims struct {
	lengths []int
	places  []int // by feature group: the place of its length in lengths
	shift   int   // of a sign, that leaves the number of its feature group
}

// Dims returns the lengths of the rows of a schema. A schema without slots has none.
func (s *Schema) Dims() Dims {
	d := Dims{shift: 64 - s.PrefixBits}
	for i, slot := range s.Slots {
		if s.firstOfGroup(i) != i {
			continue
		}
		place := slices.Index(d.lengths, slot.Dim)
		if place < 0 {
			place = len(d.lengths)
			d.lengths = append(d.lengths, slot.Dim)
		}
		d.places = append(d.places, place)
	}
	return d
}

// PlaceOf returns the place of the rows of a slot, given by its number, in Dims.
func (s *Schema) PlaceOf(slot int) int { return s.Dims().Place(s.Signer(slot).Prefix()) }

// Lengths returns the lengths. The caller must not change them.
func (d Dims) Lengths() []int { return d.lengths }

// Equal reports whether both give the row of every sign the same length, or might: where all rows have one
// length, any sign has it.
func (d Dims) Equal(other Dims) bool {
	return slices.Equal(d.lengths, other.lengths) &&
		(len(d.lengths) <= 1 || d.shift == other.shift && slices.Equal(d.places, other.places))
}

// errSigns says that signs are not in the order that their values need.
var errSigns = errors.New("batch: signs are not in the order of the dimensions of their slots, or of no slot")

// Cut cuts a list of signs into those of every length. It returns an error if they are not in the order of
// Dims. The result aliases signs. Cost: nothing where all rows have one length, else a look at each sign.
func (d Dims) Cut(signs []uint64) ([][]uint64, error) {
	if len(d.lengths) <= 1 {
		return [][]uint64{signs}, nil
	}
	cut, place, first := make([][]uint64, len(d.lengths)), 0, 0
	for i, sign := range signs {
		of := d.Place(sign)
		if of < place {
			return nil, errSigns
		}
		if of > place {
			cut[place], place, first = signs[first:i:i], of, i
		}
	}
	cut[place] = signs[first:]
	return cut, nil
}

// Place returns the place in Lengths of the length of a sign's row, or −1 for a sign of no slot. Where all
// rows have one length, any sign has it.
func (d Dims) Place(sign uint64) int {
	if len(d.lengths) <= 1 {
		return 0
	}
	if group := sign>>d.shift - 1; group < uint64(len(d.places)) { // they count from 1
		return d.places[group]
	}
	return -1
}

// Values returns the number of values that the rows of signs have. It returns the error of Cut.
func (d Dims) Values(signs []uint64) (values int, err error) {
	cut, err := d.Cut(signs)
	if err != nil || len(signs) == 0 {
		return 0, err
	}
	for place, of := range cut {
		values += len(of) * d.lengths[place]
	}
	return values, nil
}
