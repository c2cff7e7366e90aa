package main

import (
	"fmt"
	"path/filepath"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
)

// subject is a data set that a command looks at.
type subject struct {
	Name   string
	Config job.Data
	Schema batch.Schema
	Parts  []part
	// Bad rows that were skipped: their number and the first few.
	Dropped int
	BadRows []*datasets.BadRowError
	// Head is the beginning of the first file; nil if there is no file.
	Head *datasets.Head
}

// part is a part of the rows: all of a file, or those for training or test.
type part struct {
	Name string
	Rows *batch.Batch
}

// linesOfHead is enough to guess a kind and to show some rows.
const linesOfHead = 64

// open reads the subject of a command line.
func (p *program) open(f *flags, args []string, policy job.OnBadRow) (*subject, error) {
	file, err := f.check(args)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return p.openJob(f.job, policy)
	}
	head, err := datasets.ReadHead(file, linesOfHead)
	if err != nil {
		return nil, err
	}
	cfg, err := configOf(file, head, f)
	if err != nil {
		return nil, err
	}
	cfg.OnBadRow = policy
	rows, err := datasets.ReadRows(cfg, file)
	if err != nil {
		return nil, err
	}
	cli.PrintNotes(p.stderr, "data", rows.Notes)
	return &subject{
		Name: file, Config: cfg, Schema: rows.Schema, Parts: []part{{"all", rows.Batch}},
		Dropped: rows.DroppedRows, BadRows: rows.BadRows, Head: head,
	}, nil
}

// configOf says how to read a file whose kind is given or guessed.
func configOf(file string, head *datasets.Head, f *flags) (job.Data, error) {
	cfg := job.Data{Kind: job.DataKind(f.kind)}
	if f.kind == "" {
		var ok bool
		if cfg.Kind, ok = head.Kind(); !ok {
			return cfg, &cli.Error{Err: fmt.Errorf("%s: cannot tell the kind of the file", file), Hint: "say it with --kind"}
		}
	}
	if cfg.Kind != job.KindCSV && f.label != "" {
		return cfg, cli.UsageError("other kinds know their label", "--label is for kind csv, and %s is %s", file, cfg.Kind)
	}
	if cfg.Kind == job.KindCSV {
		var err error
		if cfg.CSV, err = head.GuessCSV(f.label); err != nil {
			return cfg, &cli.Error{
				Err:  fmt.Errorf("%s: %w", file, err),
				Hint: "name the label with --label, or describe the columns in a job file (--file)",
			}
		}
	}
	return cfg, nil
}

// openJob reads the data of a job file. A policy of skipping replaces the job's.
func (p *program) openJob(path string, policy job.OnBadRow) (*subject, error) {
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
	s := &subject{
		Name: path, Config: j.Data, Schema: data.Schema, Parts: []part{{"train", data.Train}, {"test", data.Test}},
		Dropped: data.DroppedRows, BadRows: data.BadRows,
	}
	file := j.Data.Path
	if file == "" {
		file = j.Data.Train
	}
	if file == "" || j.Data.Kind == job.KindParquet { // which has no lines
		return s, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(folder, file)
	}
	s.Head, err = datasets.ReadHead(file, linesOfHead)
	return s, err
}

// rows returns the number of rows of all parts.
func (s *subject) rows() int {
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
