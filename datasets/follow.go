package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// Stream is the rows of a folder whose files arrive while a model is trained on them. It is a batch.Source
// whose steps become more. A step has rows of one file, so the last step of a file may be short, and the
// batches do not depend on when files arrive. Its methods must not be called at the same time, except for
// those of batch.Source.
//
// Memory: the rows of one file, and some 200 bytes for each file that was ever taken.
type Stream struct {
	data    job.Data
	folder  string
	format  format
	derived derivation
	dropped *droppedRows
	schema  batch.Schema
	ledger  ledger
	feed    *Feed // nil: other programs write the files

	globalBatch int
	starts      []int // the first step of every file, and the number of all steps
	blockSteps  int   // of a block at most; 0: all of a file
	removed     int   // files of the feed that are not needed any more
	current     int   // the file whose rows are in memory; -1: none
	rows        *batch.Batch
}

// pollEvery is the time after which a folder is listed again.
const pollEvery = 100 * time.Millisecond

// Follow begins to follow the folder of a job's data. The first file is that of a name, or, if this is empty,
// the first with rows, which Follow waits for. Numbers are standardised and weights divided by the mean as
// the rows of this file say, in all files. The data set has its rows for training and no test rows. waiting
// is called now and then with the time that the call has waited so far. Feed, which may be nil, brings the
// files.
//
// Errors are those of Open, and name the file and, where there is one, the line.
func Follow(ctx context.Context, data job.Data, dataDir, first string, feed *Feed,
	waiting func(time.Duration)) (*Stream, *Dataset, error) {
	s, err := newStream(data, dataDir)
	if err == nil {
		s.feed = feed
	}
	switch {
	case err != nil:
	case first != "":
		err = s.take(first)
	default:
		err = s.takeFirst(ctx, waiting)
	}
	if err != nil {
		return nil, nil, err
	}
	return s, s.dataset(), nil
}

// FollowOn follows a folder from where another Stream was that has written a ledger. The data set has no
// rows. Feed, if not nil, is called with the names of the files of the ledger, and returns what brings
// others.
func FollowOn(data job.Data, dataDir, ledger string, feed func(taken []string) (*Feed, error)) (*Stream,
	*Dataset, error) {
	s, err := newStream(data, dataDir)
	if err != nil {
		return nil, nil, err
	}
	if s.ledger, err = readLedger(ledger); err != nil {
		return nil, nil, fmt.Errorf("datasets: %w", err)
	}
	if feed != nil {
		taken := make([]string, len(s.ledger.arrivals))
		for i, a := range s.ledger.arrivals {
			taken[i] = a.File
		}
		if s.feed, err = feed(taken); err != nil {
			return nil, nil, err
		}
	}
	for _, a := range s.ledger.arrivals {
		if err := s.checkUnchanged(&a); err != nil {
			return nil, nil, errors.Join(err, s.feed.Stop())
		}
	}
	return s, s.dataset(), nil
}

