package job

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tandem/algo/numeric/model"
)

// sourceBytesMax is the size of the longest file of a module: it is part of a job, and a quarter of its size.
const sourceBytesMax = DocumentBytesMax / 4

// ReadModule makes the path of a module's file absolute and reads the file, unless the spec has its text. It
// marks the arguments that are floats, so that Python gets them as floats from every copy of the job.
func ReadModule(s *model.Spec) (err error) {
	for name, value := range s.Arguments { // order-free: each alone
		s.Arguments[name] = markFloats(value)
	}
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

// float is a float of a module's arguments. It is written with a decimal point or an exponent, without which
// it would be read as an integer.
type float float64

func (f float) String() string {
	text := strconv.FormatFloat(float64(f), 'g', -1, 64)
	if strings.ContainsAny(text, ".e") {
		return text
	}
	return text + ".0"
}

// MarshalJSON implements json.Marshaler.
func (f float) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(f), 0) || math.IsNaN(float64(f)) {
		return nil, fmt.Errorf("%v is not finite", float64(f))
	}
	return []byte(f.String()), nil
}

// MarshalYAML implements yaml.Marshaler.
func (f float) MarshalYAML() (any, error) {
	if math.IsInf(float64(f), 0) || math.IsNaN(float64(f)) {
		return float64(f), nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: f.String()}, nil
}

// markFloats returns a value whose floats are of type float.
func markFloats(value any) any {
	switch v := value.(type) {
	case float64:
		return float(v)
	case []any:
		for i := range v {
			v[i] = markFloats(v[i])
		}
	case map[string]any:
		for key := range v { // order-free: each alone
			v[key] = markFloats(v[key])
		}
	}
	return value
}

// CheckModule returns an error if the file of a module has changed since a job has read it. A file that
// cannot be opened has not: the job has its text.
func CheckModule(s *model.Spec) error {
	if s.Source == "" {
		return nil
	}
	now, err := readSource(s.File)
	if errors.As(err, new(*fs.PathError)) {
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
