package input

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A small file cannot fill the memory with what it decompresses to.
func TestExpansionIsBounded(t *testing.T) {
	open := func(rows int) error {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		io.WriteString(w, strings.Repeat("1 3:1\n", rows))
		w.Close()
		path := filepath.Join(t.TempDir(), "rows.gz")
		if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		in, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		reader := NewLineReader(in)
		for lines := 0; ; lines++ {
			if _, err := reader.NextLine(); err == io.EOF {
				if lines != rows {
					t.Errorf("%d lines, want %d", lines, rows)
				}
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	if err := open(10 << 20); err != nil { // 60 MiB
		t.Error(err)
	}
	if err := open(50 << 20); err == nil || !strings.Contains(err.Error(), "decompresses to more than 500") {
		t.Errorf("300 MiB of one line: error %v", err)
	}
}

// A zstd file that requests more memory than zstd --long is refused.
func TestZstdWindowIsBounded(t *testing.T) {
	decompress := func(window int) error {
		var file bytes.Buffer
		w, err := zstd.NewWriter(&file, zstd.WithWindowSize(window))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, strings.Repeat("1 3:1\n", 1<<17))
		w.Close()
		in, err := New("file", &file)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(io.Discard, in)
		return err
	}
	if err := decompress(zstdWindowMax); err != nil {
		t.Errorf("a window of %d bytes: %v", zstdWindowMax, err)
	}
	if err := decompress(2 * zstdWindowMax); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a window of %d bytes: error %v", 2*zstdWindowMax, err)
	}
}
