package batch

import (
	"errors"
	"slices"
)

// Dims are the different kinds of rows of a schema, by their lengths and their classes, in the order of the
// first slots that have them. Rows of one kind are in one table of a PS.
//
// Where a list of signs is followed, or answered, by the values of their rows, the signs of one kind are
// together, and the kinds in the order of Dims. So the values need no lengths of their own: the prefix of a
// sign names its feature group, and the slots of a group have one kind of rows.
type Dims struct {
	lengths []int
	classes []int
	places  []int // by feature group: the place of its kind in lengths and classes
	shift   int   // of a sign, that leaves the number of its feature group
}

// Dims returns the kinds of rows of a schema. A schema without slots has none.
func (s *Schema) Dims() Dims {
	d := Dims{shift: 64 - s.PrefixBits}
	for i, slot := range s.Slots {
		if s.firstOfGroup(i) != i {
			continue
		}
		place := 0
		for place < len(d.lengths) && (d.lengths[place] != slot.Dim || d.classes[place] != slot.Class) {
			place++
		}
		if place == len(d.lengths) {
			d.lengths, d.classes = append(d.lengths, slot.Dim), append(d.classes, slot.Class)
		}
		d.places = append(d.places, place)
	}
	return d
}

// PlaceOf returns the place of the rows of a slot, given by its number, in Dims.
func (s *Schema) PlaceOf(slot int) int { return s.Dims().Place(s.Signer(slot).Prefix()) }

// Lengths returns the length of the rows of every kind: one may come twice, with other classes. The caller
// must not change them.
func (d Dims) Lengths() []int { return d.lengths }

// Classes returns the class of the rows of every kind: see Slot.Class. The caller must not change them.
func (d Dims) Classes() []int { return d.classes }

// Equal reports whether both give the row of every sign the same length and class, or might: where all rows
// are of one kind, any sign has it.
func (d Dims) Equal(other Dims) bool {
	return slices.Equal(d.lengths, other.lengths) && slices.Equal(d.classes, other.classes) &&
		(len(d.lengths) <= 1 || d.shift == other.shift && slices.Equal(d.places, other.places))
}

// SameTables reports whether both put the row of every sign into the table of the same place, with rows of
// one length: whether they are Equal but for the numbers of classes.
func (d Dims) SameTables(other Dims) bool {
	d.classes = other.classes
	return d.Equal(other)
}

// errSigns says that signs are not in the order that their values need.
var errSigns = errors.New("batch: signs are not in the order of the dimensions of their slots, or of no slot")

// Cut cuts a list of signs into those of every kind. It returns an error if they are not in the order of
// Dims. The result aliases signs. Cost: nothing where all rows are of one kind, else a look at each sign.
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

// Place returns the place of the kind of a sign's row, or −1 for a sign of no slot. Where all rows are of one
// kind, any sign is.
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
