// Package input reads the text of a file, compressed or not.
package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
)

// Input is decompressed text. It implements io.ReadCloser.
type Input struct {
	Name        string // for messages: the path of the file
	Compression string // "gzip", "zstd", or "" for plain text
	Encoding    string // "utf-16", or "" for UTF-8 and what cannot be told from it
	JSON        bool   // JSON lines: the text begins with an object
	Begin       int64  // where the text begins in a plain file: behind a byte-order mark
	// Failed is why Read failed, nil before that and at the end of the text. Parsers on top
	// of an Input can mistake a truncated last line for a bad row, so they check Failed.
	Failed  error
	text    io.Reader
	raw     *counter
	file    File // nil if the input is not a file
	decoder *zstd.Decoder
	read    int64
	limit   int64 // of the decompressed bytes of a file; 0 is none
}

// The text of a compressed file has at most expansionMax times the bytes of the file, and
// expansionFree more: text of rows is rarely compressed to a hundredth. Otherwise a small file could
// fill memory or disk.
const (
	expansionMax  = 500
	expansionFree = 64 << 20
)

// errExpansion says that a file exceeds the limit.
var errExpansion = fmt.Errorf("it decompresses to more than %d times its size and %d MiB, as no table does: "+
	"decompress it, if it is one", expansionMax, expansionFree>>20)

// zstdWindowMax bounds the memory that a zstd file can request: the window of zstd --long.
const zstdWindowMax = 128 << 20

// Open opens the text of a file.
func Open(path string) (*Input, error) {
	file, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	in, err := New(path, file)
	if err != nil {
		file.Close()
		return nil, err
	}
	in.file = file
	if size := file.Size(); in.Compression != "" && size > 0 {
		in.limit = expansionMax*size + expansionFree
	}
	return in, nil
}

// New returns the text of r, in UTF-8. The first bytes of r decide whether it is compressed, not the
// name, and whether it is UTF-16. A byte-order mark is skipped.
func New(name string, r io.Reader) (*Input, error) {
	in := &Input{Name: name, raw: &counter{Reader: r}}
	buffered := bufio.NewReaderSize(in.raw, 1<<16)
	// A file shorter than the magic bytes is plain text; a read error is returned again by
	// the next read.
	magic, _ := buffered.Peek(5)
	switch {
	case isParquet(magic):
		return nil, fmt.Errorf("%s: a Parquet file: describe its columns in a job file, with kind parquet",
			name)
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, in.Explain(err)
		}
		in.Compression = "gzip"
		buffered = bufio.NewReaderSize(unzipped, 1<<16)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		decoder, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(zstdWindowMax))
		if err != nil {
			return nil, in.Explain(err)
		}
		in.Compression, in.decoder = "zstd", decoder
		buffered = bufio.NewReaderSize(decoder, 1<<16)
	}
	begin, _ := buffered.Peek(5)
	named := isJSONName(name)
	if other := foreign(begin); other != "" && !named {
		return nil, fmt.Errorf("%s: %s", name, other)
	}
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		buffered.Discard(len(mark))
		in.Begin = int64(len(mark))
	}
	// The first line can be for spreadsheets, as sep=; says. Its end stays, so that lines keep their numbers.
	if hint, _ := buffered.Peek(6); len(hint) == 6 && bytes.HasPrefix(hint, []byte("sep=")) &&
		(hint[5] == '\r' || hint[5] == '\n') {
		buffered.Discard(5)
		in.Begin += 5
	}
	first, _ := buffered.Peek(4)
	if order, ok := utf16Order(first); ok {
		in.Encoding = "utf-16"
		buffered = bufio.NewReader(unicode.UTF16(order, unicode.UseBOM).NewDecoder().Reader(buffered))
	}
	in.text, in.JSON = buffered, named || isJSONLines(buffered)
	return in, nil
}

// utf16Order returns the order of the bytes of UTF-16, by the first bytes of a text: a byte-order mark, or
// zeros around characters of ASCII, with which tables begin. It reports false for other encodings.
func utf16Order(first []byte) (unicode.Endianness, bool) {
	switch {
	case bytes.HasPrefix(first, []byte("\xff\xfe")):
		return unicode.LittleEndian, true
	case bytes.HasPrefix(first, []byte("\xfe\xff")):
		return unicode.BigEndian, true
	case len(first) < 4:
		return unicode.BigEndian, false
	case first[0] != 0 && first[1] == 0 && first[2] != 0 && first[3] == 0:
		return unicode.LittleEndian, true
	}
	return unicode.BigEndian, first[0] == 0 && first[1] != 0 && first[2] == 0 && first[3] != 0
}

