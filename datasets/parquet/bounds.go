package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Limits of the claims of a file, far above the needs of any writer.
const (
	footerMax     = 256 << 20 // bytes
	pageHeaderMax = 1 << 20   // bytes
	// A page can become 64 times as large as in the file, or 64 MiB.
	pageGrowthMax = 64
	pageBytesMax  = 64 << 20
	// A file can have 64 values per byte, or 16 Mi values: constants take almost no bytes.
	valuesPerByteMax = 64
	valuesMax        = 16 << 20
)

// trailerBytes is the size of the end of a file: the length of the footer, and the magic.
const trailerBytes = 8

// checkFooter returns an error if the footer claims more than the file has. Cost: reading the
// footer once.
func checkFooter(file io.ReaderAt, size int64) error {
	if size < 2*trailerBytes {
		return fmt.Errorf("%d bytes", size)
	}
	var trailer [trailerBytes]byte
	if _, err := file.ReadAt(trailer[:], size-trailerBytes); err != nil {
		return err
	}
	if magic := string(trailer[4:]); magic != "PAR1" {
		return fmt.Errorf("it ends with %q, want PAR1", magic)
	}
	length := int64(binary.LittleEndian.Uint32(trailer[:]))
	if most := min(size-trailerBytes-4, footerMax); length > most {
		return fmt.Errorf("a footer of %d bytes, want at most %d", length, most)
	}
	footer := make([]byte, length)
	if _, err := file.ReadAt(footer, size-trailerBytes-length); err != nil {
		return err
	}
	if _, err := thriftBytes(footer); err != nil {
		return fmt.Errorf("its footer: %w", err)
	}
	return nil
}

// bounds checks the pages of columns before the library allocates memory for them. It is safe
// for concurrent use.
type bounds struct {
	file io.ReaderAt
	size int64
	left atomic.Int64 // values that further pages can have
}

func newBounds(file io.ReaderAt, size int64) *bounds {
	b := &bounds{file: file, size: size}
	b.left.Store(max(valuesPerByteMax*size, valuesMax))
	return b
}

// check returns an error if the chunk of a column claims more than the file has. Cost: reading
// and decompressing its pages.
func (b *bounds) check(c *column, chunk *format.ColumnChunk) error {
	meta := &chunk.MetaData
	at := meta.DataPageOffset
	if d := meta.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	if at < 0 || meta.TotalCompressedSize < 0 || at > b.size || meta.TotalCompressedSize > b.size-at {
		return fmt.Errorf("%w (%d bytes of pages from byte %d, in a file of %d)", errDamaged,
			meta.TotalCompressedSize, at, b.size)
	}
	var u unpacker
	var packed []byte
	for end := at + meta.TotalCompressedSize; at < end; {
		header, length, err := b.pageHeader(at, end)
		if err != nil {
			return fmt.Errorf("%w (the page at byte %d: %w)", errDamaged, at, err)
		}
		if err := b.page(header, end-at-length); err != nil {
			return fmt.Errorf("%w (the page at byte %d: %w)", errDamaged, at, err)
		}
		packed = slices.Grow(packed[:0], int(header.CompressedPageSize))[:header.CompressedPageSize]
		if _, err := b.file.ReadAt(packed, at+length); err != nil {
			return err
		}
		if err := c.payload(header, meta.Codec, packed, &u); err != nil {
			return fmt.Errorf("%w (the page at byte %d: %w)", errDamaged, at, err)
		}
		at += length + int64(header.CompressedPageSize)
	}
	return nil
}

// pageHeader returns the header of the page at a position, and its length.
func (b *bounds) pageHeader(at, end int64) (*format.PageHeader, int64, error) {
	for size := int64(512); ; size *= 8 {
		data := make([]byte, min(size, end-at))
		if _, err := b.file.ReadAt(data, at); err != nil {
			return nil, 0, err
		}
		n, err := thriftBytes(data)
		switch {
		case errors.Is(err, errShort) && size < min(pageHeaderMax, end-at):
			continue // read more of it
		case err != nil:
			return nil, 0, fmt.Errorf("its header: %w", err)
		}
		header := new(format.PageHeader)
		return header, int64(n), thrift.Unmarshal(new(thrift.CompactProtocol), data[:n], header)
	}
}

// page checks the claims of a header, given the number of bytes of the column behind it.
func (b *bounds) page(h *format.PageHeader, left int64) error {
	packed, whole := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if packed < 0 || packed > left {
		return fmt.Errorf("%d bytes, of %d", packed, left)
	}
	if whole < 0 || whole > max(pageGrowthMax*packed, pageBytesMax) {
		return fmt.Errorf("%d bytes that decompress to %d: write smaller pages", packed, whole)
	}
	values := int64(0)
	switch {
	case h.DataPageHeader.Valid:
		values = int64(h.DataPageHeader.V.NumValues)
	case h.DataPageHeaderV2.Valid:
		values = int64(h.DataPageHeaderV2.V.NumValues)
	case h.DictionaryPageHeader.Valid:
		values = int64(h.DictionaryPageHeader.V.NumValues)
	}
	if values < 0 || b.left.Add(-values) < 0 {
		return fmt.Errorf("%d values, in a file of %d bytes", values, b.size)
	}
	return nil
}
