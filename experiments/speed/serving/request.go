package serving

import (
	"bufio"
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
		var request []byte
		if w.raw {
			request, err = c.raw(lo, n, w.grpc)
		} else {
			request, err = c.asJSON(lo, n)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, request)
	}
	return all, nil
}

// asJSON returns a request over HTTP with the values of n rows as JSON.
func (c *columns) asJSON(lo, n int) ([]byte, error) {
	var inputs []any
	add := func(name, datatype string, data any) {
		inputs = append(inputs, map[string]any{"name": name, "shape": []int{n, 1}, "datatype": datatype,
			"data": data})
	}
	for s, name := range c.idNames {
		add(name, "BYTES", c.ids[s][lo:lo+n])
	}
	for i, name := range c.numberNames {
		add(name, "FP32", c.numbers[i][lo:lo+n])
	}
	body, err := json.Marshal(map[string]any{"inputs": inputs})
	return message(body, ""), err
}

// message returns a complete HTTP message.
func message(body []byte, header string) []byte {
	return append(fmt.Appendf(nil, "POST /v2/models/tandem/infer HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", len(body), header), body...)
}

// raw returns a request with the values of n rows as bytes, over HTTP or as a message of gRPC.
func (c *columns) raw(lo, n int, asGRPC bool) ([]byte, error) {
	q := &oip.ModelInferRequest{ModelName: "tandem"}
	var inputs []any
	var rest []byte
	add := func(name, datatype string, data []byte) {
		q.Inputs = append(q.Inputs, &oip.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype,
			Shape: []int64{int64(n), 1}})
		q.RawInputContents = append(q.RawInputContents, data)
		inputs = append(inputs, map[string]any{"name": name, "shape": []int{n, 1}, "datatype": datatype,
			"parameters": map[string]int{"binary_data_size": len(data)}})
		rest = append(rest, data...)
	}
	for s, name := range c.idNames {
		var data []byte
		for _, id := range c.ids[s][lo : lo+n] {
			data = append(binary.LittleEndian.AppendUint32(data, uint32(len(id))), id...)
		}
		add(name, "BYTES", data)
	}
	for i, name := range c.numberNames {
		var data []byte
		for _, value := range c.numbers[i][lo : lo+n] {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(value))
		}
		add(name, "FP32", data)
	}
	if asGRPC {
		return proto.Marshal(q)
	}
	head, err := json.Marshal(map[string]any{"inputs": inputs,
		"parameters": map[string]bool{"binary_data_output": true}})
	return message(append(head, rest...), fmt.Sprintf("Inference-Header-Content-Length: %d\r\n",
		len(head))), err
}

// numbersOf returns the numbers of a tensor of bytes.
func numbersOf(data []byte) []float32 {
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}
