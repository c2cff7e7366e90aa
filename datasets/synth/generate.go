package synth

import (
	"fmt"
	"slices"
	"strconv"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/internal/parallel"
)

// rankBits is the number of bits of a rank in an identity. The bits above count the ids that had
// the rank before.
const rankBits = 41

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
	// Rows generates the training rows, if job.Synthetic.Stream is set; Train is then empty. It
	// is nil otherwise.
	Rows *Rows
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
	pilot.draw(rowRange{count: pilotRows})
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
	if spec.Stream {
		data.Rows = &Rows{generator: g, samples: spec.TrainRows}
		data.Train = data.Rows.Between(0, 0)
	} else {
		data.Train, _ = g.generate(partTrain, rowRange{count: spec.TrainRows})
	}
	data.Test, data.TestProbability = g.generate(partTest, rowRange{count: spec.TestRows})
	return data, nil
}

// generator is the state that all rows share.
type generator struct {
	workers     int // goroutines
	seed        uint64
	addressable bool // rows are drawn from (seed, number of the row)
	columns     []*column
	groups      [][]int // indexes of columns that are drawn together: those of a tie, and each other one
	numeric     int
	clock       clock
	scorer      *scorer
	calibration calibration
	conversion  *conversion // nil: one label
}

func newGenerator(spec job.Synthetic, workers int) *generator {
	g := &generator{
		workers: workers, seed: spec.Seed, addressable: spec.IsAddressable(), numeric: spec.Numeric,
		clock: newClock(spec), columns: newColumns(spec), groups: groupsOf(spec),
	}
	g.scorer = newScorer(teacherSeed(spec), spec)
	if spec.Conversion != nil {
		g.conversion = newConversion(spec)
	}
	return g
}

// groupsOf returns the columns of every tie, in its order, and every other column alone. The largest groups
// come first, so that no goroutine begins one when the others have ended.
func groupsOf(spec job.Synthetic) (groups [][]int) {
	indexes := map[string]int{}
	for i, c := range spec.Columns {
		indexes[c.Name] = i
	}
	for _, tie := range spec.Ties {
		var group []int
		for _, name := range tie.Columns {
			group = append(group, indexes[name])
			delete(indexes, name)
		}
		groups = append(groups, group)
	}
	for i, c := range spec.Columns {
		if _, alone := indexes[c.Name]; alone {
			groups = append(groups, []int{i})
		}
	}
	slices.SortStableFunc(groups, func(a, b []int) int { return len(b) - len(a) })
	return groups
}

// chunkRows is the number of rows that are drawn at a time.
const chunkRows = 1 << 14

