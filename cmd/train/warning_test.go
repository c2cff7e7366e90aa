package main

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/runtime/memory"
	"tandem/runtime/train"
	"tandem/runtime/watch"
)

// lost returns measures with a log loss.
func lost(logLoss float64) measures { return measures{Scores: evaluation.Scores{LogLoss: logLoss}} }

// Each warning is given where its condition holds, and not below it.
func TestWarnings(t *testing.T) {
	good := row{Mode: "hybrid", Steps: 100, measures: lost(0.4), EmbeddingRows: rowStore{applied: 10},
		Curve: []evaluation.Point{{Step: 50, Scores: lost(0.396).Scores},
			{Step: 100, Scores: lost(0.4).Scores}}}
	for _, c := range []struct {
		name string
		edit func(*row)
		want string
	}{
		{"good", func(*row) {}, ""},
		{"few steps", func(r *row) { r.Steps = 99 }, "only 99 steps: train more epochs"},
		{"as the guess", func(r *row) { r.LogLoss = 0.5 }, "log loss 0.5000 is not below the 0.5000"},
		{"diverged", func(r *row) { r.LogLoss = math.NaN() }, "log loss NaN is not below the 0.5000"},
		{"behind", func(r *row) { r.LogLoss = 0.426 },
			"log loss 0.4260, where the logistic regression has 0.4000"},
		{"nearly as good", func(r *row) { r.LogLoss = 0.424 }, ""},
		{"rising", func(r *row) { r.Curve[0].LogLoss = 0.39 }, "lowest at step 50, 0.3900, and rose"},
		{"has not begun", func(r *row) { r.Mode, r.LogLoss = "slow", 0.51 },
			"nor was the 0.5200 of the training rows at the end: the training has hardly begun"},
		{"by heart", func(r *row) { r.Mode, r.LogLoss = "heart", 0.51 },
			"the model fits its training rows alone"},
		{"half lost", func(r *row) { r.EmbeddingRows.EvictedGradients = 10 }, ""},
		{"most lost", func(r *row) { r.EmbeddingRows.EvictedGradients = 11 }, "most gradients found"},
		{"half expired", func(r *row) { r.EmbeddingRows.ExpiredGradients = 10 }, ""},
		{"most expired", func(r *row) { r.EmbeddingRows.ExpiredGradients = 11 }, "rows.expiry"},
	} {
		line := good
		line.Curve = append([]evaluation.Point{}, good.Curve...)
		c.edit(&line)
		r := report{Seeds: 2, Runs: []row{line}, Baselines: []row{{measures: lost(0.4)}},
			guess: guess{ConstantLogLoss: 0.5},
			followed: map[string]followed{"slow": {points: []watch.Point{{Loss: 0.1}, {Loss: 0.52}}},
				"heart": {points: []watch.Point{{Loss: 0.52}, {Loss: 0.1}}}}}
		got := strings.Join(r.warnings(), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) ||
			got != "" && !strings.HasPrefix(got, line.Mode+": ") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Modes that are all behind the regression share one warning.
func TestModesThatAreBehindShareAWarning(t *testing.T) {
	r := report{Seeds: 1, Baselines: []row{{measures: lost(0.4)}}, guess: guess{ConstantLogLoss: 0.5}}
	for mode, loss := range []float64{0.43, 0.41, 0.45} {
		r.Runs = append(r.Runs, row{Mode: []string{"a", "b", "c"}[mode], Steps: 100, measures: lost(loss)})
	}
	const want = "a, c: log loss 0.4300 to 0.4500, where the logistic regression has 0.4000: "
	if got := r.warnings(); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("%q, want one that begins with %q", got, want)
	}
}

// Late rows that cost more than the draw of the test rows are named, beside a run without, and hot rows as
// what helps; where there are some, less staleness.
func TestWhatLateRowsCostIsNamed(t *testing.T) {
	labels := make([]float32, 1000)
	for i := range labels {
		labels[i] = float32(i % 2)
	}
	run := func(mode string, right float32, late int, hot bool) row {
		line := modelOf(labels, right)
		line.Mode, line.hot, line.MissedUpdates.Max = mode, hot, late
		return line
	}
	fresh := run("sync", 0.8, 0, false)
	const hotter = "in mode hybrid, --hot-rows auto keeps the most frequent rows fresh"
	for name, c := range map[string]struct {
		runs []row
		want string
	}{
		"late and worse": {[]row{fresh, run("hybrid", 0.7, 3, false), run("ssp", 0.6, 3, false)},
			"hybrid, ssp: log loss 0.3567 to 0.5108, where sync, without late rows, has 0.2231: " + hotter},
		"with hot rows": {[]row{fresh, run("hybrid", 0.7, 3, true)}, "hybrid: log loss 0.3567, where sync, " +
			"without late rows, has 0.2231: train with less staleness (--staleness)"},
		"late and better":     {[]row{fresh, run("hybrid", 0.9, 3, false)}, ""},
		"worse, but not late": {[]row{fresh, run("local-sgd", 0.7, 0, false)}, ""},
		"all late":            {[]row{run("hybrid", 0.8, 3, false), run("ssp", 0.7, 3, false)}, ""},
	} {
		r := report{Seeds: 1, Runs: c.runs, guess: guess{ConstantLogLoss: 0.7, labels: labels}}
		if got := strings.Join(r.warnings(), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// modelOf returns a model that gives each test row's label the same probability.
func modelOf(labels []float32, right float32) row {
	line := row{Mode: "hybrid", Steps: 100}
	for _, label := range labels {
		line.predicted = append(line.predicted, label*right+(1-label)*(1-right))
	}
	line.LogLoss = metric.LogLoss(line.predicted, labels)
	return line
}

// A model that predicts worse than the regression beside it, or no better than a guess, is named, unless the
// draw of the test rows may be the reason.
func TestModelsThatGainLittleAreNamed(t *testing.T) {
	labels := make([]float32, 400)
	for i := range labels {
		labels[i] = float32(i % 2)
	}
	wrong := func(line row, rows int) row { // of which some are predicted the other way
		for i := range rows {
			line.predicted[i] = 1 - line.predicted[i]
		}
		line.LogLoss = metric.LogLoss(line.predicted, labels)
		return line
	}
	for _, c := range []struct {
		name        string
		line, other row
		want        string
	}{
		{"better", modelOf(labels, 0.7), modelOf(labels, 0.69), ""},
		{"worse", modelOf(labels, 0.69), modelOf(labels, 0.7), "hybrid: log loss 0.3711, where the logistic"},
		// The log loss rises by ln(0.7/0.28) = 0.92 for 16 rows, and falls by ln(0.72/0.7) = 0.028 for 384:
		// by 0.0096 in the mean, with a deviation of 0.19 and so a standard error of 0.0093.
		{"worse by chance", wrong(modelOf(labels, 0.72), 16), modelOf(labels, 0.7), ""},
		// It falls by ln(1.1) = 0.095 for 219 rows, and rises by ln(1/0.9) = 0.105 for 181.
		{"nearly a guess", wrong(modelOf(labels, 0.55), 181), modelOf(labels, 0.5),
			"hybrid: log loss 0.6886 is hardly below the 0.6931 of a constant guess, by no more than the " +
				"draw of 400 test rows"},
	} {
		r := report{Seeds: 1, Runs: []row{c.line}, Baselines: []row{c.other},
			guess: guess{ConstantLogLoss: math.Ln2, mean: 0.5, labels: labels, classes: true}}
		r.job.Model.Kind = model.DeepFM
		got := strings.Join(r.warnings(), "\n")
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The same holds for numbers as labels, whose squared errors are compared: of small labels these are far
// below the RMSE.
func TestASmallGainInSquaredErrorIsNamed(t *testing.T) {
	var labels, predicted []float32
	for i := range 100 {
		label, right := 0.02*float32(i%2), float32(1)
		if i%5 > 2 { // of two in five, which leaves a gain of about one standard error
			right = -1
		}
		labels, predicted = append(labels, label), append(predicted, 0.01+right*(label-0.01)/5)
	}
	line := row{Mode: "hybrid", Steps: 100, predicted: predicted}
	line.RMSE = metric.RMSE(predicted, labels, nil)
	r := report{Seeds: 1, Runs: []row{line}, guess: guess{ConstantRMSE: 0.01, mean: 0.01, labels: labels}}
	r.job.Model.Loss = model.SquaredLoss
	if got := r.warnings(); len(got) != 1 || !strings.Contains(got[0], "is hardly below the") {
		t.Errorf("%q", got)
	}
}

// After a single epoch nothing advises fewer.
func TestNothingAdvisesFewerEpochsThanOne(t *testing.T) {
	for epochs, want := range map[int]bool{1: false, 2: true} {
		line := row{Mode: "hybrid", Steps: 100, measures: lost(0.6), Curve: []evaluation.Point{
			{Step: 50, Scores: lost(0.4).Scores}, {Step: 100, Scores: lost(0.6).Scores}}}
		r := report{Seeds: 1, Runs: []row{line}, guess: guess{ConstantLogLoss: 0.5}}
		r.job.Training.Epochs = epochs
		all := r.warnings()
		if len(all) != 2 {
			t.Fatalf("%d warnings: %q", len(all), all)
		}
		for _, text := range all {
			if strings.Contains(text, "train fewer epochs (--epochs)") != want ||
				!strings.Contains(text, "lower the rates") {
				t.Errorf("%d epochs: %s", epochs, text)
			}
		}
	}
}

// Rows that are evicted while their gradients are under way lose them, which a report of the run says: in
// hybrid most of them here, in sync half of them, as a batch has more rows than there is room for.
func TestLostGradientsAreReported(t *testing.T) {
	j := job.Default()
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{TrainRows: 20000, TestRows: 500,
		PositiveRate: 0.3, Seed: 1, Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 10000}}}}
	j.Model.Top = []int{4}
	j.Rows.Capacity, j.Rows.Eviction = 20, job.SecondChance
	j.Training.GlobalBatch = 128
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{job.Hybrid, job.Sync, job.Sequential} {
		j := j.InMode(mode)
		source, err := datasets.TrainingSource(data, &j)
		if err != nil {
			t.Fatal(err)
		}
		result, err := train.Run(t.Context(), j, source, data.Test, train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := report{Seeds: 1, job: j, guess: newGuess(data, j.Model.Loss)}
		store, err := newRowStore(result, new(memory.Arena))
		if err != nil {
			t.Fatal(err)
		}
		r.add(variant{name: mode, job: j}, []*train.Result{result}, []rowStore{store})
		got, want := strings.Join(r.warnings(), "\n"), result.EvictedGradients > result.AppliedGradients
		t.Logf("%s: %d gradients lost, %d applied", mode, result.EvictedGradients, result.AppliedGradients)
		if result.EvictedGradients == 0 || result.AppliedGradients == 0 ||
			strings.Contains(got, "most gradients found their row") != want {
			t.Errorf("%s: %d gradients lost, %d applied: %q", mode, result.EvictedGradients,
				result.AppliedGradients, got)
		}
	}
}

// Of a model whose order of rows is clearly better than by chance, the columns are not said to be at fault.
func TestAModelThatOrdersRowsIsNotAGuess(t *testing.T) {
	labels := make([]float32, 400)
	for i := range labels {
		labels[i] = float32(i % 2)
	}
	line := modelOf(labels, 0.55)
	for i := range 181 { // predicted the other way: a gain that may be the draw of the rows
		line.predicted[i] = 1 - line.predicted[i]
	}
	line.LogLoss, line.AUC = metric.LogLoss(line.predicted, labels), 0.6
	for e, want := range map[float64]string{0.04: "level of the predictions",
		0.06: "say little of the label"} {
		line.AUCStandardError = &e
		r := report{Seeds: 1, Runs: []row{line}, guess: guess{ConstantLogLoss: math.Ln2, mean: 0.5,
			labels: labels, classes: true}}
		if got := strings.Join(r.warnings(), "\n"); !strings.Contains(got, want) {
			t.Errorf("standard error %v: %q, want %q", e, got, want)
		}
	}
}

// A choice of epochs that stopped at its limit says so, with the flags that try more.
func TestEpochsAtTheLimitAreNamed(t *testing.T) {
	curve := []evaluation.Point{{}, {}}
	for epochs, want := range map[int]bool{1: false, 2: true} {
		r := report{Model: model.DLRM}
		r.job.Training.Epochs = epochs
		r.Tried = []tried{{Rows: 100, Model: model.DLRM, Epochs: epochs, Curve: curve, Chosen: true}}
		var text strings.Builder
		if err := r.writeChosen(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), "(--epochs 4 --validation 0.1 does)"); got != want {
			t.Errorf("%d of 2 epochs: %s", epochs, text.String())
		}
	}
}
