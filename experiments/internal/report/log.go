package report

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
)

// Log is a CSV file with a line per run. Each line is on disk as soon as it is written, so that an experiment
// that is stopped keeps its results. Its last column, run, is the id of the run of the experiment.
type Log struct {
	file *os.File
	csv  *csv.Writer
	run  string
}

// NewLog creates a file in the folder of the results, with a header. A file of an interrupted run is written
// again from the start.
func (o Options) NewLog(name string, header ...string) (*Log, error) {
	file, err := os.Create(filepath.Join(o.Folder, name))
	if err != nil {
		return nil, err
	}
	l := &Log{file: file, csv: csv.NewWriter(file), run: "run"}
	err = l.Add(header...)
	l.run = o.Run
	return l, err
}

// Add writes a line.
func (l *Log) Add(line ...string) error {
	if err := l.csv.Write(append(line[:len(line):len(line)], l.run)); err != nil {
		return err
	}
	l.csv.Flush()
	return l.csv.Error()
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// Number returns the text of a float64 that reads back as the same bits.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
