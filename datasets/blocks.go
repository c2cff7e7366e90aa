package datasets

import (
	"bytes"
	"io"
	"sync"
)

// blockBytes is the size of the blocks that a file is cut into: enough to hide
// the handing over, little enough to stay in a core's cache.
const blockBytes = 1 << 18

// rowFormat is how text is cut into rows, and rows are decoded. Several
// goroutines use it at once.
type rowFormat interface {
	// end returns where the last whole row of data ends, 0 if none does; data
	// begins with a row.
	end(data []byte) int
	// rows decodes the rows of a block, as long as they are wanted.
	rows(b *block)
}

// block is a piece of a file that begins and ends with a row.
type block struct {
	data  []byte
	first bool // of its file
	skip  int  // bad rows that are allowed in all files together

	done  chan struct{} // closed when the rest is there
	lines int
	out   columns
	bad   []*BadRowError // without the file; lines counted from the block's first
	err   error          // why the rows end before the data do; a rowTooLong counts from the first line
}

// wanted says whether the block may still hold rows that matter: after one bad
// row more than is allowed, whatever follows is not reported.
func (b *block) wanted() bool { return len(b.bad) <= b.skip }

// drop notes a bad row of a line.
func (b *block) drop(bad *BadRowError, line int) {
	bad.Line = line
	b.bad = append(b.bad, bad)
}

// blockCutter cuts an input into blocks.
type blockCutter struct {
	in    *input
	end   func([]byte) int // as rowFormat's
	size  int              // of a block, unless a row is longer
	skip  int              // as block's
	line  int              // lines before the first block
	begun bool             // there was a block
	rest  []byte           // the beginning of a row
	ended bool
	free  sync.Pool // of *[]byte
}

// next returns the data of the next block: io.EOF after the last, or why the
// input cannot be read on.
func (c *blockCutter) next() ([]byte, error) {
	if c.ended {
		if c.in.failed != nil {
			return nil, c.in.failed
		}
		return nil, io.EOF
	}
	buffer, ok := c.free.Get().(*[]byte)
	if !ok || len(*buffer) <= len(c.rest) {
		buffer = new(make([]byte, max(c.size, 2*len(c.rest))))
	}
	return c.fill(*buffer)
}

// fill reads on into a buffer, which grows until it holds a whole row, or more than a row can be.
func (c *blockCutter) fill(buffer []byte) ([]byte, error) {
	n := copy(buffer, c.rest)
	for {
		read, err := io.ReadFull(c.in, buffer[n:])
		n += read
		switch {
		case err != nil && c.in.failed == nil: // the end: it needs no line end
			c.ended = true
			if n == 0 {
				return nil, io.EOF
			}
			return buffer[:n], nil
		case err != nil:
			c.ended = true
			if whole := c.end(buffer[:n]); whole > 0 {
				return buffer[:whole], nil
			}
			return c.next()
		}
		if whole := c.end(buffer); whole > 0 {
			c.rest = append(c.rest[:0], buffer[whole:]...)
			return buffer[:whole], nil
		}
		if n >= rowBytesMax+len("\r\n") {
			c.ended = true
			return nil, &rowTooLong{1}
		}
		buffer = append(buffer, make([]byte, len(buffer))...)
	}
}

// recycle takes the data of a block that is no longer used.
func (c *blockCutter) recycle(data []byte) {
	data = data[:cap(data)]
	c.free.Put(&data)
}

// block returns the next block; nil after the last. One that cannot be read has
// an error and no data.
func (c *blockCutter) block() *block {
	data, err := c.next()
	if err == io.EOF {
		return nil
	}
	b := &block{data: data, err: err, skip: c.skip, first: !c.begun, done: make(chan struct{})}
	c.begun = true
	return b
}

// decodeBlocks has so many goroutines decode the blocks from begun on, which may
// be nil, and gives them to join in the order of the file. It returns the first
// error of join and leaves no goroutine.
//
// Memory: the data of at most three blocks a worker.
func decodeBlocks(c *blockCutter, f rowFormat, begun *block, workers int, join func(*block) error) error {
	work, ordered, stop := make(chan *block), make(chan *block, 2*workers), make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	running.Go(func() {
		defer close(work)
		defer close(ordered)
		for b := begun; b != nil; b = c.block() {
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
				f.rows(b)
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
