// Package infer describes a table that has no description: which of its columns are ids, which are numbers,
// which one is the label, and which say nothing.
//
// It reads the first rows of a delimited file with a header, or of a Parquet file, and applies the rules of
// Column. What it finds is a guess, with the reason for each column, to be shown to the user and kept in the
// job.
//
// Decide makes a job of the table, whose settings follow from its rows, and whose slots, model and number of
// epochs are chosen on held-back training rows.
package infer

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
	"tandem/internal/cli"
)

// Options change what is inferred. The zero value infers everything.
type Options struct {
	// Label names the label column. Empty: the first column that is called label, click, clicked, target or
	// y, in upper or lower case.
	Label string
	// Positive says which labels are positive: texts between commas, or a comparison such as >=4. Empty:
	// numbers between 0 and 1 are shares; else 1, true, yes and the like, or the rarer of two.
	Positive string
	// LabelValues says what labels are: classes, or a job.Table.LabelValues. Empty: their values decide.
	LabelValues string
	// Weight names a column of what rows count. Impressions names one of counts, of which the label counts
	// clicks. Empty: none; but of a column clicks beside one called impressions, the label is the share.
	Weight, Impressions string
	// IDs, Numbers and Ignore name columns whose use is known.
	IDs, Numbers, Ignore []string
}

// Use is what a column is for.
type Use string

// The uses.
const (
	Label   Use = "label"
	Weight  Use = "weight"
	ID      Use = "id"
	Number  Use = "number"
	Ignored Use = "ignored"
)

// Column is what is known of a column.
type Column struct {
	Name      string `json:"name"`
	Use       Use    `json:"use"`
	Why       string `json:"why"`
	Separator string `json:"separator,omitempty"` // between the ids of a field
	// WeightSeparator stands between an id and its weight; "": ids have none.
	WeightSeparator string `json:"weight_separator,omitempty"`
	// Distinct is the number of different texts in the rows that were read, the empty one included.
	Distinct int     `json:"distinct"`
	Empty    float64 `json:"empty"` // share of the rows without a value

	style decode.Style // of its numbers
	signs bool         // some numbers have signs around them
	whole bool         // ids are whole numbers that may be written with a point
	// remarkable labels are no two classes.
	remarkable bool
}

// Remark returns Why if the values of a column that is used are not what they are in most files, and else
// nothing.
func (c Column) Remark() string {
	odd := c.Use == Number && (c.style != decode.DecimalPoint || c.signs) || c.Use == ID && c.whole
	if odd || c.remarkable || c.Use == ID && c.Why == idsWithWeights {
		return c.Why
	}
	return ""
}

// Table is a table as it was inferred.
type Table struct {
	Data    job.Data // of kind csv or parquet, without a path
	Columns []Column // in the order of the file
	Rows    int      // that were read: all, or the first ones
	// RowsInFile is the number of rows of the file: estimated from its size unless all were read.
	RowsInFile int
	// RowBytes is the mean number of bytes that a row takes in memory.
	RowBytes float64
	// Notes say what follows from the size of the file.
	Notes []string
	// LabelMean is the mean label of the rows that were read: of two classes, the share of positive ones.
	LabelMean float64

	spec *job.Table
}

// headLines is the number of lines from which the delimiter of a table is inferred.
const headLines = 20

// CSV reads at most rowsMax rows, and fewer of a table with many columns: at most valuesMax values.
const rowsMax, valuesMax = 100_000, 10_000_000

