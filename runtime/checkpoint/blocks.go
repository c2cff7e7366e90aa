package checkpoint

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync/atomic"
)

// blockBytes is the size of the blocks of a file of rows that have a checksum each: a page, so that checking
// what a lookup reads reads no more from a disk than the lookup.
const blockBytes = 4096

// blockSumBytes is the size of a checksum.
const blockSumBytes = 4

// castagnoli is the polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blocksFile returns the name of the file with the checksums of the blocks of a file of rows.
func blocksFile(rows string) string { return rows + ".crc32c" }

// writeRowsFile creates a file of rows, which content writes, and the file of its blocks.
func writeRowsFile(fs fileSystem, folder, name string, content func(io.Writer) error) ([]File, error) {
	blocks := new(blockWriter)
	rows, err := writeFile(fs, folder, name, func(out io.Writer) error {
		return content(io.MultiWriter(out, blocks))
	})
	if err != nil {
		return nil, err
	}
	sums, err := writeFile(fs, folder, blocksFile(name), func(out io.Writer) error {
		_, err := out.Write(blocks.end())
		return err
	})
	return []File{rows, sums}, err
}

// blockWriter computes the checksums of the blocks of what is written to it.
type blockWriter struct {
	sums   []byte
	sum    uint32 // of the block that has begun
	filled int    // its bytes
}

// Write implements io.Writer.
func (w *blockWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), blockBytes-w.filled)
		w.sum = crc32.Update(w.sum, castagnoli, rest[:n])
		w.filled += n
		if rest = rest[n:]; w.filled == blockBytes {
			w.next()
		}
	}
	return len(p), nil
}

// next ends a block.
func (w *blockWriter) next() {
	w.sums = binary.LittleEndian.AppendUint32(w.sums, w.sum)
	w.sum, w.filled = 0, 0
}

// end returns the checksums of all blocks, of which the last may be shorter.
func (w *blockWriter) end() []byte {
	if w.filled > 0 {
		w.next()
	}
	return w.sums
}

// blocks checks a file that is mapped into memory, block by block, before its bytes are used. A nil one
// checks nothing: models had no checksums of blocks once. Several goroutines may use it.
type blocks struct {
	data   []byte
	sums   []byte
	intact []atomic.Uint64 // a bit for each block that was found to be as it was written
	failed atomic.Bool     // a block was found not to be
}

// newBlocks returns the blocks of a file whose checksums are known to be as they were written.
func newBlocks(data, sums []byte) (*blocks, error) {
	count := (len(data) + blockBytes - 1) / blockBytes
	if len(sums) != count*blockSumBytes {
		return nil, fmt.Errorf("%d bytes for %d blocks", len(sums), count)
	}
	return &blocks{data: data, sums: sums, intact: make([]atomic.Uint64, (count+63)/64)}, nil
}

// check returns an error unless the blocks with the bytes [lo, hi) are as they were written.
func (b *blocks) check(lo, hi int) error {
	if b == nil {
		return nil
	}
	for i := lo / blockBytes; i*blockBytes < hi; i++ {
		if b.intact[i/64].Load()>>(i%64)&1 != 0 {
			continue
		}
		if err := b.verify(i); err != nil {
			return err
		}
	}
	return nil
}

// damaged reports whether a block was found not to be as it was written.
func (b *blocks) damaged() bool { return b != nil && b.failed.Load() }

// verify checks a block.
func (b *blocks) verify(i int) error {
	lo, hi := i*blockBytes, min((i+1)*blockBytes, len(b.data))
	if crc32.Checksum(b.data[lo:hi], castagnoli) != binary.LittleEndian.Uint32(b.sums[i*blockSumBytes:]) {
		b.failed.Store(true)
		return fmt.Errorf("bytes %d to %d: %w", lo, hi, errDamaged)
	}
	b.intact[i/64].Or(1 << (i % 64))
	return nil
}
