// Package parquet lets package datasets read Parquet files. A program imports it for its effect:
//
//	import _ "tandem/datasets/parquet"
//
// Then datasets.Open opens data of kind parquet. It is a separate package because the library
// behind it takes long to build, and most programs read no Parquet.
//
// Before that library allocates memory for what a file claims, a walk over the thrift of the file checks the
// claims. The library costs 22 s of CPU in a cold build, and 7 MB; Arrow's reader takes 120 s and 33 MB.
package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/internal/parallel"
)

func init() { decode.RegisterParquet(read, readGroups, openTable) }

// read is a decode.ParquetReader. It decodes the columns of row groups in parallel. The error
// says which column is missing, nested or of the wrong type, or that the file is incomplete.
//
// Memory: the rows, twice while their columns are joined. Sizes that the file claims are checked
// before memory is allocated for them: see bounds.go.
func read(file io.ReaderAt, size int64, table *job.Table) (
	b *batch.Batch, bad []*decode.BadRow, err error) {
	defer recoverDamage(&err)
	t, err := open(file, size, table)
	if err != nil {
		return nil, nil, err
	}
	return t.read(0, len(t.groups))
}

// readGroups is a decode.ParquetGroups.
//
// Memory: a page of every column, and groupRows rows, twice while their columns are joined.
func readGroups(file io.ReaderAt, size int64, table *job.Table,
	use func(b *batch.Batch, bad []*decode.BadRow, first, total int) error) (err error) {
	defer recoverDamage(&err)
	t, err := open(file, size, table)
	if err != nil {
		return err
	}
	first := 0
	for g := range t.groups {
		if t.groups[g].NumRows() == 0 {
			continue // it may have no pages
		}
		if err := t.readGroup(g, first, use); err != nil {
			return err
		}
		first += int(t.groups[g].NumRows())
	}
	return nil
}

// groupRows is the number of rows of a row group that readGroups decodes at a time.
const groupRows = 1 << 16

