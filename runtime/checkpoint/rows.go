package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/runtime/checkpoint/arrow"
)

// batchBytes is about the size of a record batch: large enough for a disk, small enough that writing takes
// little memory.
const batchBytes = 16 << 20

// Columns of a file of rows.
const (
	rowColumn       = "row" // only in a file of changes
	signColumn      = "sign"
	updatesColumn   = "updates"
	readColumn      = "read"
	embeddingColumn = "embedding"
	stateColumn     = "state"
	precisionKey    = "precision"
)

// rowFields returns the columns of a file of rows, or of changes.
func rowFields(dim int, precision table.Precision, stateValues int, changes bool) []arrow.Field {
	var fields []arrow.Field
	if changes {
		fields = append(fields, arrow.Field{Name: rowColumn, Type: arrow.Uint32})
	}
	fields = append(fields, arrow.Field{Name: signColumn, Type: arrow.Uint64},
		arrow.Field{Name: updatesColumn, Type: arrow.Uint32},
		arrow.Field{Name: readColumn, Type: arrow.Uint8},
		arrow.Field{Name: embeddingColumn, List: dim, Type: map[table.Precision]arrow.Type{
			table.FP32: arrow.Float32, table.FP16: arrow.Float16, table.BF16: arrow.Uint16}[precision],
			Metadata: []arrow.KeyValue{{Key: precisionKey, Value: precision.String()}}})
	if stateValues > 0 {
		fields = append(fields, arrow.Field{Name: stateColumn, List: stateValues, Type: arrow.Float32})
	}
	return fields
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

// rowBatch has the rows of a record batch.
type rowBatch struct {
	numbers []uint32 // of the rows; nil where all rows are written
	*table.Columns
}

// head returns the first n rows of a batch, of embeddings and states of some bytes.
func (b rowBatch) head(n, embedding, state int) rowBatch {
	return rowBatch{b.numbers[:min(n, cap(b.numbers))], &table.Columns{Signs: b.Signs[:n],
		Updates: b.Updates[:n], Read: b.Read[:n], Embeddings: b.Embeddings[:n*embedding],
		States: b.States[:n*state]}}
}

// encodeRows writes rows in their order: all or, with their numbers, those that have changed since the freeze
// before. It returns how many it has written.
func encodeRows(out io.Writer, f *table.Frozen, changes bool) (written int, err error) {
	embedding, state := f.EmbeddingBytes(), f.StateBytes()
	fields := rowFields(f.Dim(), f.Precision(), state/4, changes)
	w := arrow.NewWriter(out, fields, []arrow.KeyValue{{Key: "format", Value: formatName}})
	most := min(max(batchBytes/(4+8+4+1+embedding+state), 1), max(f.Len(), 1))
	free, copied := make(chan rowBatch, 2), make(chan rowBatch, 1)
	for range cap(free) { // one is written while rows are copied to the other
		b := rowBatch{Columns: table.NewColumns(most, embedding, state)}
		if changes {
			b.numbers = make([]uint32, most)
		}
		free <- b
	}
	go func() {
		defer close(copied)
		for at := 0; ; {
			b, n := <-free, min(most, f.Len()-at)
			if changes {
				n = f.CopyChanged(b.numbers, b.Columns)
			} else {
				f.CopyRows(at, b.head(n, embedding, state).Columns)
			}
			if n == 0 {
				return
			}
			at += n
			copied <- b.head(n, embedding, state)
		}
	}()
	for b := range copied { // to the end even after an error, so that the goroutine ends
		columns := [][]byte{bytesOf(b.numbers), bytesOf(b.Signs), bytesOf(b.Updates), b.Read, b.Embeddings,
			b.States}
		if !changes {
			columns = columns[1:]
		}
		if err == nil {
			err = w.WriteBatch(len(b.Signs), columns[:len(fields)]...)
		}
		written += len(b.Signs)
		free <- b.head(cap(b.Signs), embedding, state)
	}
	if err != nil {
		return written, err
	}
	return written, w.Close()
}

// rowsFile is the rows of an owner, in files that are mapped into memory: one that has all rows of a
// checkpoint and, in the order of later ones, files of the rows that had changed.
type rowsFile struct {
	files []*mappedRows
	rows  int
	// at has, where there are files of changes, the place of every row: a number that counts the rows of all
	// files, one file after the other. Starts has the place of the first row of each file.
	at     []uint32
	starts []int
	shared int        // the first files, which an earlier model has, too
	before *rowsFile  // its rows, until those of this one are numbered; nil: there is none
	index  *signIndex // nil until the rows are numbered
}

// mappedRows is a file of rows.
type mappedRows struct {
	folder  string // of the model that has mapped it
	name    string
	data    []byte
	blocks  *blocks
	starts  []columnStarts // by batch
	numbers [][]uint32     // by batch, in a file of changes; their slices alias data, as do those of batches
	batches []*table.Columns
	rows    int
	most    int // rows of every batch but the last
	unmap   func() error
	users   atomic.Int32 // models that read the file
}

// columnStarts has the bytes of a file at which the columns of a batch start.
type columnStarts struct{ signs, updates, embeddings int }

// retain makes one more model a user of the file.
func (m *mappedRows) retain() *mappedRows {
	m.users.Add(1)
	return m
}

// release gives up the file, which is unmapped when its last user has released it.
func (m *mappedRows) release() error {
	if m.users.Add(-1) > 0 {
		return nil
	}
	return m.unmap()
}

var errRows = errors.New("the columns are not those that the manifest describes")

// readRowsFile reads the structure of a file of rows, or of changes, and checks the blocks that it uses.
func readRowsFile(name string, data []byte, blocks *blocks, format DimRows, changes bool) (
	*mappedRows, error) {
	f, err := arrow.Read(data, blocks.check)
	if err != nil {
		return nil, err
	}
	precision, err := table.ParsePrecision(format.Precision)
	if err != nil {
		return nil, err
	}
	want := rowFields(format.Dim, precision, format.StateValues, changes)
	if len(f.Fields) != len(want) {
		return nil, errRows
	}
	for i, field := range f.Fields {
		if field.Name != want[i].Name || field.Type != want[i].Type || field.List != want[i].List {
			return nil, errRows
		}
	}
	r := &mappedRows{name: name, data: data, blocks: blocks, rows: f.Rows()}
	for i, b := range f.Batches {
		if i == 0 {
			r.most = b.Rows
		}
		if b.Rows > r.most || b.Rows < 1 || b.Rows < r.most && i < len(f.Batches)-1 {
			return nil, fmt.Errorf("record batch %d has %d rows, and the first %d", i, b.Rows, r.most)
		}
		columns, starts := b.Columns, b.Starts
		if changes {
			if err := blocks.check(starts[0], starts[0]+len(columns[0])); err != nil {
				return nil, err
			}
			r.numbers = append(r.numbers, numbersOf[uint32](columns[0]))
			columns, starts = columns[1:], starts[1:]
		}
		c := &table.Columns{Signs: numbersOf[uint64](columns[0]), Updates: numbersOf[uint32](columns[1]),
			Read: columns[2], Embeddings: columns[3]}
		if len(columns) > 4 {
			c.States = columns[4]
		}
		r.batches = append(r.batches, c)
		r.starts = append(r.starts, columnStarts{starts[0], starts[1], starts[3]})
	}
	return r, nil
}

// check returns an error unless the blocks with a number of bytes from one on are as they were written.
func (m *mappedRows) check(at, length int) error {
	if err := m.blocks.check(at, at+length); err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	return nil
}

// checkSigns checks the blocks with the signs.
func (m *mappedRows) checkSigns() error {
	for i, at := range m.starts {
		if err := m.check(at.signs, 8*len(m.batches[i].Signs)); err != nil {
			return err
		}
	}
	return nil
}

// join sets which file has which row. The owner has a number of rows: those of the first file, with the
// changes of the others.
func (f *rowsFile) join(rows int) error {
	f.rows = rows
	all := 0
	for _, m := range f.files {
		f.starts = append(f.starts, all)
		all += m.rows
	}
	switch base := f.files[0].rows; {
	case len(f.files) == 1 && base != rows:
		return fmt.Errorf("%d rows, and the manifest says %d", base, rows)
	case len(f.files) == 1:
		return nil
	case rows > all || all >= math.MaxUint32:
		return fmt.Errorf("%d rows and changes, and the manifest says %d rows", all, rows)
	}
	f.at = make([]uint32, rows)
	known, first := f.joined()
	for i := known; i < rows; i++ {
		f.at[i] = nowhere
	}
	for row, place := range f.changed(first) {
		if int(row) < rows { // otherwise the table has become smaller since
			f.at[row] = place
		}
	}
	if i := slices.Index(f.at[known:], nowhere); i >= 0 {
		return fmt.Errorf("no file has row %d of %d", known+i, rows)
	}
	return nil
}

// nowhere is the place of a row that no file has.
const nowhere = math.MaxUint32

// joined sets the places of the rows that are known before any change: of the first file, or of the earlier
// model. It returns how many these are, and the first file of changes that is to be added.
func (f *rowsFile) joined() (known, file int) {
	if f.before != nil && f.before.at != nil {
		return copy(f.at, f.before.at), f.shared
	}
	known = min(f.files[0].rows, f.rows)
	for i := range known {
		f.at[i] = uint32(i)
	}
	return known, 1
}

// changed returns the numbers and the places of the rows in the files of changes from one on.
func (f *rowsFile) changed(file int) iter.Seq2[uint32, uint32] {
	return func(yield func(row, place uint32) bool) {
		for ; file < len(f.files); file++ {
			place := uint32(f.starts[file])
			for _, numbers := range f.files[file].numbers {
				for _, row := range numbers {
					if !yield(row, place) {
						return
					}
					place++
				}
			}
		}
	}
}

// locate returns the batch in which a row is, and its place there.
func (f *rowsFile) locate(row int) (b *table.Columns, i int) {
	in, batch, i := f.seek(row)
	return in.batches[batch], i
}

// seek returns the file in which a row is, the number of its batch there, and its place in the batch.
func (f *rowsFile) seek(row int) (in *mappedRows, batch, i int) {
	in = f.files[0]
	if f.at != nil {
		place, lo, hi := int(f.at[row]), 0, len(f.files)
		for hi-lo > 1 {
			if mid := (lo + hi) / 2; f.starts[mid] <= place {
				lo = mid
			} else {
				hi = mid
			}
		}
		in, row = f.files[lo], place-f.starts[lo]
	}
	return in, row / in.most, row % in.most
}

// signs returns the signs of all rows, in order.
func (f *rowsFile) signs() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if f.at != nil {
			for row := range f.rows {
				if !yield(f.sign(row)) {
					return
				}
			}
			return
		}
		for _, b := range f.files[0].batches {
			for _, sign := range b.Signs {
				if !yield(sign) {
					return
				}
			}
		}
	}
}

