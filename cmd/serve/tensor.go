package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"tandem/runtime/inference/oip"
)

// The datatypes of tensors that the model has, by their names in the protocol.
const (
	datatypeBytes = "BYTES"
	datatypeFP32  = "FP32"
)

// tensor is an input of a request. Its values are in one of three forms.
type tensor struct {
	name, datatype string
	shape          []int64

	isRaw bool
	raw   []byte // numbers of 4 bytes; texts, each after its length as 4 bytes; little-endian
	typed *oip.InferTensorContents
	json  *jsonValues
}

var errNoData = errors.New("there is no data")

// rows returns the number of rows, after checking the shape.
func (t *tensor) rows() (int, error) {
	if len(t.shape) < 1 || len(t.shape) > 2 || t.shape[0] < 1 || len(t.shape) == 2 && t.shape[1] != 1 {
		return 0, fmt.Errorf("shape %v, want [n, 1] or [n], n at least 1", t.shape)
	}
	return int(min(t.shape[0], math.MaxInt32)), nil
}

// ids returns n ids as texts: those of text, whole numbers, or truth values as 1 and 0. If the column is of
// whole numbers that may be missing, they may be floating-point numbers.
func (t *tensor) ids(n int, whole bool) ([]string, error) {
	if t.datatype == datatypeBytes {
		return t.texts(n)
	}
	d, ok := scalars[t.datatype]
	if !ok || d.kind == floating && !whole {
		return nil, fmt.Errorf("datatype %q, want %s, BOOL, or whole numbers such as INT64", t.datatype,
			datatypeBytes)
	}
	return t.literals(d, n)
}

// texts returns n texts.
func (t *tensor) texts(n int) ([]string, error) {
	switch {
	case t.isRaw:
		return rawTexts(string(t.raw), n)
	case t.typed != nil:
		contents := t.typed.BytesContents
		if err := checkCount(len(contents), n); err != nil {
			return nil, err
		}
		all := make([]string, n)
		for i, text := range contents {
			all[i] = string(text)
		}
		return all, nil
	}
	if t.json == nil {
		return nil, errNoData
	}
	all, err := t.json.textsOf()
	if err != nil {
		return nil, err
	}
	return all, checkCount(len(all), n)
}

// rawTexts returns n texts that alias raw.
func rawTexts(raw string, n int) ([]string, error) {
	if n > len(raw)/4 {
		return nil, fmt.Errorf("%d bytes, and the shape says %d texts", len(raw), n)
	}
	all := make([]string, 0, n)
	for rest := raw; len(rest) > 0; {
		if len(rest) < 4 || uint64(length(rest)) > uint64(len(rest)-4) {
			return nil, fmt.Errorf("the bytes end within element %d", len(all)+1)
		}
		end := 4 + int(length(rest))
		all = append(all, rest[4:end])
		rest = rest[end:]
	}
	return all, checkCount(len(all), n)
}

// length returns the number in the first 4 bytes of a text.
func length(text string) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
}

// numbers returns n numbers. NaN, which is null in JSON, is a missing number.
func (t *tensor) numbers(n int) (all []float32, err error) {
	switch d, ok := scalars[t.datatype]; {
	case !ok:
		return nil, fmt.Errorf("datatype %q, want %s, or other numbers such as FP64 and INT64", t.datatype,
			datatypeFP32)
	case t.datatype != datatypeFP32: // which has its own way, because nearly all numbers are FP32
		return t.converted(d, n)
	case t.isRaw && len(t.raw)%4 != 0:
		return nil, fmt.Errorf("%d bytes of numbers of 4 bytes", len(t.raw))
	case t.isRaw:
		all = make([]float32, len(t.raw)/4)
		for i := range all {
			all[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.raw[4*i:]))
		}
		err = checkCount(len(all), n)
	case t.typed != nil:
		all = t.typed.Fp32Contents
		err = checkCount(len(all), n)
	case t.json == nil:
		return nil, errNoData
	default:
		if all, err = t.json.numbersOf(); err == nil {
			err = checkCount(len(all), n)
		}
	}
	for _, value := range all {
		if math.IsInf(float64(value), 0) {
			return nil, errors.New("a number is infinite")
		}
	}
	return all, err
}

func checkCount(got, want int) error {
	if got != want {
		return fmt.Errorf("%d values, and the shape says %d", got, want)
	}
	return nil
}
