package trial

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"tandem/algo/histogram"
	"tandem/experiments/internal/report"
)

// fileName is the name of the file of results in a results folder: lines of JSON, first a header, then one
// for each training in the order in which they ended.
const fileName = "trials.jsonl"

// line is a line of the file. The first one is the header: results of another format, or of an engine whose
// sums differ in the last bits, do not continue a run. The others are trainings.
type line struct {
	Format int    `json:"format,omitempty"`
	Engine string `json:"engine,omitempty"`

	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	*Result
	// The histograms of staleness, in binary, with what reads have missed as counts of gradients.
	Own      []byte `json:",omitempty"`
	Cross    []byte `json:",omitempty"`
	Inflight []byte `json:",omitempty"`
	Dense    []byte `json:",omitempty"`
	Missed   []byte `json:",omitempty"`
	Dropped  uint64 `json:"dropped,omitempty"`
}

// log is the file of results, with those that it has.
type log struct {
	folder  string
	journal *report.Journal[line] // nil: the file is only read
	results map[string]Result     // by ID
}

// openLog opens or creates the file of a folder.
func openLog(folder string, engine string) (*log, error) {
	journal, err := report.OpenJournal[line](report.Options{Folder: folder}, fileName)
	if err != nil {
		return nil, err
	}
	l := &log{folder: folder, journal: journal, results: map[string]Result{}}
	if err = l.take(journal.Kept, engine); err == nil && journal.Kept == nil {
		err = journal.Add(line{Format: format, Engine: engine})
	}
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	return l, nil
}

// readLog returns the results in a folder, where nothing is written; none if it has no such file.
func readLog(folder, engine string) (*log, error) {
	l := &log{folder: folder, results: map[string]Result{}}
	lines, _, err := report.ReadJournal[line](filepath.Join(folder, fileName))
	if err != nil {
		return nil, err
	}
	return l, l.take(lines, engine)
}

// take takes the results of the lines of the file.
func (l *log) take(lines []line, engine string) error {
	path := filepath.Join(l.folder, fileName)
	for i := range lines {
		one := &lines[i]
		if i == 0 {
			if one.Format != format || one.Engine != engine {
				return fmt.Errorf("%s: made by format %d, engine %q; this program has format %d, engine %q: "+
					"repeat the run in a new folder", path, one.Format, one.Engine, format, engine)
			}
			continue
		}
		if one.Result == nil {
			one.Result = &Result{}
		}
		if err := one.unpack(); err != nil {
			return fmt.Errorf("%s:%d: %w; remove the line to repeat its measurement", path, i+1, err)
		}
		l.results[one.ID] = *one.Result
	}
	return nil
}

// add appends the result of a training and returns when it is on disk.
func (l *log) add(id, name string, r *Result) error {
	one := line{ID: id, Name: name, Result: r, Dropped: r.Staleness.Dropped}
	for _, h := range one.histograms() {
		if h.of.Count() > 0 {
			*h.bytes, _ = h.of.MarshalBinary() // has no errors
		}
	}
	if err := l.journal.Add(one); err != nil {
		return err
	}
	l.results[id] = *r
	return nil
}

// close closes the file.
func (l *log) close() error { return l.journal.Close() }

// packed is a histogram of a line's result, and its bytes in the line.
type packed struct {
	of    *histogram.Histogram
	bytes *[]byte
}

func (l *line) histograms() []packed {
	s := &l.Staleness
	return []packed{{&s.Own, &l.Own}, {&s.Cross, &l.Cross}, {&s.Inflight, &l.Inflight}, {&s.Dense, &l.Dense},
		{&l.Result.Missed, &l.Missed}}
}

// unpack sets the histograms of the result from their bytes.
func (l *line) unpack() error {
	l.Staleness.Dropped = l.Dropped
	for _, h := range l.histograms() {
		if len(*h.bytes) == 0 {
			continue
		}
		if err := h.of.UnmarshalBinary(*h.bytes); err != nil {
			return err
		}
	}
	return nil
}

// predictionsPath returns the file of a training's predictions.
func (l *log) predictionsPath(id string) string {
	return filepath.Join(l.folder, "predictions", id+".f32")
}

// keep writes the predictions of a training as little-endian float32.
func (l *log) keep(id string, probabilities []float32) error {
	var out []byte
	for _, p := range probabilities {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(p))
	}
	path := l.predictionsPath(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, out, 0o644)
}

// predictions returns what keep has written.
func (l *log) predictions(id string) ([]float32, error) {
	text, err := os.ReadFile(l.predictionsPath(id))
	if err != nil {
		return nil, err
	}
	probabilities := make([]float32, len(text)/4)
	for i := range probabilities {
		probabilities[i] = math.Float32frombits(binary.LittleEndian.Uint32(text[4*i:]))
	}
	return probabilities, nil
}
