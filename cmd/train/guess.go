package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"tandem/algo/exec/evaluation"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/internal/cli"
)

// guess is what the results of a model are compared with: the same probability for every test row.
type guess struct {
	// ConstantLogLoss is the log loss, in nats, of guessing the mean label of the training rows: of classes,
	// the share of positive ones. It is for the first label, as all fields, and missing with squared loss.
	ConstantLogLoss float64 `json:"constant_log_loss,omitempty"`
	// ConstantRMSE is the RMSE of that guess with squared loss.
	ConstantRMSE float64 `json:"constant_rmse,omitempty"`
	// TestPositives is the sum of the labels of the test rows: of classes, the number of positive rows. It is
	// missing with squared loss.
	TestPositives float64 `json:"test_positives,omitempty"`

	label   string    // its name
	mean    float64   // of the label in the training rows
	labels  []float32 // of the test rows
	weights []float32 // of the test rows; nil: all count the same
	classes bool      // all test rows count the same and have the label 0 or 1
}

// newGuess returns the guess for a data set and a loss.
func newGuess(data *datasets.Dataset, loss string) guess {
	g := guess{label: data.Schema.Labels[0], labels: firstLabel(data), weights: data.Test.Weights,
		mean: data.LabelMean(0)}
	if loss == model.SquaredLoss {
		g.ConstantRMSE = metric.RMSE(slices.Repeat([]float32{float32(g.mean)}, len(g.labels)), g.labels,
			g.weights)
		return g
	}
	g.classes = g.weights == nil && metric.AreClasses(g.labels)
	for _, label := range g.labels {
		g.TestPositives += float64(label)
	}
	g.ConstantLogLoss = g.logLossOf(func(int) float32 { return float32(g.mean) })
	return g
}

// constantError returns the log loss, or the RMSE, of the guess.
func (g *guess) constantError() float64 { return g.ConstantLogLoss + g.ConstantRMSE } // one of them is 0

// lossText returns a log loss, whose unit a legend has, or an RMSE with its unit.
func (g *guess) lossText(loss float64) string {
	if g.ConstantRMSE > 0 {
		return fmt.Sprintf("%.4g%s", loss, g.unit())
	}
	return fmt.Sprintf("%.4f", loss)
}

// unit says behind an RMSE what it is in.
func (g *guess) unit() string { return " in units of " + g.label }

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

// softGuess is the text of writeGuess for rows that have weights, or labels other than 0 and 1.
func (r *report) softGuess() string {
	text := ""
	gain, err := evaluation.ScoreNames(r.job.Model.Loss)
	if r.weights != nil {
		text = fmt.Sprintf("%s and %s count rows by %s. ", gain, err, r.job.Data.Table().WeightName())
	}
	if r.ConstantRMSE > 0 {
		return text + fmt.Sprintf("Guessing %.4g, the mean %s of the training rows, for each has RMSE %s. "+
			"R² is the share of the variance of the test rows that predictions explain.", r.mean, r.label,
			r.lossText(r.ConstantRMSE))
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
