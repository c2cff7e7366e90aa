package serving

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"google.golang.org/protobuf/proto"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/runtime/inference/oip"
)

// columns are rows as texts and numbers, column by column.
type columns struct {
	idNames, numberNames []string
	ids                  [][]string
	numbers              [][]float32
}

// newColumns returns the first rows of a batch. Each row has one id in every column.
func newColumns(schema *batch.Schema, b *batch.Batch) (*columns, error) {
	c := &columns{numberNames: schema.Dense, ids: make([][]string, len(schema.Slots)),
		numbers: make([][]float32, len(schema.Dense))}
	for s := range schema.Slots {
		c.idNames = append(c.idNames, schema.Slots[s].Name)
		for i := range b.Samples {
			ids := b.Slots[s].SampleIDs(i)
			if len(ids) != 1 {
				return nil, fmt.Errorf("column %s has %d ids in row %d, want 1", c.idNames[s], len(ids), i+1)
			}
			c.ids[s] = append(c.ids[s], strconv.FormatUint(ids[0], 16))
		}
	}
	for n := range c.numbers {
		c.numbers[n] = batch.Column(b.Dense, len(c.numbers), n)
	}
	return c, nil
}

// writeTable writes all rows of a data set as a CSV file, and returns the data of a job that reads it.
func writeTable(path string, set *datasets.Dataset) (data job.Data, err error) {
	file, err := os.Create(path)
	if err != nil {
		return data, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	data = job.Data{Kind: job.KindCSV, Path: path, Cache: job.CacheOff, CSV: &job.Table{Label: "label"},
		Split: job.Split{How: job.SplitLast, Test: float64(set.Test.Samples) /
			float64(set.Test.Samples+set.Train.Samples)}}
	for s := range set.Schema.Slots {
		data.CSV.Slots = append(data.CSV.Slots, job.IDColumn{Column: set.Schema.Slots[s].Name})
		fmt.Fprintf(w, "%s,", set.Schema.Slots[s].Name)
	}
	data.CSV.Numeric = set.Schema.Dense
	for _, name := range set.Schema.Dense {
		fmt.Fprintf(w, "%s,", name)
	}
	fmt.Fprintln(w, "label")
	for _, b := range []*batch.Batch{set.Train, set.Test} {
		c, err := newColumns(&set.Schema, b)
		if err != nil {
			return data, err
		}
		labels := len(b.Labels) / b.Samples
		for i := range b.Samples {
			for _, ids := range c.ids {
				fmt.Fprintf(w, "%s,", ids[i])
			}
			for _, numbers := range c.numbers {
				fmt.Fprintf(w, "%g,", numbers[i])
			}
			fmt.Fprintf(w, "%g\n", b.Labels[i*labels])
		}
	}
	return data, w.Flush()
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

// request returns a request with the values of n rows: a message of gRPC, or of HTTP with values as bytes or as
// JSON.
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