// newStream returns the stream of a folder, before its first file.
func newStream(data job.Data, dataDir string) (*Stream, error) {
	s := &Stream{data: data, format: formatOf(&data), dropped: &droppedRows{policy: data.OnBadRow},
		current: -1}
	err := data.Validate()
	if err == nil {
		s.folder, err = locate(dataDir, data.Path)
	}
	if err == nil {
		s.schema = s.format.Schema
		s.derived, err = newDerivation(data.Derived, &s.schema)
	}
	if err == nil {
		err = ApplySlots(data.Slots, &s.schema)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	return s, nil
}

// dataset describes the rows that have arrived.
func (s *Stream) dataset() *Dataset {
	train := s.rows
	if train == nil {
		train = &batch.Batch{Slots: emptySlots(len(s.schema.Slots))}
	}
	return &Dataset{
		Name: string(s.data.Kind), Schema: s.schema, Train: train,
		Test: &batch.Batch{Slots: emptySlots(len(s.schema.Slots))}, LabelValues: s.data.LabelValues(),
		Scaling: s.ledger.Scaling, Provenance: "files that arrive in " + s.folder,
	}
}

// Begin prepares the steps of a job. Which files are taken, and in which order, is written to a ledger, a
// file that must not exist, before a step of them can be read.
func (s *Stream) Begin(j *job.Job, ledger string) error {
	s.schema = WithDims(s.schema, j)
	s.globalBatch, s.blockSteps = j.Training.GlobalBatch, j.Training.EvaluateEvery.Steps
	s.starts = []int{0}
	for _, a := range s.ledger.arrivals {
		s.addSteps(a)
	}
	if err := s.ledger.create(ledger); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

// Close stops the feed and closes the ledger.
func (s *Stream) Close() error { return errors.Join(s.feed.Stop(), s.ledger.close()) }

// Forget removes the files that the feed has brought whose rows are all in steps before a step, because no
// checkpoint that is kept needs them. The last file that was taken stays, which says where the input goes on.
func (s *Stream) Forget(step int) error {
	for s.feed != nil && s.removed < len(s.ledger.arrivals)-1 && s.starts[s.removed+1] <= step {
		err := os.Remove(filepath.Join(s.folder, s.ledger.arrivals[s.removed].File))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		s.removed++
	}
	return nil
}

// Next returns the rows of the block that has a step, and the steps first to end−1 of the block; no rows if
// the step has not arrived yet, and io.EOF if it never will because the feed has ended. A block is a file, or
// of a file at most as many steps as the job evaluates after.
func (s *Stream) Next(step int) (rows *batch.Batch, first, end int, err error) {
	if last := len(s.ledger.arrivals) - 1; last >= 0 { // which may have had a header alone
		if err := s.checkUnchanged(&s.ledger.arrivals[last]); err != nil {
			return nil, 0, 0, err
		}
	}
	for step >= s.Steps() {
		over, failed := s.feed.over()
		name, err := nextFile(s.folder, s.data.Complete, s.ledger.has)
		if err != nil {
			return nil, 0, 0, fmt.Errorf("datasets: %w", err)
		}
		if name == "" && over {
			return nil, 0, 0, cmp.Or(failed, io.EOF)
		}
		if name == "" {
			return nil, 0, 0, nil
		}
		if err := s.take(name); err != nil {
			return nil, 0, 0, err
		}
	}
	file, first := s.fileOf(step)
	if err := s.load(file); err != nil {
		return nil, 0, 0, err
	}
	end = s.starts[file+1]
	if s.blockSteps > 0 {
		first += (step - first) / s.blockSteps * s.blockSteps
		end = min(first+s.blockSteps, end)
	}
	lo, _ := s.rowsOf(first)
	_, hi := s.rowsOf(end - 1)
	return batch.Slice(s.rows, lo, hi), first, end, nil
}

// takeFirst takes the first file that has rows. Those before it that have none are taken later, and what was
// bad in them counts then.
func (s *Stream) takeFirst(ctx context.Context, waiting func(time.Duration)) error {
	before := *s.dropped
	_, err := FirstFile(ctx, s.folder, s.data.Complete, s.feed, func(path string) error {
		*s.dropped = before
		return s.take(filepath.Base(path))
	}, waiting)
	return err
}

// take takes a file, and reads its rows.
func (s *Stream) take(name string) error {
	a, rows, err := s.read(name)
	if err != nil {
		return err
	}
	if s.ledger.Scaling == nil {
		if a.Rows == 0 {
			return fmt.Errorf("datasets: %s: %w: the first file has to have some",
				filepath.Join(s.folder, name), ErrNoRows)
		}
		sums := labelSumsOf(rows)
		if err := checkWeights(sums); err != nil {
			return fmt.Errorf("datasets: %s: %w", filepath.Join(s.folder, name), err)
		}
		s.ledger.Scaling = measureScaling(rows, len(s.schema.Dense))
		s.ledger.MeanWeight = sums[0].meanWeight()
	}
	if err := s.ledger.add(a); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	s.feed.take(name)
	if s.starts != nil {
		s.addSteps(a)
		if s.Steps() > math.MaxInt32 { // as roles count
			return fmt.Errorf("datasets: %s: a training has at most %d steps: begin another one with "+
				"its model (--init-from)", s.folder, math.MaxInt32)
		}
	}
	if a.Rows > 0 {
		s.keep(len(s.ledger.arrivals)-1, rows)
	}
	return nil
}

// load reads the rows of a file that was taken, unless they are in memory.
func (s *Stream) load(file int) error {
	if file == s.current {
		return nil
	}
	before := s.ledger.arrivals[file]
	if err := s.checkUnchanged(&before); err != nil {
		return err
	}
	a, rows, err := s.read(before.File)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: no checkpoint has all of its rows: restore the file", err)
	}
	if err != nil {
		return err
	}
	if a.Rows != before.Rows {
		return fmt.Errorf("datasets: %s: it had %d rows when it was read first, and has %d: restore the file",
			filepath.Join(s.folder, a.File), before.Rows, a.Rows)
	}
	s.keep(file, rows)
	return nil
}

// keep prepares the rows of a file for training, and keeps them in memory.
func (s *Stream) keep(file int, rows *batch.Batch) {
	scaleWeights(rows, s.ledger.MeanWeight)
	standardise(rows, s.ledger.Scaling)
	s.current, s.rows = file, rows
}

// read reads a file whole. Its numbers are those of the file.
func (s *Stream) read(name string) (arrival, *batch.Batch, error) {
	path := filepath.Join(s.folder, name)
	a, err := identify(path, name)
	if err != nil {
		return a, nil, fmt.Errorf("datasets: %w", err)
	}
	if s.format.kind == job.KindCSV {
		if err := checkLastLine(path, s.data.Complete); err != nil {
			return a, nil, fmt.Errorf("datasets: %w", err)
		}
	}
	rows, err := s.format.readPath(path, s.dropped, newColumnCache(job.CacheOff))
	if errors.Is(err, ErrNoRows) && a.Bytes > 0 { // a header alone, or no more bad rows than are allowed
		return a, nil, s.checkUnchanged(&a)
	}
	if err == nil {
		rows, err = s.derived.withSlots(rows)
	}
	if err != nil {
		return a, nil, fmt.Errorf("datasets: %w", err)
	}
	if err := s.checkUnchanged(&a); err != nil {
		return a, nil, err
	}
	a.Rows = rows.Samples
	return a, rows, nil
}

// checkUnchanged returns an error if a file is there and is not the one that was read.
func (s *Stream) checkUnchanged(a *arrival) error {
	now, err := identify(filepath.Join(s.folder, a.File), a.File)
	same := now.Bytes == a.Bytes && now.Modified.Equal(a.Modified)
	if errors.Is(err, os.ErrNotExist) || err == nil && same {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s:%d: the file has changed after it was read up to here: it had %d bytes of %v, "+
			"and has %d of %v: restore it or move it away, and give new rows a file of their own",
			filepath.Join(s.folder, a.File), a.Rows+1, a.Bytes, a.Modified.Format(time.TimeOnly), now.Bytes,
			now.Modified.Format(time.TimeOnly))
	}
	return fmt.Errorf("datasets: %w", err)
}

