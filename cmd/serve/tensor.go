package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
)

// The datatypes of tensors that the model has, by their names in the protocol.
const (
	datatypeBytes = "BYTES"
	datatypeFP32  = "FP32"
)

// jsonLengthHeader has the length of the JSON at the beginning of a body whose tensors follow as bytes.
const jsonLengthHeader = "Inference-Header-Content-Length"

// request is a request for predictions.
type request struct {
	ID         string   `json:"id"`
	Inputs     []tensor `json:"inputs"`
	Outputs    []wanted `json:"outputs"`
	Parameters struct {
		BinaryOutput bool `json:"binary_data_output"`
	} `json:"parameters"`
}

// wanted is an output that a request asks for.
type wanted struct {
	Name       string `json:"name"`
	Parameters struct {
		Binary *bool `json:"binary_data"`
	} `json:"parameters"`
}

// tensor is an input of a request: its values are data, or bytes.
type tensor struct {
	Name       string          `json:"name"`
	Shape      []int           `json:"shape"`
	Datatype   string          `json:"datatype"`
	Data       json.RawMessage `json:"data"`
	Parameters struct {
		BinarySize *int `json:"binary_data_size"`
	} `json:"parameters"`
	bytes []byte
}

// parseRequest reads a body: JSON, and the bytes of tensors after it if the header says where they begin.
func parseRequest(body []byte, jsonLength string) (*request, error) {
	var rest []byte
	if jsonLength != "" {
		n, err := strconv.Atoi(jsonLength)
		if err != nil || n < 0 || n > len(body) {
			return nil, fmt.Errorf("%s: %q, and the body has %d bytes", jsonLengthHeader, jsonLength,
				len(body))
		}
		body, rest = body[:n], body[n:]
	}
	q := &request{}
	if err := json.Unmarshal(body, q); err != nil {
		return nil, fmt.Errorf("the request is not what the protocol asks for: %w", err)
	}
	for i := range q.Inputs {
		t := &q.Inputs[i]
		size := t.Parameters.BinarySize
		if size == nil {
			continue
		}
		if *size < 0 || *size > len(rest) {
			return nil, fmt.Errorf("input %q: binary_data_size %d, and %d bytes are left", t.Name, *size,
				len(rest))
		}
		t.bytes, rest = rest[:*size], rest[*size:]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes after the last input", len(rest))
	}
	for _, o := range q.Outputs {
		if o.Name != output {
			return nil, fmt.Errorf("output %q is unknown: the model has %q", o.Name, output)
		}
	}
	return q, nil
}

// rows returns the number of rows, after checking datatype and shape.
func (t *tensor) rows(datatype string) (int, error) {
	if t.Datatype != datatype {
		return 0, fmt.Errorf("datatype %q, want %s", t.Datatype, datatype)
	}
	if len(t.Shape) < 1 || len(t.Shape) > 2 || t.Shape[0] < 1 || len(t.Shape) == 2 && t.Shape[1] != 1 {
		return 0, fmt.Errorf("shape %v, want [n, 1] or [n], n at least 1", t.Shape)
	}
	return t.Shape[0], nil
}

// texts returns n texts.
func (t *tensor) texts(n int) ([]string, error) {
	if t.Parameters.BinarySize == nil {
		return values[string](t.Data, n, nil)
	}
	var all []string
	for rest := t.bytes; len(rest) > 0; {
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return nil, fmt.Errorf("the bytes end within element %d", len(all)+1)
		}
		size := binary.LittleEndian.Uint32(rest)
		all = append(all, string(rest[4:4+size]))
		rest = rest[4+size:]
	}
	return all, checkCount(len(all), n)
}

// numbers returns n numbers. NaN, which is null in JSON, is a missing number.
func (t *tensor) numbers(n int) (all []float32, err error) {
	if t.Parameters.BinarySize == nil {
		all, err = values(t.Data, n, new(float32(math.NaN())))
	} else if len(t.bytes)%4 != 0 {
		err = fmt.Errorf("%d bytes of numbers of 4 bytes", len(t.bytes))
	} else {
		for at := 0; at < len(t.bytes); at += 4 {
			all = append(all, math.Float32frombits(binary.LittleEndian.Uint32(t.bytes[at:])))
		}
		err = checkCount(len(all), n)
	}
	for _, value := range all {
		if math.IsInf(float64(value), 0) {
			return nil, errors.New("a number is infinite")
		}
	}
	return all, err
}

// values returns n values of JSON, nested as the shape [n, 1] or flat. A null becomes missing, and is an
// error if missing is nil.
func values[T any](data json.RawMessage, n int, missing *T) ([]T, error) {
	var flat []*T
	if json.Unmarshal(data, &flat) != nil {
		var nested [][]*T
		if err := json.Unmarshal(data, &nested); err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
		flat = nil
		for i, row := range nested {
			if len(row) != 1 {
				return nil, fmt.Errorf("data: %d values in row %d, want 1", len(row), i+1)
			}
			flat = append(flat, row[0])
		}
	}
	all := make([]T, len(flat))
	for i, value := range flat {
		if value == nil {
			value = missing
		}
		if value == nil {
			return nil, fmt.Errorf("data: value %d is null", i+1)
		}
		all[i] = *value
	}
	return all, checkCount(len(all), n)
}

func checkCount(got, want int) error {
	if got != want {
		return fmt.Errorf("%d values, and the shape says %d", got, want)
	}
	return nil
}

// answer writes predictions as JSON, or as bytes if the request asks for them.
func (s *served) answer(w http.ResponseWriter, q *request, predictions []float32) {
	labels := len(s.model.Labels())
	out := map[string]any{"name": output, "datatype": datatypeFP32,
		"shape": []int{len(predictions) / labels, labels}}
	all := map[string]any{"model_name": s.name, "model_version": s.version(), "outputs": []any{out}}
	if q.ID != "" {
		all["id"] = q.ID
	}
	asBytes := q.Parameters.BinaryOutput
	for _, o := range q.Outputs {
		if o.Parameters.Binary != nil {
			asBytes = *o.Parameters.Binary
		}
	}
	if !asBytes {
		out["data"] = predictions
		reply(w, all)
		return
	}
	out["parameters"] = map[string]int{"binary_data_size": 4 * len(predictions)}
	var body bytes.Buffer
	_ = json.NewEncoder(&body).Encode(all) // maps of texts and numbers always can
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(jsonLengthHeader, strconv.Itoa(body.Len()))
	for _, p := range predictions {
		body.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(p)))
	}
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	_, _ = w.Write(body.Bytes())
}
