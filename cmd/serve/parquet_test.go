package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"tandem/algo/job"
	_ "tandem/datasets/parquet"
)

// A model of Parquet data is served, with the predictions of the rows in the file.
func TestModelOfParquetData(t *testing.T) {
	path, err := filepath.Abs("../../datasets/parquet/testdata/snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	_, folder := saveWith(t, func(j *job.Job) {
		j.Data = job.Data{Kind: job.KindParquet, Path: path, Cache: job.CacheOff, Parquet: &job.Table{
			Label: "click", Slots: []job.IDColumn{{Column: "user"}, {Column: "item"}},
			Numeric: []string{"price"}}}
	})
	want := expected(t, path, folder)
	address, _ := start(t, folder)
	for row, user := range []string{"", "u1", "u2", "u3"} {
		body := fmt.Sprintf(`{"inputs": [
			{"name": "user", "shape": [1, 1], "datatype": "BYTES", "data": [%q]},
			{"name": "item", "shape": [1, 1], "datatype": "BYTES", "data": ["%d"]},
			{"name": "price", "shape": [1, 1], "datatype": "FP32", "data": [%g]}]}`, user, row*1000003,
			float64(row)/8)
		response, err := http.Post(address+"/v2/models/tandem/infer", "application/json",
			bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var got struct{ Outputs []struct{ Data []float32 } }
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil || len(got.Outputs) != 1 ||
			got.Outputs[0].Data[0] != want[row] {
			t.Errorf("row %d: %+v, error %v, want %v", row, got, err, want[row])
		}
	}
}
