package datasets

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/datasets/internal/decode"
	"tandem/internal/parallel"
)

// streamWindow is the number of rows of a file that are shuffled at a time unless the job says
// otherwise: large enough to mix, small enough that two windows of wide rows take a few
// hundred MB.
const streamWindow = 1 << 18

// window returns the number of rows to shuffle at a time, given the setting of a job.
func (d *Dataset) window(setting int) int {
	file, streams := d.Rows.(*fileRows)
	if !streams {
		return setting
	}
	if setting == 0 {
		setting = min(streamWindow, file.Samples())
	}
	// Two windows, since a step may end one and begin the next; a window has 64 places, and each
	// of them can begin and end within a block.
	file.decoded.keep(2 * (setting/max(file.blocks.Samples()/max(file.blocks.Blocks(), 1), 1) + 2*64))
	return setting
}

// blocks are rows that can be read block by block, by several goroutines.
type blocks interface {
	Samples() int
	Blocks() int
	// Range returns the numbers of the rows of a block, lo to hi−1.
	Range(number int) (lo, hi int)
	Read(number int) (*batch.Batch, error)
}

// indexed are the blocks of a file of plain text.
type indexed struct {
	*decode.Index
	file io.ReaderAt
}

// Read implements blocks.
func (x indexed) Read(number int) (*batch.Batch, error) { return x.Index.Read(x.file, number) }

// fileRows are the training rows of a file. A block of the file is decoded when one of its rows
// is needed, and kept while it is among the last few that were.
type fileRows struct {
	blocks  blocks
	isTest  func(row int) bool
	starts  []int // training rows before each block, and after the last
	lists   []bool
	derived derivation
	scaling []batch.Scaling
	decoded recent
	labels  []labelSums // of the training rows
}

// streamFile opens a data set of one file whose rows stay out of memory. It reads the file once,
// to find its rows, to check them and to measure the numeric columns.
func streamFile(data *job.Data, dataDir string) (*Dataset, error) {
	path, err := locate(dataDir, data.Path)
	if err != nil {
		return nil, err
	}
	f, dropped := formatOf(data), &droppedRows{policy: data.OnBadRow}
	schema := f.Schema
	derived, err := newDerivation(data.Derived, &schema)
	if err != nil {
		return nil, err
	}
	r := &fileRows{lists: make([]bool, len(schema.Slots)), derived: derived}
	r.decoded.keep(2 * parallel.Cores())
	scan := newScan(&f.Schema, data.Split)
	r.blocks, err = f.blocks(path, dropped, func(rows *batch.Batch) error {
		all, err := derived.withSlots(rows)
		if err != nil {
			return err
		}
		for s, slot := range all.Slots {
			r.lists[s] = r.lists[s] || !onePerRow(slot.Offsets)
		}
		scan.add(all)
		return nil
	})
	if err == nil && r.blocks.Samples() == 0 {
		err = noRows(path, dropped)
	}
	if err != nil {
		return nil, err
	}
	set := &Dataset{
		Schema: schema, Train: &batch.Batch{Slots: emptySlots(len(schema.Slots))}, Rows: r,
		DroppedRows: dropped.count, BadRows: dropped.first, Provenance: "file " + data.Path,
		Latest: data.Split.How != job.SplitRandom,
	}
	if set.Test, err = r.split(data.Split, scan); err != nil {
		return nil, fmt.Errorf("%s: %w", data.Path, err)
	}
	set.Scaling = r.scaling
	return set, nil
}

// split divides the rows by a split, measures the scaling of the training rows and returns the
// test rows.
func (r *fileRows) split(s job.Split, scan *scan) (test *batch.Batch, err error) {
	all := r.blocks.Samples()
	r.isTest = scan.isTest
	if r.isTest == nil {
		cut := all - int(math.Round(s.TestShare()*float64(all)))
		r.isTest = func(row int) bool { return row >= cut }
	}
	r.starts = []int{0}
	tests := scan.tests
	for b := range r.blocks.Blocks() {
		train, held := r.rowsOf(b)
		r.starts = append(r.starts, r.Samples()+len(train))
		of := scan.moments[b]
		if scan.isTest == nil && len(held) > 0 { // known only now
			rows, err := r.blocks.Read(b)
			if err != nil {
				return nil, err
			}
			test, err := r.derived.withSlots(batch.Gather(rows, held))
			if err != nil {
				return nil, err
			}
			tests = append(tests, test)
			of = momentsOf(batch.Gather(rows, train), len(of))
		}
		scan.total.merge(of)
	}
	if r.Samples() == 0 || r.Samples() == all {
		return nil, fmt.Errorf("split.test: %v of %d rows leaves no rows for train or test: change it or "+
			"add rows", s.TestShare(), all)
	}
	r.scaling = scan.total.scaling()
	test = concatenate(tests)
	r.labels = scan.labels
	addLabels(r.labels, labelSumsOf(test), -1)
	if err := checkWeights(r.labels); err != nil {
		return nil, err
	}
	scaleWeights(test, r.labels[0].meanWeight())
	standardise(test, r.scaling)
	return test, nil
}

// rowsOf returns the numbers of the training rows and of the test rows of a block, within it.
func (r *fileRows) rowsOf(number int) (train, test []int32) {
	lo, hi := r.blocks.Range(number)
	for row := lo; row < hi; row++ {
		if r.isTest(row) {
			test = append(test, int32(row-lo))
		} else {
			train = append(train, int32(row-lo))
		}
	}
	return train, test
}

