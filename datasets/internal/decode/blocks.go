package decode

import (
	"bytes"
	"io"
	"sync"

	"tandem/datasets/internal/input"
)

// BlockBytes is the size of a block: large enough to hide the cost of passing it to another
// goroutine, small enough for the cache of a core.
const BlockBytes = 1 << 18

// rowFormat splits text into rows and decodes them. It is safe for concurrent use.
type rowFormat interface {
	// rowsEnd returns the end of the last whole row of data, or 0. Data begin with a row.
	rowsEnd(data []byte) int
	// decodeRows decodes the rows of a block while block.isWanted.
	decodeRows(b *block)
}

// block is a part of a file that begins and ends with a row.
type block struct {
	data  []byte
	first bool  // of its file
	skip  int   // bad rows that are allowed
	end   int64 // bytes of the input up to the end of the data

	done  chan struct{} // closed when the fields below are set
	lines int
	out   columns
	bad   []*BadRow // lines are counted from the first of the block
	err   error     // why decoding stopped; a RowTooLong counts lines from the first of the block
}

// isWanted reports whether further rows of the block matter: after one bad row more than is
// allowed, nothing is reported.
func (b *block) isWanted() bool { return len(b.bad) <= b.skip }

// addBad adds a bad row.
func (b *block) addBad(bad *BadRow, line int) {
	bad.Line = line
	b.bad = append(b.bad, bad)
}

// blockCutter splits an input into blocks.
type blockCutter struct {
	in       *input.Input
	rowsEnd  func([]byte) int // of the rowFormat
	size     int              // of a block, unless a row is longer
	skip     int              // bad rows that are allowed
	line     int              // lines before the first block
	hasBegun bool             // there was a block
	rest     []byte           // the beginning of the next row
	taken    int64            // bytes in blocks so far
	ended    bool
	free     sync.Pool // of *[]byte
}

// nextData returns the data of the next block, io.EOF after the last, or the error of the
// input.
func (c *blockCutter) nextData() ([]byte, error) {
	if c.ended {
		if c.in.Failed != nil {
			return nil, c.in.Failed
		}
		return nil, io.EOF
	}
	buffer, ok := c.free.Get().(*[]byte)
	if !ok || len(*buffer) <= len(c.rest) {
		buffer = new(make([]byte, max(c.size, 2*len(c.rest))))
	}
	return c.fill(*buffer)
}

// fill reads into a buffer, which grows until it holds a whole row or exceeds the longest row.
func (c *blockCutter) fill(buffer []byte) ([]byte, error) {
	n := copy(buffer, c.rest)
	for {
		read, err := io.ReadFull(c.in, buffer[n:])
		n += read
		switch {
		case err != nil && c.in.Failed == nil: // the last row needs no line end
			c.ended = true
			if n == 0 {
				return nil, io.EOF
			}
			return buffer[:n], nil
		case err != nil:
			c.ended = true
			if whole := c.rowsEnd(buffer[:n]); whole > 0 {
				return buffer[:whole], nil
			}
			return c.nextData()
		}
		if whole := c.rowsEnd(buffer); whole > 0 {
			c.rest = append(c.rest[:0], buffer[whole:]...)
			return buffer[:whole], nil
		}
		if n >= input.RowBytesMax+len("\r\n") {
			c.ended = true
			return nil, &input.RowTooLong{Line: 1}
		}
		buffer = append(buffer, make([]byte, len(buffer))...)
	}
}

// recycle returns the data of a block for reuse.
func (c *blockCutter) recycle(data []byte) {
	data = data[:cap(data)]
	c.free.Put(&data)
}

// nextBlock returns the next block, or nil after the last. If the input cannot be read, the
// block has an error and no data.
func (c *blockCutter) nextBlock() *block {
	data, err := c.nextData()
	if err == io.EOF {
		return nil
	}
	c.taken += int64(len(data))
	b := &block{data: data, err: err, skip: c.skip, first: !c.hasBegun, end: c.taken,
		done: make(chan struct{})}
	c.hasBegun = true
	return b
}

// decodeBlocks decodes the blocks from first on, which may be nil, on a number of goroutines
// and calls join with every block in the order of the file. It returns the first error of
// join, after all its goroutines have ended.
//
// Memory: the data of at most three blocks per goroutine.
func decodeBlocks(c *blockCutter, f rowFormat, first *block, workers int, join func(*block) error) error {
	work, ordered, stop := make(chan *block), make(chan *block, 2*workers), make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	running.Go(func() {
		defer close(work)
		defer close(ordered)
		for b := first; b != nil; b = c.nextBlock() {
			for _, to := range []chan<- *block{ordered, work} {
				select {
				case to <- b:
				case <-stop:
					return
				}
			}
		}
	})
	for range workers {
		running.Go(func() {
			for b := range work {
				b.lines = bytes.Count(b.data, []byte{'\n'})
				f.decodeRows(b)
				close(b.done)
			}
		})
	}
	for b := range ordered {
		<-b.done
		if err := join(b); err != nil {
			return err
		}
		c.recycle(b.data)
	}
	return nil
}
