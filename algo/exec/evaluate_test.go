package exec

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/nn"
	"tandem/algo/numeric/model"
)

// evaluate predicts the samples with what the reference has learnt.
func evaluate(q *Sequential, b *batch.Batch) []float32 {
	got, err := q.NewEvaluation(b).Evaluate(q)
	if err != nil {
		panic(err) // nothing can fail
	}
	return got
}

func TestEvaluateChangesNothing(t *testing.T) {
	source := newColumns(64, 16)
	q := mustNewSequential(t, training(1, 1), source)
	mustStep(t, q, 1)
	rows, digest, dense := q.Rows().Len(), q.Rows().Digest(), q.Dense().Digest()
	evaluate(q, source.all) // 48 of the samples were never trained on
	if q.Rows().Len() != rows || q.Rows().Digest() != digest || q.Dense().Digest() != dense {
		t.Error("evaluation has changed rows or network")
	}
}

// Nothing is trained, so every row is unseen and the network sees only zeros,
// and the mask of the raw slot, beside the numeric feature.
func TestUnseenRowsReadAsZeros(t *testing.T) {
	source := newColumns(20, 20)
	q := mustNewSequential(t, training(1, 1), source)
	got := evaluate(q, source.all)

	width := source.schema.EmbeddingWidth()
	in := model.Input{Samples: 20, Embeddings: make([]float32, 20*width), Dense: source.all.Dense}
	for i := range 20 {
		for k := range min(len(source.all.Slots[1].Of(i)), 2) {
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

// With the statistics of the batch, a sample's prediction would depend on the
// company it is in. More samples than are evaluated at a time cross a seam.
func TestEvaluateUsesRunningStatistics(t *testing.T) {
	source := newColumns(evaluationBatch+30, 16)
	q := mustNewSequential(t, training(1, 1), source)
	mustStep(t, q, 5)
	all := evaluate(q, source.all)
	if len(all) != source.all.Samples {
		t.Fatalf("%d predictions of %d samples", len(all), source.all.Samples)
	}
	for _, i := range []int{0, 7, evaluationBatch - 1, evaluationBatch, evaluationBatch + 29} {
		alone := evaluate(q, batch.Slice(source.all, i, i+1))
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
	if slices.Equal(evaluate(q, source.all), before) {
		t.Error("running statistics do not matter")
	}
}

// However the rows are spread over PSs, they are found.
func TestEvaluateFindsRowsOnAllServers(t *testing.T) {
	source := newColumns(16*3, 16)
	q := mustNewSequential(t, training(1, 1), source)
	mustStep(t, q, 3)
	s := newScript(t, training(2, 3), source)
	for range 3 {
		s.train(false)
	}
	got, err := s.p.Model().NewEvaluation(source.all).Evaluate(s.p.Model())
	if err != nil {
		t.Fatal(err)
	}
	if want := evaluate(q, source.all); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A batch in flight has created rows and not trained them: evaluation does not
// see it.
func TestRowsNotYetTrainedReadAsZeros(t *testing.T) {
	source := newColumns(48, 16)
	q := mustNewSequential(t, training(1, 1), source)
	mustStep(t, q, 1)
	want := evaluate(q, source.all)
	rows := q.Rows().Len()
	signs := q.NewEvaluation(source.all).routed.Signs
	if err := q.rows.read(batchName{0, 1}, signs, make([]float32, len(signs)*q.Rows().Dim())); err != nil {
		t.Fatal(err)
	}
	if q.Rows().Len() == rows {
		t.Fatal("the read has created no row")
	}
	if got := evaluate(q, source.all); !slices.Equal(got, want) {
		t.Error("predictions depend on rows that were read only")
	}
}

func TestEvaluateNothing(t *testing.T) {
	source := newColumns(16, 16)
	q := mustNewSequential(t, training(1, 1), source)
	if got := evaluate(q, batch.Slice(source.all, 4, 4)); len(got) != 0 {
		t.Errorf("%d predictions", len(got))
	}
}
