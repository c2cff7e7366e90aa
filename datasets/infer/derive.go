package infer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/selection"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
	"tandem/datasets"
)

const (
	// foldsOfOdds is the number of parts of the rows of which each is predicted by a model of the others.
	foldsOfOdds = 3
	// searchRows and searchCells bound a search: rows, and rows times combinations.
	searchRows, searchCells = 100_000, 40_000_000
	// searchColumns is the largest number of columns that are combined.
	searchColumns = 60
)

// Derive looks for combinations of two columns, and for intervals of numbers, that say what a logistic
// regression of the columns does not know. It returns the job with its columns and, if the search finds any,
// the job with these as derived slots: with those of pairs as wide slots of a deepfm, and without. If the
// label has log odds, there is one more job, with the means of all slots (job.Data.Means): of the columns
// that the regression does better with, with wide slots if there are any. Held-back rows choose from the
// variants (TryNetworks, Choose). The search does not see these rows, nor labels by which the predictions
// that it begins with were made; nor do means. It explains the first label alone. A job that has derived
// slots keeps them, and gets no others. Where the search fails, as when a regression of a part of the rows
// diverges, there are no derived slots. open reads the data of a job again.
//
// Cost: a search over at most 40 million cells for each slot that is found, three trainings of the logistic
// regression on at most 100,000 rows, and its choice without the slots, with them, and with means.
func Derive(ctx context.Context, j job.Job, set *datasets.Dataset,
	open func(job.Data) (*datasets.Dataset, error), share float64, m backend.Backend) ([]*Variant, error) {
	given := &Variant{Job: j, Set: set}
	var err error
	given.Baseline, given.Regression, err = Baseline(ctx, j, set, share, m)
	if err != nil || given.Regression == nil || len(j.Data.Derived) > 0 {
		return []*Variant{given}, err
	}
	all, better := []*Variant{given}, given
	if more, err := given.derive(ctx, open, share, m); err == nil && more != nil {
		if wide := more.wide(); wide != nil {
			all = append(all, wide)
		}
		all = append(all, more)
		better = lowest([]*Variant{given, more}, func(v *Variant) *Choice { return v.Regression })
	}
	if with := better.means(ctx, share, m); with != nil {
		if wide := with.wide(); wide != nil {
			with = wide
		}
		all = append(all, with)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return all, nil
}

// means returns the variant whose numbers include the means of all slots and its regression, or nil if the
// label has no log odds, or the regression diverges. A module of PyTorch has the numbers that it was written
// for.
func (v *Variant) means(ctx context.Context, share float64, m backend.Backend) *Variant {
	if v.Set.LabelValues == job.NumberLabels || len(v.Set.Schema.Labels) > 1 || len(v.Job.Data.Means) > 0 ||
		v.Job.Model.Kind == model.Torch {
		return nil
	}
	with := &Variant{Job: v.Job}
	for _, slot := range v.Set.Schema.Slots {
		with.Job.Data.Means = append(with.Job.Data.Means, slot.Name)
	}
	var err error
	if with.Set, err = v.Set.WithMeans(with.Job.Data.Means); err != nil {
		return nil // a column of the file has such a name
	}
	with.Baseline, with.Regression, err = Baseline(ctx, with.Job, with.Set, share, m)
	if err != nil || with.Regression == nil {
		return nil
	}
	return with
}

// wide returns the variant whose network has weights alone for derived slots of pairs, or nil if there are
// none or the network cannot. Where pairs are rare, factors of a pair learn its rows by heart in the second
// epoch, before those of its columns say what the pair would.
func (v *Variant) wide() *Variant {
	if v.Job.Model.Kind != model.DeepFM {
		return nil
	}
	wide := *v
	wide.Job.Model.Wide = nil
	for _, s := range v.Job.Data.Derived {
		if len(s.Columns) > 1 {
			wide.Job.Model.Wide = append(wide.Job.Model.Wide, s.Name)
		}
	}
	if wide.Job.Model.Wide == nil {
		return nil
	}
	return &wide
}

// derive returns the columns with the slots that a search finds and their regression, or nil if there are
// none, or the regression diverges.
func (v *Variant) derive(ctx context.Context, open func(job.Data) (*datasets.Dataset, error), share float64,
	m backend.Backend) (*Variant, error) {
	slots, err := search(ctx, v.Baseline, v.Set, open, share, m)
	if err != nil || len(slots) == 0 {
		return nil, err
	}
	more := &Variant{Job: v.Job}
	more.Job.Data.Derived = slots
	if more.Set, err = open(more.Job.Data); err != nil {
		return nil, err
	}
	SetRowOptimizer(&more.Job, len(more.Set.Schema.Slots), RowStep)
	more.Baseline, more.Regression, err = Baseline(ctx, more.Job, more.Set, share, m)
	if err != nil || more.Regression == nil {
		return nil, err
	}
	return more, nil
}

// search returns the slots to derive, at most as many as there are columns.
func search(ctx context.Context, baseline job.Job, set *datasets.Dataset,
	open func(job.Data) (*datasets.Dataset, error), share float64, m backend.Backend) ([]job.DerivedSlot,
	error) {
	part, err := set.HoldBack(share, set.Latest, baseline.Training.Seed, partRows)
	if err != nil {
		return nil, err
	}
	n := min(len(set.Schema.Slots)+len(set.Schema.Dense), searchColumns)
	part.Train = batch.Slice(part.Train, 0, min(part.Train.Samples, searchRows, searchCells/(n*(n+1)/2)))
	baseline.Model.Heads = slices.Clone(baseline.Model.Heads)
	for i := range baseline.Model.Heads { // weights of positive rows are no part of the question
		baseline.Model.Heads[i] = firstHead(set, i)
	}
	predicted, err := outOfFold(ctx, baseline, part, m)
	if err != nil {
		return nil, err
	}
	rows := part.Train
	labels := batch.Column(rows.Labels, len(set.Schema.Labels), 0)
	mean := slices.Repeat([]float32{float32(set.LabelMean(0))}, len(labels))
	unit := unitOf(&baseline)
	guess := newResiduals(mean, labels, rows.Weights, unit)
	intervals := intervalsOf(part, guess)
	if len(intervals) > 0 {
		data := baseline.Data
		data.Derived = intervals
		divided, err := open(data)
		if err == nil {
			divided, err = divided.HoldBack(share, set.Latest, baseline.Training.Seed, partRows)
		}
		if err != nil {
			return nil, err
		}
		rows = batch.Slice(divided.Train, 0, rows.Samples)
	}
	s := newColumns(&set.Schema, rows, intervals)
	s.limit(guess)
	var slots []job.DerivedSlot
	names := newNames(&set.Schema)
	left := newResiduals(predicted, labels, rows.Weights, unit)
	for _, c := range combine(s.combinations(), left, len(s.columns)) {
		slots = append(slots, s.slot(c, names))
	}
	return slots, nil
}

// outOfFold returns the probability of the first label for each training row, predicted by a model that was
// trained on other rows.
func outOfFold(ctx context.Context, j job.Job, part *datasets.Dataset, m backend.Backend) ([]float32, error) {
	all, key := part.Train, rng.Key(j.Training.Seed, "folds")
	predicted := make([]float32, all.Samples)
	gatherer := batch.NewGatherer(all)
	for fold := range foldsOfOdds {
		var own, others []int32
		for row := range all.Samples {
			if int(rng.Unit(key, row)*foldsOfOdds) == fold {
				own = append(own, int32(row))
			} else {
				others = append(others, int32(row))
			}
		}
		if len(own) == 0 {
			continue
		}
		rest := *part
		rest.Train = gatherer.Rows(others)
		source, err := datasets.TrainingSource(&rest, &j)
		if err != nil {
			return nil, err
		}
		p, err := selection.Predict(ctx, selection.Candidate{Job: j, Source: source}, gatherer.Rows(own), m)
		if err != nil {
			return nil, err
		}
		for i, row := range own {
			predicted[row] = p[i*len(part.Schema.Labels)]
		}
	}
	return predicted, nil
}

// intervalsOf returns a derived slot with the intervals of each numeric column that has several values, or of
// the searchColumns of them whose intervals say most by themselves, because the slots take memory. A missing
// number counts as the mean for the edges and for this, and has an interval of its own only in the slot.
func intervalsOf(part *datasets.Dataset, guess *residuals) []job.DerivedSlot {
	columns := len(part.Schema.Dense)
	type candidate struct {
		column job.DerivedColumn
		gain   float64
	}
	var all []candidate
	for c, name := range part.Schema.Dense {
		scaling := part.Scaling[c]
		numbers := make([]float64, part.Train.Samples)
		for row, x := range batch.Column(part.Train.Dense, columns, c) {
			numbers[row] = float64(float32(float64(x)*scaling.Std + scaling.Mean))
		}
		starts := edges(slices.Clone(numbers))
		if len(starts) == 0 {
			continue
		}
		own := &combination{cells: make([]int32, len(numbers)), count: len(starts) + 1}
		for row, x := range numbers {
			own.cells[row] = int32(sort.Search(len(starts), func(i int) bool { return starts[i] > x }))
		}
		own.measure(guess)
		all = append(all, candidate{job.DerivedColumn{Column: name, Edges: starts}, own.gain})
	}
	if len(all) > searchColumns {
		slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.gain, a.gain) })
		all = all[:searchColumns]
	}
	var slots []job.DerivedSlot
	names := newNames(&part.Schema)
	for _, c := range all {
		slots = append(slots, names.slot(c.column))
	}
	return slots
}

