package main

import (
	"fmt"
	"path/filepath"

	"tandem/algo/job"
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
	head, err := datasets.ReadHead(file, headLines)
	if err != nil {
		return nil, err
	}
	described, columns, err := describe(file, head, f)
	if err != nil {
		return nil, err
	}
	described.OnBadRow = policy
	rows, err := datasets.ReadRows(described, file)
	if err != nil {
		return nil, err
	}
	cli.PrintNotes(p.stderr, "data", rows.Notes)
	return &dataset{
		Name: file, Job: described, Schema: rows.Schema, Parts: []part{{"all", rows.Batch}},
		Dropped: rows.DroppedRows, BadRows: rows.BadRows, Head: head, Inferred: columns,
	}, nil
}

// describe returns how to read a file, whose kind is given or guessed, and what its columns are if they were
// inferred.
func describe(file string, head *datasets.Head, f *flags) (job.Data, []infer.Column, error) {
	data := job.Data{Kind: job.DataKind(f.kind)}
	if f.kind == "" {
		var ok bool
		if data.Kind, ok = head.Kind(); !ok {
			return data, nil, &cli.Error{Err: fmt.Errorf("%s: cannot tell the kind of the file", file),
				Hint: "name it with --kind"}
		}
	}
	if data.Kind != job.KindCSV && f.label != "" {
		return data, nil, cli.UsageError("leave it out: other kinds define their label",
			"--label is for kind csv, and %s is %s", file, data.Kind)
	}
	if data.Kind == job.KindCSV {
		table, err := infer.CSV(file, infer.Options{Label: f.label})
		if err != nil {
			return data, nil, &cli.Error{Err: err,
				Hint: "name the label with --label, or describe the columns in a job file (--file)"}
		}
		return table.Data, table.Columns, nil
	}
	return data, nil, nil
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

// positives returns the number of rows whose first label is 1.
func positives(rows *batch.Batch) int {
	n := 0
	for _, label := range batch.Column(rows.Labels, len(rows.Labels)/rows.Samples, 0) {
		if label == 1 {
			n++
		}
	}
	return n
}
