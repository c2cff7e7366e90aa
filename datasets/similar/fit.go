package similar

import (
	"math"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/datasets/synth"
	"tandem/internal/parallel"
)

const (
	// rowsMax is the largest number of rows to which the regression is fitted.
	rowsMax = 50_000
	// labelsMin is the smallest number of rows of each label.
	labelsMin = 20
	// folds of the cross-validation.
	folds = 5
	// scoredRows is the smallest number of generated rows whose AUC is measured.
	scoredRows = 20_000
	// seeds of the generated data sets whose AUC is averaged.
	seeds = 3
)

// Signal is how well a logistic regression predicts the labels of rows that it has not seen.
type Signal struct {
	// AUC of the real rows, by cross-validation, and of the generated rows.
	AUC, Generated float64
}

// FitTeacher sets the teacher of a description of rows, and the weights of its columns, so that generated
// rows are as predictable as the first rows of a batch, of which it uses the first label. Column i of the
// description describes slots[i] of the batch. It reports false and changes nothing if one of the two labels
// is too rare: below 20 rows.
//
//   - The weight of a column is the standard deviation over rows of the effect of its ids, and those of the
//     linear and the numeric part are the ones of their sums.
//   - The scale is the one with which the regression has the same AUC on generated rows as on real ones, by
//     cross-validation, averaged over three seeds.
//   - Interactions stay as they are, 0 unless the caller sets them: to the regression they are noise.
//
// Of more than 50,000 rows, it uses a random choice.
//
// Cost: about 20 fits of the regression, each of about 1 µs per row and column, and as many generated data
// sets.
func FitTeacher(spec *job.Synthetic, b *batch.Batch, rows int, slots []int) (signal Signal, ok bool) {
	t := newTable(b, choose(rows, rowsMax), slots)
	positives := 0
	for _, label := range t.labels {
		if label == 1 {
			positives++
		}
	}
	if min(positives, t.rows-positives) < labelsMin {
		return Signal{}, false
	}
	fitted := fitEffects(t, allRows(t.rows))
	weigh(spec, t, fitted)
	signal.AUC = crossValidate(t)
	f := &strength{spec: spec, rows: t.rows - t.rows/folds}
	signal.Generated = f.strengthen(signal.AUC)
	return signal, true
}

// strengthen sets the scale of the teacher with which generated rows have an AUC, as nearly as the noise
// of that AUC allows, and returns the AUC that they have. The AUC grows with the logarithm of the scale,
// almost in proportion: after two guesses, the secant through the last two leads to the next.
func (f *strength) strengthen(target float64) float64 {
	const (
		guesses   = 5
		closeness = 0.002
		// Limits of the scale, and the ratio of the first two guesses.
		scaleMin, scaleMax, stride = 0.05, 30, 1.5
	)
	scale := math.Hypot(f.spec.Teacher.Linear, f.spec.Teacher.Numeric)
	best, before, beforeScale := math.Inf(1), 0.0, 0.0
	var bestScale, bestAUC float64
	for guess := range guesses {
		scale = min(max(scale, scaleMin), scaleMax)
		auc := f.generatedAUC(scale)
		if gap := math.Abs(auc - target); gap < best {
			best, bestScale, bestAUC = gap, scale, auc
		}
		if best < closeness || scale == beforeScale {
			break
		}
		slope := (auc - before) / math.Log(scale/beforeScale)
		before, beforeScale = auc, scale
		switch {
		case guess > 0 && slope > 0:
			ratio := math.Exp((target - auc) / slope)
			scale *= min(max(ratio, 1/(stride*stride)), stride*stride)
		case auc < target:
			scale *= stride
		default:
			scale /= stride
		}
	}
	f.spec.Teacher.Scale = math.Round(bestScale*1000) / 1000
	return bestAUC
}

// choose returns the numbers of all rows, or a random choice of most of them.
func choose(rows, most int) []int32 {
	if rows <= most {
		return allRows(rows)
	}
	chosen := make([]int32, most)
	for i, row := range rng.New(1, "similar rows").Perm(rows)[:most] {
		chosen[i] = int32(row)
	}
	return chosen
}

func allRows(rows int) []int32 {
	all := make([]int32, rows)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// weigh sets the weights of the parts of the teacher and of the columns to the standard deviations of
// their sums over rows.
func weigh(spec *job.Synthetic, t *table, fitted *effects) {
	var linear, numeric float64 // variances
	for _, slope := range fitted.slopes {
		numeric += float64(slope * slope) // numbers have variance 1
	}
	variances := make([]float64, len(t.columns))
	for c := range t.columns {
		sums := make([]float64, t.rows)
		for i := range sums {
			for _, id := range t.columns[c].row(int32(i)) {
				sums[i] += fitted.columns[c][id]
			}
		}
		variances[c] = variance(sums)
		linear += variances[c]
	}
	mean := linear / float64(len(t.columns))
	for c := range variances {
		weight := 1.0
		if mean > 0 {
			weight = math.Sqrt(variances[c] / mean)
		}
		spec.Columns[c].Weight = max(math.Round(weight*1000)/1000, 0.001)
	}
	spec.Teacher.Linear = math.Round(math.Sqrt(linear)*1000) / 1000
	spec.Teacher.Numeric = math.Round(math.Sqrt(numeric)*1000) / 1000
}

func variance(values []float64) float64 {
	var mean, squares float64
	for _, value := range values {
		mean += value / float64(len(values))
	}
	for _, value := range values {
		squares += float64((value - mean) * (value - mean))
	}
	return squares / float64(len(values))
}

// crossValidate returns the mean AUC of the regression on rows that it was not fitted to.
func crossValidate(t *table) float64 {
	order, mean := rng.New(1, "similar folds").Perm(t.rows), 0.0
	for fold := range folds {
		var fit, score []int32
		for i, row := range order {
			if i%folds == fold {
				score = append(score, int32(row))
			} else {
				fit = append(fit, int32(row))
			}
		}
		mean += fitEffects(t, fit).auc(t, score) / folds
	}
	return mean
}

// strength finds the scale of a teacher.
type strength struct {
	spec *job.Synthetic
	rows int // to which the regression is fitted
}

// generatedAUC returns the mean AUC of the regression on generated rows, fitted to others, over several
// seeds.
func (f *strength) generatedAUC(scale float64) float64 {
	var aucs [seeds]float64
	parallel.ForEach(parallel.Cores(), seeds, func(seed int) {
		spec := *f.spec
		spec.Teacher.Scale, spec.Seed = scale, uint64(seed+1)
		spec.TrainRows, spec.TestRows = f.rows+max(scoredRows, f.rows/folds), 1
		data, err := synth.Generate(spec)
		if err != nil {
			panic("similar: " + err.Error()) // the caller has validated it
		}
		t := newTable(data.Train, allRows(data.Train.Samples), nil)
		all := allRows(t.rows)
		aucs[seed] = fitEffects(t, all[:f.rows]).auc(t, all[f.rows:])
	})
	return (aucs[0] + aucs[1] + aucs[2]) / seeds
}

// auc returns the AUC of some rows.
func (e *effects) auc(t *table, rows []int32) float64 {
	scores, labels := make([]float32, len(rows)), make([]float32, len(rows))
	for i, row := range rows {
		scores[i], labels[i] = float32(e.logit(t, row)), t.labels[row]
	}
	return metric.AUC(scores, labels)
}
