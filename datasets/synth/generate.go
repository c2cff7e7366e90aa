package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/internal/parallel"
)

// pilotRows is the size of the sample that determines bias and scale. In addition to the noise
// of the rows themselves, the positive rate deviates from the requested one by about
// 0.2/√pilotRows = 0.001.
const pilotRows = 1 << 15

// The parts of the data. Each is drawn from its own random streams.
const (
	partTrain = iota
	partTest
	partPilot
)

// Data is a generated data set. Its batches have one slot per column, standard normal dense
// features, and the labels of job.Synthetic.Labels.
type Data struct {
	Columns     []string // names of the slots
	Numeric     []string // names of the dense features
	Labels      []string // names of the labels
	Train, Test *batch.Batch
	// TestProbability is the probability with which each label of the test rows was drawn,
	// test rows × labels. No model can reach a better AUC or log loss on the test labels,
	// apart from sampling noise.
	TestProbability []float64
}

// Generate draws a data set on all cores; their number does not change the result. The error is
// that of spec.Validate.
//
// Cost: about 0.2 µs per id and core. Memory: the result.
func Generate(spec job.Synthetic) (*Data, error) { return generate(spec, parallel.Cores()) }

func generate(spec job.Synthetic, workers int) (*Data, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	spec = spec.Resolve()
	g := newGenerator(spec, workers)
	scores, own := make([]float64, pilotRows), make([]float64, pilotRows)
	pilot := g.newPart(partPilot)
	pilot.draw(pilotRows)
	pilot.eachRow(func(i int, w *rowWorker) {
		scores[i] = w.scorer.score(w.ranks, w.numbers)
		if g.conversion != nil {
			own[i] = w.own.score(w.ranks, w.numbers)
		}
	})
	g.calibration = calibrate(scores, spec.Teacher.Scale, spec.PositiveRate)
	if g.conversion != nil {
		g.conversion.calibrate(scores, own, spec)
	}

	data := &Data{Labels: spec.Labels()}
	for _, c := range spec.Columns {
		data.Columns = append(data.Columns, c.Name)
	}
	for j := range spec.Numeric {
		data.Numeric = append(data.Numeric, "n"+strconv.Itoa(j+1))
	}
	data.Train, _ = g.generate(partTrain, spec.TrainRows)
	data.Test, data.TestProbability = g.generate(partTest, spec.TestRows)
	return data, nil
}

// generator is the state that all rows share.
type generator struct {
	workers     int // goroutines
	seed        uint64
	columns     []*Zipf
	meanIDs     []float64 // mean number of ids per row, by column
	scatter     []uint64  // key that maps the ranks of a column to ids
	numeric     int
	scorer      *scorer
	calibration calibration
	conversion  *conversion // nil: one label
}

func newGenerator(spec job.Synthetic, workers int) *generator {
	g := &generator{
		workers: workers, seed: spec.Seed, numeric: spec.Numeric,
		scorer: newScorer(spec.Seed, spec),
	}
	if spec.Conversion != nil {
		g.conversion = newConversion(spec)
	}
	for c, column := range spec.Columns {
		g.columns, g.meanIDs = append(g.columns, NewZipf(column)), append(g.meanIDs, column.MeanIDs())
		g.scatter = append(g.scatter, rng.Key(spec.Seed, "synthetic ids", uint64(c)))
	}
	return g
}

// id scatters the ranks of a column over 64 bits. Mix is a bijection, so
// different ranks have different ids.
func (g *generator) id(column int, rank int64) uint64 {
	return rng.Mix(g.scatter[column] + uint64(rank))
}

// chunkRows is the number of rows that are drawn at a time.
const chunkRows = 1 << 14

// generate draws the rows of a part.
func (g *generator) generate(part, rows int) (*batch.Batch, []float64) {
	labels := 1
	if g.conversion != nil {
		labels = 2
	}
	b := &batch.Batch{
		Samples: rows, Slots: make([]batch.Jagged, len(g.columns)),
		Dense: make([]float32, rows*g.numeric), Labels: make([]float32, rows*labels),
	}
	probability := make([]float64, rows*labels)
	p := g.newPart(part)
	p.ids = b.Slots
	one := make([]int32, rows+1) // offsets of all columns with one id per row
	for i := range one {
		one[i] = int32(i)
	}
	for c, meanIDs := range g.meanIDs {
		p.ids[c].IDs = make([]uint64, 0, int(float64(rows)*meanIDs))
		if p.ids[c].Offsets = one; meanIDs != 1 {
			p.ids[c].Offsets = append(make([]int32, 0, rows+1), 0)
		}
	}
	for lo := 0; lo < rows; lo += chunkRows {
		p.draw(min(chunkRows, rows-lo))
		copy(b.Dense[lo*g.numeric:], p.numbers)
		p.eachRow(func(i int, w *rowWorker) {
			score := w.scorer.score(w.ranks, w.numbers)
			click, at := g.calibration.probability(score), (lo+i)*labels
			clicked := p.clicks[i] < click
			probability[at], b.Labels[at] = click, label(clicked)
			if g.conversion != nil {
				follows := g.conversion.probability(score, w.own.score(w.ranks, w.numbers))
				probability[at+1] = float64(click * follows)
				b.Labels[at+1] = label(p.conversions[i] < follows && clicked)
			}
		})
	}
	return b, probability
}