// CSV infers the columns of a delimited file with a header or of JSON lines, plain or compressed. Rows with a
// wrong number of fields are left out; package datasets reports them when it reads the file. Errors are one
// line and wrap fs.ErrNotExist or datasets.ErrNoRows where these apply.
//
// It reads the first 100,000 rows, or the first 10 million values if that is less, and a note says so if the
// file has more.
//
// Cost: about a second for 100,000 rows of 40 columns. Memory: a hash of every different value of these rows,
// at most 400 MB.
func CSV(path string, o Options) (*Table, error) {
	head, err := datasets.ReadHead(path, headLines)
	if err != nil {
		return nil, err
	}
	delimiter, comment := head.Delimiter(), head.Comment()
	if head.JSON {
		delimiter, comment = "", ""
	}
	switch {
	case !head.JSON && strings.Contains(head.Lines[0], "\r"):
		return nil, fmt.Errorf("%s: its lines end in carriage returns alone: convert it, as with "+
			`tr '\r' '\n'`, path)
	case delimiter == "" && !head.JSON:
		return nil, fmt.Errorf("%s: its first line has no comma, tab, semicolon or bar between columns, nor "+
			"have the first lines the same number of single blanks: %.40q", path, head.Lines[0])
	}
	in, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	reader, err := decode.NewRecordReader(in, delimiter, comment, nil)
	if err != nil {
		return nil, err
	}
	t := &tally{most: min(rowsMax, valuesMax/max(len(reader.Columns), 1))}
	if err := t.name(reader.Columns, o); err != nil {
		return nil, refused(path, err)
	}
	if err := t.read(reader); err != nil {
		return nil, err
	}
	for i, v := range t.columns {
		v.kind, v.problem = reader.Kind(i)
		v.separator = decode.ListSeparator
	}
	table, err := t.table(&job.Table{Delimiter: delimiter, Comment: comment}, o)
	if err != nil {
		return nil, refused(path, err)
	}
	table.Data = job.Data{Kind: job.KindCSV, CSV: table.spec}
	table.RowsInFile = t.rows
	if read, size := in.Position(); t.rows == t.most && read > 0 {
		table.RowsInFile = max(t.rows, int(float64(t.rows)*float64(size)/float64(read)))
	}
	table.noteRows("about ")
	return table, nil
}

// noteRows adds a note if the file has more rows than were read, as many as it has or about as many.
func (t *Table) noteRows(about string) {
	if t.RowsInFile > t.Rows {
		t.Notes = append(t.Notes, fmt.Sprintf("columns are taken by the first %d of %s%.3g rows", t.Rows,
			about, float64(t.RowsInFile)))
	}
}

