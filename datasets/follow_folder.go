package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/algo/job"
	"tandem/datasets/internal/input"
)

// FirstFile waits until a folder has a complete file, by a rule of job.Data.Complete, with which use returns
// no ErrNoRows, and returns the path and the error of use. A file without rows, but not one without a byte,
// is passed over, unless it changes. It calls waiting, now and then, with the time that it has waited. The
// end of the feed of the folder, which may be nil, is an error.
func FirstFile(ctx context.Context, folder, complete string, feed *Feed, use func(path string) error,
	waiting func(time.Duration)) (string, error) {
	passed := map[string]arrival{}
	for begun := time.Now(); ; {
		over, failed := feed.over()
		name, err := nextFile(folder, complete, func(name string) bool {
			before, ok := passed[name]
			now, err := identify(filepath.Join(folder, name), name)
			return ok && err == nil && now == before
		})
		if err != nil {
			return "", fmt.Errorf("datasets: %w", err)
		}
		if name != "" {
			path := filepath.Join(folder, name)
			now, err := identify(path, name)
			if err != nil {
				return "", fmt.Errorf("datasets: %w", err)
			}
			if err = use(path); !errors.Is(err, ErrNoRows) || now.Bytes == 0 {
				return path, err
			}
			passed[name] = now
			feed.take(name)
			continue
		}
		if over && failed == nil {
			failed = fmt.Errorf("datasets: %s has ended: %w", feed.from, ErrNoRows)
		}
		if over {
			return "", failed
		}
		waiting(time.Since(begun))
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// nextFile returns the first name of a complete file of a folder that was not taken, or "".
func nextFile(folder, complete string, taken func(name string) bool) (string, error) {
	entries, err := os.ReadDir(folder) // by name
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: no such folder: make it, or check the path", folder)
	}
	if err != nil {
		return "", err
	}
	next := ""
	for _, e := range entries {
		if e.IsDir() || e.Type()&unread != 0 || !isWhole(e.Name()) {
			continue
		}
		if next != "" {
			return next, nil // another follows it
		}
		if taken(e.Name()) {
			continue
		}
		if next = e.Name(); complete != job.CompleteFollowed {
			return next, nil
		}
	}
	return "", nil
}

// unread are the types of entries that are not regular files, or may block when they are opened.
const unread = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice

// isWhole reports whether a name is not one of those that programs give to files which they write.
func isWhole(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") &&
		!strings.HasSuffix(name, ".tmp") && !strings.HasSuffix(name, ".part")
}

// checkLastLine returns an error, with the number of the line, if the last line of plain text has no end. The
// file was taken by a rule of job.Data.Complete.
func checkLastLine(path, complete string) error {
	in, err := input.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	if in.Compression+in.Encoding != "" {
		return nil // what is torn there cannot be read
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	last := make([]byte, 1)
	if _, err := file.Seek(-1, io.SeekEnd); err != nil {
		return fmt.Errorf("%s:1: the file is empty: rename files into the folder when they are written", path)
	}
	if _, err := file.Read(last); err != nil || last[0] == '\n' {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	advice := "rename files into the folder when they are whole"
	if complete != job.CompleteFollowed {
		advice += ", or set complete: " + job.CompleteFollowed
	}
	return fmt.Errorf("%s:%d: the line is torn, as it has no line end: %s", path,
		bytes.Count(text, []byte{'\n'})+1, advice)
}
