package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/datasets/infer"
	"tandem/internal/cli"
)

const inspectUsage = `Describe a data set: kind, compression, rows, columns, share of positive rows,
first rows, and bad rows.

All rows are read. Bad rows are counted, and the first few are shown. The label
of a csv or parquet FILE is the column called label, click, clicked, target or
y, unless --label names another one. What its other columns are, ids, numbers or
nothing of use, is inferred from the first 100,000 rows.`

const inspectExamples = `  go run ./cmd/data inspect clicks.tsv.gz
  go run ./cmd/data inspect table.csv --label bought --rows 5
  go run ./cmd/data inspect --file cmd/train/jobs/criteo.yaml --json`

func (p *program) inspectCommand() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "inspect [FILE]", Short: "Describe a data set", Long: inspectUsage, Example: inspectExamples,
		RunE: func(_ *cobra.Command, args []string) error {
			if f.rows < 0 || f.rows >= headLines {
				return cli.UsageError("see --help", "--rows: %d; want 0 to %d", f.rows, headLines-1)
			}
			s, err := p.open(f, args, job.OnBadRow{Skip: math.MaxInt32})
			if err != nil {
				return err
			}
			found := inspect(s, f.rows)
			if f.json {
				return writeJSON(p.stdout, found)
			}
			return found.writeText(p.stdout)
		},
	}
	f.inputFlags(c)
	c.Flags().IntVar(&f.rows, "rows", 3, "show this many first rows")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object instead of text")
	return c
}

// inspection is the output of inspect, and the object of --json.
type inspection struct {
	Name        string           `json:"name"`
	Kind        job.DataKind     `json:"kind"`
	Compression string           `json:"compression,omitempty"` // of the first file
	Parts       []partInspection `json:"parts"`
	Slots       []string         `json:"slots"`
	Numbers     []string         `json:"numbers"`
	Label       string           `json:"label"`
	BadRows     int              `json:"bad_rows"`
	BadRowsText []string         `json:"first_bad_rows"`
	// Columns and FirstRows are the fields as they are written in the file or, without a file,
	// as convert would write them.
	Columns   []string   `json:"columns"`
	FirstRows [][]string `json:"first_rows"`
	// Inferred says what each column of a csv or Parquet file was taken for, and why.
	Inferred []infer.Column `json:"inferred,omitempty"`
}

type partInspection struct {
	Name         string  `json:"name"`
	Rows         int     `json:"rows"`
	PositiveRate float64 `json:"positive_rate"`
}

func inspect(s *dataset, rows int) *inspection {
	found := &inspection{
		Name: s.Name, Kind: s.Job.Kind, Label: strings.Join(s.Schema.Labels, ", "), Slots: []string{},
		Numbers: append([]string{}, s.Schema.Dense...),
		BadRows: s.Dropped, BadRowsText: []string{}, Inferred: s.Inferred,
	}
	for _, slot := range s.Schema.Slots {
		found.Slots = append(found.Slots, slot.Name)
	}
	for _, part := range s.Parts {
		found.Parts = append(found.Parts, partInspection{
			part.Name, part.Rows.Samples, labelMean(part.Rows),
		})
	}
	for _, bad := range s.BadRows {
		found.BadRowsText = append(found.BadRowsText, bad.Error())
	}
	switch {
	case s.Head != nil:
		found.Compression = s.Head.Compression
		found.Columns, found.FirstRows = s.Head.Table(s.Job.Kind, s.Job.CSV)
	case s.First != nil:
		found.Columns, found.FirstRows = s.Columns, s.First
	default:
		first := s.Parts[0].Rows
		t := tableOf(s.Schema, first)
		found.Columns = t.header()
		for i := range min(rows, first.Samples) {
			found.FirstRows = append(found.FirstRows, t.record(first, i))
		}
	}
	found.FirstRows = found.FirstRows[:min(rows, len(found.FirstRows))]
	return found
}

func (n *inspection) writeText(w io.Writer) error {
	fmt.Fprintf(w, "%s: kind %s", n.Name, n.Kind)
	if n.Compression != "" {
		fmt.Fprintf(w, ", compression %s", n.Compression)
	}
	labels := "label"
	if strings.Contains(n.Label, ", ") {
		labels = "labels"
	}
	fmt.Fprintf(w, "\n%d id columns, %d numbers, %s %s\n", len(n.Slots), len(n.Numbers), labels, n.Label)
	for _, part := range n.Parts {
		fmt.Fprintf(w, "%s: %d rows, positive rate %.4f\n", part.Name, part.Rows, part.PositiveRate)
	}
	if len(n.FirstRows) > 0 {
		if err := n.firstRows().WriteText(w); err != nil {
			return err
		}
	}
	if len(n.Inferred) > 0 {
		if err := infer.Describe(n.Inferred).WriteText(w); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "%d bad rows\n", n.BadRows)
	for _, text := range n.BadRowsText {
		fmt.Fprintln(w, text)
	}
	return nil
}

// The most characters of a cell of the first rows, and the least where many rows are shown.
const cellMax, cellMin = 24, 8

// firstRows returns the transposed first rows, with a line per column, because most data sets
// have too many columns for a page. Neighbouring columns of the same name are a sequence and
// share a line.
func (n *inspection) firstRows() cli.Table {
	t := cli.Table{Header: []string{"column"}, Words: 1 + len(n.FirstRows)}
	for i := range n.FirstRows {
		t.Header = append(t.Header, "row "+strconv.Itoa(i+1))
	}
	for lo := 0; lo < len(n.Columns); {
		hi := lo + 1
		for hi < len(n.Columns) && n.Columns[hi] == n.Columns[lo] {
			hi++
		}
		line := []string{n.Columns[lo]}
		if hi-lo > 1 {
			line[0] = fmt.Sprintf("%s × %d", n.Columns[lo], hi-lo)
		}
		for _, row := range n.FirstRows {
			line = append(line, cli.Cut(strings.Join(row[min(lo, len(row)):min(hi, len(row))], " "), cellMax))
		}
		t.Rows = append(t.Rows, line)
		lo = hi
	}
	var all []int
	for i := range t.Header {
		all = append(all, i)
	}
	t.Fit(cellMin, all...)
	return t
}