// Samples implements RowSource.
func (r *fileRows) Samples() int { return r.starts[len(r.starts)-1] }

// IsList implements RowSource.
func (r *fileRows) IsList(slot int) bool { return r.lists[slot] }

// Between implements RowSource.
func (r *fileRows) Between(lo, hi int) (*batch.Batch, error) {
	numbers := make([]int32, hi-lo)
	for i := range numbers {
		numbers[i] = int32(lo + i)
	}
	return r.Gather(numbers)
}

// Gather implements RowSource.
func (r *fileRows) Gather(numbers []int32) (*batch.Batch, error) {
	places := make([]rowPlace, len(numbers))
	parts := map[int]*batch.Batch{}
	var needed []int
	for i, n := range numbers {
		number := sort.SearchInts(r.starts, int(n)+1) - 1
		places[i] = rowPlace{number, int(n) - r.starts[number]}
		if _, known := parts[number]; !known {
			parts[number] = nil
			needed = append(needed, number)
		}
	}
	blocks, errs := make([]*batch.Batch, len(needed)), make([]error, len(needed))
	parallel.ForEach(parallel.Cores(), len(needed), func(i int) {
		blocks[i], errs[i] = r.decoded.get(needed[i], r.decode)
	})
	for i, number := range needed {
		if errs[i] != nil {
			return nil, errs[i]
		}
		parts[number] = blocks[i]
	}
	return gather(places, parts, len(r.lists)), nil
}

// decode returns the training rows of a block.
func (r *fileRows) decode(number int) (*batch.Batch, error) {
	rows, err := r.blocks.Read(number)
	if err != nil {
		return nil, err
	}
	if train, test := r.rowsOf(number); len(test) > 0 {
		rows = batch.Gather(rows, train)
	}
	if rows, err = r.derived.withSlots(rows); err != nil {
		return nil, err
	}
	scaleWeights(rows, r.labels[0].meanWeight())
	standardise(rows, r.scaling)
	return rows, nil
}

// rowPlace is a training row: the number of its block, and its own among the training rows there.
type rowPlace struct{ block, row int }

// gather copies rows of several blocks.
func gather(places []rowPlace, parts map[int]*batch.Batch, slots int) *batch.Batch {
	out := &batch.Batch{Samples: len(places), Slots: emptySlots(slots)}
	for _, at := range places {
		b := parts[at.block]
		dense, labels := len(b.Dense)/b.Samples, len(b.Labels)/b.Samples
		out.Dense = append(out.Dense, b.Dense[at.row*dense:(at.row+1)*dense]...)
		out.Labels = append(out.Labels, b.Labels[at.row*labels:(at.row+1)*labels]...)
		if b.Weights != nil {
			out.Weights = append(out.Weights, b.Weights[at.row])
		}
	}
	for s := range out.Slots {
		slot := batch.Jagged{Offsets: make([]int32, 1, len(places)+1), IDs: make([]uint64, 0, len(places))}
		for _, at := range places {
			from := &parts[at.block].Slots[s]
			slot.IDs = append(slot.IDs, from.SampleIDs(at.row)...)
			slot.Weights = append(slot.Weights, from.SampleWeights(at.row)...)
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
		out.Slots[s] = slot
	}
	return out
}

// concatenate returns the rows of all parts, of which there is at least one.
func concatenate(parts []*batch.Batch) *batch.Batch {
	var places []rowPlace
	all := map[int]*batch.Batch{}
	for n, part := range parts {
		all[n] = part
		for row := range part.Samples {
			places = append(places, rowPlace{n, row})
		}
	}
	return gather(places, all, len(parts[0].Slots))
}

// emptySlots returns slots without rows.
func emptySlots(n int) []batch.Jagged {
	return slices.Repeat([]batch.Jagged{{Offsets: []int32{0}}}, n)
}

// onePerRow reports whether every row has one id.
func onePerRow(offsets []int32) bool {
	for i, offset := range offsets {
		if int(offset) != i {
			return false
		}
	}
	return true
}

// scan is what the first reading of a file finds.
type scan struct {
	columns int
	rows    int
	// isTest draws test rows; nil if they are the last ones, which are not known yet.
	isTest  func(row int) bool
	tests   []*batch.Batch // the rows that isTest has drawn
	moments []moments      // by block: of its training rows, or of all rows
	total   moments        // of all training rows
	labels  []labelSums    // of all rows
}

func newScan(schema *batch.Schema, s job.Split) *scan {
	c := &scan{columns: len(schema.Dense), total: make(moments, len(schema.Dense)),
		labels: make([]labelSums, len(schema.Labels))}
	if s.How == job.SplitRandom {
		share, key := s.TestShare(), rng.Key(s.Seed, "streamed test split")
		c.isTest = func(row int) bool { return float64(rng.Unit(key, row)) < share }
	}
	return c
}

// add adds the rows of the next block.
func (c *scan) add(rows *batch.Batch) {
	first := c.rows
	c.rows += rows.Samples
	addLabels(c.labels, labelSumsOf(rows), 1)
	if c.isTest != nil {
		var train, test []int32
		for i := range rows.Samples {
			if c.isTest(first + i) {
				test = append(test, int32(i))
			} else {
				train = append(train, int32(i))
			}
		}
		if len(test) > 0 {
			c.tests = append(c.tests, batch.Gather(rows, test))
		}
		rows = batch.Gather(rows, train)
	}
	c.moments = append(c.moments, momentsOf(rows, c.columns))
}
