package infer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/selection"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets"
)

// triedOn returns the variants of a table of some rows with the columns shop and visitor, after their trials.
// label draws the label of a row, which may be a share.
func triedOn(t *testing.T, rows int, label func(r *rand.Rand, shop, visitor int) float64) []*Variant {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	text.WriteString("label,shop,visitor,region\n")
	for range rows {
		shop, visitor := r.IntN(40), r.IntN(rows/4)
		fmt.Fprintf(&text, "%v,s%d,v%d,r%d\n", label(r, shop, visitor), shop, visitor, r.IntN(3))
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	j, set, _, err := Open(Request{File: path, Split: drawn})
	if err != nil {
		t.Fatal(err)
	}
	j.Training.Epochs = EpochsToTry(set)
	all, err := Derive(t.Context(), j, set, reopen, Share(set), backend.Backend{})
	if err == nil {
		err = TryNetworks(t.Context(), all, Share(set), true, backend.Backend{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// aucOf returns the AUC of a choice on the test rows, after a training on all training rows.
func aucOf(t *testing.T, v *Variant, c *Choice) float64 {
	t.Helper()
	source, err := datasets.TrainingSource(v.Set, &c.Job)
	if err != nil {
		t.Fatal(err)
	}
	p, err := selection.Predict(t.Context(), selection.Candidate{Job: c.Job, Source: source}, v.Set.Test,
		backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return metric.AUC(p, v.Set.Test.Labels)
}

// Labels by lot with four rows for each visitor: means that knew the label of their row would predict the
// training rows and nothing else. The models with means are as good as a guess on rows that were held back
// and on test rows. The standard error of an AUC of 1,000 rows is about 0.018.
func TestMeansOfLabelsByLotSayNothing(t *testing.T) {
	all := triedOn(t, 5000, func(r *rand.Rand, _, _ int) float64 { return float64(r.IntN(2)) })
	with := all[len(all)-1]
	if len(with.Job.Data.Means) == 0 {
		t.Fatal("no variant has means")
	}
	for _, c := range []*Choice{with.Regression, with.Network} {
		if auc := aucOf(t, with, c); auc < 0.44 || auc > 0.56 {
			t.Errorf("%s: AUC %.4f", c.Job.Model.Kind, auc)
		}
		// A guess has 0.693.
		if loss := c.Best().LogLoss; loss > 0.72 {
			t.Errorf("%s: log loss %.4f", c.Job.Model.Kind, loss)
		}
	}
}

// Visitors of four rows have habits, which their means tell best. The variant with means is chosen, also
// where labels are shares; there is none for labels that are numbers.
func TestMeansAreChosenWhereTheyHelp(t *testing.T) {
	habit := func(visitor int) float64 { return []float64{0.05, 0.95, 0.5}[visitor%3] }
	for _, shares := range []bool{false, true} {
		all := triedOn(t, 5000, func(r *rand.Rand, _, visitor int) float64 {
			label := 0.0
			if r.Float64() < habit(visitor) {
				label = 1
			}
			if shares {
				label = (1 + 2*label) / 4
			}
			return label
		})
		best, _, j := Choose(all, true)
		if len(j.Data.Means) == 0 || !slices.Equal(j.Data.Means, slotsOf(best.Set)) {
			for _, v := range all {
				t.Logf("means %q: %.4f, %.4f", v.Job.Data.Means, v.Regression.Best().LogLoss,
					v.Network.Best().LogLoss)
			}
			t.Errorf("shares %t: no means", shares)
		}
	}
	numbers := triedOn(t, 3000, func(r *rand.Rand, _, visitor int) float64 {
		return 100*habit(visitor) + r.NormFloat64()
	})
	for _, v := range numbers {
		if v.Set.LabelValues != job.NumberLabels || v.Job.Data.Means != nil {
			t.Errorf("labels %q have means of %q", v.Set.LabelValues, v.Job.Data.Means)
		}
	}
}
