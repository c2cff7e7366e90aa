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

// ReadJournal returns the measurements in a file, and the length of their lines: a killed process may not
// have finished the last line. No file has no measurements.
func ReadJournal[T any](path string) (kept []T, length int64, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(whole) {
		var one T
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %w; remove the line to repeat its measurement, or repeat the "+
				"run in a new folder", path, len(kept)+1, err)
		}
		kept = append(kept, one)
	}
	return kept, int64(len(whole)), nil
}

// OpenJournal opens or creates a file in the folder of the results. A last line that a killed process has not
// finished is removed.
func OpenJournal[T any](o Options, name string) (*Journal[T], error) {
	path := filepath.Join(o.Folder, name)
	kept, length, err := ReadJournal[T](path)
	if err != nil {
		return nil, err
	}
	j := &Journal[T]{Kept: kept}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	if err := j.file.Truncate(length); err != nil {
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
	Case   string `json:"case"`
	Result R      `json:"result"`
}

// MeasureCases measures cases one after another, and returns their results. It keeps each in cases.jsonl
// at its end, so that a run that is resumed repeats none. Name returns a name that no other case has. All
// cases count alike in the total of the meter, which loses those that are not repeated.
func MeasureCases[C, R any](
	o Options, meter *Meter, cases []C, name func(C) string, measure func(C) (R, error),
) (results []R, err error) {
	journal, err := OpenJournal[measuredCase[R]](o, "cases.jsonl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	kept := map[string]R{}
	for _, one := range journal.Kept {
		kept[one.Case] = one.Result
	}
	each, again := meter.Total/max(len(cases), 1), 0
	for _, c := range cases {
		if _, known := kept[name(c)]; known {
			again++
		}
	}
	meter.Total -= again * each
	if again > 0 {
		meter.Show(0, 1, fmt.Sprintf("%d of %d cases were measured earlier", again, len(cases)))
	}
	for _, c := range cases {
		result, known := kept[name(c)]
		if !known {
			done := meter.Done + each
			if result, err = measure(c); err != nil {
				return nil, fmt.Errorf("%s: %w", name(c), err)
			}
			if err := journal.Add(measuredCase[R]{name(c), result}); err != nil {
				return nil, err
			}
			meter.Done = done
		}
		results = append(results, result)
	}
	return results, nil
}
