package main

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/selection"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/datasets/infer"
)

// choiceOf returns a choice of one epoch with a log loss on some rows.
func choiceOf(kind string, wide []string, loss float64, rows int) *infer.Choice {
	j := job.Default()
	j.Model.Kind, j.Model.Wide, j.Training.Epochs = kind, wide, 1
	return &infer.Choice{Trial: &selection.Trial{Job: j, Curve: []evaluation.Point{{
		Scores: evaluation.Scores{LogLoss: loss}}}}, Held: rows}
}

// One model is chosen where the job and the regression beside it are of one kind, and none where nothing was
// to be chosen.
func TestOneModelIsChosen(t *testing.T) {
	v := &infer.Variant{Network: choiceOf(model.LogisticRegression, nil, 0.5, 10),
		Regression: choiceOf(model.LogisticRegression, nil, 0.4, 10)}
	for taken, want := range map[*infer.Choice][]bool{v.Network: {false, true}, v.Regression: {true, false},
		nil: {false, false}} {
		c := newChosen([]*infer.Variant{v}, v, taken)
		var got []bool
		for _, one := range c.Tried {
			got = append(got, one.Chosen)
		}
		if !slices.Equal(got, want) || c.regressed == nil {
			t.Errorf("%v chosen, want %v", got, want)
		}
	}
}

// The table has the models that were tried on the same rows as the chosen one first, and marks it; those of a
// part are last, however good they look. The sentence names the chosen one, and is there once.
func TestTheTableMarksTheChosenModel(t *testing.T) {
	slots := []job.DerivedSlot{{Name: "user × item"}}
	given := &infer.Variant{Network: choiceOf(model.DeepFM, nil, 0.55, 22),
		Part:       choiceOf(model.DeepFM, nil, 0.31, 20),
		Regression: choiceOf(model.LogisticRegression, nil, 0.6, 22)}
	wide := &infer.Variant{Network: choiceOf(model.DeepFM, []string{"user × item"}, 0.52, 22),
		Part: choiceOf(model.DeepFM, []string{"user × item"}, 0.3, 20)}
	wide.Job.Data.Derived = slots
	with := &infer.Variant{Network: choiceOf(model.DeepFM, nil, 0.53, 22),
		Part:       choiceOf(model.DeepFM, nil, 0.32, 20),
		Regression: choiceOf(model.LogisticRegression, nil, 0.29, 20)} // on the part
	with.Job.Data.Derived, wide.Regression = slots, with.Regression
	means := &infer.Variant{Network: choiceOf(model.DeepFM, nil, 0.54, 22), // whose network failed there
		Regression: choiceOf(model.LogisticRegression, nil, 0.28, 20)}
	means.Network.Job.Data.Means = []string{"user"}
	for taken, want := range map[*infer.Choice]struct{ sentence, lines string }{
		wide.Network: {"1 epoch of a deepfm with wide derived slots;",
			"deepfm (chosen) wide no 22,deepfm with no 22,deepfm without yes 22,deepfm without no 22," +
				"logistic-regression without no 22," +
				"logistic-regression (a part) without no 20,logistic-regression (a part) with no 20," +
				"deepfm (a part) wide no 20,deepfm (a part) without no 20,deepfm (a part) with no 20"},
		means.Network: {"1 epoch of a deepfm without derived slots, with means of the label by id;",
			"deepfm wide no 22,deepfm with no 22,deepfm (chosen) without yes 22,deepfm without no 22," +
				"logistic-regression without no 22," +
				"logistic-regression (a part) without no 20,logistic-regression (a part) with no 20," +
				"deepfm (a part) wide no 20,deepfm (a part) without no 20,deepfm (a part) with no 20"},
		given.Network: {"1 epoch of a deepfm without derived slots;",
			"deepfm wide no 22,deepfm with no 22,deepfm without yes 22,deepfm (chosen) without no 22," +
				"logistic-regression without no 22," +
				"logistic-regression (a part) without no 20,logistic-regression (a part) with no 20," +
				"deepfm (a part) wide no 20,deepfm (a part) without no 20,deepfm (a part) with no 20"},
		nil: {"", ""},
	} {
		r := report{chosen: newChosen([]*infer.Variant{given, wide, with, means}, wide, taken)}
		var text strings.Builder
		if err := r.writeChosen(&text); err != nil {
			t.Fatal(err)
		}
		whole := strings.Join(strings.Fields(text.String()), " ")
		if n := strings.Count(text.String(), "tried on held-back rows"); n != 1 {
			t.Errorf("%d tables: %s", n, text.String())
		}
		if strings.Contains(whole, "Chosen on") != (taken != nil) || !strings.Contains(whole, want.sentence) {
			t.Errorf("want %q in %s", want.sentence, whole)
		}
		var lines []string
		for _, one := range r.triedTable().Rows {
			lines = append(lines, strings.Join(one[:4], " "))
		}
		if taken != nil && strings.Join(lines, ",") != want.lines {
			t.Errorf("%q, want %q", lines, want.lines)
		}
	}
}

// What is said about a model behind the regression is true of how it was chosen.
func TestAdviceForAModelBehindTheRegression(t *testing.T) {
	const less = "train with smaller batches (--global-batch)"
	for _, c := range []struct {
		name     string
		kind     string // of the job
		chosen   bool
		compared bool
		share    float64
		want     string // the beginning
		simple   bool   // a regression is advised
		more     bool   // as are more rows held back
	}{
		{"nothing was chosen", model.DeepFM, false, false, 0.1, "choose the number of epochs", true, false},
		{"a regression, unchosen", model.LogisticRegression, false, false, 0.1, "choose the number of epochs",
			false, false},
		{"the regression is chosen", model.LogisticRegression, true, true, 0.1, less, false, false},
		{"not compared", model.DeepFM, true, false, 0.1, "the regression was not among", true, false},
		{"compared", model.DeepFM, true, true, 0.1, "the rows held back chose otherwise", true, true},
		{"compared on many", model.DeepFM, true, true, 0.3, "the rows held back chose otherwise", true,
			false},
	} {
		r := report{chosen: chosen{compared: c.compared, share: c.share,
			Tried: []tried{{Model: c.kind, Chosen: c.chosen}}}}
		r.job.Model.Kind = c.kind
		got := r.behindAdvice(true)
		if strings.Contains(r.behindAdvice(false), "--staleness") {
			t.Errorf("%s: less staleness is advised for a mode without", c.name)
		}
		if !strings.HasPrefix(got, c.want) || !strings.Contains(got, less) ||
			!strings.Contains(got, "less staleness (--staleness)") ||
			strings.Contains(got, "model.kind: logistic-regression") != c.simple ||
			strings.Contains(got, "(--validation 0.3)") != c.more {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
