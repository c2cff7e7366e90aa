package export

import (
	"encoding/binary"
	"io"

	"github.com/parquet-go/parquet-go"

	"tandem/runtime/checkpoint"
	"tandem/runtime/checkpoint/safetensors"
)

// Columns, or tensors, of the rows.
const (
	signColumn      = "sign"
	embeddingColumn = "embedding"
)

// row is a record of a Parquet file.
type row struct {
	Sign      uint64    `parquet:"sign"`
	Embedding []float32 `parquet:"embedding,list"`
}

// rowsAtATime is how many rows are given to the Parquet writer together.
const rowsAtATime = 1024

// rowGroup is the number of rows of a row group, whose pages the writer keeps in memory.
const rowGroup = 1 << 20

// writeParquet writes the rows of some values that have been trained.
func writeParquet(out io.Writer, rows *checkpoint.RowReader, dim int) error {
	w := parquet.NewGenericWriter[row](out, parquet.MaxRowsPerRowGroup(rowGroup))
	pending, values := make([]row, 0, rowsAtATime), make([]float32, rowsAtATime*dim)
	flush := func() error {
		_, err := w.Write(pending)
		pending = pending[:0]
		return err
	}
	for sign, embedding := range rows.TrainedOf(dim) {
		own := values[len(pending)*dim:][:dim]
		copy(own, embedding)
		if pending = append(pending, row{sign, own}); len(pending) == rowsAtATime {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return w.Close()
}

// writeTensors writes the rows of some values that have been trained as a tensor of signs and one of
// embeddings.
func writeTensors(out io.Writer, rows *checkpoint.RowReader, dim int) error {
	var signs, embeddings []byte
	for sign, embedding := range rows.TrainedOf(dim) {
		signs = binary.LittleEndian.AppendUint64(signs, sign)
		embeddings = appendFloats(embeddings, embedding)
	}
	n := len(signs) / 8
	return safetensors.Write(out, []safetensors.Tensor{
		{Name: signColumn, Type: safetensors.U64, Shape: []int{n}, Data: signs},
		{Name: embeddingColumn, Type: safetensors.F32, Shape: []int{n, dim}, Data: embeddings},
	}, nil)
}
