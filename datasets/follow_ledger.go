package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tandem/algo/numeric/batch"
)

// ledger says which files a stream has taken, in which order, and how their numbers are scaled. On disk it is
// a line of JSON with the scaling, and one for every file. A line is on the disk before a step of its file is
// trained, so that the number of trained steps, which a checkpoint has, says which rows these were.
type ledger struct {
	Scaling    []batch.Scaling `json:"scaling"` // of each numeric column; nil before the first file
	MeanWeight float64         `json:"mean-weight"`

	arrivals []arrival
	taken    map[string]bool // by name
	out      *os.File        // nil before create
}

// arrival is a file that was taken.
type arrival struct {
	File     string    `json:"file"` // its name in the folder
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	Rows     int       `json:"rows"` // without those that on-bad-row has left out
}

// identify returns a file without the number of its rows.
func identify(path, name string) (arrival, error) {
	info, err := os.Stat(path)
	if err != nil {
		return arrival{}, err
	}
	return arrival{File: name, Bytes: info.Size(), Modified: info.ModTime().UTC()}, nil
}

// readLedger reads the ledger in a file. It leaves out a last line that was not written to its end.
func readLedger(path string) (l ledger, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return l, fmt.Errorf("%w: it says which files were trained on, and lies beside the folder of the "+
			"mode in the results", err)
	}
	lines := bytes.SplitAfter(text, []byte{'\n'})
	lines = lines[:len(lines)-1] // empty, or torn
	if len(lines) == 0 {
		return l, fmt.Errorf("%s: it is empty", path)
	}
	if err := json.Unmarshal(lines[0], &l); err != nil {
		return l, fmt.Errorf("%s:1: %w", path, err)
	}
	for i, line := range lines[1:] {
		var a arrival
		if err := json.Unmarshal(line, &a); err != nil {
			return l, fmt.Errorf("%s:%d: %w", path, i+2, err)
		}
		l.append(a)
	}
	return l, nil
}

// has reports whether the file of a name was taken.
func (l *ledger) has(name string) bool { return l.taken[name] }

// append notes a file in memory.
func (l *ledger) append(a arrival) {
	if l.taken == nil {
		l.taken = map[string]bool{}
	}
	l.arrivals, l.taken[a.File] = append(l.arrivals, a), true
}

// create writes the ledger to a new file, to which it adds from then on. Its name is on the disk when create
// returns.
func (l *ledger) create(path string) (err error) {
	if l.out, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return err
	}
	lines := []any{l}
	for _, a := range l.arrivals {
		lines = append(lines, a)
	}
	if err := l.write(lines...); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// add adds a file.
func (l *ledger) add(a arrival) error {
	l.append(a)
	if l.out == nil {
		return nil // create writes it
	}
	return l.write(a)
}

// write writes lines, which are on the disk when it returns.
func (l *ledger) write(lines ...any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	if _, err := l.out.Write(text.Bytes()); err != nil {
		return err
	}
	return l.out.Sync()
}

func (l *ledger) close() error {
	if l.out == nil {
		return nil
	}
	return l.out.Close()
}