// isParquet reports whether the first five bytes of a file are those of a Parquet file, and not of text.
func isParquet(magic []byte) bool {
	return len(magic) == 5 && bytes.HasPrefix(magic, []byte("PAR1")) && magic[4] < ' ' &&
		!bytes.ContainsAny(magic[4:], "\t\r\n")
}

// IsParquet reports whether a file is a Parquet file, by its first bytes. It reads nothing from a pipe, which
// could not be read again.
func IsParquet(path string) (bool, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return false, nil
	}
	file, err := OpenFile(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	magic := make([]byte, 5)
	if _, err := io.ReadFull(file, magic); err != nil {
		return false, nil // too short; reading it as text reports other errors
	}
	return isParquet(magic), nil
}

// isJSONName reports whether the name of a file says that it has JSON lines, so that one whose first line is
// bad has them, too.
func isJSONName(name string) bool {
	for _, compressed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, compressed)
	}
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
}

// isJSONLines reports whether a text begins with an object with a member. It reads no further than to the
// byte that tells, because a pipe may wait for long.
func isJSONLines(text *bufio.Reader) bool {
	opened := false
	for n := 1; ; n++ {
		begin, err := text.Peek(n)
		if err != nil { // the end, or more blanks than the buffer holds
			return false
		}
		switch c := begin[n-1]; {
		case opened && c == '"':
			return true
		case c == ' ' || c == '\t' || !opened && (c == '\r' || c == '\n'):
		case c == '{' && !opened:
			opened = true
		default:
			return false
		}
	}
}

// foreign says what to do with a file that is no text of rows, by its first bytes; "" if it may be one.
func foreign(magic []byte) string {
	const json = "JSON, but not an object in each line: write each row as one, in a line of its own"
	const web = "a page of the web, or XML: download the table itself, or save it as CSV"
	for _, kind := range []struct{ begin, is string }{
		{"PK\x03\x04", "a zip archive, or a spreadsheet: unpack it, or save it as CSV"},
		{"BZh9", "compressed with bzip2: decompress it, or use gzip or zstd"},
		{"\xfd7zXZ", "compressed with xz: decompress it, or use gzip or zstd"},
		{"[{\"", json},
		{"{\n", json},
		{"[\n", json},
		{"<!DOC", web}, {"<!doc", web}, {"<html", web}, {"<HTML", web}, {"<?xml", web},
	} {
		if bytes.HasPrefix(magic, []byte(kind.begin)) {
			return kind.is
		}
	}
	return ""
}

// Plain returns an input of text that is not compressed.
func Plain(name string, text io.Reader) *Input { return &Input{Name: name, text: text} }

// Read reads decompressed text.
func (in *Input) Read(p []byte) (int, error) {
	n, err := in.text.Read(p)
	if in.read += int64(n); in.limit > 0 && in.read > in.limit {
		err = errExpansion
	}
	if err != nil && err != io.EOF {
		in.Failed = err
	}
	return n, err
}

// Position returns how many bytes of the file have been read, some of them ahead, and how many it has. Both
// are 0 if the input is not a file, or is a pipe. It may be called while another goroutine reads.
func (in *Input) Position() (read, size int64) {
	if in.file == nil || in.file.Size() == 0 {
		return 0, 0
	}
	return in.raw.bytes.Load(), in.file.Size()
}

// counter counts what is read.
type counter struct {
	io.Reader
	bytes atomic.Int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// Close closes the file and releases the decoder.
func (in *Input) Close() error {
	if in.decoder != nil {
		in.decoder.Close()
	}
	if in.file != nil {
		return in.file.Close()
	}
	return nil
}

// Explain wraps an error of reading the input and tells the user what to do.
func (in *Input) Explain(err error) error {
	var tooLong *RowTooLong
	switch {
	case errors.As(err, &tooLong):
		return fmt.Errorf("%s:%d: %w", in.Name, tooLong.Line, err)
	case errors.Is(err, errExpansion):
		return fmt.Errorf("%s: %w", in.Name, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: compressed data ends early: %w: copy or download the file again", in.Name, err)
	default:
		return fmt.Errorf("%s: cannot read: %w: check that the file is whole", in.Name, err)
	}
}