// columns are those that may be combined.
type columns struct {
	columns []indexed
	from    []job.DerivedColumn // what each is for a derived slot
}

// newColumns returns the columns of rows whose last slots are intervals. Lists are not combined.
func newColumns(schema *batch.Schema, rows *batch.Batch, intervals []job.DerivedSlot) *columns {
	s := &columns{}
	for i, slot := range rows.Slots {
		from := job.DerivedColumn{}
		if own := i - len(schema.Slots); own >= 0 {
			from = intervals[own].Columns[0]
		} else {
			from.Column = schema.Slots[i].Name
		}
		if c, single := newIndexed(slot, rows.Samples); single && c.count > 1 {
			s.columns, s.from = append(s.columns, c), append(s.from, from)
		}
	}
	return s
}

// limit keeps the columns that explain most by themselves, at most searchColumns.
func (s *columns) limit(r *residuals) {
	if len(s.columns) <= searchColumns {
		return
	}
	var all []*combination
	for i, c := range s.columns {
		single := &combination{columns: []int{i}, cells: c.values, count: c.count}
		single.measure(r)
		all = append(all, single)
	}
	slices.SortStableFunc(all, func(a, b *combination) int { return cmp.Compare(b.gain, a.gain) })
	var kept columns
	for _, c := range all[:searchColumns] {
		i := c.columns[0]
		kept.columns, kept.from = append(kept.columns, s.columns[i]), append(kept.from, s.from[i])
	}
	*s = kept
}

