package reread

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Files are files that make one value together. Its methods may be called from any goroutine.
type Files[T any] struct {
	paths []string
	parse func(contents [][]byte) (T, error)
	log   func(line string)

	mu       sync.Mutex
	at       time.Time // when they were read last
	contents [][]byte  // as they were then
	latest   T
}

// every is how long what was read is used: whoever opens a connection makes a program look at its files, and
// strangers open many.
const every = time.Second

// Open reads files. They are read again by Latest, but not within a second after the last read. log receives
// a line when files that have changed cannot be used.
func Open[T any](paths []string, parse func([][]byte) (T, error), log func(line string)) (*Files[T], error) {
	f := &Files[T]{paths: paths, parse: parse, log: log, at: time.Now()}
	var err error
	if f.contents, err = read(paths); err != nil {
		return nil, err
	}
	f.latest, err = parse(f.contents)
	return f, err
}

// read reads files.
func read(paths []string) (contents [][]byte, err error) {
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// Latest returns what the files said within the last second or, if they cannot be used, what they said
// before.
func (f *Files[T]) Latest() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.at) >= every {
		f.at = now
		f.update()
	}
	return f.latest
}

// update reads the files again. The caller holds f.mu.
func (f *Files[T]) update() {
	contents, err := read(f.paths)
	if err != nil || slices.EqualFunc(contents, f.contents, bytes.Equal) {
		return // a file is absent for a moment while it is replaced
	}
	f.contents = contents
	fresh, err := f.parse(contents)
	if err != nil {
		f.log(fmt.Sprintf("%s has changed and cannot be used: %v; what it said before stays", f.paths[0],
			err))
		return
	}
	f.latest = fresh
}
