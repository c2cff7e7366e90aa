package theory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tandem/experiments/report"
)

// log is the file of all measurements that have ended, a line of JSON each. They are on disk when add
// returns.
type log struct {
	file    *os.File
	run     string // the id of the run
	results map[probe]outcome
}

// line is a line of the file.
type line struct {
	Run     string  `json:"run"`
	Probe   probe   `json:"probe"`
	Outcome outcome `json:"outcome"`
}

// openLog opens or creates the log of a results folder. A last line that a killed process has not finished is
// removed.
func openLog(o report.Options) (*log, error) {
	path := filepath.Join(o.Folder, "measurements.jsonl")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	l := &log{run: o.Run, results: map[probe]outcome{}}
	n := 0
	for each := range bytes.Lines(whole) {
		n++
		var one line
		if err := json.Unmarshal(each, &one); err != nil {
			return nil, fmt.Errorf("%s:%d: %w; remove the line to repeat its measurement", path, n, err)
		}
		l.results[one.Probe] = one.Outcome
	}
	if l.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if err = l.file.Truncate(int64(len(whole))); err == nil {
		_, err = l.file.Seek(0, 2)
	}
	if err != nil {
		l.file.Close()
		return nil, err
	}
	return l, nil
}

// missing returns the distinct probes that have no outcome, in their order.
func (l *log) missing(all []probe) []probe {
	var missing []probe
	for _, one := range all {
		if _, ok := l.results[one]; !ok && !slices.Contains(missing, one) {
			missing = append(missing, one)
		}
	}
	return missing
}

// add appends an outcome.
func (l *log) add(p probe, o outcome) error {
	text, err := json.Marshal(line{l.run, p, o})
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return err
	}
	l.results[p] = o
	return l.file.Sync()
}

// close closes the file.
func (l *log) close() error { return l.file.Close() }
