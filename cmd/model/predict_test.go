package main

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"tandem/runtime/inference"
)

var errFull = errors.New("no space left")

// fullResults has no space, for rows or at the end.
type fullResults struct{ atEnd bool }

func (r fullResults) finish() error { return errFull }

func (r fullResults) add([]float32) error {
	if r.atEnd {
		return nil
	}
	return errFull
}

// An error of writing predictions names no file that was read.
func TestErrorsOfWritingAreNotThoseOfReading(t *testing.T) {
	dir := t.TempDir()
	if err := writeClicks(t, dir); err != nil {
		t.Fatal(err)
	}
	m, err := inference.Open(filepath.Join(dir, "clicked"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p := &program{stdout: io.Discard, stderr: io.Discard}
	for _, atEnd := range []bool{false, true} {
		_, err := p.predict(fullResults{atEnd}, m, filepath.Join(dir, "clicks.csv"))
		if !errors.Is(err, errFull) || err.Error() != "cannot write the predictions: no space left" {
			t.Errorf("at the end %t: error %v", atEnd, err)
		}
	}
}
