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
	// ConstantLogLoss is the log loss, in nats, of guessing the share of positive training rows. It is for
	// the first label, as all fields.
	ConstantLogLoss float64 `json:"constant_log_loss"`
	TestPositives   int     `json:"test_positives"` // positive test rows

	share  float64   // of positive training rows
	labels []float32 // of the test rows
}

// newGuess returns the guess for a data set.
func newGuess(data *datasets.Dataset) guess {
	g := guess{labels: firstLabel(data), share: data.PositiveShare(0)}
	predicted := make([]float32, len(g.labels))
	for i, label := range g.labels {
		predicted[i] = float32(g.share)
		g.TestPositives += int(label)
	}
	g.ConstantLogLoss = metric.LogLoss(predicted, g.labels)
	return g
}

// standardError returns the standard error of an AUC by the draw of the test rows, or nil where they are too
// few to tell.
func (g *guess) standardError(predicted []float32) *float64 {
	e := metric.AUCStandardError(predicted, g.labels)
	if math.IsNaN(e) {
		return nil
	}
	return &e
}

// writeGuess prints what a constant guess reaches, and how far the test rows determine an AUC.
func (r *report) writeGuess(w io.Writer) {
	text := fmt.Sprintf("%d of %d test rows are positive. Guessing %.4g %%, the share of the training "+
		"rows, for each has AUC 0.5 and log loss %.4f.", r.TestPositives, r.TestRows, 100*r.share,
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

// findModels sets the paths of the models that runs have written.
func (r *report) findModels(folder string) {
	for i := range r.Runs {
		path := modelFolder(r.Runs[i].Mode)
		if info, err := os.Stat(filepath.Join(folder, path)); err == nil && info.IsDir() {
			r.Runs[i].Model = filepath.ToSlash(path)
		}
	}
}
