package synth

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/rng"
	"tandem/internal/parallel"
)

func testSpec() job.Synthetic {
	return job.Synthetic{
		Seed: 3, TrainRows: 20_000, TestRows: 20_000, Numeric: 2, PositiveRate: 0.25,
		Columns: []job.SyntheticColumn{
			{Cardinality: 1_000_000_000, Exponent: 1.05},
			{Name: "small", Cardinality: 20, Exponent: 0.8},
			{Cardinality: 5_000, Exponent: 1.2, Top: 0.1},
		},
	}
}

func mustGenerate(t *testing.T, spec job.Synthetic) *Data {
	t.Helper()
	data, err := Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestGenerateShape(t *testing.T) {
	spec := testSpec()
	spec.TrainRows, spec.TestRows = 7, 5
	data := mustGenerate(t, spec)
	if want := []string{"c1", "small", "c3"}; !slices.Equal(data.Columns, want) {
		t.Errorf("columns %q, want %q", data.Columns, want)
	}
	if want := []string{"n1", "n2"}; !slices.Equal(data.Numeric, want) {
		t.Errorf("numeric %q, want %q", data.Numeric, want)
	}
	if n := len(data.TestProbability); n != 5 {
		t.Errorf("%d probabilities, want 5", n)
	}
	train := data.Train
	if train.Samples != 7 || len(train.Labels) != 7 || len(train.Dense) != 14 || len(train.Slots) != 3 {
		t.Errorf("train has %d samples, %d labels, %d dense, %d slots", train.Samples, len(train.Labels),
			len(train.Dense), len(train.Slots))
	}
	for c, slot := range train.Slots {
		for i := range train.Samples {
			if len(slot.SampleIDs(i)) != 1 {
				t.Errorf("slot %d: row %d has %d ids, want 1", c, i, len(slot.SampleIDs(i)))
			}
		}
	}
}

func TestSameSeedSameRowsAndMoreRowsExtend(t *testing.T) {
	spec := testSpec()
	spec.TrainRows, spec.TestRows = 1_000, 100
	first, again := mustGenerate(t, spec), mustGenerate(t, spec)
	if !reflect.DeepEqual(first, again) {
		t.Error("same spec, other data")
	}
	spec.TrainRows = 3_000
	more := mustGenerate(t, spec)
	if !reflect.DeepEqual(first.Test, more.Test) ||
		!slices.Equal(first.Train.Labels, more.Train.Labels[:1_000]) ||
		!slices.Equal(first.Train.Slots[0].IDs, more.Train.Slots[0].IDs[:1_000]) {
		t.Error("more training rows changed the task")
	}
	spec.Seed++
	if other := mustGenerate(t, spec); slices.Equal(other.Test.Slots[0].IDs, first.Test.Slots[0].IDs) {
		t.Error("other seed, same ids")
	}
}

func mean[T float32 | float64](values []T) float64 {
	var sum float64
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(len(values))
}

// Sampling error: rate of 20,000 Bernoulli labels √(0.25·0.75/20000) = 0.003,
// of the pilot 0.001; four of them together are 0.013.
func TestPositiveRateIsAsRequested(t *testing.T) {
	for _, rate := range []float64{0.03, 0.25, 0.5, 0.9} {
		spec := testSpec()
		spec.PositiveRate = rate
		data := mustGenerate(t, spec)
		if got := mean(data.Train.Labels); math.Abs(got-rate) > 0.013 {
			t.Errorf("positive rate %v, want %v", got, rate)
		}
	}
}

// Data.TestProbability is true: among rows of probability near p, a share of p
// has label 1. A bin of m rows has a standard deviation of at most 0.5/√m.
func TestProbabilitiesAreTrue(t *testing.T) {
	data := mustGenerate(t, testSpec())
	const bins = 10
	var rows, want, got [bins]float64
	for i, p := range data.TestProbability {
		if !(p >= 0 && p <= 1) {
			t.Fatalf("row %d: probability %v", i, p)
		}
		bin := min(int(p*bins), bins-1)
		rows[bin]++
		want[bin] += p
		got[bin] += float64(data.Test.Labels[i])
	}
	for bin, m := range rows {
		if m < 100 {
			continue
		}
		if diff := math.Abs(got[bin]-want[bin]) / m; diff > 4*0.5/math.Sqrt(m) {
			t.Errorf("bin %d of %v rows: share of positives %v, mean probability %v", bin, m, got[bin]/m,
				want[bin]/m)
		}
	}
}

// Scale is the standard deviation of the logit; a larger scale gives a stronger signal.
func TestScaleSetsTheSignal(t *testing.T) {
	var entropy []float64
	for _, scale := range []float64{0.5, 2, 4} {
		spec := testSpec()
		spec.Teacher.Scale = scale
		data := mustGenerate(t, spec)
		logits, loss := make([]float64, 0, spec.TestRows), 0.0
		for _, p := range data.TestProbability {
			logits = append(logits, math.Log(p/(1-p)))
			loss -= p*math.Log(p) + (1-p)*math.Log(1-p)
		}
		var variance float64
		middle := mean(logits)
		for _, x := range logits {
			variance += (x - middle) * (x - middle) / float64(len(logits))
		}
		// Pilot and test rows are samples of the same distribution and agree within a few per cent.
		if got := math.Sqrt(variance); math.Abs(got-scale) > 0.05*scale {
			t.Errorf("scale %v: logits deviate by %v", scale, got)
		}
		entropy = append(entropy, loss)
	}
	if !(entropy[0] > entropy[1] && entropy[1] > entropy[2]) {
		t.Errorf("best reachable log loss %v should fall with scale", entropy)
	}
}

// largestShare is the definition of alpha: the largest share of rows with the same id.
func largestShare(ids []uint64) float64 {
	counts, most := map[uint64]int{}, 0
	for _, id := range ids {
		counts[id]++
		most = max(most, counts[id])
	}
	return float64(most) / float64(len(ids))
}

// The sampling error is √(α(1−α)/20000) ≤ 0.0035; the tolerance is four times that.
func TestAlphaIsTheLargestShareOfOneID(t *testing.T) {
	for _, alpha := range []float64{0.04, 0.3, 0.9} {
		spec := testSpec()
		spec.Alpha = alpha
		if got := largestShare(mustGenerate(t, spec).Train.Slots[0].IDs); math.Abs(got-alpha) > 0.014 {
			t.Errorf("default column: share %v, want %v", got, alpha)
		}
		spec.AlphaColumns = []string{"c3"}
		if got := largestShare(mustGenerate(t, spec).Train.Slots[2].IDs); math.Abs(got-alpha) > 0.014 {
			t.Errorf("chosen column: share %v, want %v", got, alpha)
		}
	}
}

// The fast score equals the definition, pair by pair.
func TestScoreMatchesPairwiseSum(t *testing.T) {
	teacher := job.SyntheticTeacher{Rank: 3, Linear: 0.7, Interaction: 1.3, Numeric: 0.4, Scale: 1}
	columns := make([]job.SyntheticColumn, 4)
	columns[1].IDsPerRow, columns[2].IDsPerRow = 2.25, 0.25
	s := newScorer(9, job.Synthetic{Columns: columns, Numeric: 2, Teacher: teacher})
	ranks, numbers := [][]int64{{1}, {77, 3, 77}, nil, {5}}, []float32{0.25, -1.5}
	value := func(c, i int) (sum float64) {
		for _, rank := range ranks[c] {
			sum += hidden(rng.Mix(s.columns[c]+uint64(rank)), i) / math.Sqrt(columns[c].MeanIDs())
		}
		return sum
	}
	var linear, pairs float64
	for c := range ranks {
		linear += value(c, 0)
		for d := range c {
			for k := range teacher.Rank {
				pairs += value(c, k+1) * value(d, k+1)
			}
		}
	}
	dense := s.numeric[0]*0.25 - s.numeric[1]*1.5
	// 4 columns, 6 pairs of 3 products, 2 numbers.
	want := 0.7*linear/2 + 1.3*pairs/math.Sqrt(18) + 0.4*dense/math.Sqrt(2)
	if got := s.score(ranks, numbers); math.Abs(got-want) > 1e-12 {
		t.Errorf("score %v, want %v", got, want)
	}
}

// A column with several ids per row has the requested mean number, rounded down or up in each
// row; other columns do not change.
func TestIDsPerRow(t *testing.T) {
	spec := job.Synthetic{Seed: 2, TrainRows: 4000, TestRows: 10,
		Columns: []job.SyntheticColumn{{Cardinality: 50}, {Cardinality: 50, Exponent: 1}}}
	one := mustGenerate(t, spec)
	spec.Columns[1].IDsPerRow = 2.25
	several := mustGenerate(t, spec)
	if !slices.Equal(one.Train.Slots[0].IDs, several.Train.Slots[0].IDs) {
		t.Error("the column beside it has changed")
	}
	slot := several.Train.Slots[1]
	for i := range several.Train.Samples {
		if n := len(slot.SampleIDs(i)); n != 2 && n != 3 {
			t.Fatalf("row %d has %d ids", i, n)
		}
	}
	// 4000 draws of deviation √(0.25·0.75) = 0.43.
	if got := float64(len(slot.IDs)) / 4000; math.Abs(got-2.25) > 5*0.43/math.Sqrt(4000) {
		t.Errorf("%v ids a row, want 2.25", got)
	}
	spec.Columns[1].IDsPerRow = 1
	if plain := mustGenerate(t, spec); !slices.Equal(plain.Train.Slots[1].IDs, one.Train.Slots[1].IDs) ||
		!slices.Equal(plain.Train.Labels, one.Train.Labels) {
		t.Error("1 is not the default")
	}
	spec.Columns[1].IDsPerRow = -1
	if _, err := Generate(spec); err == nil ||
		!strings.HasPrefix(err.Error(), "synth: columns[1].ids-per-row: -1") {
		t.Errorf("an invalid column: error %v", err)
	}
}

// Rows of the preset criteo, on one goroutine and on all cores.
func BenchmarkGenerate(b *testing.B) {
	spec := job.Synthetic{Preset: job.PresetCriteo, Seed: 1, TrainRows: 200_000, TestRows: 1}
	for _, workers := range []int{1, parallel.Cores()} {
		b.Run(fmt.Sprintf("goroutines-%d", workers), func(b *testing.B) {
			for b.Loop() {
				if _, err := generate(spec, workers); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*spec.TrainRows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