// File infers the columns of a file: a Parquet file, or a delimited one as CSV does.
func File(path string, o Options) (*Table, error) {
	isParquet, err := datasets.IsParquet(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	if isParquet {
		return Parquet(path, o)
	}
	return CSV(path, o)
}

// columnError says that the columns of a file are not what they must be, with these options.
type columnError struct {
	path string
	err  error
}

func (e *columnError) Error() string { return fmt.Sprintf("%s: %v", e.path, e.err) }
func (e *columnError) Unwrap() error { return e.err }

// fileError is an error that only editing the file can fix.
type fileError struct{ error }

func (e fileError) Unwrap() error { return e.error }

// refused returns the error of a file, which is a *columnError if other options can mend it.
func refused(path string, err error) error {
	if errors.As(err, new(fileError)) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return &columnError{path, err}
}

// tally is a table while it is read.
type tally struct {
	columns []*values
	label   int // index of the label's column
	labels  labels
	// Names of the columns of weights and of impressions, "" if there is none.
	weight, impressions string
	labelValues         string // as asked
	rows                int
	most                int   // rows to read
	bad                 error // the first row with a wrong number of fields, if there is one
}

// name sets the columns of a header.
func (t *tally) name(header []string, o Options) error {
	for i, name := range header {
		if name != "" && slices.Contains(header[:i], name) {
			return fileError{fmt.Errorf("two columns are called %q: rename one", name)}
		}
		t.columns = append(t.columns, newValues(name, decode.AnyText))
	}
	label, err := labelOf(header, o.Label)
	if err != nil {
		return err
	}
	if o.Positive != "" {
		if t.labels.rule, err = parsePositive(o.Positive); err != nil {
			return fmt.Errorf("--positive: %w", err)
		}
	}
	t.label = slices.Index(header, label)
	t.weight, t.impressions = o.Weight, impressionsOf(header, label, o)
	t.labelValues = o.LabelValues
	if known := []string{"", classLabels, job.ShareLabels, job.NumberLabels}; !slices.Contains(known,
		o.LabelValues) {
		return errors.New("--label-values: " + job.Unknown(o.LabelValues, known[1:]))
	}
	if o.LabelValues != "" && o.LabelValues != classLabels && o.Positive != "" {
		return fmt.Errorf("--positive makes classes of labels, and --label-values %s: leave one of them out",
			o.LabelValues)
	}
	if t.impressions != "" && o.Positive+o.LabelValues != "" {
		return errors.New("--positive, --label-values: of clicks and impressions, the label is the share: " +
			"leave them out")
	}
	if o.Weight != "" && o.Weight == o.Impressions {
		return fmt.Errorf("column %q has weights or impressions, not both", o.Weight)
	}
	weights := []string{t.weight, t.impressions}
	weights = slices.DeleteFunc(weights, func(name string) bool { return name == "" })
	for _, names := range [][]string{weights, o.IDs, o.Numbers, o.Ignore} {
		for _, name := range names {
			if !slices.Contains(header, name) {
				return errors.New("column " + job.Unknown(name, header))
			}
			if name == label {
				return fmt.Errorf("column %q is the label, and can have no other use", name)
			}
		}
	}
	return nil
}

// labelOf returns the name of the label column.
func labelOf(header []string, name string) (string, error) {
	if name != "" {
		if !slices.Contains(header, name) {
			return "", errors.New("column " + job.Unknown(name, header))
		}
		return name, nil
	}
	for _, column := range header {
		if slices.Contains([]string{"label", "click", "clicked", "target", "y"}, strings.ToLower(column)) {
			return column, nil
		}
	}
	if clicks := named(header, "clicks"); clicks != "" && named(header, "impressions") != "" {
		return clicks, nil
	}
	for _, column := range header {
		if _, reason := decode.ParseNumber(column); reason == "" {
			return "", fileError{fmt.Errorf("its first line looks like a row, with the number %s: add a "+
				"line with the names of the columns; it has %s", column, shorten(header))}
		}
	}
	return "", fmt.Errorf("no column is called label, click, clicked, target or y: name the label column; "+
		"the first line has %s", shorten(header))
}

// named returns the column with a name, in upper or lower case, or "".
func named(header []string, name string) string {
	for _, column := range header {
		if strings.EqualFold(column, name) {
			return column
		}
	}
	return ""
}

// impressionsOf returns the name of the column of impressions, "" if there is none: beside a label called
// clicks it is the column called impressions, unless that has another use.
func impressionsOf(header []string, label string, o Options) string {
	found := named(header, "impressions")
	if o.Impressions != "" || o.Positive+o.LabelValues != "" || !strings.EqualFold(label, "clicks") ||
		found == o.Weight || slices.Contains(slices.Concat(o.IDs, o.Numbers, o.Ignore), found) {
		return o.Impressions
	}
	return found
}

// columnsShown is the number of columns that the message about a missing label lists.
const columnsShown = 12

// shorten returns the names of a header in a list, without the last of a long one.
func shorten(header []string) string {
	if len(header) <= columnsShown {
		return strings.Join(header, ", ")
	}
	return strings.Join(header[:columnsShown], ", ") + ", …"
}

// read reads rows.
func (t *tally) read(reader *decode.RecordReader) error {
	for t.rows < t.most {
		record, err := reader.NextRecord()
		var bad *decode.BadRow
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &bad):
			if t.bad == nil {
				t.bad = fmt.Errorf("line %d: %w", reader.Line(), bad)
			}
			continue
		case err != nil:
			return err
		case slices.Equal(record, reader.Columns):
			continue // files that were joined
		}
		t.rows++
		positive := t.labels.add(record[t.label])
		for i, field := range record {
			t.columns[i].add(field, positive)
		}
	}
	return nil
}

