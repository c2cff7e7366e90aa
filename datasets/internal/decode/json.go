package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/input"
)

// ListSeparator stands between the values of a list of JSON lines whose columns no job describes.
const ListSeparator = "|"

// jsonFormat is JSON lines: an object a line, whose members are fields by their names. It is safe for
// concurrent use.
type jsonFormat struct {
	lineFormat
	columns jsonColumns
}

// newJSONFormat returns the format of a table whose columns are the members with these names.
func newJSONFormat(t *Table, schema *batch.Schema, decode RecordDecoder) *jsonFormat {
	f := &jsonFormat{columns: newJSONColumns(t.Names, t.Separators)}
	f.schema = schema
	f.decode = func(line []byte, r *Row) *BadRow {
		record, bad := f.columns.split(line, make([]string, 0, len(t.Names)), nil)
		if bad != nil {
			return bad
		}
		return r.fill(record, decode, schema)
	}
	return f
}

// jsonColumns are the members of an object that are read.
type jsonColumns struct {
	names      []string
	separators []string // between the values of a list; "" where there must be none
	at         map[string]int
}

func newJSONColumns(names, separators []string) jsonColumns {
	c := jsonColumns{names, separators, make(map[string]int, len(names))}
	for i, name := range names {
		c.at[name] = i
	}
	return c
}

// split appends a field for each column, in their order: the text of a string without blanks around it, a
// number as it is written, true or false, nothing for null and for a member that is not there, and the values
// of a list with the separator of the column between them. Other members may be of any kind. Kinds,
// if not nil, are noted.
//
// A line that is not an object or not UTF-8, a column that is there twice and, unless kinds are noted, an
// object within a column are bad rows. Fields may alias the line.
func (c *jsonColumns) split(line []byte, fields []string, kinds *jsonKinds) ([]string, *BadRow) {
	if !json.Valid(line) { // which goes no deeper than 10,000 levels
		return nil, BadRecord("no JSON: want an object in each line")
	}
	if !utf8.Valid(line) { // unquoting would turn all bytes that are not into one character
		return nil, BadRecord("not UTF-8, which JSON is: convert the file, as iconv does")
	}
	s := jsonScanner{bytes.TrimLeft(line, blanks)}
	if s.text[0] != '{' {
		return nil, BadRecord("no JSON object: want one in each line, with a member for each column")
	}
	fields = append(fields, make([]string, len(c.names))...)
	seen := make([]bool, len(c.names))
	for s.take('{'); s.more('}'); {
		key := unquote(s.value())
		s.take(':')
		i, isColumn := c.at[key]
		if !isColumn {
			s.value()
			continue
		}
		if seen[i] {
			return nil, BadField(c.names[i], "", "it is there twice: want each member once")
		}
		seen[i] = true
		var bad *BadRow
		if fields[i], bad = c.field(&s, i, kinds); bad != nil {
			return nil, bad
		}
	}
	return fields, nil
}

// jsonKinds say of which columns some rows have a list, or an object.
type jsonKinds struct{ lists, objects []bool }

// field reads the value of a column.
func (c *jsonColumns) field(s *jsonScanner, i int, kinds *jsonKinds) (string, *BadRow) {
	separator := c.separators[i]
	switch first := s.text[0]; {
	case first == '{':
		return c.object(s, i, kinds)
	case first != '[':
		return s.scalar(), nil
	case separator == "":
		return "", BadField(c.names[i], s.value(), "a list, where the column has one value: a column of "+
			`several ids has a separator in the job, as {column: NAME, separator: "|"}`)
	}
	if kinds != nil {
		kinds.lists[i] = true
	}
	var list strings.Builder
	n := 0
	for s.take('['); s.more(']'); n++ {
		if s.text[0] == '{' || s.text[0] == '[' {
			if _, bad := c.object(s, i, kinds); bad != nil {
				return "", bad
			}
			continue
		}
		text := s.scalar()
		if strings.Contains(text, separator) {
			return "", BadField(c.names[i], text, "a value of a list, with the separator "+separator)
		}
		if n > 0 {
			list.WriteString(separator)
		}
		list.WriteString(text)
	}
	return list.String(), nil
}

// object skips an object, or a list within a list.
func (c *jsonColumns) object(s *jsonScanner, i int, kinds *jsonKinds) (string, *BadRow) {
	value := s.value()
	if kinds == nil {
		return "", BadField(c.names[i], value, "want a text, a number or a list of these")
	}
	kinds.objects[i] = true
	return "", nil
}