// generate draws rows of a part. Unless rows are addressable, they must be the first of the part.
func (g *generator) generate(which int, rows rowRange) (*batch.Batch, []float64) {
	labels := 1
	if g.conversion != nil {
		labels = 2
	}
	b := &batch.Batch{
		Samples: rows.count, Slots: make([]batch.Jagged, len(g.columns)),
		Dense: make([]float32, rows.count*g.numeric), Labels: make([]float32, rows.count*labels),
	}
	probability := make([]float64, rows.count*labels)
	p := g.newPart(which)
	p.ids = b.Slots
	one := make([]int32, rows.count+1) // offsets of all columns with one id per row
	for i := range one {
		one[i] = int32(i)
	}
	for c, column := range g.columns {
		p.ids[c].IDs = make([]uint64, 0, int(float64(rows.count)*column.meanIDs))
		if p.ids[c].Offsets = one; column.meanIDs != 1 {
			p.ids[c].Offsets = append(make([]int32, 0, rows.count+1), 0)
		}
	}
	for lo := 0; lo < rows.count; lo += chunkRows {
		p.draw(rows.slice(lo, min(lo+chunkRows, rows.count)))
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
// columns can be drawn in parallel.
type part struct {
	g       *generator
	which   int
	streams []*stream // of ranks, by column
	counts  []*stream // of the number of ids of a row, by column
	normal  *stream
	click   *stream        // draws the first label
	convert *stream        // draws the second label
	ids     []batch.Jagged // receives the ids, by column; nil if they are not needed

	// The rows of the current chunk.
	rows                rowRange
	columns             []drawn
	numbers             []float32 // rows × numeric
	clicks, conversions []float64 // uniform in [0, 1)
}

// drawn holds the identities of one column: ranks, and above rankBits the number of ids that had
// the rank before.
type drawn struct {
	ranks []int64
	ends  []int32 // end of the ranks of each row
}

func (g *generator) newPart(which int) *part {
	stream := func(purpose string, ids ...uint64) *stream {
		return newStream(g.addressable, g.seed, "synthetic "+purpose,
			append([]uint64{uint64(which)}, ids...)...)
	}
	p := &part{
		g: g, which: which, columns: make([]drawn, len(g.columns)),
		normal: stream("numbers"), click: stream("labels"), convert: stream("conversions"),
	}
	for c := range g.columns {
		p.streams = append(p.streams, stream("ranks", uint64(c)))
		p.counts = append(p.counts, stream("counts", uint64(c)))
	}
	return p
}

// draw draws a chunk of rows, with one task for every stream.
func (p *part) draw(rows rowRange) {
	p.rows = rows
	uniform := func(values []float64, stream *stream) []float64 {
		for i := range rows.count {
			stream.seek(rows.at(i))
			values = append(values, stream.Float64())
		}
		return values
	}
	parallel.ForEach(p.g.workers, len(p.g.groups)+3, func(i int) {
		switch i - len(p.g.groups) {
		case 0:
			p.numbers = p.numbers[:0]
			for i := range rows.count {
				p.normal.seek(rows.at(i))
				for range p.g.numeric {
					p.numbers = append(p.numbers, float32(p.normal.NormFloat64()))
				}
			}
		case 1:
			p.clicks = uniform(p.clicks[:0], p.click)
		case 2:
			if p.g.conversion != nil {
				p.conversions = uniform(p.conversions[:0], p.convert)
			}
		default:
			p.drawColumns(p.g.groups[i])
		}
	})
}

// drawColumns draws the ranks of columns that share latent values, or of a single one.
func (p *part) drawColumns(columns []int) {
	for _, c := range columns {
		d := &p.columns[c]
		d.ranks, d.ends = d.ranks[:0], d.ends[:0]
	}
	w := newWalk()
	for i := range p.rows.count {
		for _, c := range columns {
			p.drawRow(c, p.rows.at(i), &w)
		}
	}
	if p.ids == nil {
		return
	}
	for _, c := range columns {
		p.addIDs(c)
	}
}

// drawRow draws the ranks of a column in a row.
func (p *part) drawRow(c, row int, w *walk) {
	d, column, stream := &p.columns[c], p.g.columns[c], p.streams[c]
	n := int(column.meanIDs)
	if rest := column.meanIDs - float64(n); rest > 0 {
		p.counts[c].seek(row)
		if p.counts[c].Float64() < rest {
			n++
		}
	}
	stream.seek(row)
	for k := range n {
		rank := column.draw(p.which, row, k, stream, w)
		if column.drift > 0 {
			rank = column.identity(rank, p.g.clock.day(p.which, row))
		}
		d.ranks = append(d.ranks, rank)
	}
	d.ends = append(d.ends, int32(len(d.ranks)))
}

// addIDs adds the ids of the current rows of a column.
func (p *part) addIDs(c int) {
	d, column, slot := &p.columns[c], p.g.columns[c], &p.ids[c]
	first := int32(len(slot.IDs))
	for _, rank := range d.ranks {
		slot.IDs = append(slot.IDs, column.id(rank))
	}
	if column.meanIDs == 1 {
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
	parallel.ForEach(p.g.workers, (p.rows.count+rowsPerTask-1)/rowsPerTask, func(task int) {
		w := &rowWorker{scorer: p.g.scorer.clone(len(p.g.scorer.sum)), ranks: make([][]int64, len(p.columns))}
		if p.g.conversion != nil {
			w.own = p.g.conversion.scorer.clone(len(p.g.scorer.sum))
		}
		for i := task * rowsPerTask; i < min((task+1)*rowsPerTask, p.rows.count); i++ {
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
