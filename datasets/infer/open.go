package infer

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/datasets"
)

// Request is a table to train on, with what its user knows of it.
type Request struct {
	File string
	Options
	Split    job.Split
	OnBadRow job.OnBadRow
	// Memory is the memory that this program may take; 0 stands for any amount. Rows that would take more
	// than a quarter of it stay in their file, because a split and held-back rows need them two more times,
	// and the model needs memory, too.
	Memory unit.Bytes
}

// Of Request.Memory, rows take at most rowsShare, or else stay in their file, and the test rows, which never
// do, at most testShare: their evaluation needs several times as much.
const rowsShare, testShare = 0.25, 1.0 / 16

// stream decides whether the rows of a table stay in their file. If so, it reduces the share of the test rows
// to what fits into memory.
func (r *Request) stream(found *Table) bool {
	rows := unit.Bytes(found.RowBytes * float64(found.RowsInFile))
	if r.Memory == 0 || float64(rows) <= rowsShare*float64(r.Memory) {
		return false
	}
	if r.Split.How == job.SplitTime {
		found.Notes = append(found.Notes, fmt.Sprintf("a split by time needs the rows in memory, where "+
			"they take %v, up to three times for a while, of the %v that are free: other splits leave "+
			"them in the file",
			rows, r.Memory))
		return false
	}
	found.Notes = append(found.Notes, fmt.Sprintf("the rows stay in the file (data.stream: true), since "+
		"in memory they would take %v, more than a quarter of the %v that are free", rows, r.Memory))
	if most := testShare * float64(r.Memory) / float64(rows); r.Split.TestShare() > most {
		digits := math.Pow(10, 1-math.Floor(math.Log10(most))) // two significant ones
		r.Split.Test = math.Floor(most*digits) / digits
		found.Notes = append(found.Notes, fmt.Sprintf("the test rows are a share of %.2g of the rows, "+
			"because they are kept in memory", r.Split.Test))
	}
	return true
}

// Hint says what to do where Open fails, or "" where its error says so.
func Hint(err error) string {
	const columns = "--label names the label, --positive its positive values, --ids, --numbers and " +
		"--ignore say what other columns are"
	switch {
	case errors.As(err, new(*columnError)):
		return columns
	case errors.Is(err, datasets.ErrBadRow):
		return "--on-bad-row skip:100 leaves out up to 100 such rows; " + columns
	}
	return ""
}

// Open infers the columns of a table, reads its rows, and returns a job for them. The column of a split by
// time is left out unless it is named as ids or numbers, since test rows have later times than all others.
func Open(r Request) (j job.Job, set *datasets.Dataset, found *Table, err error) {
	at := r.Split.Column
	bySplit := at != "" && !slices.Contains(slices.Concat(r.IDs, r.Numbers, r.Ignore), at)
	if bySplit {
		r.Ignore = append(slices.Clone(r.Ignore), at)
	}
	if found, err = File(r.File, r.Options); err != nil {
		return j, nil, nil, err
	}
	if i := slices.IndexFunc(found.Columns, func(c Column) bool { return c.Name == at }); bySplit && i >= 0 {
		found.Columns[i].Why = "the split is by it"
	}
	data := found.Data
	data.Stream = r.stream(found)
	data.Split, data.OnBadRow = r.Split, r.OnBadRow
	if data.Path = r.File; !job.IsURL(r.File) {
		if data.Path, err = filepath.Abs(r.File); err != nil {
			return j, nil, nil, err
		}
	}
	if set, err = datasets.Open(data, ""); err != nil {
		return j, nil, nil, err
	}
	j = Job(set)
	j.Name, j.Data, j.Cluster = nameOf(r.File), data, job.PersiaCluster()
	return j, set, found, nil
}

// ParseSplit reads a split such as random:0.2, last:0.1 or time:COLUMN.
func ParseSplit(text string) (job.Split, error) {
	how, share, ok := strings.Cut(text, ":")
	if how == job.SplitTime && share != "" {
		return job.Split{How: how, Column: share}, nil
	}
	value, err := strconv.ParseFloat(share, 64)
	if !ok || err != nil || how != job.SplitRandom && how != job.SplitLast || !(value > 0 && value < 1) {
		return job.Split{}, fmt.Errorf("%q: want random:0.2, last:0.1 for the last tenth of the rows, or "+
			"time:COLUMN for the latest fifth", text)
	}
	return job.Split{How: how, Test: value}, nil
}

// nameOf returns the name of a job that trains on a file.
func nameOf(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	name = strings.Map(func(r rune) rune {
		if r < 128 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' ||
			r == '_') {
			return r
		}
		return '-'
	}, name)
	if strings.Trim(name, "-") == "" {
		return "table"
	}
	return name
}
