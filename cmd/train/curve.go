package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"tandem/algo/exec/evaluation"
	"tandem/internal/cli"
)

// writeCurveTable prints a few points of every curve of the first seed, if there
// were evaluations during training.
func (r *report) writeCurveTable(w io.Writer) error {
	every := r.job.Training.EvaluateEvery
	if !every.Any() {
		return nil
	}
	fmt.Fprintf(w, "\nAUC during training, evaluated every %v (seed %d; all points are in curve.csv):\n",
		every, r.Seed)
	table := cli.Table{Header: []string{"mode", "points", "first", "halfway", "last", "best"}, Words: 1}
	for _, line := range slices.Concat(r.Runs, r.Baselines) {
		n := len(line.Curve)
		best := slices.MaxFunc(line.Curve,
			func(a, b evaluation.Point) int { return cmp.Compare(a.AUC, b.AUC) })
		table.Rows = append(table.Rows, []string{
			line.Mode, strconv.Itoa(n), atStep(line.Curve[0]), atStep(line.Curve[(n-1)/2]),
			atStep(line.Curve[n-1]), atStep(best),
		})
	}
	if err := table.WriteText(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "The clock of training includes copying what an evaluation reads; predicting goes on "+
		"beside it and takes cores.")
	return nil
}

// atStep formats a point as "0.8512 @ 100".
func atStep(p evaluation.Point) string { return fmt.Sprintf("%.4f @ %d", p.AUC, p.Step) }

// curveFile is curve.csv while it is written. Every line is in the file as soon as it is known.
type curveFile struct {
	out *os.File
	csv *csv.Writer
}

// newCurveFile creates the file, with its header.
func newCurveFile(name string) (*curveFile, error) {
	out, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	c := &curveFile{out, csv.NewWriter(out)}
	return c, c.write("mode", "seed", "step", "samples", "seconds", "auc", "log_loss")
}

// add writes a point of a training.
func (c *curveFile) add(mode string, seed uint64, p evaluation.Point) error {
	return c.write(mode, strconv.FormatUint(seed, 10), strconv.Itoa(p.Step), strconv.Itoa(p.Samples),
		fmt.Sprintf("%.6f", p.Seconds), fmt.Sprint(p.AUC), fmt.Sprint(p.LogLoss))
}

func (c *curveFile) write(fields ...string) error {
	if err := c.csv.Write(fields); err != nil {
		return err
	}
	c.csv.Flush()
	return c.csv.Error()
}

func (c *curveFile) close() error { return c.out.Close() }
