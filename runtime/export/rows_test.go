package export_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/runtime/checkpoint/safetensors"
	"tandem/runtime/export"
)

// A file of rows has all of them, in the order of the model, also where they are written in several pieces.
func TestManyRowsAreExported(t *testing.T) {
	var text strings.Builder
	text.WriteString("user,y\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "%d,%d\n", i, i%2)
	}
	path := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	from := trained(t, job.Data{Kind: job.KindCSV, Path: path, CSV: &job.Table{Label: "y",
		Slots: []job.IDColumn{{Column: "user"}}}}, func(j *job.Job) { j.Model.EmbeddingDim = 2 })
	rows := rowsOf(t, from)
	var signs []uint64
	var values []float32
	for sign, embedding := range rows.Trained() {
		signs, values = append(signs, sign), append(values, embedding...)
	}
	if len(signs) < 2*1024 {
		t.Fatalf("%d rows", len(signs))
	}
	got, err := parquet.ReadFile[struct {
		Sign      uint64    `parquet:"sign"`
		Embedding []float32 `parquet:"embedding,list"`
	}](filepath.Join(exported(t, from, export.Parquet), "rows.parquet"))
	if err != nil || len(got) != len(signs) {
		t.Fatalf("%d rows, want %d, error %v", len(got), len(signs), err)
	}
	for i, row := range got {
		if row.Sign != signs[i] || !slices.Equal(row.Embedding, values[2*i:][:2]) {
			t.Fatalf("row %d is %v, want %#x %v", i, row, signs[i], values[2*i:][:2])
		}
	}
	data, err := os.ReadFile(filepath.Join(exported(t, from, export.Safetensors), "rows.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := safetensors.Read(data)
	if err != nil || len(file.Tensors) != 2 {
		t.Fatalf("tensors %v, error %v", file, err)
	}
	var wantSigns, wantValues []byte
	for i, sign := range signs {
		wantSigns = binary.LittleEndian.AppendUint64(wantSigns, sign)
		for _, v := range values[2*i:][:2] {
			wantValues = binary.LittleEndian.AppendUint32(wantValues, math.Float32bits(v))
		}
	}
	for name, want := range map[string]safetensors.Tensor{
		"sign":      {Type: safetensors.U64, Shape: []int{len(signs)}, Data: wantSigns},
		"embedding": {Type: safetensors.F32, Shape: []int{len(signs), 2}, Data: wantValues},
	} {
		got, err := file.Tensor(name)
		if err != nil || got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) ||
			!slices.Equal(got.Data, want.Data) {
			t.Errorf("tensor %s: %v %v of %d bytes, error %v", name, got.Type, got.Shape, len(got.Data), err)
		}
	}
}
