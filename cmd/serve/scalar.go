package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// scalar is a datatype of numbers or of truth values.
type scalar struct {
	kind  scalarKind
	bytes int // of a value
}

type scalarKind uint8

const (
	truth scalarKind = iota
	signed
	unsigned
	floating
)

// scalars are the datatypes of numbers that requests may have, by their names in the protocol.
var scalars = map[string]scalar{
	"BOOL": {truth, 1},
	"INT8": {signed, 1}, "INT16": {signed, 2}, "INT32": {signed, 4}, "INT64": {signed, 8},
	"UINT8": {unsigned, 1}, "UINT16": {unsigned, 2}, "UINT32": {unsigned, 4}, "UINT64": {unsigned, 8},
	datatypeFP32: {floating, 4}, "FP64": {floating, 8},
}

// literals returns n numbers as texts, as a table would have them. Truth values become 1 and 0, and a missing
// number an empty text.
func (t *tensor) literals(d scalar, n int) (all []string, err error) {
	err = t.each(d, n, func(v value) error {
		switch d.kind {
		case unsigned:
			all = append(all, strconv.FormatUint(v.bits, 10))
		case floating:
			if x := math.Float64frombits(v.bits); math.IsNaN(x) {
				all = append(all, "")
			} else {
				all = append(all, strconv.FormatFloat(x, 'f', -1, 64))
			}
		default:
			all = append(all, strconv.FormatInt(int64(v.bits), 10))
		}
		return nil
	})
	return all, err
}

// converted returns n numbers as FP32.
func (t *tensor) converted(d scalar, n int) (all []float32, err error) {
	err = t.each(d, n, func(v value) error {
		x := float64(int64(v.bits))
		switch d.kind {
		case unsigned:
			x = float64(v.bits)
		case floating:
			x = math.Float64frombits(v.bits)
		}
		if math.Abs(x) > math.MaxFloat32 {
			return fmt.Errorf("%v is too large for FP32", x)
		}
		all = append(all, float32(x))
		return nil
	})
	return all, err
}

// value has the bits of a number: of an int64, a uint64 or a float64, as its datatype says. A truth value is
// 1 or 0.
type value struct{ bits uint64 }

// each passes n values to use.
func (t *tensor) each(d scalar, n int, use func(value) error) error {
	switch {
	case t.isRaw:
		if len(t.raw)%d.bytes != 0 {
			return fmt.Errorf("%d bytes of values of %d bytes", len(t.raw), d.bytes)
		}
		return eachOf(len(t.raw)/d.bytes, n, use, func(i int) (value, error) {
			return d.raw(t.raw[i*d.bytes : (i+1)*d.bytes]), nil
		})
	case t.typed != nil:
		return t.eachTyped(d, n, use)
	case t.json == nil:
		return errNoData
	case t.json.err != nil:
		return t.json.err
	case len(t.json.texts) > 0:
		return errors.New("data: a value is a text, want numbers")
	}
	return eachOf(len(t.json.written), n, use, func(i int) (value, error) {
		v, ok := d.parse(t.json.written[i])
		if !ok {
			return v, fmt.Errorf("data: %s is no %s", shortened(t.json.written[i]), t.datatype)
		}
		return v, nil
	})
}

// eachOf passes the values of a list to use. It is an error if there are not as many as the shape says.
func eachOf(got, want int, use func(value) error, at func(i int) (value, error)) error {
	if err := checkCount(got, want); err != nil {
		return err
	}
	for i := range got {
		v, err := at(i)
		if err == nil {
			err = use(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachTyped passes n values to use: those of the field in which the protocol puts the datatype.
func (t *tensor) eachTyped(d scalar, n int, use func(value) error) error {
	c := t.typed
	switch {
	case d.kind == truth:
		return eachOf(len(c.BoolContents), n, use, func(i int) (value, error) {
			return truthOf(c.BoolContents[i]), nil
		})
	case d.kind == signed && d.bytes == 8:
		return eachOf(len(c.Int64Contents), n, use, func(i int) (value, error) {
			return value{uint64(c.Int64Contents[i])}, nil
		})
	case d.kind == signed:
		return eachOf(len(c.IntContents), n, use, func(i int) (value, error) {
			return value{uint64(int64(c.IntContents[i]))}, nil
		})
	case d.kind == unsigned && d.bytes == 8:
		return eachOf(len(c.Uint64Contents), n, use, func(i int) (value, error) {
			return value{c.Uint64Contents[i]}, nil
		})
	case d.kind == unsigned:
		return eachOf(len(c.UintContents), n, use, func(i int) (value, error) {
			return value{uint64(c.UintContents[i])}, nil
		})
	case d.bytes == 8:
		return eachOf(len(c.Fp64Contents), n, use, func(i int) (value, error) {
			return value{math.Float64bits(c.Fp64Contents[i])}, nil
		})
	}
	return eachOf(len(c.Fp32Contents), n, use, func(i int) (value, error) {
		return value{math.Float64bits(float64(c.Fp32Contents[i]))}, nil
	})
}

func truthOf(isTrue bool) value {
	if isTrue {
		return value{1}
	}
	return value{0}
}

// raw returns a value of little-endian bytes.
func (d scalar) raw(b []byte) value {
	var whole [8]byte
	copy(whole[:], b)
	bits := binary.LittleEndian.Uint64(whole[:])
	switch unused := 64 - 8*d.bytes; {
	case d.kind == truth:
		return truthOf(bits != 0)
	case d.kind == signed:
		return value{uint64(int64(bits<<unused) >> unused)}
	case d.kind == floating && d.bytes == 4:
		return value{math.Float64bits(float64(math.Float32frombits(uint32(bits))))}
	}
	return value{bits}
}

// parse returns a value that is written in JSON, or false if the datatype has no such value.
func (d scalar) parse(text string) (v value, ok bool) {
	var err error
	switch d.kind {
	case truth:
		return truthOf(text == "true" || text == "1"), text == "true" || text == "false" || text == "1" ||
			text == "0"
	case signed:
		var x int64
		x, err = strconv.ParseInt(text, 10, 8*d.bytes)
		return value{uint64(x)}, err == nil
	case unsigned:
		v.bits, err = strconv.ParseUint(text, 10, 8*d.bytes)
		return v, err == nil
	}
	x := math.NaN()
	if text != "null" {
		if x, err = strconv.ParseFloat(text, 64); err != nil {
			return v, false
		}
	}
	return value{math.Float64bits(x)}, true
}
