// Package parquet reads Parquet files for package datasets. Importing it is all:
// data of kind parquet can be opened from then on.
//
// It is a package of its own because of the library that it stands on. A program
// that reads no Parquet should not wait for that to be built.
package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/parallel"
)

func init() { datasets.RegisterParquet(Read) }

// Read is a datasets.ParquetReader. Each column of each row group is decoded on
// its own, on all processors. Errors say which column is missing, nested or of
// the wrong type, or that the file is not whole.
//
// Memory: the rows, twice while their columns are put together. What the file claims of its parts is checked
// before memory is made for them: see bounds.go.
func Read(name string, file io.ReaderAt, size int64, spec *job.Table) (b *batch.Batch, bad []*datasets.BadRowError, err error) {
	defer recoverDamage(&err)
	if err := checkFooter(file, size); err != nil {
		return nil, nil, fmt.Errorf("not a whole Parquet file: %w: copy or download the file again", err)
	}
	f, err := parquet.OpenFile(file, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, nil, fmt.Errorf("not a whole Parquet file: %w: copy or download the file again", err)
	}
	columns, err := find(f, spec)
	if err != nil {
		return nil, nil, err
	}
	if f.NumRows() >= math.MaxInt32 {
		return nil, nil, fmt.Errorf("more than %d rows: split the file", math.MaxInt32-1)
	}
	groups := f.RowGroups()
	if err := checkGroups(f.NumRows(), groups); err != nil {
		return nil, nil, err
	}
	bounds := newBounds(file, size)
	pieces := make([]piece, len(groups)*len(columns)) // by group, then column
	failed := make([]error, len(pieces))
	parallel.ForEach(parallel.Cores(), len(pieces), func(i int) {
		defer recoverDamage(&failed[i])
		group, c := groups[i/len(columns)], columns[i%len(columns)]
		chunks := f.Metadata().RowGroups[i/len(columns)].Columns
		if failed[i] = bounds.check(&c, &chunks[c.index]); failed[i] != nil {
			return
		}
		pieces[i], failed[i] = c.read(group.ColumnChunks()[c.index], int(group.NumRows()))
	})
	for i, err := range failed {
		if err != nil {
			return nil, nil, fmt.Errorf("column %q: %w", columns[i%len(columns)].name, err)
		}
	}
	return join(int(f.NumRows()), len(groups), columns, pieces)
}

// checkGroups says whether the row groups have the rows of the file between them:
// memory is made for as many as a group says.
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

// errDamaged says that the file contradicts itself.
var errDamaged = errors.New("the file is damaged: copy or download it again")

// recoverDamage turns a panic of the library, which trusts a file more than
// files deserve, into an error.
func recoverDamage(err *error) {
	if problem := recover(); problem != nil {
		*err = fmt.Errorf("%w (%v)", errDamaged, problem)
	}
}

// role is what a column is for.
type role uint8

const (
	label role = iota
	numeric
	ids
)

// column is a column of the file that is read.
type column struct {
	name     string
	role     role
	index    int // in a row group
	unsigned bool
	isList   bool
	// repetition and definition are the greatest levels of a value.
	repetition, definition int
	// present is the definition level from which on a list has an element, which
	// may be null.
	present            int
	positive, negative []string // of labels
	empty              *float64 // what a null is among numbers; nil: a bad row
}

// find returns the columns of a spec: labels, numbers, ids.
func find(f *parquet.File, spec *job.Table) ([]column, error) {
	var all []column
	add := func(r role, names ...string) error {
		for _, name := range names {
			c, err := findOne(f, name, r)
			if err != nil {
				return err
			}
			c.positive, c.negative = spec.LabelTexts()
			c.empty = spec.EmptyNumeric
			all = append(all, c)
		}
		return nil
	}
	var slots []string
	for _, slot := range spec.Slots {
		slots = append(slots, slot.Column)
	}
	err := add(label, spec.LabelNames()...)
	if err == nil {
		err = add(numeric, spec.Numeric...)
	}
	if err == nil {
		err = add(ids, slots...)
	}
	return all, err
}

