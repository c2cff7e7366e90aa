package main

import (
	"fmt"
	"path/filepath"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/datasets/infer"
	"tandem/internal/cli"
)

// dataset is the data set that a command reads.
type dataset struct {
	Name   string
	Job    job.Data
	Schema batch.Schema
	Parts  []part
	// Dropped is the number of bad rows that were skipped, and BadRows are the first few.
	Dropped int
	BadRows []*datasets.BadRowError
	// Head is the beginning of the first file; nil if there is no file.
	Head *datasets.Head
	// Inferred are the columns of a table that no job describes.
	Inferred []infer.Column
	// Columns and First are the columns of a Parquet file that no job describes, and its first rows.
	Columns []string
	First   [][]string
}

// part is all rows of a file, or the training rows or test rows of a job.
type part struct {
	Name string
	Rows *batch.Batch
}

// headLines is the number of lines that are read to guess a kind and to show rows.
const headLines = 64

// open reads the data set that a command line names.
func (p *program) open(f *flags, args []string, policy job.OnBadRow) (*dataset, error) {
	file, err := f.check(args)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return p.openJob(f.job, policy)
	}
	described, columns, head, err := describe(file, f)
	if err != nil {
		return nil, err
	}
	described.OnBadRow = policy
	rows, err := datasets.ReadRows(described, file)
	if err != nil {
		return nil, err
	}
	cli.PrintNotes(p.stderr, "data", rows.Notes)
	s := &dataset{
		Name: file, Job: described, Schema: rows.Schema, Parts: []part{{"all", rows.Batch}},
		Dropped: rows.DroppedRows, BadRows: rows.BadRows, Head: head, Inferred: columns,
	}
	if described.Kind == job.KindParquet {
		s.Columns, s.First, err = datasets.ParquetHead(file, headLines)
	}
	return s, err
}

// describe returns how to read a file, whose kind is given or guessed, what its columns are if they were
// inferred, and its first lines if it is text.
func describe(file string, f *flags) (data job.Data, columns []infer.Column, head *datasets.Head,
	err error) {
	data.Kind = job.DataKind(f.kind)
	if isParquet, _ := datasets.IsParquet(file); f.kind == "" && isParquet {
		data.Kind = job.KindParquet
	} else if head, err = datasets.ReadHead(file, headLines); err != nil {
		return data, nil, nil, err
	}
	if data.Kind == "" {
		var ok bool
		if data.Kind, ok = head.Kind(); !ok {
			return data, nil, nil, &cli.Error{
				Err: fmt.Errorf("%s: cannot tell the kind of the file by its first line, %.40q", file,
					head.Lines[0]),
				Hint: "name it with --kind; a table has a comma, tab, semicolon or bar between columns, or " +
					"in all lines as many single blanks"}
		}
	}
	inferred := data.Kind == job.KindCSV || data.Kind == job.KindParquet
	if !inferred && f.label+f.positive != "" {
		return data, nil, nil, cli.UsageError("leave it out: other kinds define their label",
			"--label and --positive are for kinds csv and parquet, and %s is %s", file, data.Kind)
	}
	if inferred {
		table, err := infer.File(file, infer.Options{Label: f.label, Positive: f.positive})
		if err != nil && infer.Hint(err) != "" {
			err = &cli.Error{Err: err,
				Hint: "name the label with --label and its positive values with --positive, or describe " +
					"the columns in a job file (--file)"}
		}
		if err != nil {
			return data, nil, nil, err
		}
		return table.Data, table.Columns, head, nil
	}
	return data, nil, head, nil
}

// openJob reads the data of a job file. A policy that skips rows replaces that of the job.
func (p *program) openJob(path string, policy job.OnBadRow) (*dataset, error) {
	j, err := job.Load(path)
	if err != nil {
		return nil, err
	}
	if policy != (job.OnBadRow{}) {
		j.Data.OnBadRow = policy
	}
	folder := job.DataFolder(p.dataDir, path)
	data, err := datasets.Open(j.Data, folder)
	if err != nil {
		return nil, err
	}
	cli.PrintNotes(p.stderr, "data", data.Notes)
	if data, err = data.InMemory(); err != nil {
		return nil, err
	}
	s := &dataset{
		Name: path, Job: j.Data, Schema: data.Schema,
		Parts:   []part{{"train", data.Train}, {"test", data.Test}},
		Dropped: data.DroppedRows, BadRows: data.BadRows,
	}
	file := j.Data.Path
	if file == "" {
		file = j.Data.Train
	}
	if file == "" || j.Data.Kind == job.KindParquet { // Parquet files have no lines
		return s, nil
	}
	if !filepath.IsAbs(file) && !job.IsURL(file) {
		file = filepath.Join(folder, file)
	}
	s.Head, err = datasets.ReadHead(file, headLines)
	return s, err
}

// rows returns the number of rows of all parts.
func (s *dataset) rows() int {
	n := 0
	for _, part := range s.Parts {
		n += part.Rows.Samples
	}
	return n
}

// labelMean returns the mean of the first label of rows by their weights: of classes, the share of positive
// rows.
func labelMean(rows *batch.Batch) float64 {
	return metric.WeightedMean(batch.Column(rows.Labels, len(rows.Labels)/rows.Samples, 0), rows.Weights)
}
