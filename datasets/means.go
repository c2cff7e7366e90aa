package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/internal/parallel"
)

// meanColumns are the slots whose means are numeric columns, behind those of the file: see job.Data.Means.
type meanColumns []int

const (
	// meanFolds is the number of parts of the training rows. The means of a row are those of the other parts.
	meanFolds = 10
	// meansMost is the number of ids that may have numbers, in all columns together: 4 MiB of a model.
	meansMost = 1 << 18
)

// newMeanColumns returns the columns of means of slots, and adds them to the schema that rows have without
// them.
func newMeanColumns(slots []string, schema *batch.Schema) (m meanColumns, err error) {
	known := slotNames(schema)
	for i, name := range slots {
		at := slices.Index(known, name)
		if at < 0 {
			return nil, fmt.Errorf("means[%d]: no slot %q: the data have %s", i, name,
				strings.Join(known, ", "))
		}
		column := job.MeanColumn(name)
		if slices.Contains(known, column) || slices.Contains(schema.Dense, column) {
			return nil, fmt.Errorf("means[%d]: %q is a column of the data already", i, column)
		}
		m = append(m, at)
		schema.Dense = append(slices.Clip(schema.Dense), column)
	}
	return m, nil
}

// WithMeans returns d with columns of means of some slots: see job.Data.Means. Rows that stay in their file
// can have none, nor can a data set that has some.
func (d *Dataset) WithMeans(slots []string) (*Dataset, error) {
	more := *d
	var err error
	if more.means, err = newMeanColumns(slots, &more.Schema); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	more.measureMeans()
	return &more, nil
}

// measureMeans sets the columns of means, those of training rows from the other folds and those of test rows
// from all training rows, and their tables. Batches and scaling that others may share are not changed.
func (d *Dataset) measureMeans() {
	if len(d.means) == 0 {
		return
	}
	own := len(d.Schema.Dense) - len(d.means)
	numbers, tables := d.means.measure(d.Train)
	scaling := make([]batch.Scaling, len(d.means))
	parallel.ForEach(parallel.Cores(), len(d.means), func(c int) {
		scaling[c] = measureScaling(&batch.Batch{Samples: d.Train.Samples, Dense: numbers[c]}, 1)[0]
		scaling[c].Values = tables[c]
	})
	d.Scaling = slices.Concat(d.Scaling[:own], scaling)
	d.Train = withNumbers(d.Train, own, numbers, scaling)
	d.Test = withNumbers(d.Test, own, d.means.look(d.Test, scaling), scaling)
}

// scaled standardises the numbers of rows that were just read in place, and returns the rows with the columns
// of means.
func (m meanColumns) scaled(b *batch.Batch, scaling []batch.Scaling) *batch.Batch {
	own := len(scaling) - len(m)
	standardise(b, scaling[:own])
	if len(m) == 0 {
		return b
	}
	return withNumbers(b, own, m.look(b, scaling[own:]), scaling[own:])
}

// withNumbers returns rows with the first numbers that they have and further ones, column by column, which it
// standardises.
func withNumbers(b *batch.Batch, first int, further [][]float32, scaling []batch.Scaling) *batch.Batch {
	out := *b
	width, old := first+len(further), len(b.Dense)/max(b.Samples, 1)
	out.Dense = make([]float32, b.Samples*width)
	for row := range b.Samples {
		to := out.Dense[row*width:][:width]
		copy(to[:first], b.Dense[row*old:])
		for c, numbers := range further {
			to[first+c] = standardised(numbers[row], scaling[c])
		}
	}
	return &out
}

// look returns the numbers of rows by the tables of their scaling, column by column.
func (m meanColumns) look(b *batch.Batch, scaling []batch.Scaling) [][]float32 {
	numbers := make([][]float32, len(m))
	parallel.ForEach(parallel.Cores(), len(m), func(c int) {
		numbers[c] = make([]float32, b.Samples)
		slot := &b.Slots[m[c]]
		for row := range numbers[c] {
			numbers[c][row] = meanOf(slot.SampleIDs(row), scaling[c].Values.Of)
		}
	})
	return numbers
}

// meanOf returns the mean of the numbers of ids, 0 if there are none.
func meanOf[T any](ids []T, number func(T) float32) float32 {
	sum := 0.0
	for _, id := range ids {
		sum += float64(number(id))
	}
	return float32(sum / float64(max(len(ids), 1)))
}

// weighed is a sum of weights, and of the labels times these.
type weighed struct{ weights, labels float64 }

func (w *weighed) add(weight, label float64) {
	w.weights += weight
	w.labels += float64(weight * label)
}

func (w weighed) without(other weighed) weighed {
	return weighed{w.weights - other.weights, w.labels - other.labels}
}

