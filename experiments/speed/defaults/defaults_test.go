package defaults

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/experiments/internal/report"
)

// The peer predicts generated labels nearly as well as the probabilities they were drawn with: it gets the
// right features, numbers and labels of the right rows.
func TestPeerLearnsGeneratedRows(t *testing.T) {
	python, err := new(report.Python).With(t.Context(), peerModules)
	if err != nil {
		t.Skip(err)
	}
	set, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: 20_000, TestRows: 5_000, Seed: 1, Numeric: 2,
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 100, Exponent: 1},
			{Name: "item", Cardinality: 50}},
		Teacher: job.SyntheticTeacher{Linear: 1, Numeric: 1},
	}}, "")
	if err != nil {
		t.Fatal(err)
	}
	_, predicted, err := fit(t.Context(), python, set)
	if err != nil {
		t.Fatal(err)
	}
	truth := make([]float32, len(set.TestProbability))
	for i, probability := range set.TestProbability {
		truth[i] = float32(probability)
	}
	got, best := metric.AUC(predicted, set.Test.Labels), metric.AUC(truth, set.Test.Labels)
	if t.Logf("AUC %.4f of %.4f", got, best); math.Abs(best-got) > 0.01 {
		t.Errorf("AUC %.4f, the true probabilities have %.4f", got, best)
	}
}

// Each demand names the tables that miss it, and those alone.
func TestFindings(t *testing.T) {
	good := result{Table: "good", AUC: []float64{0.7, 0.72}, PeerAUC: 0.7299, LogLoss: []float64{0.4, 0.41},
		Constant: 0.5, Seconds: []float64{1, 59}, Models: []string{"fm"}, Epochs: []int{1}, Peer: &peer{}}
	poor := good
	poor.Table, poor.PeerAUC, poor.LogLoss, poor.Seconds = "poor", 0.7301, []float64{0.4, 0.5}, []float64{60}
	for _, text := range findings([]*result{&good, &poor}) {
		if !strings.Contains(text, "on 1 of 2 tables, not on poor.") {
			t.Error(text)
		}
	}
	poor.StandardError = 0.0101 // twice that is more than 0.02
	if text := findings([]*result{&good, &poor})[0]; !strings.Contains(text, "on all of 2 tables") {
		t.Error(text)
	}
}

// The quick version measures census income.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	if _, err := new(report.Python).With(t.Context(), peerModules); err != nil {
		t.Skip(err)
	}
	r, err := New().Run(t.Context(), report.Options{Quick: true, Seeds: 1, Seed: 1, Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range r.Findings {
		if t.Log(text); !strings.Contains(text, "on all of 1 tables") {
			t.Error(text)
		}
	}
}