// jsonScanner reads JSON that is valid. Its text begins with what is read next.
type jsonScanner struct{ text []byte }

// blanks are those of JSON within a line.
const blanks = " \t\r\n"

// take skips blanks, a byte that comes next, and further blanks.
func (s *jsonScanner) take(byte) { s.text = bytes.TrimLeft(bytes.TrimLeft(s.text, blanks)[1:], blanks) }

// more reports whether an object or a list goes on, and skips the comma, or its end.
func (s *jsonScanner) more(end byte) bool {
	if s.text = bytes.TrimLeft(s.text, blanks); s.text[0] == end {
		s.text = s.text[1:]
		return false
	}
	if s.text[0] == ',' {
		s.take(',')
	}
	return true
}

// value skips a value and returns it.
func (s *jsonScanner) value() []byte {
	depth, at := 0, 0
	for {
		switch s.text[at] {
		case '"':
			at += stringEnd(s.text[at:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if depth == 0 { // a number or a word
				at += bytes.IndexAny(s.text[at:], ",]}"+blanks) - 1
			}
		}
		at++
		if depth == 0 {
			value := s.text[:at]
			s.text = s.text[at:]
			return value
		}
	}
}

// scalar reads a value that is no object and no list. Its text may alias the line.
func (s *jsonScanner) scalar() string {
	value := s.value()
	if value[0] != '"' {
		if bytes.Equal(value, []byte("null")) {
			return ""
		}
		return alias(value)
	}
	return strings.TrimSpace(unquote(value))
}

// unquote returns the text of a string, which may alias it.
func unquote(value []byte) string {
	if bytes.IndexByte(value, '\\') < 0 {
		return alias(value[1 : len(value)-1])
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		panic("decode: a string of valid JSON: " + err.Error())
	}
	return text
}

// stringEnd returns the length of the string that a text begins with, its quotes included.
func stringEnd(text []byte) int {
	for at := 1; ; at++ {
		switch text[at] {
		case '"':
			return at + 1
		case '\\':
			at++
		}
	}
}

// The members of the first rows are the columns of JSON lines that no job describes: of jsonHead rows, or of
// those within jsonHeadBytes. More than jsonColumnsMax names are an error, because such names are values.
const (
	jsonHead       = 1000
	jsonHeadBytes  = 16 << 20
	jsonColumnsMax = 20_000
)

// jsonReader reads JSON lines one by one.
type jsonReader struct {
	jsonColumns
	lines *input.LineReader
	head  [][]byte // lines that were read ahead
	at    []int    // the numbers of the lines of the head
	kinds *jsonKinds
}

// newJSONReader reads the first rows of an input, for the names of its columns.
func newJSONReader(in *input.Input) (*jsonReader, error) {
	r := &jsonReader{lines: input.NewLineReader(in)}
	known := map[string]bool{}
	var names []string
	for size := 0; len(r.head) < jsonHead && size < jsonHeadBytes; {
		line, err := r.lines.NextLine()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		size += len(line)
		r.head, r.at = append(r.head, slices.Clone(line)), append(r.at, r.lines.Line())
		if s := (jsonScanner{bytes.TrimLeft(line, blanks)}); json.Valid(line) && s.text[0] == '{' {
			for s.take('{'); s.more('}'); {
				if key := strings.Clone(unquote(s.value())); !known[key] {
					known[key] = true
					names = append(names, key)
				}
				s.take(':')
				s.value()
			}
		}
		if len(names) > jsonColumnsMax {
			return nil, fmt.Errorf("%s:%d: the objects up to here have members of more than %d names, and "+
				"each is a column: write an id as a value, not as a name", in.Name, r.lines.Line(),
				jsonColumnsMax)
		}
	}
	separators := slices.Repeat([]string{ListSeparator}, len(names))
	r.jsonColumns = newJSONColumns(names, separators)
	r.kinds = &jsonKinds{make([]bool, len(names)), make([]bool, len(names))}
	return r, nil
}

// next returns the fields of the next row and the number of its line, or io.EOF. A row that is none is a
// *BadRow.
func (r *jsonReader) next() (fields []string, line int, err error) {
	var text []byte
	if len(r.head) > 0 {
		text, line = r.head[0], r.at[0]
		r.head, r.at = r.head[1:], r.at[1:]
	} else {
		if text, err = r.lines.NextLine(); err != nil {
			return nil, 0, err
		}
		line = r.lines.Line()
	}
	fields, bad := r.split(text, nil, r.kinds)
	if bad != nil {
		return nil, line, bad
	}
	return fields, line, nil
}