// readGroup reads a row group, whose first row has a number in the file, part by part.
func (t *opened) readGroup(number, first int,
	use func(b *batch.Batch, bad []*decode.BadRow, first, total int) error) error {
	cursors, refused := make([]*cursor, len(t.columns)), make([]error, len(t.columns))
	parallel.ForEach(parallel.Cores(), len(cursors), func(i int) {
		defer recoverDamage(&refused[i])
		refused[i] = t.check(number, &t.columns[i])
	})
	if err := t.first(refused); err != nil {
		return err
	}
	for i := range cursors {
		c := &t.columns[i]
		cursors[i] = c.cursor(t.groups[number].ColumnChunks()[c.index])
		defer cursors[i].close()
	}
	all := int(t.groups[number].NumRows())
	for lo := 0; lo < all; lo += groupRows {
		n := min(groupRows, all-lo)
		pieces, failed := make([]piece, len(cursors)), make([]error, len(cursors))
		parallel.ForEach(parallel.Cores(), len(cursors), func(i int) {
			defer recoverDamage(&failed[i])
			if pieces[i], failed[i] = cursors[i].next(n); failed[i] == nil && lo+n == all {
				failed[i] = cursors[i].end()
			}
		})
		if err := t.first(failed); err != nil {
			return err
		}
		rows, bad, err := join(n, 1, t.columns, pieces)
		if err != nil {
			return err
		}
		for _, row := range bad {
			row.Line += first + lo
		}
		if err := use(rows, bad, first+lo, int(t.file.NumRows())); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if a column of a row group claims more than the file has.
func (t *opened) check(group int, c *column) error {
	chunks := t.file.Metadata().RowGroups[group].Columns
	return t.bounds.check(c, &chunks[c.index])
}

// first returns the first error of pieces, which are in the order of columns.
func (t *opened) first(failed []error) error {
	for i, err := range failed {
		if err != nil {
			return fmt.Errorf("column %q: %w", t.columns[i%len(t.columns)].name, err)
		}
	}
	return nil
}

// opened is an open file.
type opened struct {
	file    *parquet.File
	columns []column
	groups  []parquet.RowGroup
	bounds  *bounds
}

// open checks the structure of a file and finds its columns.
func open(file io.ReaderAt, size int64, spec *job.Table) (*opened, error) {
	if err := checkFooter(file, size); err != nil {
		return nil, fmt.Errorf("not a whole Parquet file: %w: copy or download the file again", err)
	}
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("not a whole Parquet file: %w: copy or download the file again", err)
	}
	columns, err := find(f, spec)
	if err != nil {
		return nil, err
	}
	if f.NumRows() >= math.MaxInt32 {
		return nil, fmt.Errorf("more than %d rows: split the file", math.MaxInt32-1)
	}
	groups := f.RowGroups()
	if err := checkGroups(f.NumRows(), groups); err != nil {
		return nil, err
	}
	return &opened{f, columns, groups, newBounds(file, size)}, nil
}

// read returns the rows of the row groups first to end−1.
func (t *opened) read(first, end int) (*batch.Batch, []*decode.BadRow, error) {
	pieces := make([]piece, (end-first)*len(t.columns)) // by group, then column
	failed := make([]error, len(pieces))
	parallel.ForEach(parallel.Cores(), len(pieces), func(i int) {
		defer recoverDamage(&failed[i])
		number, c := first+i/len(t.columns), t.columns[i%len(t.columns)]
		group := t.groups[number]
		if group.NumRows() == 0 { // it may have no pages
			return
		}
		if failed[i] = t.check(number, &c); failed[i] != nil {
			return
		}
		all := c.cursor(group.ColumnChunks()[c.index])
		defer all.close()
		if pieces[i], failed[i] = all.next(int(group.NumRows())); failed[i] == nil {
			failed[i] = all.end()
		}
	})
	if err := t.first(failed); err != nil {
		return nil, nil, err
	}
	rows := 0
	for _, group := range t.groups[first:end] {
		rows += int(group.NumRows())
	}
	return join(rows, end-first, t.columns, pieces)
}

// checkGroups returns an error unless the rows of the row groups add up to those of the file.
// Memory is allocated for as many rows as a group claims.
func checkGroups(rows int64, groups []parquet.RowGroup) error {
	sum := int64(0)
	for _, group := range groups {
		n := group.NumRows()
		if n > rows-sum {
			return fmt.Errorf("%w (a row group of %d rows in a file of %d)", errDamaged, n, rows)
		}
		sum += n
	}
	if sum != rows {
		return fmt.Errorf("%w (row groups of %d rows in a file of %d)", errDamaged, sum, rows)
	}
	return nil
}

// errDamaged says that the file is inconsistent.
var errDamaged = errors.New("the file is damaged: copy or download it again")

// recoverDamage turns a panic of the library, which trusts the content of files, into an error.
func recoverDamage(err *error) {
	if problem := recover(); problem != nil {
		*err = fmt.Errorf("%w (%v)", errDamaged, problem)
	}
}

// use is what a column is used for.
type use uint8

const (
	label use = iota
	weight
	impressions
	numeric
	ids
	idWeights // of the ids of the column before it
)

// column is a column of the file that is read.
type column struct {
	name     string
	use      use
	index    int // in a row group
	unsigned bool
	isList   bool
	decimal  bool
	scale    int  // digits behind the point of a decimal
	whole    bool // ids that are floating-point numbers
	// repetition and definition are the highest levels of a value.
	repetition, definition int
	// present is the lowest definition level at which a list has an element, which can be
	// null.
	present int
	// label decodes a label.
	label        func(text string) (value float32, reason string)
	empty        *float64 // the number that a null becomes; nil: its row is bad
	isMissingNaN bool     // a NaN is a missing number, and not a bad one
}

// find returns the columns that a job names: labels and weights, if it names a label, numbers, ids.
func find(f *parquet.File, table *job.Table) ([]column, error) {
	var all []column
	labels := decode.NewLabelDecoder(table)
	add := func(u use, names ...string) error {
		for i, name := range names {
			isWhole := u == ids && slices.ContainsFunc(table.Slots,
				func(c job.IDColumn) bool { return c.Column == name && c.Whole })
			c, err := findOne(f, name, u, isWhole)
			if err != nil {
				return err
			}
			c.label = func(text string) (float32, string) { return labels(i, text) }
			if c.empty = table.EmptyNumeric; slices.Contains(table.Missing, "") {
				missing := math.NaN() // until the mean is known
				c.empty = &missing
			}
			c.isMissingNaN = slices.ContainsFunc(table.Missing, func(text string) bool {
				return strings.EqualFold(text, "NaN")
			})
			all = append(all, c)
		}
		return nil
	}
	var err error
	if table.Label != "" {
		err = add(label, table.LabelNames()...)
	}
	if err == nil && table.Label != "" && table.Weight != "" {
		err = add(weight, table.Weight)
	}
	if err == nil && table.Label != "" && table.Impressions != "" {
		err = add(impressions, table.Impressions)
	}
	if err == nil {
		err = add(numeric, table.Numeric...)
	}
	for _, slot := range table.Slots {
		if err == nil {
			err = add(ids, slot.Column)
		}
		if err == nil && slot.Weights != "" {
			err = add(idWeights, slot.Weights)
		}
	}
	return all, err
}

// findOne returns a column for a use. isWhole says that ids may be whole floating-point numbers.
func findOne(f *parquet.File, name string, u use, isWhole bool) (column, error) {
	schema := f.Schema()
	var names []string
	var paths [][]string // of the values of the column
	for _, path := range schema.Columns() {
		if len(names) == 0 || names[len(names)-1] != path[0] {
			names = append(names, path[0])
		}
		if path[0] == name {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return column{}, fmt.Errorf("no column %q: the file has %q", name, names)
	}
	leaf, _ := schema.Lookup(paths[0]...)
	c := column{name: name, use: u, index: leaf.ColumnIndex, isList: leaf.MaxRepetitionLevel == 1,
		whole: isWhole, present: leaf.MaxDefinitionLevel,
		repetition: leaf.MaxRepetitionLevel, definition: leaf.MaxDefinitionLevel}
	if leaf.Node.Optional() {
		c.present--
	}
	kind := leaf.Node.Type()
	if logical := kind.LogicalType(); logical != nil {
		if d, ok := logical.Value.(*format.DecimalType); ok {
			c.decimal, c.scale = true, int(d.Scale)
		}
	}
	c.unsigned = strings.HasPrefix(kind.String(), "INT(") && strings.HasSuffix(kind.String(), "false)")
	switch {
	case len(paths) > 1 || leaf.MaxRepetitionLevel > 1 || !c.isList && len(paths[0]) > 1:
		return c, fmt.Errorf("column %q is nested (%s): a column must hold values, or lists of them", name,
			strings.Join(paths[0], "."))
	case c.isList && u < ids:
		return c, fmt.Errorf("column %q holds lists: labels and numbers need one value per row", name)
	}
	return c, c.checkType(kind)
}

// checkType returns an error unless a column of a type can have its use. Decimals are no ids: a file stores
// them without the point, and text files with or without zeros at their end.
func (c *column) checkType(kind parquet.Type) error {
	if c.decimal {
		if c.use != ids {
			return nil
		}
		return fmt.Errorf("column %q holds %s: write it as text if it is an id", c.name, kind)
	}
	switch kind.Kind() {
	case parquet.Int32, parquet.Int64, parquet.Boolean:
		return nil
	case parquet.ByteArray, parquet.FixedLenByteArray:
		if c.use == label || c.use == ids {
			return nil
		}
	case parquet.Float, parquet.Double:
		if c.use != ids || c.whole {
			return nil
		}
	}
	want := "labels must be text, numbers or booleans"
	switch c.use {
	case numeric:
		want = "numeric columns must hold numbers or booleans"
	case weight, impressions:
		want = "weights and impressions must be numbers"
	case ids:
		want = "ids must be text, whole numbers or booleans"
	case idWeights:
		want = "weights of ids must be numbers"
	}
	return fmt.Errorf("column %q holds %s: %s", c.name, kind, want)
}

// join joins the pieces of all row groups and returns the first problem of each bad row.
func join(rows, groups int, columns []column, pieces []piece) (*batch.Batch, []*decode.BadRow, error) {
	b := &batch.Batch{Samples: rows}
	var labels, numbers [][]float32
	var labelNames []string
	var shown []float32 // impressions
	var bad []*decode.BadRow
	for c := range columns {
		first := 0
		var values []float32
		slot := batch.Jagged{Offsets: make([]int32, 1, rows+1)}
		for g := range groups {
			p := &pieces[g*len(columns)+c]
			for _, problem := range p.bad {
				problem.Line += first
				bad = append(bad, problem)
			}
			if len(slot.IDs)+len(p.ids) > math.MaxInt32 {
				return nil, nil, fmt.Errorf("column %q: more than %d ids: split the file", columns[c].name,
					math.MaxInt32)
			}
			values, slot.IDs = append(values, p.values...), append(slot.IDs, p.ids...)
			for _, count := range p.counts {
				slot.Offsets = append(slot.Offsets, slot.Offsets[len(slot.Offsets)-1]+count)
			}
			first += p.rows
			*p = piece{}
		}
		switch columns[c].use {
		case label:
			labels, labelNames = append(labels, values), append(labelNames, columns[c].name)
		case weight:
			b.Weights = values
		case impressions:
			shown = values
		case numeric:
			numbers = append(numbers, values)
		case ids:
			b.Slots = append(b.Slots, slot)
		default:
			bad = append(bad, weigh(&b.Slots[len(b.Slots)-1], columns[c].name, slot.Offsets, values)...)
		}
	}
	if shown != nil {
		bad = append(bad, shares(b, labels, labelNames, shown)...)
	}
	b.Labels, b.Dense = interleaved(labels, rows), interleaved(numbers, rows)
	// The first problem of a row is the one that a text file would report, because columns are
	// in the same order.
	slices.SortStableFunc(bad, func(x, y *decode.BadRow) int { return x.Line - y.Line })
	return b, slices.CompactFunc(bad, func(x, y *decode.BadRow) bool { return x.Line == y.Line }), nil
}

// weigh sets the weights of the ids of a slot to those of a column, whose values in each row are between
// offsets. It returns the rows that have not as many as ids.
func weigh(slot *batch.Jagged, name string, offsets []int32, weights []float32) (bad []*decode.BadRow) {
	slot.Weights = make([]float32, len(slot.IDs))
	for row := range len(offsets) - 1 {
		own, ids := weights[offsets[row]:offsets[row+1]], slot.SampleWeights(row)
		if len(own) != len(ids) {
			bad = append(bad, &decode.BadRow{Line: row + 1, Column: name, Value: fmt.Sprint(own),
				Reason: fmt.Sprintf("%d weights, and the row has %d ids", len(own), len(ids))})
			continue
		}
		copy(ids, own)
	}
	return bad
}

// shares makes shares of impressions of labels that are counts, and multiplies the weights of the
// rows of b by the impressions. It returns the rows with a label above the impressions.
func shares(b *batch.Batch, labels [][]float32, names []string, impressions []float32) []*decode.BadRow {
	var bad []*decode.BadRow
	if b.Weights == nil {
		b.Weights = impressions
	} else {
		for row, n := range impressions {
			b.Weights[row] *= n
		}
	}
	for l, clicks := range labels {
		for row, n := range impressions {
			share, reason := decode.Share(clicks[row], n)
			if reason != "" {
				bad = append(bad, &decode.BadRow{Line: row + 1, Column: names[l],
					Value: strconv.FormatFloat(float64(clicks[row]), 'f', -1, 32), Reason: reason})
			}
			labels[l][row] = share
		}
	}
	return bad
}

// interleaved returns columns as a row-major matrix.
func interleaved(columns [][]float32, rows int) []float32 {
	out := make([]float32, rows*len(columns))
	for c, values := range columns {
		for row, value := range values {
			out[row*len(columns)+c] = value
		}
	}
	return out
}
