package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A Parquet file and a CSV of the same predictions have the same columns, also where names sort otherwise.
func TestParquetAndCSVHoldTheSame(t *testing.T) {
	const labels, rows = 11, 7
	var values []float32
	for i := range labels * rows {
		values = append(values, float32(i)/128)
	}
	var text, file bytes.Buffer
	for _, out := range []results{newCSV(&text, labels), newParquet(&file, labels)} {
		for _, part := range [][]float32{values[:2*labels], values[2*labels:]} {
			if err := out.add(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.finish(); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Fields(text.String())
	names := strings.Split(lines[0], ",")
	read := parquet.NewReader(bytes.NewReader(file.Bytes()))
	for row, line := range lines[1:] {
		fields := map[string]any{}
		if err := read.Read(&fields); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range names {
			got = append(got, fmt.Sprint(fields[name]))
		}
		if want := strings.Split(line, ","); !slices.Equal(got, want) {
			t.Errorf("row %d has %v, want %v", row, got, want)
		}
	}
	if len(lines) != 1+rows || names[10] != "prediction_11" {
		t.Errorf("%d lines, columns %v", len(lines), names)
	}
}

// Where no terminal is, a line says how far a long prediction is.
func TestProgressIsALineElsewhere(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out, false)
	b.show(10, 0.1)
	if out.Len() > 0 {
		t.Errorf("%q at once", out.String())
	}
	b.begun, b.written = b.begun.Add(-lineEvery), b.written.Add(-lineEvery)
	b.show(1000, 0.25)
	if want := "model: 1000 rows, 100 rows/s, 25 %, 30 s left\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
