package trial

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"tandem/algo/histogram"
)

// fileName is the name of the file of results in a results folder: lines of JSON, first a header, then one
// for each training in the order in which they ended.
const fileName = "trials.jsonl"

// header is the first line. Results of another format, or of an engine whose sums differ in the last bits, do
// not continue a run.
type header struct {
	Format int    `json:"format"`
	Engine string `json:"engine"`
}

// line is the line of a training.
type line struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Result
	// The histograms of staleness, in binary, with what reads have missed as counts of gradients.
	Own, Cross, Inflight, Dense, Missed []byte
	Dropped                             uint64 `json:"dropped,omitempty"`
}

// log is the file of results, with those that it has.
type log struct {
	folder  string
	file    *os.File
	results map[string]Result // by ID
}

// openLog opens or creates the file of a folder. A last line that a killed process has not finished is
// removed.
func openLog(folder string, engine string) (*log, error) {
	l := &log{folder: folder, results: map[string]Result{}}
	path := filepath.Join(folder, fileName)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if l.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if err = l.read(path, whole, engine); err == nil {
		err = l.file.Truncate(int64(len(whole)))
	}
	if err == nil {
		_, err = l.file.Seek(int64(len(whole)), 0)
	}
	if err == nil && len(whole) == 0 {
		err = l.write(header{format, engine})
	}
	if err != nil {
		l.file.Close()
		return nil, err
	}
	return l, nil
}

// readLog returns the results in a folder, where nothing is written; none if it has no such file.
func readLog(folder, engine string) (*log, error) {
	l := &log{folder: folder, results: map[string]Result{}}
	path := filepath.Join(folder, fileName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	return l, l.read(path, text, engine)
}

// read reads the whole lines of a file.
func (l *log) read(path string, text []byte, engine string) error {
	n := 0
	for each := range bytes.Lines(text) {
		n++
		if n == 1 {
			var h header
			if err := json.Unmarshal(each, &h); err != nil || h != (header{format, engine}) {
				return fmt.Errorf("%s: made by format %d, engine %q; this program has format %d, engine %q: "+
					"repeat the run in a new folder", path, h.Format, h.Engine, format, engine)
			}
			continue
		}
		var one line
		err := json.Unmarshal(each, &one)
		if err == nil {
			err = one.unpack()
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w; remove the line to repeat that training", path, n, err)
		}
		l.results[one.ID] = one.Result
	}
	return nil
}

// add appends the result of a training and returns when it is on disk.
func (l *log) add(id, name string, r *Result) error {
	one := line{ID: id, Name: name, Result: *r, Dropped: r.Staleness.Dropped}
	for _, h := range one.histograms() {
		if h.of.Count() > 0 {
			*h.bytes, _ = h.of.MarshalBinary() // has no errors
		}
	}
	if err := l.write(one); err != nil {
		return err
	}
	l.results[id] = *r
	return nil
}

// write appends a line and returns when it is on disk.
func (l *log) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return err
	}
	return l.file.Sync()
}

// close closes the file.
func (l *log) close() error { return l.file.Close() }

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
