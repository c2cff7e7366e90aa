package similar

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/datasets/synth"
)

// described returns the description of all rows of a batch, without a teacher.
func described(b *batch.Batch) (spec job.Synthetic, slots []int) {
	spec = job.Synthetic{Seed: 1, TrainRows: b.Samples, TestRows: b.Samples / 4, PositiveRate: 0,
		Numeric: len(b.Dense) / b.Samples}
	for _, label := range b.Labels {
		spec.PositiveRate += float64(label) / float64(b.Samples)
	}
	for slot, ids := range b.Slots {
		byID := map[uint64]int64{}
		for _, id := range ids.IDs {
			byID[id]++
		}
		spec.Columns = append(spec.Columns, Column(values(byID)))
		slots = append(slots, slot)
	}
	return spec, slots
}

// Of generated rows, whose best reachable AUC is known, the fitted description has the same best AUC, on
// average over seeds: weak and strong signals, in one column or in all.
func TestTheFittedTeacherIsAsPredictable(t *testing.T) {
	for i, c := range []struct{ scale, weight float64 }{{0.5, 1}, {1.5, 1}, {1.5, 30}} {
		columns := []job.SyntheticColumn{{Cardinality: 50, Exponent: 1, Weight: c.weight},
			{Cardinality: 2_000, Exponent: 0.8}, {Cardinality: 10}}
		data, err := synth.Generate(job.Synthetic{Seed: uint64(10 + i), TrainRows: 8_000, TestRows: 8_000,
			Numeric: 1, PositiveRate: 0.3, Columns: columns,
			Teacher: job.SyntheticTeacher{Linear: 1, Numeric: 0.5, Scale: c.scale}})
		if err != nil {
			t.Fatal(err)
		}
		spec, slots := described(data.Train)
		signal, ok := FitTeacher(&spec, data.Train, data.Train.Samples, slots)
		want, got := best(data), 0.0
		for seed := range 3 {
			spec.Seed = uint64(seed + 1)
			again, err := synth.Generate(spec)
			if err != nil || !ok {
				t.Fatal(err, ok)
			}
			got += best(again) / 3
		}
		if math.Abs(got-want) > 0.02 || math.Abs(signal.AUC-signal.Generated) > 0.01 {
			t.Errorf("%+v: best AUC %.4f, want %.4f; %+v, teacher %+v", c, got, want, signal, spec.Teacher)
		}
		if w := spec.Columns[0].Weight / spec.Columns[2].Weight; (w > 3) != (c.weight > 1) {
			t.Errorf("%+v: weights %v and %v", c, spec.Columns[0].Weight, spec.Columns[2].Weight)
		}
	}
}

// best returns the best reachable AUC.
func best(data *synth.Data) float64 {
	scores := make([]float32, len(data.TestProbability))
	for i, p := range data.TestProbability {
		scores[i] = float32(p)
	}
	return metric.AUC(scores, data.Test.Labels)
}

// Labels that are all equal, or nearly, have no signal to fit.
func TestLabelsOfOneKindAreNotFitted(t *testing.T) {
	b, _ := labelled(rand.New(rand.NewPCG(1, 1)), 500, [2]int{5, 5}, [2]float64{1, 1}, 0)
	for i := range b.Labels {
		b.Labels[i] = 0
	}
	b.Labels[7] = 1
	spec, slots := described(b)
	if _, ok := FitTeacher(&spec, b, b.Samples, slots); ok || spec.Teacher != (job.SyntheticTeacher{}) {
		t.Errorf("fitted: %+v", spec.Teacher)
	}
}

// Another logistic regression, which shares nothing with the one that was fitted, has the same AUC on
// generated rows as on the test rows of a real data set. Test rows were not used.
func TestAnotherRegressionPredictsGeneratedRowsAsWell(t *testing.T) {
	folder := os.Getenv("TANDEM_DATA")
	if folder == "" {
		t.Skip("TANDEM_DATA is not set")
	}
	set, err := datasets.Open(job.Data{Kind: job.KindAdultIncome}, folder)
	if err != nil {
		t.Fatal(err)
	}
	spec, slots := described(set.Train)
	if _, ok := FitTeacher(&spec, set.Train, 10_000, slots); !ok {
		t.Fatal("no signal")
	}
	spec.TestRows = 16_000
	generated, mean := 3, 0.0
	for seed := range generated {
		spec.Seed = uint64(100 + seed)
		data, err := synth.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		mean += adagradAUC(data.Train, data.Test) / float64(generated)
	}
	if want := adagradAUC(set.Train, set.Test); math.Abs(mean-want) > 0.02 {
		t.Errorf("AUC %.4f, want %.4f", mean, want)
	}
}

// adagradAUC fits a logistic regression in two passes of Adagrad and returns its AUC on other rows.
func adagradAUC(train, test *batch.Batch) float64 {
	type key struct {
		slot int
		id   uint64
	}
	weights, squares := map[key]float64{}, map[key]float64{}
	features := func(b *batch.Batch, i int, do func(k key, x float64)) {
		do(key{-1, 0}, 1)
		for slot := range b.Slots {
			for _, id := range b.Slots[slot].SampleIDs(i) {
				do(key{slot, id}, 1)
			}
		}
		numbers := len(b.Dense) / b.Samples
		for j := range numbers {
			do(key{-2, uint64(j)}, float64(b.Dense[i*numbers+j]))
		}
	}
	predict := func(b *batch.Batch, i int) (sum float64) {
		features(b, i, func(k key, x float64) { sum += weights[k] * x })
		return sum
	}
	for range 2 {
		for i := range train.Samples {
			residual := float64(train.Labels[i]) - 1/(1+math.Exp(-predict(train, i)))
			features(train, i, func(k key, x float64) {
				gradient := residual * x
				squares[k] += gradient * gradient
				weights[k] += 0.1 * gradient / math.Sqrt(squares[k]+1e-6)
			})
		}
	}
	scores := make([]float32, test.Samples)
	for i := range scores {
		scores[i] = float32(predict(test, i))
	}
	return metric.AUC(scores, test.Labels)
}