// logOdds returns the log odds of rows with 1/(m (1 − m)) further rows of the mean m, less those of m. A
// prior of variance 1 of the log odds weighs as much near m.
func (w weighed) logOdds(m float64) float32 {
	further := 1 / (m * (1 - m))
	p := (w.labels + float64(further*m)) / (w.weights + further)
	return float32(math.Log(p/(1-p)) - math.Log(m/(1-m)))
}

// mean returns the mean with half a row of either label, inside (0, 1).
func (w weighed) mean() float64 { return (w.labels + 0.5) / (w.weights + 1) }

// foldsOf are training rows in folds, by their positions.
type foldsOf struct {
	rows            [meanFolds][]int32
	weights, labels []float64          // of rows
	all             weighed            // rows
	parts           [meanFolds]weighed // rows of a fold
}

func newFolds(b *batch.Batch) *foldsOf {
	f := &foldsOf{weights: make([]float64, b.Samples), labels: make([]float64, b.Samples)}
	key := rng.Key(1, "folds of means")
	labels := len(b.Labels) / max(b.Samples, 1)
	for row := range b.Samples {
		f.weights[row], f.labels[row] = 1, float64(b.Labels[row*labels])
		if b.Weights != nil {
			f.weights[row] = float64(b.Weights[row])
		}
		fold := int(float64(rng.Unit(key, row)) * meanFolds)
		f.rows[fold] = append(f.rows[fold], int32(row))
		f.all.add(f.weights[row], f.labels[row])
		f.parts[fold].add(f.weights[row], f.labels[row])
	}
	return f
}

// measure returns the numbers of training rows, column by column, and the tables of all of them.
//
// Cost: a pass over the ids of each column for their counts and one over each fold. Memory: some 50 bytes for
// each id of a row in as many columns as there are cores, and 12 for each id of a table.
func (m meanColumns) measure(b *batch.Batch) (numbers [][]float32, tables []batch.IDValues) {
	columns := make([]countedIDs, len(m))
	parallel.ForEach(parallel.Cores(), len(m), func(c int) { columns[c] = countIDs(&b.Slots[m[c]]) })
	least := leastCount(columns)
	numbers, tables = make([][]float32, len(m)), make([]batch.IDValues, len(m))
	folds := newFolds(b)
	parallel.ForEach(parallel.Cores(), len(m), func(c int) {
		numbers[c], tables[c] = columns[c].measure(&b.Slots[m[c]], folds, least)
	})
	return numbers, tables
}

// countedIDs are the ids of a slot, numbered from 0 on in the order of the rows.
type countedIDs struct {
	places []int32 // the number of every id of the rows
	ids    []uint64
	counts []int32 // of ids of rows, by number
}

func countIDs(slot *batch.Jagged) countedIDs {
	c := countedIDs{places: make([]int32, len(slot.IDs))}
	known := map[uint64]int32{}
	for i, id := range slot.IDs {
		at, seen := known[id]
		if !seen {
			at = int32(len(known))
			known[id] = at
			c.ids, c.counts = append(c.ids, id), append(c.counts, 0)
		}
		c.places[i] = at
		c.counts[at]++
	}
	return c
}

// leastCount returns the count from which an id has a number: 1, or as much more as keeps meansMost.
func leastCount(columns []countedIDs) int32 {
	with := map[int32]int{} // ids with a count
	for _, c := range columns {
		for _, n := range c.counts {
			with[n]++
		}
	}
	ids, least := 0, int32(math.MaxInt32)
	var counts []int32
	for n := range with {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	for _, n := range slices.Backward(counts) {
		if ids += with[n]; ids > meansMost {
			break
		}
		least = n
	}
	return least
}

// measure returns the numbers of the training rows of a column, and the numbers of its ids.
func (c *countedIDs) measure(slot *batch.Jagged, folds *foldsOf, least int32) ([]float32, batch.IDValues) {
	sums, part := make([]weighed, len(c.ids)), make([]weighed, len(c.ids))
	places := func(row int32) []int32 { return c.places[slot.Offsets[row]:slot.Offsets[row+1]] }
	add := func(to []weighed, rows []int32) {
		for _, row := range rows {
			for _, at := range places(row) {
				to[at].add(folds.weights[row], folds.labels[row])
			}
		}
	}
	for _, rows := range folds.rows {
		add(sums, rows)
	}
	numbers := make([]float32, len(slot.Offsets)-1)
	for fold, rows := range folds.rows {
		add(part, rows)
		mean := folds.all.without(folds.parts[fold]).mean()
		for _, row := range rows {
			numbers[row] = meanOf(places(row), func(at int32) float32 {
				if c.counts[at] < least {
					return 0
				}
				return sums[at].without(part[at]).logOdds(mean)
			})
		}
		for _, row := range rows {
			for _, at := range places(row) {
				part[at] = weighed{}
			}
		}
	}
	of, mean := map[uint64]float32{}, folds.all.mean()
	for at, id := range c.ids {
		if c.counts[at] >= least {
			of[id] = sums[at].logOdds(mean)
		}
	}
	return numbers, batch.NewIDValues(of)
}
