package serving

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"tandem/algo/job"
	"tandem/runtime/inference/oip"
)

// columns are rows as texts and numbers, column by column.
type columns struct {
	idNames, numberNames []string
	ids                  [][]string
	numbers              [][]float32
}

// newColumns reads the test rows of a table that cmd/data convert has written.
func newColumns(d *job.Data) (*columns, error) {
	file, err := os.Open(d.Test)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	column := func(name string) (texts []string) {
		at := slices.Index(lines[0], name)
		for _, line := range lines[1:] {
			texts = append(texts, line[at])
		}
		return texts
	}
	c := &columns{numberNames: d.CSV.Numeric}
	for _, slot := range d.CSV.Slots {
		c.idNames, c.ids = append(c.idNames, slot.Column), append(c.ids, column(slot.Column))
	}
	for _, name := range d.CSV.Numeric {
		var numbers []float32
		for _, text := range column(name) {
			number, err := strconv.ParseFloat(text, 32)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, float32(number))
		}
		c.numbers = append(c.numbers, numbers)
	}
	return c, nil
}

// requests returns requests of n rows each, until the rows end.
func (c *columns) requests(n int, w way) (all [][]byte, err error) {
	for lo := 0; lo+n <= len(c.ids[0]); lo += n {
		request, err := c.request(lo, n, w)
		if err != nil {
			return nil, err
		}
		all = append(all, request)
	}
	return all, nil
}

// request returns a request with the values of n rows: a message of gRPC, or of HTTP with values as bytes
// or as JSON.
func (c *columns) request(lo, n int, w way) ([]byte, error) {
	q := &oip.ModelInferRequest{ModelName: "tandem"}
	var inputs []any
	add := func(name, datatype string, values any, raw []byte) {
		q.Inputs = append(q.Inputs, &oip.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype,
			Shape: []int64{int64(n), 1}})
		q.RawInputContents = append(q.RawInputContents, raw)
		input := map[string]any{"name": name, "shape": []int{n, 1}, "datatype": datatype}
		if w.raw {
			input["parameters"] = map[string]int{"binary_data_size": len(raw)}
		} else {
			input["data"] = values
		}
		inputs = append(inputs, input)
	}
	for s, name := range c.idNames {
		var raw []byte
		for _, id := range c.ids[s][lo : lo+n] {
			raw = append(binary.LittleEndian.AppendUint32(raw, uint32(len(id))), id...)
		}
		add(name, "BYTES", c.ids[s][lo:lo+n], raw)
	}
	for i, name := range c.numberNames {
		var raw []byte
		for _, value := range c.numbers[i][lo : lo+n] {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(value))
		}
		add(name, "FP32", c.numbers[i][lo:lo+n], raw)
	}
	if w.grpc {
		return proto.Marshal(q)
	}
	content, header := map[string]any{"inputs": inputs}, ""
	if w.raw {
		content["parameters"] = map[string]bool{"binary_data_output": true}
	}
	body, err := json.Marshal(content)
	if w.raw {
		header = fmt.Sprintf("Inference-Header-Content-Length: %d\r\n", len(body))
		body = append(body, bytes.Join(q.RawInputContents, nil)...)
	}
	return append(fmt.Appendf(nil, "POST /v2/models/tandem/infer HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", len(body), header), body...), err
}

// numbersOf returns the numbers of a tensor of bytes.
func numbersOf(data []byte) []float32 {
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}
