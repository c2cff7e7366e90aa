package datasets

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// Head is the beginning of a file whose kind is not known yet.
type Head struct {
	// Compression is "none", "gzip" or "zstd".
	Compression string
	// JSON says that the lines are objects of JSON.
	JSON bool
	// Lines are the first lines, at least one, decompressed, without line ends and without
	// empty lines.
	Lines []string
}

// ReadHead reads the first lines of a file, at most a number of them. The error wraps
// fs.ErrNotExist or ErrNoRows where these apply.
func ReadHead(path string, lines int) (*Head, error) {
	in, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	defer in.Close()
	h, err := readHead(in, lines)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if len(h.Lines) == 0 {
		return nil, fmt.Errorf("datasets: %s: %w: check that the file is whole", path, ErrNoRows)
	}
	return h, nil
}

// readHead reads the first lines of a text.
func readHead(in *input.Input, lines int) (*Head, error) {
	h := &Head{Compression: cmp.Or(in.Compression, "none"), JSON: in.JSON}
	reader := input.NewLineReader(in)
	for len(h.Lines) < lines {
		line, err := reader.NextLine()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		h.Lines = append(h.Lines, string(line))
	}
	return h, nil
}

// Kind guesses the kind of the file from the number of fields in its first line and their
// content. It returns false if no kind fits. JSON lines are CSV, and so is text with a delimiter that
// fits no other kind. CSV needs a job.Table: see package datasets/infer.
func (h *Head) Kind() (job.DataKind, bool) {
	line := h.Lines[0]
	tabs, commas := strings.Split(line, "\t"), strings.Split(line, ",")
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(commas, name) })
	}
	switch {
	case h.JSON:
		return job.KindCSV, true
	case len(tabs) == criteoFields:
		return job.KindCriteo, true
	case len(commas) == len(taobaoColumns()):
		return job.KindTaobaoAd, true
	case has("click", "hour", "banner_pos", "device_id"):
		return job.KindAvazu, true
	case has("Label", "I1", "I13", "C1", "C8") && len(commas) == 1+13+8:
		return job.KindIJCAI18, true
	case regexp.MustCompile(`^\d+\t\d+\t[1-5]\t\d+$`).MatchString(line):
		return job.KindMovieLens, true
	case regexp.MustCompile(`^\d+-\d+-\d+-\d+,\d+-\d+$`).MatchString(line):
		return job.KindMovieLensImplicit, true
	case regexp.MustCompile(`^[-+]?[01](\.0)?([ \t]+\d+:\S+)+[ \t]*$`).MatchString(line):
		return job.KindLibFM, true
	case h.Delimiter() != "":
		return job.KindCSV, true
	}
	return "", false
}

// delimiters are the common ones.
var delimiters = []string{",", "\t", ";", "|"}

// Delimiter returns the most frequent of the common delimiters in the header, or "" if there is none. A blank
// is one if all lines have as many, with no two beside each other.
func (h *Head) Delimiter() string {
	_, header := h.header()
	best, most := "", 0
	for _, delimiter := range delimiters {
		if n := strings.Count(header, delimiter); n > most {
			best, most = delimiter, n
		}
	}
	blanks := strings.Count(header, " ")
	if best != "" || blanks == 0 || len(h.Lines) == 1 {
		return best
	}
	for _, line := range h.Lines {
		if strings.Count(line, " ") != blanks || strings.Contains(line, "  ") {
			return ""
		}
	}
	return " "
}

// Comment returns # if the file begins with lines that begin so, unless the first of them is its header, and
// else "".
func (h *Head) Comment() string {
	comment, _ := h.header()
	return comment
}

// header returns the first line that is no comment, and what begins comments. A first line that begins so and
// has as many delimiters as the one below is the header.
func (h *Head) header() (comment, line string) {
	at := slices.IndexFunc(h.Lines, func(line string) bool { return !strings.HasPrefix(line, "#") })
	if at < 1 {
		return "", h.Lines[0]
	}
	above, line := h.Lines[at-1], h.Lines[at]
	for _, delimiter := range delimiters {
		n := strings.Count(above, delimiter)
		if at == 1 && n > 0 && n == strings.Count(line, delimiter) {
			return "", above
		}
	}
	return "#", line
}

// Table returns the lines as the fields of a kind, as they are written. A row can have a wrong
// number of fields. Only kind csv uses the description.
func (h *Head) Table(kind job.DataKind, spec *job.Table) (columns []string, rows [][]string) {
	switch kind {
	case job.KindCriteo:
		columns = append([]string{"label"},
			append(numbered("I", criteoIntegers), numbered("C", criteoCategories)...)...)
		return columns, h.cut(func(line string) []string { return strings.Split(line, "\t") })
	case job.KindMovieLens:
		return []string{"user", "item", "rating", "time"},
			h.cut(func(line string) []string { return strings.Split(line, "\t") })
	case job.KindLibFM:
		rows = h.cut(strings.Fields)
		longest := slices.MaxFunc(rows, func(a, b []string) int { return len(a) - len(b) })
		return append([]string{"label"}, numbered("field", max(len(longest)-1, 0))...), rows
	case job.KindMovieLensImplicit:
		for _, slot := range implicitSchema().Slots {
			columns = append(columns, slot.Name)
		}
		return columns, h.cut(func(line string) []string {
			return strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == '-' })
		})
	case job.KindTaobaoAd:
		columns = taobaoColumns()
		_, rows = h.records(&job.Table{Columns: columns})
		if len(rows) > 0 && rows[0][0] == columns[0] {
			rows = rows[1:]
		}
		return columns, rows
	case job.KindCSV:
		return h.records(spec)
	default:
		return h.records(&job.Table{})
	}
}

func (h *Head) cut(fields func(line string) []string) [][]string {
	rows := make([][]string, len(h.Lines))
	for i, line := range h.Lines {
		rows[i] = fields(line)
	}
	return rows
}

// records splits the lines as delimited text, up to the first syntax error.
func (h *Head) records(spec *job.Table) (columns []string, rows [][]string) {
	in := input.Plain("", strings.NewReader(strings.Join(h.Lines, "\n")))
	in.JSON = h.JSON
	reader, err := decode.NewRecordReader(in, spec.FieldDelimiter(), spec.Comment, spec.Columns)
	if err != nil {
		return spec.Columns, nil
	}
	return reader.Columns, reader.RemainingRecords()
}