// combinations returns the pairs of all columns, and the intervals of numbers alone.
func (s *columns) combinations() (all []*combination) {
	for a, c := range s.columns {
		if len(s.from[a].Edges) > 0 {
			all = append(all, &combination{columns: []int{a}, cells: c.values, count: c.count})
		}
		for b := range a {
			all = append(all, pair(s.columns, b, a))
		}
	}
	return all
}

// slot returns the derived slot of a combination.
func (s *columns) slot(c *combination, names names) job.DerivedSlot {
	var combined []job.DerivedColumn
	for _, i := range c.columns {
		combined = append(combined, s.from[i])
	}
	return names.slot(combined...)
}

// names are those that columns and slots have.
type names map[string]bool

// newNames returns the names of columns.
func newNames(schema *batch.Schema) names {
	taken := names{}
	for _, slot := range schema.Slots {
		taken[slot.Name] = true
	}
	for _, name := range schema.Dense {
		taken[name] = true
	}
	return taken
}

// slot returns the derived slot of one column or several, and takes its name: with a number behind it where
// a column or another slot has the name without it.
func (n names) slot(columns ...job.DerivedColumn) job.DerivedSlot {
	var parts []string
	for _, c := range columns {
		parts = append(parts, c.Column)
	}
	name := strings.Join(parts, " × ")
	if len(columns) == 1 {
		name = "intervals of " + name
	}
	unique := name
	for i := 2; n[unique]; i++ {
		unique = fmt.Sprintf("%s (%d)", name, i)
	}
	n[unique] = true
	return job.DerivedSlot{Name: unique, Columns: columns}
}
