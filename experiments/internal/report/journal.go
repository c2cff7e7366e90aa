package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Journal is a file of measurements that have ended, a line of JSON each. An interrupted run that is resumed
// finds them there and repeats none.
type Journal[T any] struct {
	Kept []T // what the interrupted run has added, in its order
	file *os.File
}

// OpenJournal opens or creates a file in the folder of the results. A last line that a killed process has not
// finished is removed.
func OpenJournal[T any](o Options, name string) (*Journal[T], error) {
	path := filepath.Join(o.Folder, name)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	j := &Journal[T]{}
	for line := range bytes.Lines(whole) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s:%d: %w; remove the line to repeat its measurement", path,
				len(j.Kept)+1, err)
		}
		j.Kept = append(j.Kept, one)
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	if err := j.file.Truncate(int64(len(whole))); err != nil {
		_ = j.file.Close()
		return nil, err
	}
	return j, nil
}

// Add appends a measurement, and returns when it is on disk.
func (j *Journal[T]) Add(one T) error {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

// Close closes the file.
func (j *Journal[T]) Close() error { return j.file.Close() }

// measuredCase is a case in the journal of MeasureCases.
type measuredCase[R any] struct {
	Case   string     `json:"case"`
	Result R          `json:"result"`
	Lines  [][]string `json:"lines"` // of the log
}

// MeasureCases measures cases, each of which has a name of its own, one after another, and returns their
// results. It keeps each in cases.jsonl at its end, with the lines that the measurement has added to the log,
// which may be nil, so that a run that is resumed repeats none. Measure gets the index of a case. The total
// of the meter, in which all cases count alike, loses those that are not repeated.
func MeasureCases[R any](o Options, log *Log, meter *Meter, cases []string, measure func(i int) (R, error),
) (results []R, err error) {
	journal, err := OpenJournal[measuredCase[R]](o, "cases.jsonl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	if log == nil {
		log = &Log{} // without lines
	}
	kept := map[string]measuredCase[R]{}
	for _, one := range journal.Kept {
		kept[one.Case] = one
	}
	each := meter.Total / max(len(cases), 1)
	again := 0
	for _, name := range cases {
		if _, known := kept[name]; known {
			again++
		}
	}
	meter.Total -= again * each
	if again > 0 {
		meter.Show(0, 1, fmt.Sprintf("%d of %d cases were measured earlier", again, len(cases)))
	}
	for i, name := range cases {
		one, known := kept[name]
		if !known {
			begin := len(log.lines)
			result, err := measure(i)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			one = measuredCase[R]{name, result, log.lines[begin:]}
			if err := journal.Add(one); err != nil {
				return nil, err
			}
		} else if err := log.addAll(one.Lines); err != nil {
			return nil, err
		}
		results = append(results, one.Result)
	}
	return results, nil
}
