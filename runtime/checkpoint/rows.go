package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"unsafe"

	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/runtime/checkpoint/arrow"
)

// batchBytes is about the size of a record batch: large enough for a disk, small enough that writing takes
// little memory.
const batchBytes = 16 << 20

// Columns of a file of rows.
const (
	signColumn      = "sign"
	updatesColumn   = "updates"
	readColumn      = "read"
	embeddingColumn = "embedding"
	stateColumn     = "state"
	precisionKey    = "precision"
)

// rowFields returns the columns of a file of rows.
func rowFields(dim int, precision table.Precision, stateValues int) []arrow.Field {
	fields := []arrow.Field{
		{Name: signColumn, Type: arrow.Uint64}, {Name: updatesColumn, Type: arrow.Uint32},
		{Name: readColumn, Type: arrow.Uint8},
		{Name: embeddingColumn, List: dim, Type: map[table.Precision]arrow.Type{table.FP32: arrow.Float32,
			table.FP16: arrow.Float16, table.BF16: arrow.Uint16}[precision],
			Metadata: []arrow.KeyValue{{Key: precisionKey, Value: precision.String()}}},
	}
	if stateValues > 0 {
		fields = append(fields, arrow.Field{Name: stateColumn, List: stateValues, Type: arrow.Float32})
	}
	return fields
}

// newColumns returns columns of a number of rows.
func newColumns(rows, embedding, state int) *table.Columns {
	return &table.Columns{Signs: make([]uint64, rows), Updates: make([]uint32, rows),
		Read: make([]uint8, rows), Embeddings: make([]byte, rows*embedding), States: make([]byte, rows*state)}
}

// bytesOf returns numbers as their bytes, in place.
func bytesOf[T uint32 | uint64](values []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))),
		len(values)*int(unsafe.Sizeof(one)))
}

// numbersOf returns bytes as numbers, in place if they are aligned.
func numbersOf[T uint32 | uint64](data []byte) []T {
	var one T
	size := int(unsafe.Sizeof(one))
	if start := unsafe.SliceData(data); uintptr(unsafe.Pointer(start))%unsafe.Sizeof(one) == 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(start)), len(data)/size)
	}
	values := make([]T, len(data)/size)
	copy(bytesOf(values), data)
	return values
}

// rowSource has the rows of an owner: a *table.Table that does not change meanwhile, or a *table.Frozen.
type rowSource interface {
	Len() int
	Dim() int
	Precision() table.Precision
	EmbeddingBytes() int
	StateBytes() int
	Counters() table.Counters
	// CopyRows is called for all rows in their order.
	CopyRows(first int, c *table.Columns)
}

// encodeRows writes rows in the order of their creation.
func encodeRows(out io.Writer, t rowSource) error {
	embedding, state := t.EmbeddingBytes(), t.StateBytes()
	fields := rowFields(t.Dim(), t.Precision(), state/4)
	w := arrow.NewWriter(out, fields, []arrow.KeyValue{{Key: "format", Value: formatName}})
	most := max(batchBytes/(8+4+1+embedding+state), 1)
	free, copied := make(chan *table.Columns, 2), make(chan *table.Columns, 1)
	for range 2 { // one is written while rows are copied to the other
		free <- nil
	}
	go func() {
		defer close(copied)
		for at := 0; at < t.Len(); {
			c := <-free
			if n := min(most, t.Len()-at); c == nil || len(c.Signs) != n {
				c = newColumns(n, embedding, state)
			}
			t.CopyRows(at, c)
			at += len(c.Signs)
			copied <- c
		}
	}()
	var err error
	for c := range copied { // to the end even after an error, so that the goroutine ends
		columns := [][]byte{bytesOf(c.Signs), bytesOf(c.Updates), c.Read, c.Embeddings, c.States}
		if err == nil {
			err = w.WriteBatch(len(c.Signs), columns[:len(fields)]...)
		}
		free <- c
	}
	if err != nil {
		return err
	}
	return w.Close()
}

// rowsFile is a file of rows, mapped into memory.
type rowsFile struct {
	data    []byte
	batches []*table.Columns // their slices alias data
	rows    int
	most    int // rows of every batch but the last
	release func() error
}

var errRows = errors.New("the columns are not those that the manifest describes")

// readRowsFile reads the structure of a file of rows.
func readRowsFile(data []byte, format *Rows, rows int) (*rowsFile, error) {
	f, err := arrow.Read(data)
	if err != nil {
		return nil, err
	}
	precision, err := table.ParsePrecision(format.Precision)
	if err != nil {
		return nil, err
	}
	want := rowFields(format.Dim, precision, format.StateValues)
	if len(f.Fields) != len(want) {
		return nil, errRows
	}
	for i, field := range f.Fields {
		if field.Name != want[i].Name || field.Type != want[i].Type || field.List != want[i].List {
			return nil, errRows
		}
	}
	if f.Rows() != rows {
		return nil, fmt.Errorf("%d rows, and the manifest says %d", f.Rows(), rows)
	}
	r := &rowsFile{data: data, rows: rows}
	for i, b := range f.Batches {
		if i == 0 {
			r.most = b.Rows
		}
		if b.Rows > r.most || b.Rows < 1 || b.Rows < r.most && i < len(f.Batches)-1 {
			return nil, fmt.Errorf("record batch %d has %d rows, and the first %d", i, b.Rows, r.most)
		}
		c := &table.Columns{Signs: numbersOf[uint64](b.Columns[0]), Updates: numbersOf[uint32](b.Columns[1]),
			Read: b.Columns[2], Embeddings: b.Columns[3]}
		if len(b.Columns) > 4 {
			c.States = b.Columns[4]
		}
		r.batches = append(r.batches, c)
	}
	return r, nil
}

