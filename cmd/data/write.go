package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
)

// separator separates the ids of one field.
const separator = "|"

// weightSeparator stands between an id and its weight.
const weightSeparator = ":"

// table writes rows as delimited text: the labels, the ids as 16 hexadecimal digits, the
// numbers.
type table struct {
	schema batch.Schema
	// isList is set for each slot in which some row has no ids or several.
	isList []bool
}

// tableOf returns a table that can hold the rows of all parts.
func tableOf(schema batch.Schema, parts ...*batch.Batch) *table {
	t := &table{schema: schema, isList: make([]bool, len(schema.Slots))}
	for _, part := range parts {
		for s, slot := range part.Slots {
			for i := range part.Samples {
				t.isList[s] = t.isList[s] || len(slot.SampleIDs(i)) != 1
			}
		}
	}
	return t
}

func (t *table) header() []string {
	names := slices.Clone(t.schema.Labels)
	for _, slot := range t.schema.Slots {
		names = append(names, slot.Name)
	}
	if t.schema.Weight != "" {
		names = append(names, t.schema.Weight)
	}
	return append(names, t.schema.Dense...)
}

// record returns the fields of row i.
func (t *table) record(rows *batch.Batch, i int) []string {
	var fields []string
	for _, label := range rows.Labels[i*len(t.schema.Labels):][:len(t.schema.Labels)] {
		fields = append(fields, strconv.FormatFloat(float64(label), 'g', -1, 32))
	}
	for s, slot := range rows.Slots {
		var ids []string
		for k, id := range slot.SampleIDs(i) {
			text := fmt.Sprintf("%016x", id)
			if t.schema.Slots[s].Weighted {
				text += weightSeparator + strconv.FormatFloat(float64(slot.SampleWeights(i)[k]), 'g', -1, 32)
			}
			ids = append(ids, text)
		}
		fields = append(fields, strings.Join(ids, separator))
	}
	if t.schema.Weight != "" {
		fields = append(fields, strconv.FormatFloat(float64(rows.Weights[i]), 'g', -1, 32))
	}
	columns := len(t.schema.Dense)
	for _, value := range rows.Dense[i*columns : (i+1)*columns] {
		fields = append(fields, strconv.FormatFloat(float64(value), 'g', -1, 32))
	}
	return fields
}

// description returns how to read the table, whose labels are of a kind.
func (t *table) description(labelValues string) *job.Table {
	d := &job.Table{Label: t.schema.Labels[0], FurtherLabels: t.schema.Labels[1:], Numeric: t.schema.Dense,
		LabelValues: labelValues, Weight: t.schema.Weight}
	for s, slot := range t.schema.Slots {
		column := job.IDColumn{Column: slot.Name}
		if t.isList[s] {
			column.Separator = separator
		}
		if slot.Weighted {
			column.WeightSeparator = weightSeparator
		}
		d.Slots = append(d.Slots, column)
	}
	return d
}

// writeFolder writes a data set as a new folder: train.csv, test.csv, job.yaml with the data
// section that reads them and, if they are known, the true probabilities of the test rows. from
// describes the data set.
func (p *program) writeFolder(data *datasets.Dataset, from job.Data, out string) error {
	target, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	folder, err := cli.NewFolder(target)
	if err != nil {
		return err
	}
	defer folder.Discard()
	// From here on, an interrupt must remove the folder.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t := tableOf(data.Schema, data.Train, data.Test)
	for slot := range t.isList {
		t.isList[slot] = t.isList[slot] || data.Rows != nil && data.Rows.IsList(slot)
	}
	if err := t.writeRows(ctx, filepath.Join(folder.Path(), "train.csv"), data.TrainChunks()); err != nil {
		return err
	}
	if err := t.writeRows(ctx, filepath.Join(folder.Path(), "test.csv"),
		func(yield func(*batch.Batch, error) bool) { yield(data.Test, nil) }); err != nil {
		return err
	}
	if data.TestProbability != nil {
		if err := writeProbability(filepath.Join(folder.Path(), "test_probability.csv"), data); err != nil {
			return err
		}
	}
	section, err := yaml.Marshal(map[string]job.Data{"data": {
		Kind: job.KindCSV, CSV: t.description(from.LabelValues()),
		Train: filepath.Join(target, "train.csv"), Test: filepath.Join(target, "test.csv"),
	}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder.Path(), "job.yaml"), section, 0o644); err != nil {
		return err
	}
	if _, err := folder.Finish(); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "data: %d training rows and %d test rows are in %s\n", data.TrainRows(),
		data.Test.Samples, out)
	return nil
}

// writeRows writes a header and all rows.
func (t *table) writeRows(ctx context.Context, path string, chunks iter.Seq2[*batch.Batch, error]) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := csv.NewWriter(file) // returns the first error from Flush
	_ = w.Write(t.header())
	for rows, err := range chunks {
		if err != nil {
			return err
		}
		for i := range rows.Samples {
			if ctx.Err() != nil {
				return errors.New("interrupted; nothing was written")
			}
			_ = w.Write(t.record(rows, i))
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return file.Close()
}

// writeProbability writes one line per test row, with a number for each label.
func writeProbability(path string, data *datasets.Dataset) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriter(file) // returns the first error from Flush
	labels := data.Schema.Labels
	if len(labels) == 1 {
		labels = []string{"probability"}
	}
	fmt.Fprintln(w, strings.Join(labels, ","))
	for i, p := range data.TestProbability {
		end := ","
		if (i+1)%len(labels) == 0 {
			end = "\n"
		}
		fmt.Fprint(w, strconv.FormatFloat(p, 'g', -1, 64), end)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}
