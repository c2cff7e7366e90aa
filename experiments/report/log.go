package report

import (
	"encoding/csv"
	"os"
	"strconv"
)

// Log is a CSV file with a line per run. Each line is on disk as soon as it is written, so that an experiment
// that is stopped keeps its results.
type Log struct {
	file *os.File
	csv  *csv.Writer
}

// NewLog creates the file at path with a header.
func NewLog(path string, header ...string) (*Log, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	l := &Log{file, csv.NewWriter(file)}
	return l, l.Add(header...)
}

// Add writes a line.
func (l *Log) Add(line ...string) error {
	if err := l.csv.Write(line); err != nil {
		return err
	}
	l.csv.Flush()
	return l.csv.Error()
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// Number returns the text of a float64 that reads back as the same bits.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
