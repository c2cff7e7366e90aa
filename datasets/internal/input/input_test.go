package input

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

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
