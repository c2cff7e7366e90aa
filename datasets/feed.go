package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tandem/algo/job"
	"tandem/internal/filelock"
)

// Feed brings rows from elsewhere, as job.Data.From says, into the folder that a Stream follows, as files,
// and removes them when they are not needed any more. A file has its name when it is whole, so that a program
// that is killed leaves every row that it has received, and the next one trains on these first. A nil Feed
// brings nothing, because other programs write the files.
type Feed struct {
	folder string
	from   string // in messages
	lock   *os.File

	mu       sync.Mutex
	changed  *sync.Cond
	ahead    map[string]bool // the names of files that are whole and that no stream has looked at
	ended    bool            // no further file comes
	failed   error           // why, if the source has not ended by itself
	stopped  bool
	received int          // lines of the input that an earlier program has left in files or trained on
	cut      func() error // ends the file that is written; nil if the source has whole ones
}

// aheadMost is the number of files that are brought before they are trained on. A source that is faster
// waits.
const aheadMost = 8

// partName ends the names of files that are not whole.
const partName = ".part"

// StartFeed begins to bring rows into the folder of data. Files with the names in taken were trained on
// before, and are not brought again. Input is the standard input. It returns nil if data have no such source.
func StartFeed(ctx context.Context, data job.Data, dataDir string, input io.Reader, taken []string) (*Feed,
	error) {
	if data.From == "" {
		return nil, nil
	}
	folder, err := locate(dataDir, data.Path)
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	f := &Feed{folder: folder, from: data.From, ahead: map[string]bool{}}
	f.changed = sync.NewCond(&f.mu)
	if f.lock, err = os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if err := filelock.Try(f.lock); err != nil {
		return nil, errors.Join(fmt.Errorf("datasets: %s: another training brings rows into it: wait until "+
			"it has ended, or name another folder", folder), f.lock.Close())
	}
	known := map[string]bool{}
	for _, name := range taken {
		known[name] = true
	}
	switch {
	case data.From == job.FromInput:
		f.from = "standard input"
		err = f.startPipe(f.newPipe(&data), input, known)
	case data.FromTopic():
		err = f.startTopic(ctx, f.newPipe(&data), data.From, known)
	default:
		err = f.startObjects(ctx, data.From, known)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("datasets: %w", err), f.Stop())
	}
	return f, nil
}

// Stop ends a feed: rows that it has received and that are in no file yet become one.
func (f *Feed) Stop() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil
	}
	var err error
	if f.cut != nil {
		if err = f.cut(); err != nil {
			err = fmt.Errorf("datasets: the last rows of %s: %w", f.from, err)
		}
	}
	f.stopped = true
	f.changed.Broadcast()
	return errors.Join(err, f.lock.Close())
}

// Received returns the number of lines of the standard input, without a header, or of messages of a topic
// that an earlier training has received: what is read now follows them.
func (f *Feed) Received() int {
	if f == nil {
		return 0
	}
	return f.received
}

// over reports whether no further file comes, and why if that is not the end of the source.
func (f *Feed) over() (bool, error) {
	if f == nil {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended, f.failed
}

// take notes that a stream has looked at a file: it is trained on, or has no rows.
func (f *Feed) take(name string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ahead, name)
	f.changed.Broadcast()
}

// waitForRoom waits while there are many files that no stream has looked at. It reports false if the feed was
// stopped or has failed. The caller holds mu.
func (f *Feed) waitForRoom() bool {
	for len(f.ahead) >= aheadMost && !f.stopped && !f.ended {
		f.changed.Wait()
	}
	return !f.stopped && !f.ended
}

// end notes that no further file comes, because of an error or, if it is nil, at the end of the source. The
// caller holds mu.
func (f *Feed) end(err error) {
	if f.ended {
		return
	}
	if f.ended = true; err != nil {
		f.failed = fmt.Errorf("datasets: %w", err)
	}
	f.changed.Broadcast()
}

// finish gives a file that was written its name. Both are on the disk when it returns. The caller holds mu.
func (f *Feed) finish(part *os.File) error {
	err := part.Sync()
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	name := strings.TrimSuffix(part.Name(), partName)
	if err := os.Rename(part.Name(), name); err != nil {
		return err
	}
	f.ahead[filepath.Base(name)] = true
	return syncFolder(f.folder)
}

// syncFolder writes the names in a folder through to the disk.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// countAhead counts the files of the folder that are whole and not known.
func (f *Feed) countAhead(known map[string]bool) (names []string, err error) {
	entries, err := os.ReadDir(f.folder)
	for _, e := range entries {
		if e.IsDir() || !isWhole(e.Name()) {
			continue
		}
		if names = append(names, e.Name()); !known[e.Name()] {
			f.ahead[e.Name()] = true
		}
	}
	return names, err
}

// lines returns the number of line ends.
func lines(text []byte) int { return bytes.Count(text, []byte{'\n'}) }
