package sweep

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tandem/internal/filelock"
)

// ErrFile is wrapped by the error about a file that holds something else than the sweep.
var ErrFile = errors.New("another sweep's file")

// Row is what is known of a point.
type Row struct {
	Values     []string // of the axes
	Inputs     string   // digest of what the row depends on
	Throughput float64  // samples a second; 0 if the job does not fit
	Low, High  float64  // its interval; both 0 without
	PerHour    float64  // dollars; 0 if a price is not known
	PerGiga    float64  // dollars for 10⁹ samples
	StepMillis float64
	Bound      string // the resource with the largest share of the critical path
	BoundShare float64
	Refusal    string // why there is no prediction; empty if there is one
}

// results are the columns behind the axes.
var results = []string{"inputs", "samples_per_s", "low", "high", "usd_per_hour", "usd_per_billion_samples",
	"step_ms", "bound_by", "bound_share", "refusal"}

// record returns the row as fields of a line. Numbers that are not known are empty.
func (r *Row) record() []string {
	number := func(x float64) string {
		if x == 0 {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	oneLine := strings.NewReplacer("\n", " ", "\r", " ") // so that a line that is cut off can be told
	return append(slices.Clone(r.Values), r.Inputs, number(r.Throughput), number(r.Low), number(r.High),
		number(r.PerHour), number(r.PerGiga), number(r.StepMillis), r.Bound, number(r.BoundShare),
		oneLine.Replace(r.Refusal))
}

// parse is the inverse of record.
func parse(record []string, axes int) (r Row, err error) {
	r.Values, r.Inputs = record[:axes:axes], record[axes]
	rest := record[axes+1:]
	for i, to := range []*float64{&r.Throughput, &r.Low, &r.High, &r.PerHour, &r.PerGiga, &r.StepMillis, nil,
		&r.BoundShare} {
		if to == nil || rest[i] == "" {
			continue
		}
		if *to, err = strconv.ParseFloat(rest[i], 64); err != nil {
			return r, err
		}
	}
	r.Bound, r.Refusal = rest[6], rest[8]
	return r, nil
}

// File is the CSV file of a sweep. Its methods may be called by several goroutines.
type File struct {
	name   string
	header []string
	grid   [][]string
	mu     sync.Mutex
	rows   map[string]Row
	out    *os.File
}

// Open opens the file of a sweep over some axes, and reads what is there, or begins it. Inputs returns the
// digest that the row of a point has to have. Without a name, rows are kept in memory alone. The error about
// another sweep's file wraps ErrFile.
func Open(name string, axes []Axis, inputs func(values []string) string) (*File, error) {
	f := &File{name: name, rows: map[string]Row{}}
	for _, a := range axes {
		f.header = append(f.header, a.Name)
	}
	f.header = append(f.header, results...)
	var err error
	if f.grid, err = Grid(axes); err != nil {
		return nil, err
	}
	if name == "" {
		return f, nil
	}
	if f.out, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	if err := f.load(len(axes), inputs); err != nil {
		return nil, errors.Join(err, f.out.Close())
	}
	return f, nil
}

// load reads the complete lines of the file, goes on behind them, and writes the header of a new file. What
// follows a last complete line is overwritten.
func (f *File) load(axes int, inputs func(values []string) string) error {
	if err := filelock.Try(f.out); err != nil {
		return fmt.Errorf("%s: another sweep is writing it (%w)", f.name, err)
	}
	text, err := io.ReadAll(f.out)
	if err != nil {
		return err
	}
	begun := bytes.HasPrefix([]byte(strings.Join(f.header, ",")), text) // nothing, or a part of it
	if begun {
		text = nil
	} else if err := f.read(text, axes, inputs); err != nil {
		return err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if _, err := f.out.Seek(int64(len(text)), io.SeekStart); err != nil {
		return err
	}
	if begun {
		return f.write(f.header)
	}
	return nil
}

// read takes the rows of the complete lines of a text.
func (f *File) read(text []byte, axes int, inputs func(values []string) string) error {
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 || !slices.Equal(lines[0], f.header) {
		return fmt.Errorf("%s: %w: its columns are not those of this sweep", f.name, ErrFile)
	}
	points := map[string]bool{}
	for _, values := range f.grid {
		points[key(values)] = true
	}
	for i, line := range lines[1:] {
		r, err := parse(line, axes)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w: line %d: %w", f.name, ErrFile, i+2, err)
		case !points[key(r.Values)]:
			return fmt.Errorf("%s: %w: line %d, %s, is no point of this sweep", f.name, ErrFile, i+2,
				strings.Join(r.Values, ", "))
		case r.Inputs != inputs(r.Values):
			return fmt.Errorf("%s: %w: line %d, %s, is of other flags, files or another program", f.name,
				ErrFile, i+2, strings.Join(r.Values, ", "))
		}
		f.rows[key(r.Values)] = r
	}
	return nil
}

// key is the values of a point as one text.
func key(values []string) string { return strings.Join(values, "\x00") }

// Left returns the points without a row, in the order of the grid.
func (f *File) Left() (points [][]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, values := range f.grid {
		if _, done := f.rows[key(values)]; !done {
			points = append(points, values)
		}
	}
	return points
}

// Append adds the row of a point, and writes it.
func (f *File) Append(r *Row) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[key(r.Values)] = *r
	return f.write(r.record())
}

// write appends a line with one call, so that a sweep that is killed leaves whole lines and at most one part.
func (f *File) write(record []string) error {
	if f.out == nil {
		return nil
	}
	var line bytes.Buffer
	w := csv.NewWriter(&line)
	if err := w.Write(record); err != nil {
		return err
	}
	w.Flush()
	_, err := f.out.Write(line.Bytes())
	return err
}

// Rows returns all rows that are known, in the order of the grid.
func (f *File) Rows() (rows []Row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, values := range f.grid {
		if r, known := f.rows[key(values)]; known {
			rows = append(rows, r)
		}
	}
	return rows
}

// Close ends the file: one that has all rows is written again in the order of the grid, and takes the place
// of the old one at once.
func (f *File) Close() error {
	if f.out == nil {
		return nil
	}
	if len(f.Left()) > 0 {
		return f.out.Close()
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	if err := w.Write(f.header); err != nil {
		return errors.Join(err, f.out.Close())
	}
	for _, r := range f.Rows() {
		if err := w.Write(r.record()); err != nil {
			return errors.Join(err, f.out.Close())
		}
	}
	w.Flush()
	sorted := filepath.Join(filepath.Dir(f.name), "."+filepath.Base(f.name)+"-sorted")
	err := os.WriteFile(sorted, text.Bytes(), 0o644)
	if err == nil {
		err = os.Rename(sorted, f.name)
	}
	return errors.Join(err, f.out.Close())
}
