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

// writeCurves writes the points of every mode and seed, if there were evaluations
// during training.
func (r *report) writeCurves(name string) error {
	if !r.job.Training.EvaluateEvery.Any() {
		return nil
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w := csv.NewWriter(out)
	records := [][]string{{"mode", "seed", "step", "samples", "seconds", "auc", "log_loss"}}
	for _, line := range slices.Concat(r.Runs, r.Baselines) {
		for i, curve := range line.curves {
			for _, p := range curve {
				records = append(records, []string{
					line.Mode, strconv.FormatUint(r.Seed+uint64(i), 10), strconv.Itoa(p.Step),
					strconv.Itoa(p.Samples),
					fmt.Sprintf("%.6f", p.Seconds), fmt.Sprint(p.AUC), fmt.Sprint(p.LogLoss),
				})
			}
		}
	}
	if err := w.WriteAll(records); err != nil {
		return err
	}
	return out.Close()
}