// RowReader finds the rows of a model by sign, in files that are mapped into memory. Several goroutines may
// use it.
type RowReader struct {
	dim, width int // width: bytes of an embedding
	precision  table.Precision
	plan       shard.Plan  // of the rows that are not hot
	files      []*rowsFile // by owner: the embedding PSs and, if there are any, the hot rows
	indexes    [][]uint32  // by owner: row + 1, by the hash of the sign; 0 is empty
}

// newRowReader numbers the rows of files by their signs. It returns an error if a row is on another PS than
// the one that owns it, or is there twice, as a hot row too.
func newRowReader(format *Rows, files []*rowsFile) (*RowReader, error) {
	precision, err := table.ParsePrecision(format.Precision)
	if err != nil {
		return nil, err
	}
	r := &RowReader{dim: format.Dim, width: 4 * format.Dim, precision: precision,
		plan: shard.Rows(len(format.Servers)), files: files}
	if precision != table.FP32 {
		r.width = 2 * format.Dim
	}
	for owner := range files {
		index, err := r.number(owner)
		if err != nil {
			return nil, err
		}
		r.indexes = append(r.indexes, index)
	}
	return r, nil
}

// number returns the index of the rows of an owner. Those of owners with lower numbers are known.
func (r *RowReader) number(owner int) ([]uint32, error) {
	f, isHot, size := r.files[owner], owner == r.plan.Servers(), 8
	for size < 2*f.rows {
		size *= 2
	}
	if f.rows >= math.MaxInt32 {
		return nil, fmt.Errorf("%d rows in one file", f.rows)
	}
	index, row := make([]uint32, size), uint32(0)
	for _, b := range f.batches {
		for _, sign := range b.Signs {
			server := r.plan.Owner(sign)
			if !isHot && server != owner {
				return nil, fmt.Errorf("the row of sign %#x belongs to another embedding PS than %d", sign,
					owner)
			}
			at, found := f.search(index, sign)
			if !found && isHot {
				_, found = r.files[server].search(r.indexes[server], sign)
			}
			if found {
				return nil, fmt.Errorf("the row of sign %#x comes twice", sign)
			}
			row++
			index[at] = row
		}
	}
	return index, nil
}

// search returns the place in the index of a file that has a sign, or the empty one where it would be.
func (f *rowsFile) search(index []uint32, sign uint64) (at int, found bool) {
	mask := len(index) - 1
	for at = int(rng.Mix(sign)) & mask; index[at] != 0; at = (at + 1) & mask {
		if f.sign(index[at]-1) == sign {
			return at, true
		}
	}
	return at, false
}

// sign returns the sign of a row.
func (f *rowsFile) sign(row uint32) uint64 {
	return f.batches[int(row)/f.most].Signs[int(row)%f.most]
}

// Dim returns the number of values of an embedding.
func (r *RowReader) Dim() int { return r.dim }

// Len returns the number of rows.
func (r *RowReader) Len() (rows int) {
	for _, f := range r.files {
		rows += f.rows
	}
	return rows
}

// Read copies the embeddings of signs to dst, len(signs) × dim, and returns the number of signs without a
// row. As in the evaluation of a training, a row that does not exist or was never updated reads as zeros.
func (r *RowReader) Read(signs []uint64, dst []float32) (missing int) {
	for i, sign := range signs {
		out := dst[i*r.dim : (i+1)*r.dim]
		f, row := r.find(sign)
		if row < 0 {
			clear(out)
			missing++
			continue
		}
		b, place := f.batches[row/f.most], row%f.most
		if b.Updates[place] == 0 {
			clear(out)
			continue
		}
		r.widen(out, b.Embeddings[place*r.width:(place+1)*r.width])
	}
	return missing
}

// Trained visits all rows that have been updated, with their signs. The embedding holds until the next row.
func (r *RowReader) Trained() iter.Seq2[uint64, []float32] {
	return func(yield func(sign uint64, embedding []float32) bool) {
		embedding := make([]float32, r.dim)
		for _, f := range r.files {
			for _, b := range f.batches {
				for i, sign := range b.Signs {
					if b.Updates[i] == 0 {
						continue
					}
					r.widen(embedding, b.Embeddings[i*r.width:(i+1)*r.width])
					if !yield(sign, embedding) {
						return
					}
				}
			}
		}
	}
}

// find returns the file and the number of the row of a sign, −1 if there is none. It looks among the hot rows
// first, because they are the most frequent ones and their index is small.
func (r *RowReader) find(sign uint64) (f *rowsFile, row int) {
	if hot := r.plan.Servers(); hot < len(r.files) {
		if at, found := r.files[hot].search(r.indexes[hot], sign); found {
			return r.files[hot], int(r.indexes[hot][at] - 1)
		}
	}
	owner := r.plan.Owner(sign)
	if at, found := r.files[owner].search(r.indexes[owner], sign); found {
		return r.files[owner], int(r.indexes[owner][at] - 1)
	}
	return nil, -1
}

// widen decodes an embedding.
func (r *RowReader) widen(dst []float32, data []byte) {
	for i := range dst {
		switch r.precision {
		case table.FP32:
			dst[i] = math.Float32frombits(uint32(data[4*i]) | uint32(data[4*i+1])<<8 |
				uint32(data[4*i+2])<<16 | uint32(data[4*i+3])<<24)
		case table.BF16:
			dst[i] = math.Float32frombits(uint32(data[2*i])<<16 | uint32(data[2*i+1])<<24)
		default:
			dst[i] = compress.Float(uint16(data[2*i]) | uint16(data[2*i+1])<<8)
		}
	}
}
