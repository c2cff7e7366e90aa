package similar

import (
	"math"
	"math/rand/v2"
	"testing"

	"tandem/algo/numeric/batch"
)

// labelled returns rows of uniform ids, one in each of two columns, and a number. The effects of the ids are
// normal with the given standard deviations.
func labelled(random *rand.Rand, rows int, ids [2]int, deviations [2]float64, slope float64) (*batch.Batch,
	[2][]float64) {
	b := &batch.Batch{Samples: rows, Slots: make([]batch.Jagged, 2)}
	var truth [2][]float64
	for c := range truth {
		for range ids[c] {
			truth[c] = append(truth[c], deviations[c]*random.NormFloat64())
		}
		b.Slots[c].Offsets = []int32{0}
	}
	for i := range rows {
		x := random.NormFloat64()
		logit := -0.5 + slope*x
		for c := range truth {
			id := random.IntN(ids[c])
			logit += truth[c][id]
			b.Slots[c].IDs = append(b.Slots[c].IDs, uint64(id))
			b.Slots[c].Offsets = append(b.Slots[c].Offsets, int32(i+1))
		}
		label := float32(0)
		if random.Float64() < 1/(1+math.Exp(-logit)) {
			label = 1
		}
		b.Dense, b.Labels = append(b.Dense, float32(x)), append(b.Labels, label)
	}
	return b, truth
}

// The fit is a maximum of the penalised likelihood, written out here: no coefficient can be changed to
// raise it.
func TestTheFitMaximisesThePenalisedLikelihood(t *testing.T) {
	b, _ := labelled(rand.New(rand.NewPCG(1, 1)), 400, [2]int{5, 8}, [2]float64{1, 0.5}, 0.7)
	table := newTable(b, allRows(b.Samples), nil)
	e := fitEffects(table, allRows(b.Samples))
	likelihood := func() float64 {
		sum := 0.0
		for i := range b.Samples {
			logit := e.intercept + e.slopes[0]*float64(b.Dense[i])
			for c := range e.columns {
				logit += e.columns[c][table.columns[c].ids[i]]
			}
			if b.Labels[i] == 0 {
				logit = -logit
			}
			sum -= math.Log1p(math.Exp(-logit))
		}
		for c := range e.columns {
			for _, effect := range e.columns[c] {
				sum -= effect * effect / (2 * e.variances[c])
			}
		}
		return sum - e.slopes[0]*e.slopes[0]/(2*slopeVariance)
	}
	coefficients := []*float64{&e.intercept, &e.slopes[0]}
	for c := range e.columns {
		for id := range e.columns[c] {
			coefficients = append(coefficients, &e.columns[c][id])
		}
	}
	best := likelihood()
	for i, coefficient := range coefficients {
		for _, step := range []float64{-0.05, 0.05} {
			*coefficient += step
			if got := likelihood(); got > best {
				t.Errorf("coefficient %d: a step of %v raises the likelihood from %v to %v", i, step, best,
					got)
			}
			*coefficient -= step
		}
	}
}

// The variances of the effects of two columns, one of them without any effect, and the slope are those that
// drew the labels.
func TestVariancesAreThoseOfTheEffects(t *testing.T) {
	b, truth := labelled(rand.New(rand.NewPCG(2, 2)), 20_000, [2]int{100, 100}, [2]float64{1, 0}, 0.7)
	e := fitEffects(newTable(b, allRows(b.Samples), nil), allRows(b.Samples))
	want := variance(truth[0])
	if got := e.variances[0]; math.Abs(got-want) > 0.15*want {
		t.Errorf("variance %v, want %v", got, want)
	}
	if got := e.variances[1]; got > 0.01 {
		t.Errorf("variance %v of a column without effects", got)
	}
	if math.Abs(e.slopes[0]-0.7) > 0.1 {
		t.Errorf("slope %v, want 0.7", e.slopes[0])
	}
}

// Rows with several ids: the fit does not diverge, and finds which of them matters.
func TestSeveralIDsOfARow(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	b := &batch.Batch{Samples: 5_000, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
	for range b.Samples {
		label, count := float32(0), random.IntN(5)
		for range count {
			id := random.IntN(20)
			if id == 7 {
				label = 1
			}
			b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(id))
		}
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(len(b.Slots[0].IDs)))
		b.Labels = append(b.Labels, label)
	}
	table := newTable(b, allRows(b.Samples), nil)
	e := fitEffects(table, allRows(b.Samples))
	if auc := e.auc(table, allRows(b.Samples)); auc < 0.999 {
		t.Errorf("AUC %v of labels that one id decides", auc)
	}
}
