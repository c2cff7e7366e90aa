package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/exec/evaluation"
	"tandem/algo/numeric/model"
	"tandem/internal/cli"
)

// writeCurveTable prints a few points of every curve of the first seed, if there
// were evaluations during training.
func (r *report) writeCurveTable(w io.Writer) error {
	every := r.job.Training.EvaluateEvery
	if !every.Any() {
		return nil
	}
	gain, _ := evaluation.ScoreNames(r.job.Model.Loss)
	fmt.Fprintf(w, "\n%s during training, evaluated every %v (seed %d; all points are in curve.csv):\n",
		gain, every, r.Seed)
	table := cli.Table{Header: []string{"mode", "points", "first", "halfway", "last", "best"}, Words: 1}
	for _, line := range slices.Concat(r.Runs, r.Baselines) {
		n := len(line.Curve)
		best := slices.MaxFunc(line.Curve,
			func(a, b evaluation.Point) int { return cmp.Compare(a.Score(), b.Score()) })
		table.Rows = append(table.Rows, []string{
			line.Mode, strconv.Itoa(n), atStep(line.Curve[0]), atStep(line.Curve[(n-1)/2]),
			atStep(line.Curve[n-1]), atStep(best),
		})
	}
	if err := table.WriteText(w); err != nil {
		return err
	}
	cli.Paragraph(w, "The clock of training includes copying what an evaluation reads; predicting goes on "+
		"beside it and takes cores.", "")
	return nil
}

// atStep formats a point as "0.8512 @ 100".
func atStep(p evaluation.Point) string { return fmt.Sprintf("%.4f @ %d", p.Score(), p.Step) }

// curveFile is curve.csv while it is written. Every line is in the file as soon as it is known.
type curveFile struct {
	out *os.File
	csv *csv.Writer
}

// curveName is the name of the file within the results.
const curveName = "curve.csv"

// curveHeader returns the columns of the file, for a loss.
func curveHeader(loss string) []string {
	score, lost := scoreTags(loss)
	return []string{"mode", "seed", "step", "samples", "seconds", score, lost}
}

// scoreTags returns the names of Score and Loss in files, for a loss.
func scoreTags(loss string) (ofScore, ofLoss string) {
	if loss == model.SquaredLoss {
		return "r2", "rmse"
	}
	return "auc", "log_loss"
}

// readCurve returns the points of a training in a mode, with a seed and up to a step. A file that does not
// exist has none.
func readCurve(name, mode, loss string, seed uint64, upTo int) (points []evaluation.Point, err error) {
	in, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lines, err := csv.NewReader(in).ReadAll()
	if err == nil && (len(lines) == 0 || !slices.Equal(lines[0], curveHeader(loss))) {
		err = errors.New("it has other columns")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, line := range lines[1:] {
		var p evaluation.Point
		gain, lost := &p.AUC, &p.LogLoss
		if loss == model.SquaredLoss {
			gain, lost = &p.R2, &p.RMSE
		}
		if _, err := fmt.Sscan(strings.Join(line[2:], " "), &p.Step, &p.Samples, &p.Seconds, gain,
			lost); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if line[0] == mode && line[1] == strconv.FormatUint(seed, 10) && p.Step <= upTo {
			points = append(points, p)
		}
	}
	return points, nil
}

// newCurveFile creates the file, with its header.
func newCurveFile(name, loss string) (*curveFile, error) {
	out, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	c := &curveFile{out, csv.NewWriter(out)}
	return c, c.write(curveHeader(loss)...)
}

// add writes a point of a training.
func (c *curveFile) add(mode string, seed uint64, p evaluation.Point) error {
	return c.write(mode, strconv.FormatUint(seed, 10), strconv.Itoa(p.Step), strconv.Itoa(p.Samples),
		fmt.Sprintf("%.6f", p.Seconds), fmt.Sprint(p.Score()), fmt.Sprint(p.Loss()))
}

func (c *curveFile) write(fields ...string) error {
	if err := c.csv.Write(fields); err != nil {
		return err
	}
	c.csv.Flush()
	return c.csv.Error()
}

func (c *curveFile) close() error { return c.out.Close() }