// table decides on the columns, and completes their description.
func (t *tally) table(spec *job.Table, o Options) (*Table, error) {
	switch {
	case t.rows == 0 && t.bad != nil:
		return nil, fileError{fmt.Errorf("no row has the fields of the header: %w", t.bad)}
	case t.rows == 0:
		return nil, fileError{fmt.Errorf("%w below its header", datasets.ErrNoRows)}
	}
	table := &Table{spec: spec, Rows: t.rows, RowBytes: numberBytes} // the label
	label, firstIsPositive, err := t.labelColumn(table)
	if err != nil {
		return nil, err
	}
	for i, v := range t.columns {
		if i == t.label {
			table.Columns = append(table.Columns, label)
			continue
		}
		if v.name != "" && (v.name == t.weight || v.name == t.impressions) {
			c, err := t.weightColumn(v, spec)
			if err != nil {
				return nil, err
			}
			table.Columns, table.RowBytes = append(table.Columns, c), table.RowBytes+numberBytes
			continue
		}
		c := v.column(t.rows, firstIsPositive, spec.Delimiter)
		if c.override(o); c.Name == "" {
			c.Name, c.Use, c.Why = fmt.Sprintf("column %d", i+1), Ignored, "without a name in the header"
		}
		switch c.Use {
		case ID:
			column := job.IDColumn{Column: c.Name, Separator: c.Separator, Whole: c.whole,
				WeightSeparator: c.WeightSeparator}
			spec.Slots = append(spec.Slots, column)
			table.RowBytes += v.idBytes(c.Separator, t.rows)
		case Number:
			spec.Numeric = append(spec.Numeric, c.Name)
			noteStyle(spec, c)
			table.RowBytes += numberBytes
			for _, text := range v.missingTexts() {
				if !slices.Contains(spec.Missing, text) {
					spec.Missing = append(spec.Missing, text)
				}
			}
		}
		table.Columns = append(table.Columns, c)
	}
	if len(spec.Slots)+len(spec.Numeric) == 0 {
		return nil, errors.New("no column looks like ids or numbers: name those that do with --ids or " +
			"--numbers")
	}
	return table, spec.Validate()
}

// noteStyle adds a column of numbers to those of its style.
func noteStyle(spec *job.Table, c Column) {
	switch c.style {
	case decode.DecimalComma:
		spec.DecimalComma = append(spec.DecimalComma, c.Name)
	case decode.Thousands:
		spec.Thousands = append(spec.Thousands, c.Name)
	}
}

// override applies what the user knows.
func (c *Column) override(o Options) {
	for use, names := range map[Use][]string{ID: o.IDs, Number: o.Numbers, Ignored: o.Ignore} {
		if slices.Contains(names, c.Name) {
			c.Use, c.Why = use, "as asked"
		}
	}
}

// whyMax is the number of characters of a reason, and nameMin the least of a name, in the table of Describe.
const whyMax, nameMin = 30, 12

// Describe returns a table of columns for people. It has room on a page, for which long names are cut.
func Describe(columns []Column) cli.Table {
	t := cli.Table{Header: []string{"column", "use", "why", "values", "empty"}, Words: 3}
	someEmpty := slices.ContainsFunc(columns, func(c Column) bool { return c.Empty > 0 })
	for _, c := range columns {
		empty := ""
		if someEmpty {
			empty = fmt.Sprintf("%.0f %%", 100*c.Empty)
		}
		t.Rows = append(t.Rows, []string{c.Name, string(c.Use), cli.Cut(c.Why, whyMax),
			fmt.Sprint(c.Distinct), empty})
	}
	t.Fit(nameMin, 0)
	return t
}
