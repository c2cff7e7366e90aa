// Package inputtest counts the files that readers of package input open and close.
package inputtest

import (
	"os"
	"strings"

	"tandem/datasets/internal/input"
)

// Scheme is what a path begins with whose file is counted.
const Scheme = "counted://"

// Files are how many files are open, and how many have been opened.
type Files struct{ Open, Opened int }

// Counted makes package input open the files whose paths begin with Scheme, and counts them. They are opened
// and closed by one goroutine.
func Counted() *Files {
	f := &Files{}
	input.RegisterURLs(strings.TrimSuffix(Scheme, "://"), func(url string) (input.File, error) {
		opened, err := os.Open(strings.TrimPrefix(url, Scheme))
		if err != nil {
			return nil, err
		}
		info, err := opened.Stat()
		if err != nil {
			return nil, err
		}
		f.Open++
		f.Opened++
		return file{opened, info.Size(), f}, nil
	})
	return f
}

// file is an input.File that counts its end.
type file struct {
	*os.File
	size int64
	of   *Files
}

// Size implements input.File.
func (f file) Size() int64 { return f.size }

// Close implements io.Closer.
func (f file) Close() error {
	f.of.Open--
	return f.File.Close()
}