// label returns 1 or 0.
func label(positive bool) float32 {
	if positive {
		return 1
	}
	return 0
}

// part draws the rows of one part, chunk by chunk. Every column has its own random streams, so
// columns are independent of each other and can be drawn in parallel.
type part struct {
	g       *generator
	streams []*rand.Rand // of ranks, by column
	counts  []*rand.Rand // of the number of ids of a row, by column
	normal  *rand.Rand
	click   *rand.Rand     // draws the first label
	convert *rand.Rand     // draws the second label
	ids     []batch.Jagged // receives the ids, by column; nil if they are not needed

	// The rows of the current chunk.
	rows                int
	columns             []drawn
	numbers             []float32 // rows × numeric
	clicks, conversions []float64 // uniform in [0, 1)
}

// drawn holds the ranks of one column.
type drawn struct {
	ranks []int64
	ends  []int32 // end of the ranks of each row
}

func (g *generator) newPart(which int) *part {
	stream := func(purpose string, ids ...uint64) *rand.Rand {
		return rng.New(g.seed, "synthetic "+purpose, append([]uint64{uint64(which)}, ids...)...)
	}
	p := &part{
		g: g, columns: make([]drawn, len(g.columns)),
		normal: stream("numbers"), click: stream("labels"), convert: stream("conversions"),
	}
	for c := range g.columns {
		p.streams = append(p.streams, stream("ranks", uint64(c)))
		p.counts = append(p.counts, stream("counts", uint64(c)))
	}
	return p
}

// draw draws a chunk of rows, with one task for every stream.
func (p *part) draw(rows int) {
	p.rows = rows
	uniform := func(values []float64, stream *rand.Rand) []float64 {
		for range rows {
			values = append(values, stream.Float64())
		}
		return values
	}
	parallel.ForEach(p.g.workers, len(p.columns)+3, func(i int) {
		switch i - len(p.columns) {
		case 0:
			p.numbers = p.numbers[:0]
			for range rows * p.g.numeric {
				p.numbers = append(p.numbers, float32(p.normal.NormFloat64()))
			}
		case 1:
			p.clicks = uniform(p.clicks[:0], p.click)
		case 2:
			if p.g.conversion != nil {
				p.conversions = uniform(p.conversions[:0], p.convert)
			}
		default:
			p.drawColumn(i)
		}
	})
}

// drawColumn draws the ranks of a column.
func (p *part) drawColumn(c int) {
	d, zipf, stream := &p.columns[c], p.g.columns[c], p.streams[c]
	d.ranks, d.ends = d.ranks[:0], d.ends[:0]
	whole := math.Floor(p.g.meanIDs[c])
	rest := p.g.meanIDs[c] - whole
	for range p.rows {
		n := int(whole)
		if rest > 0 && p.counts[c].Float64() < rest {
			n++
		}
		for range n {
			d.ranks = append(d.ranks, zipf.Rank(stream))
		}
		d.ends = append(d.ends, int32(len(d.ranks)))
	}
	if p.ids == nil {
		return
	}
	slot := &p.ids[c]
	first := int32(len(slot.IDs))
	for _, rank := range d.ranks {
		slot.IDs = append(slot.IDs, p.g.id(c, rank))
	}
	if p.g.meanIDs[c] == 1 {
		return
	}
	for _, end := range d.ends {
		slot.Offsets = append(slot.Offsets, first+end)
	}
}

// rowWorker is the state of a goroutine that scores rows.
type rowWorker struct {
	scorer, own *scorer   // own scores conversions; nil with one label
	ranks       [][]int64 // of the current row, by column
	numbers     []float32 // of the current row
}

// eachRow calls do for every row of the chunk, in any order, in parallel.
func (p *part) eachRow(do func(i int, w *rowWorker)) {
	const rowsPerTask = 1 << 9
	parallel.ForEach(p.g.workers, (p.rows+rowsPerTask-1)/rowsPerTask, func(task int) {
		w := &rowWorker{scorer: p.g.scorer.clone(), ranks: make([][]int64, len(p.columns))}
		if p.g.conversion != nil {
			w.own = p.g.conversion.scorer.clone()
		}
		for i := task * rowsPerTask; i < min((task+1)*rowsPerTask, p.rows); i++ {
			for c := range p.columns {
				d, first := &p.columns[c], int32(0)
				if i > 0 {
					first = d.ends[i-1]
				}
				w.ranks[c] = d.ranks[first:d.ends[i]]
			}
			w.numbers = p.numbers[i*p.g.numeric : (i+1)*p.g.numeric]
			do(i, w)
		}
	})
}