// batches returns the rows in order, some thousands at a time. Where there are no changes, columns alias the
// file; otherwise they hold until the next ones.
func (f *rowsFile) batches() iter.Seq[*table.Columns] {
	return func(yield func(*table.Columns) bool) {
		if f.at == nil {
			for _, b := range f.files[0].batches {
				if !yield(b) {
					return
				}
			}
			return
		}
		var c *table.Columns
		for first := 0; first < f.rows; first += len(c.Signs) {
			b, _ := f.locate(first)
			n := len(b.Signs)
			embedding, state := len(b.Embeddings)/n, len(b.States)/n
			n = min(max(batchBytes/(8+4+1+embedding+state), 1), f.rows-first)
			if c == nil || len(c.Signs) != n {
				c = table.NewColumns(n, embedding, state)
			}
			for i := range n {
				b, at := f.locate(first + i)
				c.Signs[i], c.Updates[i], c.Read[i] = b.Signs[at], b.Updates[at], b.Read[at]
				copy(c.Embeddings[i*embedding:], b.Embeddings[at*embedding:][:embedding])
				copy(c.States[i*state:], b.States[at*state:][:state])
			}
			if !yield(c) {
				return
			}
		}
	}
}

// release gives up the files.
func (f *rowsFile) release() (err error) {
	for _, m := range f.files {
		err = errors.Join(err, m.release())
	}
	return err
}

