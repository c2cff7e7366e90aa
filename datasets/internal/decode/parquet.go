package decode

import (
	"io"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// A ParquetReader reads the columns that a job names from a Parquet file. The batch has all rows
// of the file; the content of a bad row is arbitrary. For every bad row, bad has the first
// problem, in the order of rows, with the number of the row, from 1, as its line. Ids are the ids
// of the same values written as text.
type ParquetReader func(file io.ReaderAt, size int64, columns *job.Table) (
	b *batch.Batch, bad []*BadRow, err error)

// ParquetGroups reads as a ParquetReader does, but one row group after the other: it calls use with
// the rows and the bad rows of each, and with the number of rows before them and in the file. Bad rows
// have their numbers in the file. An error of use ends it.
type ParquetGroups func(file io.ReaderAt, size int64, columns *job.Table,
	use func(b *batch.Batch, bad []*BadRow, first, total int) error) error

// A ParquetTable is an open Parquet file without a description of its columns.
type ParquetTable interface {
	// Columns returns the columns, in the order of the file.
	Columns() []ParquetColumn
	// Rows returns the number of rows.
	Rows() int
	// Texts calls use with the values of a column in the first rows, written as text. The elements of a list
	// have bars between them.
	Texts(column, rows int, use func(row int, text string)) error
	// Values calls use with all values of a column of ids, written as text: of a list each element, and
	// nothing for one that is empty or missing.
	Values(column int, use func(text string)) error
}

// ParquetColumn is a column of a ParquetTable.
type ParquetColumn struct {
	Name string
	Kind ValueKind
	// Problem says why no job can use the column, "" if one can. It has no texts then.
	Problem string
}

// ValueKind is what a file says of the values of a column.
type ValueKind uint8

// The kinds of values.
const (
	AnyText  ValueKind = iota // of delimited text, which says nothing
	Text                      // ids or labels, and no numbers
	Whole                     // whole numbers and booleans
	Fraction                  // floating-point numbers, which are ids only if all are whole
	Decimal                   // numbers with a fixed number of digits, which are no ids
	Time                      // whole numbers that are instants
	List                      // lists of ids
)

// ParquetOpener opens a Parquet file as a ParquetTable.
type ParquetOpener func(file io.ReaderAt, size int64) (ParquetTable, error)

// parquetReader, parquetGroups and parquetOpener are the readers of programs that import package
// datasets/parquet, nil in others. Programs that read no Parquet do not link the library behind it, which
// takes longer to build than all other readers together.
var (
	parquetReader ParquetReader
	parquetGroups ParquetGroups
	parquetOpener ParquetOpener
)

// RegisterParquet sets the readers. Package datasets/parquet calls it when it is imported.
func RegisterParquet(read ParquetReader, groups ParquetGroups, open ParquetOpener) {
	parquetReader, parquetGroups, parquetOpener = read, groups, open
}

// OpenParquet returns the registered opener, or nil.
func OpenParquet() ParquetOpener { return parquetOpener }

// Parquet returns the registered readers, or nil.
func Parquet() (ParquetReader, ParquetGroups) { return parquetReader, parquetGroups }
