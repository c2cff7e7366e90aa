package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// openInput opens a file, compressed or not.
func openInput(path string) (*input, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	in, err := newInput(path, file)
	if err != nil {
		file.Close()
		return nil, err
	}
	in.file = file
	return in, nil
}

// openFile opens a file; the error says what to do.
func openFile(path string) (*os.File, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMissing(path)
	}
	return file, err // names the path
}

// errMissing returns the error of a file that is not there.
func errMissing(path string) error {
	return fmt.Errorf("%s: %w: check the path, or TANDEM_DATA if it is relative", path, fs.ErrNotExist)
}

// input is decompressed text with a name for messages.
type input struct {
	name    string
	text    io.Reader
	packed  string    // "gzip", "zstd" or empty
	failed  error     // why Read failed, other than at the end
	file    io.Closer // nil if the input is not a file
	decoder *zstd.Decoder
}

// zstdWindowMax is the memory that a file of zstd may ask for: that of zstd --long.
const zstdWindowMax = 128 << 20

// newInput decompresses r if its first bytes are those of gzip or zstd, whatever
// the name says, and drops a byte-order mark.
func newInput(name string, r io.Reader) (*input, error) {
	in := &input{name: name}
	buffered := bufio.NewReaderSize(r, 1<<16)
	// A file shorter than the magic is plain text; a read error comes back on
	// the next read.
	magic, _ := buffered.Peek(5)
	switch {
	case len(magic) == 5 && bytes.HasPrefix(magic, []byte("PAR1")) && magic[4] < ' ' && !bytes.ContainsAny(magic[4:], "\t\r\n"):
		return nil, fmt.Errorf("%s: a Parquet file: describe its columns in a job file, with kind parquet", name)
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, in.explain(err)
		}
		in.packed = "gzip"
		buffered = bufio.NewReaderSize(unzipped, 1<<16)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(zstdWindowMax))
		if err != nil {
			return nil, in.explain(err)
		}
		in.packed, in.decoder = "zstd", decoder
		buffered = bufio.NewReaderSize(decoder, 1<<16)
	}
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		buffered.Discard(len(mark))
	}
	in.text = buffered
	return in, nil
}

// Read reads decompressed text. Parsers on top may mistake a cut last line for a
// bad row, so an error is also kept in failed.
func (in *input) Read(p []byte) (int, error) {
	n, err := in.text.Read(p)
	if err != nil && err != io.EOF {
		in.failed = err
	}
	return n, err
}

// Close releases the file and the decoder.
func (in *input) Close() error {
	if in.decoder != nil {
		in.decoder.Close()
	}
	if in.file != nil {
		return in.file.Close()
	}
	return nil
}

// explain turns an error of reading the input into one that says what to do.
func (in *input) explain(err error) error {
	var tooLong *rowTooLong
	switch {
	case errors.As(err, &tooLong):
		return fmt.Errorf("%s:%d: %w", in.name, tooLong.line, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: compressed data ends early: %w: copy or download the file again", in.name, err)
	default:
		return fmt.Errorf("%s: cannot read: %w: check that the file is whole", in.name, err)
	}
}