// RowReader finds the rows of a model by sign, in files that are mapped into memory. Several goroutines may
// use it.
type RowReader struct {
	dims       batch.Dims
	lengths    []int             // of embeddings, by kind of rows
	precisions []table.Precision // by kind of rows
	plan       shard.Plan        // of the rows that are not hot
	files      []*rowsFile       // as Rows.ByOwner
}

// newRowReader numbers the rows of files by their signs, whose blocks it checks. It returns an error if a row
// is on another PS than the one that owns it, or is there twice, as a hot row too.
func newRowReader(m *Manifest, files []*rowsFile) (*RowReader, error) {
	schema, err := m.Schema.Batch()
	if err != nil {
		return nil, err
	}
	r := &RowReader{dims: schema.Dims(), plan: shard.Rows(m.Rows.PSs()), files: files}
	for _, d := range m.Rows.ByDim() {
		precision, err := table.ParsePrecision(d.Precision)
		if err != nil {
			return nil, err
		}
		r.lengths, r.precisions = append(r.lengths, d.Dim), append(r.precisions, precision)
	}
	for owner, f := range files {
		for _, m := range f.files {
			if err := m.checkSigns(); err != nil {
				return nil, err
			}
		}
		if err := r.number(owner); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// sign returns the sign of a row.
func (f *rowsFile) sign(row int) uint64 {
	b, i := f.locate(row)
	return b.Signs[i]
}

// Dims returns the number of values of an embedding of each kind of rows, in the order of batch.Dims.
func (r *RowReader) Dims() []int { return r.lengths }

// Len returns the number of rows.
func (r *RowReader) Len() (rows int) {
	for _, f := range r.files {
		rows += f.rows
	}
	return rows
}

// Read copies the embeddings of signs to dst, one after the other, and returns the number of signs without a
// row. As in the evaluation of a training, a row that does not exist or was never updated reads as zeros. It
// is a DamagedRow if a block of a file that a row needs is damaged.
func (r *RowReader) Read(signs []uint64, dst []float32) (missing int, err error) {
	for _, sign := range signs {
		place := r.place(sign)
		n := r.lengths[place]
		out := dst[:n]
		dst = dst[n:]
		f, row := r.find(sign)
		if row < 0 {
			clear(out)
			missing++
			continue
		}
		data, err := f.embedding(row, r.width(place))
		if err != nil {
			return missing, err
		}
		if data == nil {
			clear(out)
			continue
		}
		r.widen(place, out, data)
	}
	return missing, nil
}

// Missing returns the number of signs without a row. It reads no values.
func (r *RowReader) Missing(signs []uint64) (n int) {
	for _, sign := range signs {
		if _, row := r.find(sign); row < 0 {
			n++
		}
	}
	return n
}

// embedding returns the bytes of the embedding of a row, nil if it was never updated. It checks the blocks
// that it reads.
func (f *rowsFile) embedding(row, width int) ([]byte, error) {
	in, batch, i := f.seek(row)
	b, at := in.batches[batch], in.starts[batch]
	err := in.check(at.updates+4*i, 4)
	if err == nil && b.Updates[i] == 0 {
		return nil, nil
	}
	if err == nil {
		err = in.check(at.embeddings+i*width, width)
	}
	if err != nil {
		return nil, &DamagedRow{in.folder, err}
	}
	return b.Embeddings[i*width:][:width], nil
}

// DamagedRow is the error of reading a row that is not as it was written.
type DamagedRow struct {
	Folder string // of the model with the file
	Err    error  // names the file
}

// Error implements error.
func (d *DamagedRow) Error() string { return fmt.Sprintf("model %s: %v", d.Folder, d.Err) }

// Unwrap returns the error without the folder.
func (d *DamagedRow) Unwrap() error { return d.Err }

// Trained visits all rows that have been updated, with their signs. The embedding holds until the next row.
// Checkpoint.Verify must have been called: Trained checks nothing.
func (r *RowReader) Trained() iter.Seq2[uint64, []float32] { return r.TrainedOf(0) }

// TrainedOf is Trained of the rows whose embeddings have a number of values; 0: of all. It reads no others.
func (r *RowReader) TrainedOf(values int) iter.Seq2[uint64, []float32] {
	return func(yield func(sign uint64, embedding []float32) bool) {
		for shelf, f := range r.files {
			place := shelf % len(r.lengths)
			if values != 0 && r.lengths[place] != values {
				continue
			}
			embedding := make([]float32, r.lengths[place])
			width := r.width(place)
			for b := range f.batches() {
				for i, sign := range b.Signs {
					if b.Updates[i] == 0 {
						continue
					}
					r.widen(place, embedding, b.Embeddings[i*width:(i+1)*width])
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
	if hot := r.hot(); hot < len(r.files) {
		if row := r.files[hot].find(sign); row >= 0 {
			return r.files[hot], row
		}
	}
	f = r.files[r.shelf(sign)]
	return f, f.find(sign)
}

// hot returns the number that the file of hot rows has, if there is one.
func (r *RowReader) hot() int { return r.plan.Servers() * len(r.lengths) }

// place returns the place of the kind of a sign's row. A sign of no slot, which has no row, has the first.
func (r *RowReader) place(sign uint64) int { return max(r.dims.Place(sign), 0) }

// shelf returns the number of the file that has the row of a sign, if a PS has it.
func (r *RowReader) shelf(sign uint64) int { return r.plan.Owner(sign)*len(r.lengths) + r.place(sign) }

// width returns the bytes of an embedding of a kind of rows.
func (r *RowReader) width(place int) int {
	if r.precisions[place] != table.FP32 {
		return 2 * r.lengths[place]
	}
	return 4 * r.lengths[place]
}

// widen decodes an embedding of a kind of rows.
func (r *RowReader) widen(place int, dst []float32, data []byte) {
	for i := range dst {
		switch r.precisions[place] {
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