func findOne(f *parquet.File, name string, r role) (column, error) {
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
	c := column{name: name, role: r, index: leaf.ColumnIndex, isList: leaf.MaxRepetitionLevel == 1,
		present:    leaf.MaxDefinitionLevel,
		repetition: leaf.MaxRepetitionLevel, definition: leaf.MaxDefinitionLevel}
	if leaf.Node.Optional() {
		c.present--
	}
	kind := leaf.Node.Type()
	c.unsigned = strings.HasPrefix(kind.String(), "INT(") && strings.HasSuffix(kind.String(), "false)")
	switch {
	case len(paths) > 1 || leaf.MaxRepetitionLevel > 1 || !c.isList && len(paths[0]) > 1:
		return c, fmt.Errorf("column %q is nested (%s): a column must hold values, or lists of them", name, strings.Join(paths[0], "."))
	case c.isList && r != ids:
		return c, fmt.Errorf("column %q holds lists: a label or number is one a row", name)
	}
	return c, c.checkType(kind)
}

// checkType says whether a column of the type can be what it is for. A decimal is
// kept without its point: its number is a power of ten too large, its text another.
func (c *column) checkType(kind parquet.Type) error {
	if strings.HasPrefix(kind.String(), "DECIMAL") {
		return fmt.Errorf("column %q holds %s: write it as a floating-point number, or as text if it is an id", c.name, kind)
	}
	switch kind.Kind() {
	case parquet.Int32, parquet.Int64, parquet.Boolean:
		return nil
	case parquet.ByteArray, parquet.FixedLenByteArray:
		if c.role != numeric {
			return nil
		}
	case parquet.Float, parquet.Double:
		if c.role != ids {
			return nil
		}
	}
	want := "labels must be text, numbers or booleans"
	switch c.role {
	case numeric:
		want = "numeric columns must hold numbers or booleans"
	case ids:
		want = "ids must be text, whole numbers or booleans"
	}
	return fmt.Errorf("column %q holds %s: %s", c.name, kind, want)
}

// join puts the pieces of all row groups together, and names the first fault of
// each bad row.
func join(rows, groups int, columns []column, pieces []piece) (*batch.Batch, []*datasets.BadRowError, error) {
	b := &batch.Batch{Samples: rows}
	var labels, numbers [][]float32
	var bad []*datasets.BadRowError
	for c := range columns {
		first := 0
		var values []float32
		slot := batch.Jagged{Offsets: make([]int32, 1, rows+1)}
		for g := range groups {
			p := &pieces[g*len(columns)+c]
			for _, fault := range p.bad {
				fault.Line += first
				bad = append(bad, fault)
			}
			if len(slot.IDs)+len(p.ids) > math.MaxInt32 {
				return nil, nil, fmt.Errorf("column %q: more than %d ids: split the file", columns[c].name, math.MaxInt32)
			}
			values, slot.IDs = append(values, p.values...), append(slot.IDs, p.ids...)
			for _, count := range p.counts {
				slot.Offsets = append(slot.Offsets, slot.Offsets[len(slot.Offsets)-1]+count)
			}
			first += p.rows
			*p = piece{}
		}
		switch columns[c].role {
		case label:
			labels = append(labels, values)
		case numeric:
			numbers = append(numbers, values)
		default:
			b.Slots = append(b.Slots, slot)
		}
	}
	b.Labels, b.Dense = interleaved(labels, rows), interleaved(numbers, rows)
	// Columns are in the order in which text is checked, so the first fault stays.
	slices.SortStableFunc(bad, func(x, y *datasets.BadRowError) int { return x.Line - y.Line })
	return b, slices.CompactFunc(bad, func(x, y *datasets.BadRowError) bool { return x.Line == y.Line }), nil
}

// interleaved returns columns row by row.
func interleaved(columns [][]float32, rows int) []float32 {
	out := make([]float32, rows*len(columns))
	for c, values := range columns {
		for row, value := range values {
			out[row*len(columns)+c] = value
		}
	}
	return out
}
