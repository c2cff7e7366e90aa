package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/runtime/inference/oip"
)

// A value of any datatype is the same id, and the same number, in bytes, in a message and in JSON.
func TestDatatypesInEveryForm(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		datatype string
		raw      any // as the values are in memory
		typed    *oip.InferTensorContents
		json     string
		ids      []string
		numbers  []float32
	}{
		{"BOOL", []uint8{1, 0}, &oip.InferTensorContents{BoolContents: []bool{true, false}}, `[true, false]`,
			[]string{"1", "0"}, []float32{1, 0}},
		{"INT8", []int8{-128, 5}, &oip.InferTensorContents{IntContents: []int32{-128, 5}}, `[-128, 5]`,
			[]string{"-128", "5"}, []float32{-128, 5}},
		{"INT16", []int16{-300, 5}, &oip.InferTensorContents{IntContents: []int32{-300, 5}}, `[-300, 5]`,
			[]string{"-300", "5"}, []float32{-300, 5}},
		{"INT32", []int32{-70_000, 5}, &oip.InferTensorContents{IntContents: []int32{-70_000, 5}},
			`[-70000, 5]`, []string{"-70000", "5"}, []float32{-70_000, 5}},
		{"INT64", []int64{math.MinInt64, 1<<53 + 1},
			&oip.InferTensorContents{Int64Contents: []int64{math.MinInt64, 1<<53 + 1}},
			`[-9223372036854775808, 9007199254740993]`,
			[]string{"-9223372036854775808", "9007199254740993"}, []float32{-1 << 63, 1 << 53}},
		{"UINT8", []uint8{255, 5}, &oip.InferTensorContents{UintContents: []uint32{255, 5}}, `[255, 5]`,
			[]string{"255", "5"}, []float32{255, 5}},
		{"UINT16", []uint16{65_535, 5}, &oip.InferTensorContents{UintContents: []uint32{65_535, 5}},
			`[65535, 5]`, []string{"65535", "5"}, []float32{65_535, 5}},
		{"UINT32", []uint32{math.MaxUint32, 5},
			&oip.InferTensorContents{UintContents: []uint32{math.MaxUint32, 5}}, `[4294967295, 5]`,
			[]string{"4294967295", "5"}, []float32{1 << 32, 5}},
		{"UINT64", []uint64{math.MaxUint64, 5},
			&oip.InferTensorContents{Uint64Contents: []uint64{math.MaxUint64, 5}},
			`[18446744073709551615, 5]`, []string{"18446744073709551615", "5"}, []float32{1 << 64, 5}},
		{"FP32", []float32{17, float32(nan)},
			&oip.InferTensorContents{Fp32Contents: []float32{17, float32(nan)}}, `[17.0, null]`,
			[]string{"17", ""}, []float32{17, float32(nan)}},
		{"FP64", []float64{17, nan}, &oip.InferTensorContents{Fp64Contents: []float64{17, nan}},
			`[17.0, null]`, []string{"17", ""}, []float32{17, float32(nan)}},
	} {
		var raw bytes.Buffer
		if err := binary.Write(&raw, binary.LittleEndian, c.raw); err != nil {
			t.Fatal(err)
		}
		values, err := (&jsonReader{text: c.json}).values()
		if err != nil {
			t.Fatal(err)
		}
		for form, in := range map[string]tensor{"bytes": {isRaw: true, raw: raw.Bytes()},
			"message": {typed: c.typed}, "JSON": {json: values}} {
			in.datatype = c.datatype
			if ids, err := in.ids(2, true); err != nil || !slices.Equal(ids, c.ids) {
				t.Errorf("%s in %s: ids %q, error %v", c.datatype, form, ids, err)
			}
			_, err := in.ids(2, false)
			if isFloat := scalars[c.datatype].kind == floating; (err != nil) != isFloat {
				t.Errorf("%s in %s: ids that are no whole numbers: error %v", c.datatype, form, err)
			}
			numbers, err := in.numbers(2)
			if err != nil || !slices.EqualFunc(numbers, c.numbers, func(a, b float32) bool {
				return a == b || isNaN(a) && isNaN(b)
			}) {
				t.Errorf("%s in %s: numbers %v, error %v", c.datatype, form, numbers, err)
			}
			if _, err := in.numbers(3); err == nil {
				t.Errorf("%s in %s: two values are three", c.datatype, form)
			}
			if _, err := in.ids(3, true); err == nil {
				t.Errorf("%s in %s: two ids are three", c.datatype, form)
			}
		}
	}
}

// A number that FP32 does not have is refused, not made infinite.
func TestNumbersBeyondFP32(t *testing.T) {
	in := tensor{datatype: "FP64", typed: &oip.InferTensorContents{Fp64Contents: []float64{1e300}}}
	if _, err := in.numbers(1); err == nil || err.Error() != "1e+300 is too large for FP32" {
		t.Errorf("error %v", err)
	}
}

// An error about a number of any length is short: it goes to the client and to the log.
func TestLongNumbersHaveShortErrors(t *testing.T) {
	values, err := (&jsonReader{text: "[" + strings.Repeat("9", 1<<20) + "]"}).values()
	if err != nil {
		t.Fatal(err)
	}
	for _, datatype := range []string{"FP32", "FP64", "INT64"} {
		in := tensor{datatype: datatype, json: values}
		if _, err := in.numbers(1); err == nil || len(err.Error()) > 100 {
			t.Errorf("%s: %.100v; want a short error", datatype, err)
		}
		if _, err := in.ids(1, true); err == nil || len(err.Error()) > 100 {
			t.Errorf("%s: %.100v; want a short error for an id", datatype, err)
		}
	}
}
