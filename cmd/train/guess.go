package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/internal/cli"
)

// guess is what the results of a model are compared with: the same probability for every test row.
type guess struct {
	// ConstantLogLoss is the log loss, in nats, of guessing the mean label of the training rows: of classes,
	// the share of positive ones. It is for the first label, as all fields.
	ConstantLogLoss float64 `json:"constant_log_loss"`
	// TestPositives is the sum of the labels of the test rows: of classes, the number of positive rows.
	TestPositives float64 `json:"test_positives"`

	mean    float64   // label of the training rows
	labels  []float32 // of the test rows
	weights []float32 // of the test rows; nil: all count the same
	classes bool      // all test rows count the same and have the label 0 or 1
}

// newGuess returns the guess for a data set.
func newGuess(data *datasets.Dataset) guess {
	g := guess{labels: firstLabel(data), weights: data.Test.Weights, mean: data.LabelMean(0)}
	g.classes = g.weights == nil && metric.AreClasses(g.labels)
	for _, label := range g.labels {
		g.TestPositives += float64(label)
	}
	g.ConstantLogLoss = g.logLossOf(func(int) float32 { return float32(g.mean) })
	return g
}

// logLossOf returns the log loss of predictions for the test rows.
func (g *guess) logLossOf(prediction func(row int) float32) float64 {
	predicted := make([]float32, len(g.labels))
	for row := range predicted {
		predicted[row] = prediction(row)
	}
	return metric.WeightedLogLoss(predicted, g.labels, g.weights)
}

// standardError returns the standard error of an AUC by the draw of the test rows, or nil where they are too
// few to tell, or no classes.
func (g *guess) standardError(predicted []float32) *float64 {
	if !g.classes {
		return nil
	}
	e := metric.AUCStandardError(predicted, g.labels)
	if math.IsNaN(e) {
		return nil
	}
	return &e
}

// writeGuess prints what a constant guess reaches, and how far the test rows determine an AUC.
func (r *report) writeGuess(w io.Writer) {
	if !r.classes {
		cli.Paragraph(w, r.softGuess(), "  ")
		return
	}
	text := fmt.Sprintf("%.0f of %d test rows are positive. Guessing %.4g %%, the share of the training "+
		"rows, for each has AUC 0.5 and log loss %.4f.", r.TestPositives, r.TestRows, 100*r.mean,
		r.ConstantLogLoss)
	most := 0.0
	for _, line := range r.Runs {
		if line.AUCStandardError != nil {
			most = max(most, *line.AUCStandardError)
		}
	}
	if most > 0 {
		text += fmt.Sprintf(" The draw of these rows gives an AUC a standard error of %.4f (DeLong).", most)
	}
	cli.Paragraph(w, text, "  ")
}

// softGuess is the text of writeGuess for rows that have weights or labels between 0 and 1.
func (r *report) softGuess() string {
	text := ""
	if r.weights != nil {
		text = fmt.Sprintf("AUC and log loss count rows by %s. ", r.job.Data.Table().WeightName())
	}
	text += fmt.Sprintf("Guessing %.4g, the mean label of the training rows, for each has AUC 0.5 and log "+
		"loss %.4f.", r.mean, r.ConstantLogLoss)
	if !metric.AreClasses(r.labels) {
		text += fmt.Sprintf(" The labels of the test rows are shares: a row counts as its share of a "+
			"positive row and the rest of a negative one. No predictions have a log loss below %.4f, which "+
			"the labels themselves have.", r.logLossOf(func(row int) float32 { return r.labels[row] }))
	}
	return text
}

// findModels sets the paths of the models that runs have written.
func (r *report) findModels(folder string) {
	for i := range r.Runs {
		path := modelFolder(r.Runs[i].Mode)
		if info, err := os.Stat(filepath.Join(folder, path)); err == nil && info.IsDir() {
			r.Runs[i].Model = filepath.ToSlash(path)
		}
	}
}
