package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"tandem/algo/job"
	"tandem/runtime/inference/oip"
)

// fuzzTable is a table with a column of every kind.
var fuzzTable = &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Numeric: []string{"price"}}

// fuzzRows is the number of rows that a request of the fuzz tests may have.
const fuzzRows = 5

// checkFeatures checks that inputs are either refused or have as many values in every column.
func checkFeatures(t *testing.T, inputs []tensor) {
	in, err := features(fuzzTable, inputs, fuzzRows)
	if err != nil {
		return
	}
	ids, numbers := in.IDs, in.Numbers
	if n := len(ids[0]); len(ids) != 1 || len(numbers) != 1 || len(numbers[0]) != n || n < 1 || n > fuzzRows {
		t.Errorf("%d texts and %d numbers", n, len(numbers[0]))
	}
}

// No bytes after the JSON make the server fail, nor do JSON values of several rows.
func FuzzRequest(f *testing.F) {
	head := `{"inputs": [{"name": "user", "shape": [%d], "datatype": "BYTES",
		"parameters": {"binary_data_size": 12}}, {"name": "price", "shape": [2, 1], "datatype": "FP32",
		"parameters": {"binary_data_size": 8}}]}`
	for _, rest := range []string{"\x02\x00\x00\x00u1\x02\x00\x00\x00u2" + "\x00\x00\x80\x3f\x00\x00\x00\x40",
		"\x02\x00\x00\x00u1\xff\xff\xff\xffu2" + "\x00\x00\x80\x3f\x00\x00\x00\x40"} {
		for _, rows := range []int{2, 1 << 40} {
			json := fmt.Sprintf(head, rows)
			f.Add([]byte(json+rest), fmt.Sprint(len(json)))
		}
	}
	f.Add([]byte(`{"inputs": [{"name": "user", "shape": [2, 1], "datatype": "BYTES", "data": [["a"], ["b"]]},
		{"name": "price", "shape": [2], "datatype": "FP32", "data": [1, 2.5]}]}`), "")
	f.Fuzz(func(t *testing.T, body []byte, length string) {
		if _, inputs, err := parseRequest(body, length); err == nil {
			checkFeatures(t, inputs)
		}
	})
}

// No message of gRPC makes the server fail.
func FuzzGRPCRequest(f *testing.F) {
	user := &oip.ModelInferRequest_InferInputTensor{Name: "user", Datatype: datatypeBytes,
		Shape: []int64{2, 1}}
	price := &oip.ModelInferRequest_InferInputTensor{Name: "price", Datatype: datatypeFP32, Shape: []int64{2}}
	raw := &oip.ModelInferRequest{Inputs: []*oip.ModelInferRequest_InferInputTensor{user, price},
		RawInputContents: [][]byte{[]byte("\x01\x00\x00\x00a\x01\x00\x00\x00b"), make([]byte, 8)}}
	typed := proto.Clone(raw).(*oip.ModelInferRequest)
	typed.RawInputContents = nil
	typed.Inputs[0].Contents = &oip.InferTensorContents{BytesContents: [][]byte{[]byte("a"), nil}}
	typed.Inputs[1].Contents = &oip.InferTensorContents{Fp32Contents: []float32{1, 2}}
	for _, q := range []*oip.ModelInferRequest{raw, typed} {
		data, err := proto.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q := new(oip.ModelInferRequest)
		if proto.Unmarshal(data, q) != nil {
			return
		}
		if inputs, err := tensorsOf(q); err == nil {
			checkFeatures(t, inputs)
		}
	})
}

// JSON is read as encoding/json reads it: the same texts are refused, and the same values found.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`["a", "\u00e9\n", "ü", "\xff"]`, `[[1], [-2.5e-3], [null]]`, `[1, "a"]`,
		`[01]`, `[1.]`, `[[1, 2]]`, `[true]`, `[1e99]`, `{"data": [1]} `, `[{"a": [1, "]"]}, 3]`, `["a",]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &jsonReader{text: text}
		v, err := r.values()
		if valid := json.Valid([]byte(text)); valid != (err == nil && r.next() == 0 && r.at == len(text)) {
			t.Fatalf("%q: valid is %t, error %v at byte %d", text, valid, err, r.at)
		} else if !valid || v.err != nil {
			return
		}
		var flat []any
		if err := json.Unmarshal([]byte(text), &flat); err != nil {
			t.Fatal(err)
		}
		texts, numbers := []string{}, []float32{}
		for _, value := range flat {
			if row, ok := value.([]any); ok {
				value = row[0]
			}
			switch value := value.(type) {
			case string:
				texts = append(texts, value)
			case bool:
				numbers = append(numbers, map[bool]float32{true: 1}[value])
			case float64:
				numbers = append(numbers, float32(value))
			case nil:
				numbers = append(numbers, float32(math.NaN()))
			}
		}
		same := slices.EqualFunc(numbers, v.numbers, func(a, b float32) bool {
			// A number that is rounded twice, by way of float64, can differ in the last bit.
			return isNaN(a) && isNaN(b) || a == b || math.Abs(float64(a-b)) < 1e-6*math.Abs(float64(a)) ||
				math.Abs(float64(a)) < 1e-37
		})
		if !slices.Equal(texts, append([]string{}, v.texts...)) || !same {
			t.Errorf("%q: %q and %v, want %q and %v", text, v.texts, v.numbers, texts, numbers)
		}
	})
}