// Schema implements batch.Source.
func (s *Stream) Schema() *batch.Schema { return &s.schema }

// Steps returns the number of steps that have arrived.
func (s *Stream) Steps() int { return s.starts[len(s.starts)-1] }

// addSteps adds the steps of another file.
func (s *Stream) addSteps(a arrival) {
	s.starts = append(s.starts, s.Steps()+(a.Rows+s.globalBatch-1)/s.globalBatch)
}

// fileOf returns the file of a step that has arrived, and the first step of the file.
func (s *Stream) fileOf(step int) (file, first int) {
	file = sort.SearchInts(s.starts, step+1) - 1
	return file, s.starts[file]
}

// rowsOf returns the rows lo to hi−1 of its file that a step has.
func (s *Stream) rowsOf(step int) (lo, hi int) {
	file, first := s.fileOf(step)
	lo = (step - first) * s.globalBatch
	return lo, min(lo+s.globalBatch, s.ledger.arrivals[file].Rows)
}

// Samples returns the number of samples of a step that has arrived.
func (s *Stream) Samples(step int) int {
	lo, hi := s.rowsOf(step)
	return hi - lo
}

// Read returns the global batch of a step of the file whose rows are in memory.
func (s *Stream) Read(step int) (*batch.Batch, error) {
	if file, _ := s.fileOf(step); file != s.current {
		return nil, fmt.Errorf("datasets: step %d is not of the file that is in memory", step)
	}
	lo, hi := s.rowsOf(step)
	return batch.Slice(s.rows, lo, hi), nil
}

// Dropped returns the number of bad rows that were left out since the stream was opened.
func (s *Stream) Dropped() int { return s.dropped.count }

// First returns the path of the first file.
func (s *Stream) First() string { return filepath.Join(s.folder, s.ledger.arrivals[0].File) }

// SamplesBefore returns the number of rows of all steps before a step, which may be the next to arrive.
func (s *Stream) SamplesBefore(step int) (rows int) {
	for i, a := range s.ledger.arrivals {
		if s.starts[i+1] > step {
			return rows + (step-s.starts[i])*s.globalBatch
		}
		rows += a.Rows
	}
	return rows
}

// FileOf returns the path of the file of a step that has arrived, and when the file was written.
func (s *Stream) FileOf(step int) (path string, written time.Time) {
	file, _ := s.fileOf(step)
	a := s.ledger.arrivals[file]
	return filepath.Join(s.folder, a.File), a.Modified
}
