package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"
)

// Index knows where the rows of a file of plain text are, block by block, so that they can be
// decoded again in any order. Only good rows count. It is immutable and safe for concurrent
// use.
//
// Memory: about 32 bytes per block.
type Index struct {
	name   string
	schema *batch.Schema
	rows   rowFormat
	places []place
	counts []int // rows before each block, and after the last
}

// place is where the text of a block is in its file.
type place struct {
	offset int64
	bytes  int
}

// Index decodes an input of plain text as Read does. It keeps no rows, but calls use with the
// rows of every block, in the order of the file. An error of use ends it.
func (f Format) Index(in *input.Input, skip Skip, workers, blockBytes int,
	use func(rows *batch.Batch) error) (*Index, error) {
	x := &Index{name: in.Name, schema: &f.Schema, counts: []int{0}}
	var err error
	x.rows, err = f.decode(in, skip, workers, blockBytes, func(b *block) error {
		all := newJoiner(x.schema)
		if err := all.add(b.out); err != nil {
			return err
		}
		x.places = append(x.places, place{in.Begin + b.end - int64(len(b.data)), len(b.data)})
		x.counts = append(x.counts, x.Samples()+b.out.samples)
		if x.Samples() > math.MaxInt32 {
			return fmt.Errorf("more than %d rows: split the file", math.MaxInt32)
		}
		return use(all.batch(1))
	})
	return x, err
}

// Samples returns the number of rows.
func (x *Index) Samples() int { return x.counts[len(x.counts)-1] }

// Blocks returns the number of blocks.
func (x *Index) Blocks() int { return len(x.places) }

// Range returns the numbers of the rows of a block, lo to hi−1.
func (x *Index) Range(number int) (lo, hi int) { return x.counts[number], x.counts[number+1] }

// errChanged says that a block has other rows than it had.
var errChanged = errors.New("the file has changed since it was opened: start again")

// Read decodes the rows of a block again.
func (x *Index) Read(file io.ReaderAt, number int) (*batch.Batch, error) {
	at := x.places[number]
	b := &block{data: make([]byte, at.bytes), first: number == 0, skip: math.MaxInt}
	if n, err := file.ReadAt(b.data, at.offset); n < at.bytes {
		if err == io.EOF {
			err = errChanged
		}
		return nil, fmt.Errorf("%s: %w", x.name, err)
	}
	b.lines = bytes.Count(b.data, []byte{'\n'})
	x.rows.decodeRows(b)
	lo, hi := x.Range(number)
	if b.err != nil || b.out.samples != hi-lo {
		return nil, fmt.Errorf("%s: %w", x.name, errChanged)
	}
	all := newJoiner(x.schema)
	if err := all.add(b.out); err != nil {
		return nil, fmt.Errorf("%s: %w", x.name, err)
	}
	return all.batch(1), nil
}
