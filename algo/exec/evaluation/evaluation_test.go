package evaluation_test

import (
	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/reference"

	"math"
	"slices"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/nn"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// trained returns the reference after its first steps.
func trained(t *testing.T, source *exectest.Columns, steps int) *reference.Sequential {
	t.Helper()
	q, err := reference.NewSequential(exectest.Job(1, 1), source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for step := range steps {
		if err := q.Step(step); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

// evaluate predicts the samples with the model of the reference.
func evaluate(q *reference.Sequential, b *batch.Batch) []float32 {
	got, err := q.NewTestSet(b).Evaluate(q)
	if err != nil {
		panic(err) // nothing can fail
	}
	return got
}

// predictedAtOnce is the number of test rows that Predict passes through the network at a time.
const predictedAtOnce = 1024

func TestEvaluateChangesNothing(t *testing.T) {
	source := exectest.NewColumns(64, 16)
	q := trained(t, source, 1)
	rows, digest, dense := q.Rows()[0].Len(), q.Rows()[0].Digest(), q.Dense().Digest()
	evaluate(q, source.All) // 48 of the samples were never trained on
	if q.Rows()[0].Len() != rows || q.Rows()[0].Digest() != digest || q.Dense().Digest() != dense {
		t.Error("evaluation has changed rows or network")
	}
}

// Nothing is trained, so every row is unseen and the network sees only zeros,
// and the mask of the raw slot, beside the numeric feature.
func TestUnseenRowsReadAsZeros(t *testing.T) {
	source := exectest.NewColumns(20, 20)
	q := trained(t, source, 0)
	got := evaluate(q, source.All)

	width := source.Fields.EmbeddingWidth()
	in := model.Input{Samples: 20, Embeddings: make([]float32, 20*width), Dense: source.All.Dense}
	for i := range 20 {
		for k := range min(len(source.All.Slots[1].SampleIDs(i)), 2) {
			in.Embeddings[i*width+3+k*4+3] = 1 // after the sum of 3, two rows of 3, each with its mask
		}
	}
	logits, _ := q.Engine().NewPass(20).Forward(q.Dense().Host().Params, q.Dense().Host().Running, in, false)
	for i, z := range logits {
		if want := nn.Sigmoid(z); got[i] != want {
			t.Errorf("sample %d: %v, want %v", i, got[i], want)
		}
	}
}

// With the statistics of the batch, a sample's prediction would depend on the other samples. There are more
// samples than Predict evaluates at a time.
func TestEvaluateUsesRunningStatistics(t *testing.T) {
	source := exectest.NewColumns(predictedAtOnce+30, 16)
	q := trained(t, source, 5)
	all := evaluate(q, source.All)
	if len(all) != source.All.Samples {
		t.Fatalf("%d predictions of %d samples", len(all), source.All.Samples)
	}
	for _, i := range []int{0, 7, predictedAtOnce - 1, predictedAtOnce, predictedAtOnce + 29} {
		alone := evaluate(q, batch.Slice(source.All, i, i+1))
		// One row is summed in another order than many: a few units of 2⁻²⁴ of a
		// probability at most 1.
		if math.Abs(float64(alone[0]-all[i])) > 1e-6 {
			t.Errorf("sample %d: %v among others, %v alone", i, all[i], alone[0])
		}
	}
	before := slices.Clone(all)
	running := q.Dense().Host().Running
	for i := range running {
		running[i] += 0.5
	}
	if slices.Equal(evaluate(q, source.All), before) {
		t.Error("running statistics do not matter")
	}
}

// A batch in flight has created rows and not trained them: evaluation reads them as zeros.
func TestRowsNotYetTrainedReadAsZeros(t *testing.T) {
	source := exectest.NewColumns(48, 16)
	q := trained(t, source, 1)
	want := evaluate(q, source.All)
	rows := q.Rows()[0].Len()
	signs := route.Route(source.Schema(), batch.Cut(source.All, 1, 1)[0], shard.Rows(1)).Signs
	if err := q.Rows()[0].Lookup(signs, make([]float32, len(signs)*q.Rows()[0].Dim())); err != nil {
		t.Fatal(err)
	}
	if q.Rows()[0].Len() == rows {
		t.Fatal("the read has created no row")
	}
	if got := evaluate(q, source.All); !slices.Equal(got, want) {
		t.Error("predictions depend on rows that were read only")
	}
}

func TestEvaluateNothing(t *testing.T) {
	source := exectest.NewColumns(16, 16)
	q := trained(t, source, 0)
	if got := evaluate(q, batch.Slice(source.All, 4, 4)); len(got) != 0 {
		t.Errorf("%d predictions", len(got))
	}
}
