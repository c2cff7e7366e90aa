package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// results is a table of predictions that is being written.
type results interface {
	// add appends rows, row-major.
	add(probabilities []float32) error
	finish() error
}

// column returns the name of the column of a label.
func column(label int) string {
	if label == 0 {
		return "prediction"
	}
	return fmt.Sprintf("prediction_%d", label+1)
}

// csvResults is a CSV with a header.
type csvResults struct {
	out    *bufio.Writer
	labels int
	line   []byte
}

func newCSV(out io.Writer, labels int) *csvResults {
	c := &csvResults{out: bufio.NewWriter(out), labels: labels}
	for label := range labels {
		if label > 0 {
			c.out.WriteByte(',') // it returns its first error from every later call
		}
		c.out.WriteString(column(label))
	}
	c.out.WriteByte('\n')
	return c
}

func (c *csvResults) add(probabilities []float32) error {
	for at, probability := range probabilities {
		c.line = strconv.AppendFloat(c.line[:0], float64(probability), 'g', -1, 32)
		if at%c.labels < c.labels-1 {
			c.line = append(c.line, ',')
		} else {
			c.line = append(c.line, '\n')
		}
		if _, err := c.out.Write(c.line); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvResults) finish() error { return c.out.Flush() }

// parquetResults is a Parquet file.
type parquetResults struct {
	out    *parquet.GenericWriter[any]
	labels []int // by column of the file, whose columns are in the order of their names
	rows   []parquet.Row
}

// resultsRowGroup is the number of rows of a row group, whose pages the writer keeps in memory.
const resultsRowGroup = 1 << 20

func newParquet(out io.Writer, labels int) *parquetResults {
	group := parquet.Group{}
	for label := range labels {
		group[column(label)] = parquet.Leaf(parquet.FloatType)
	}
	schema := parquet.NewSchema("predictions", group)
	p := &parquetResults{labels: make([]int, labels), out: parquet.NewGenericWriter[any](out, schema,
		parquet.MaxRowsPerRowGroup(resultsRowGroup))}
	for label := range labels {
		leaf, _ := schema.Lookup(column(label))
		p.labels[leaf.ColumnIndex] = label
	}
	return p
}

func (p *parquetResults) add(probabilities []float32) error {
	p.rows = p.rows[:0]
	for ; len(probabilities) > 0; probabilities = probabilities[len(p.labels):] {
		row := make(parquet.Row, len(p.labels))
		for column, label := range p.labels {
			row[column] = parquet.FloatValue(probabilities[label]).Level(0, 0, column)
		}
		p.rows = append(p.rows, row)
	}
	_, err := p.out.WriteRows(p.rows)
	return err
}

func (p *parquetResults) finish() error { return p.out.Close() }
