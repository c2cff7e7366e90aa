package job

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"tandem/algo/numeric/model"
)

// sourceBytesMax is the size of the longest file of a module: it is part of a job, and a quarter of its size.
const sourceBytesMax = DocumentBytesMax / 4

// ReadModule makes the path of a module's file absolute and reads the file, unless the spec has its text.
func ReadModule(s *model.Spec) (err error) {
	if s.File, err = filepath.Abs(s.File); err != nil || s.Source != "" {
		return err
	}
	s.Source, err = readSource(s.File)
	return err
}

func readSource(file string) (string, error) {
	text, err := readUpTo(file, sourceBytesMax)
	if err == nil && !utf8.Valid(text) {
		err = fmt.Errorf("%s is not UTF-8: save it as UTF-8", file)
	}
	return string(text), err
}

// CheckModule returns an error if the file of a module has changed since a job has read it. A file that is
// not there has not: the job has its text.
func CheckModule(s *model.Spec) error {
	if s.Source == "" {
		return nil
	}
	now, err := readSource(s.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || now == s.Source {
		return err
	}
	line, was, is := changedLine(s.Source, now)
	return fmt.Errorf("%s has changed since the job was written: line %d was %q and is %q; undo that, or "+
		"rename the file, and the text in the job is used", s.File, line, was, is)
}

// changedLine returns the first line, counted from 1, in which two texts differ.
func changedLine(a, b string) (line int, inA, inB string) {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	at := func(lines []string) string {
		if line < len(lines) {
			return strings.TrimSpace(lines[line])
		}
		return ""
	}
	for line < min(len(linesA), len(linesB)) && linesA[line] == linesB[line] {
		line++
	}
	return line + 1, at(linesA), at(linesB)
}
