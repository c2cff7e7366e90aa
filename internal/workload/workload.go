// Package workload counts what the simulator needs to know about a job's data: how many ids,
// rows and bytes its samples have.
package workload

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/datasets"
	"tandem/datasets/synth"
	"tandem/sim/cost"
)

// Simulated returns the workload of a job's data and the layout of its network. The workload
// of generated data follows from their distributions, without generating rows, except that
// the sizes of compressed ids are measured on one global batch, and that hot rows are counted.
// Other data are read; dataDir is the value of TANDEM_DATA.
func Simulated(config *job.Data, j *job.Job, dataDir string) (cost.Workload, *model.Layout, error) {
	if config.Kind == job.KindSynthetic {
		w, schema, err := expect(config, j)
		if err != nil {
			return w, nil, err
		}
		var hot *shard.Hot
		if j.HasHotRows() {
			if hot, w.Hot, err = hotOfGenerated(*config, j); err != nil {
				return w, nil, err
			}
		}
		if j.Wire.Index == job.IndexCompressed {
			first, rows, err := firstGenerated(*config, j)
			if err != nil {
				return w, nil, err
			}
			pack(&w, first, rows, hot, j)
		}
		return lay(w, schema, j)
	}
	data, err := datasets.Open(*config, dataDir)
	if err != nil {
		return cost.Workload{}, nil, err
	}
	return Counted(data, j)
}

// countedRows is the number of rows of a file that are counted if they do not stay in memory.
const countedRows = 1 << 18

// Counted returns the workload of data, by counting the training rows, and the layout of the
// job's network. Of rows that stay in a file it counts the first 262,144, so the number of
// embedding rows is a lower limit. If the rows are generated one by one, it is Simulated.
func Counted(data *datasets.Dataset, j *job.Job) (cost.Workload, *model.Layout, error) {
	if data.Rows != nil && j.Data.Kind == job.KindSynthetic {
		return Simulated(&j.Data, j, "")
	}
	hot, err := hotOf(data, j)
	if err != nil {
		return cost.Workload{}, nil, err
	}
	streamed := 0
	if data.Rows != nil {
		streamed = data.Rows.Samples()
		part := *data
		if part.Train, err = data.Rows.Between(0, min(countedRows, data.Rows.Samples())); err != nil {
			return cost.Workload{}, nil, err
		}
		data = &part
	}
	ids, named, weights := 0, 0, 0
	for s, slot := range data.Train.Slots {
		ids += len(slot.IDs)
		named += len(slot.IDs) * data.Schema.Slots[s].RowsPerID()
		weights += len(slot.Weights)
	}
	schema := datasets.WithDims(data.Schema, j)
	counts := countDistinct(&schema, data.Train)
	w := cost.Workload{
		Occurrences:    float64(ids) / float64(data.Train.Samples),
		RowOccurrences: float64(named) / float64(data.Train.Samples),
		Weights:        float64(weights) / float64(data.Train.Samples),
		Distinct:       func(samples int) float64 { return sum(counts(samples)) },
		Labels:         len(schema.Labels),
	}
	pack(&w, &schema, data.Train, hot, j)
	if j.HasHotRows() {
		w.Hot = hotRows(&schema, data.Train, hot)
	}
	w.Rows = w.Distinct(data.Train.Samples)
	w.Created, w.Trained = w.Rows, float64(j.Training.Epochs)*float64(max(streamed, data.Train.Samples))
	w.Classes = countedClasses(&schema, data.Train, counts)
	if j.WantsRowsOnGPU() { // the job may be sequential, and other modes predicted
		w.Groups = countedGroups(&schema, data.Train)
	}
	if err := j.CheckPlacements(schema.Slots); err != nil {
		return w, nil, err
	}
	return lay(w, &schema, j)
}

// countedGroups returns the feature groups of counted rows.
func countedGroups(schema *batch.Schema, rows *batch.Batch) (groups []cost.GroupRows) {
	places, shift := map[uint64]int{}, 64-schema.PrefixBits
	for s, slot := range schema.Slots {
		group := schema.Signer(s).Prefix() >> shift
		place, known := places[group]
		if !known {
			place = len(groups)
			places[group] = place
			groups = append(groups, cost.GroupRows{})
		}
		g, ids := &groups[place], float64(len(rows.Slots[s].IDs))/float64(rows.Samples)
		addSlot(g, &slot)
		g.Occurrences += ids
		g.Named += ids * float64(slot.RowsPerID())
		g.Weights += float64(len(rows.Slots[s].Weights)) / float64(rows.Samples)
	}
	distinct := remembered(func(samples int) []float64 {
		return windowMeans(rows, samples, len(groups), func(part batch.Part, sums []int) {
			for _, r := range route.RouteByDim(nil, schema, part, shard.Rows(1)).Routed {
				for _, sign := range r.Signs {
					sums[places[sign>>shift]]++
				}
			}
		})
	})
	for place := range groups {
		g := &groups[place]
		g.Distinct = func(samples int) float64 { return distinct(samples)[place] }
		g.Rows = g.Distinct(rows.Samples)
		g.Created = g.Rows
	}
	return groups
}

// addSlot adds a slot to its feature group, without what its ids say.
func addSlot(g *cost.GroupRows, slot *batch.Slot) {
	g.Slots = append(g.Slots, slot.Name)
	g.Width += slot.Width()
	g.Winners += slot.Winners()
}

// countedClasses returns the classes of counted rows.
func countedClasses(schema *batch.Schema, rows *batch.Batch,
	counts func(samples int) []float64) []cost.RowClass {
	classes := classesOf(schema)
	for place := range classes {
		c := &classes[place]
		c.Distinct = func(samples int) float64 { return counts(samples)[place] }
		c.Rows = c.Distinct(rows.Samples)
		c.Created = c.Rows
	}
	if len(classes) > 0 {
		for s, slot := range rows.Slots {
			classes[schema.PlaceOf(s)].Named += float64(len(slot.IDs)*schema.Slots[s].RowsPerID()) /
				float64(rows.Samples)
		}
	}
	return classes
}

// classesOf returns the classes of the rows of a schema, which lay describes; nil if its rows are alike.
func classesOf(schema *batch.Schema) []cost.RowClass {
	if n := len(schema.Dims().Lengths()); n > 1 {
		return make([]cost.RowClass, n)
	}
	return nil
}

func sum(numbers []float64) (sum float64) {
	for _, x := range numbers {
		sum += x
	}
	return sum
}

// remembered returns a function that computes each value once. Points of a prediction, which are simulated at
// the same time, call it.
func remembered[K comparable, V any](compute func(K) V) func(K) V {
	var mu sync.Mutex
	known := map[K]V{}
	return func(key K) V {
		mu.Lock()
		defer mu.Unlock()
		value, ok := known[key]
		if !ok {
			value = compute(key)
			known[key] = value
		}
		return value
	}
}

// packedSizes returns the sizes of compressed ids and signs of neighbouring rows. PSs get no signs of hot
// rows.
func packedSizes(schema *batch.Schema, rows *batch.Batch, hot *shard.Hot) *cost.PackedSizes {
	ids := remembered(func(samples int) float64 {
		return windowMean(rows, samples,
			func(part batch.Part) int { return len(compress.AppendIDs(nil, part.Slots)) })
	})
	type sent struct {
		samples int
		plan    shard.Plan
	}
	signs := remembered(func(s sent) float64 {
		return windowMean(rows, s.samples, func(part batch.Part) (size int) {
			routed := route.RouteByDim(nil, schema, part, s.plan)
			for p := range s.plan.Servers() {
				size += compress.PackSigns(routed.ShardSigns(p), schema.PrefixBits).Size()
			}
			return size
		})
	})
	return &cost.PackedSizes{
		IDs: func(samples int) float64 {
			return max(1, float64(samples)/float64(rows.Samples)) * ids(samples)
		},
		Signs: func(samples int, plan shard.Plan) float64 {
			return signs(sent{samples, plan.WithHot(hot)}) / float64(plan.Servers())
		},
	}
}

// pack adds the sizes of compressed ids and signs of neighbouring rows to a workload.
func pack(w *cost.Workload, schema *batch.Schema, rows *batch.Batch, hot *shard.Hot, j *job.Job) {
	w.Packed = packedSizes(schema, rows, hot)
	if !j.WantsRowsOnGPU() {
		return
	}
	const between = "\x00"
	of := remembered(func(names string) *cost.PackedSizes {
		own, part := *schema, *rows
		own.Slots, part.Slots = nil, nil
		for s, slot := range schema.Slots {
			if slices.Contains(strings.Split(names, between), slot.Name) {
				own.Slots, part.Slots = append(own.Slots, slot), append(part.Slots, rows.Slots[s])
			}
		}
		return packedSizes(&own, &part, nil)
	})
	w.PackedOf = func(slots []string) *cost.PackedSizes { return of(strings.Join(slots, between)) }
}

// firstGenerated returns the first rows of generated data with their schema.
func firstGenerated(config job.Data, j *job.Job) (*batch.Schema, *batch.Batch, error) {
	spec := *config.Synthetic
	spec.TrainRows, spec.TestRows = min(spec.TrainRows, j.Training.GlobalBatch), 1
	config.Synthetic = &spec
	data, err := datasets.Open(config, "")
	if err != nil {
		return nil, nil, err
	}
	if data, err = data.InMemory(); err != nil {
		return nil, nil, err
	}
	schema := datasets.WithDims(data.Schema, j)
	return &schema, data.Train, nil
}

// windowsMax is the largest number of batches that a mean is taken over.
const windowsMax = 8

// windowMean returns the mean of a count over batches of neighbouring samples. If there are
// fewer samples than a batch has, it returns the count of all.
func windowMean(rows *batch.Batch, samples int, count func(part batch.Part) int) float64 {
	return windowMeans(rows, samples, 1, func(part batch.Part, sums []int) { sums[0] += count(part) })[0]
}

// windowMeans is windowMean of a number of counts, which count adds to sums. It divides whole sums, so that
// means do not depend on the order of the batches.
func windowMeans(rows *batch.Batch, samples, counts int, count func(part batch.Part, sums []int)) []float64 {
	means, sums := make([]float64, counts), make([]int, counts)
	all, part := windows(rows, samples)
	for window := range all {
		count(part(window), sums)
	}
	for i, sum := range sums {
		means[i] = float64(sum) / float64(max(all, 1))
	}
	return means
}

// windows returns the number of batches of neighbouring samples that a mean is taken over, and
// the batches. There is none of no samples: the last batch leaves out some rank.
func windows(rows *batch.Batch, samples int) (count int, part func(window int) batch.Part) {
	samples = min(samples, rows.Samples)
	if samples == 0 {
		return 0, nil
	}
	return min(rows.Samples/samples, windowsMax), func(window int) batch.Part {
		return batch.Cut(batch.Slice(rows, window*samples, (window+1)*samples), 1, 1)[0]
	}
}

// countDistinct returns a function that returns the mean numbers of distinct signs, by their place in
// batch.Dims, among a number of samples.
func countDistinct(schema *batch.Schema, rows *batch.Batch) func(samples int) []float64 {
	places := max(len(schema.Dims().Lengths()), 1)
	return remembered(func(samples int) []float64 {
		return windowMeans(rows, samples, places, func(part batch.Part, sums []int) {
			for place, r := range route.RouteByDim(nil, schema, part, shard.Rows(1)).Routed {
				sums[place] += len(r.Signs)
			}
		})
	})
}

// expect returns the expected workload, and the schema, of generated data.
func expect(data *job.Data, j *job.Job) (cost.Workload, *batch.Schema, error) {
	spec := data.Synthetic.Resolve()
	schema := &batch.Schema{Dense: make([]string, spec.Numeric), Labels: spec.Labels(),
		PrefixBits: batch.MaxPrefixBits}
	for i := range schema.Dense {
		schema.Dense[i] = "x" + strconv.Itoa(i+1)
	}
	for _, c := range spec.Columns {
		schema.Slots = append(schema.Slots, batch.Slot{Name: c.Name})
	}
	w := cost.Workload{Labels: len(schema.Labels)}
	if err := datasets.ApplySlots(data.Slots, schema); err != nil {
		return w, nil, fmt.Errorf("data.%w", err)
	}
	*schema = datasets.WithDims(*schema, j)
	groups := groupsOf(schema, spec.Columns, spec.Days())
	counts := expectDistinct(groups, max(len(schema.Dims().Lengths()), 1))
	w.Distinct = func(samples int) float64 { return sum(counts(samples)) }
	w.Classes = classesOf(schema)
	for place := range w.Classes {
		c := &w.Classes[place]
		c.Distinct = func(samples int) float64 { return counts(samples)[place] }
		c.Created = c.Distinct(spec.TrainRows)
	}
	for _, g := range groups {
		rows, named := g.rows(g.cardinality), 0.0
		for _, column := range g.columns {
			w.Occurrences += column.MeanIDs()
			named += column.MeanIDs() * float64(max(g.stack.Rounds, 1))
		}
		w.Rows += rows
		w.RowOccurrences += named
		if j.WantsRowsOnGPU() {
			w.Groups = append(w.Groups, g.expected(schema, rows, named, spec.TrainRows))
		}
		if w.Classes != nil {
			w.Classes[g.place].Rows += rows
			w.Classes[g.place].Named += named
		}
	}
	if err := j.CheckPlacements(schema.Slots); err != nil {
		return w, nil, err
	}
	w.Created = w.Distinct(spec.TrainRows)
	w.Trained = float64(j.Training.Epochs) * float64(spec.TrainRows)
	return w, schema, nil
}

// expectDistinct returns a function that returns the expected numbers of distinct rows of groups, by the
// place of their class, among a number of samples.
func expectDistinct(groups []*group, places int) func(samples int) []float64 {
	return remembered(func(samples int) []float64 {
		expected := make([]float64, places)
		for _, g := range groups {
			ids := 0.0
			for i, frequencies := range g.frequencies {
				ids += frequencies.ExpectedDistinct(float64(samples) * g.columns[i].MeanIDs())
			}
			expected[g.place] += g.rows(ids)
		}
		return expected
	})
}

// group is a set of generated columns that share rows. No id is in two of the columns.
type group struct {
	columns     []job.SyntheticColumn
	frequencies []synth.Distribution
	cardinality float64
	stack       batch.HashStack
	place       int // of its rows in batch.Dims
}

// groupsOf returns the feature groups of a schema, whose slots are the columns, over a number of days.
func groupsOf(schema *batch.Schema, columns []job.SyntheticColumn, days int) []*group {
	var groups []*group
	byName := map[string]*group{}
	for s, slot := range schema.Slots {
		g := byName[slot.Group]
		if g == nil || slot.Group == "" {
			g = &group{stack: slot.HashStack, place: schema.PlaceOf(s)}
			groups = append(groups, g)
			byName[slot.Group] = g
		}
		g.columns = append(g.columns, columns[s])
		g.frequencies = append(g.frequencies, synth.NewDistribution(columns[s]))
		// Every day, drift replaces a share of the ids.
		g.cardinality += float64(columns[s].Cardinality) * (1 + columns[s].Drift*float64(days-1))
	}
	return groups
}

// expected describes a group with a number of rows, some of them named by each sample, in a training on a
// number of samples.
func (g *group) expected(schema *batch.Schema, rows, named float64, samples int) cost.GroupRows {
	own, counts := cost.GroupRows{Named: named, Rows: rows}, expectDistinct([]*group{g}, g.place+1)
	own.Distinct = func(samples int) float64 { return sum(counts(samples)) }
	own.Created = own.Distinct(samples)
	for _, column := range g.columns {
		slot := slices.IndexFunc(schema.Slots, func(s batch.Slot) bool { return s.Name == column.Name })
		addSlot(&own, &schema.Slots[slot])
		own.Occurrences += column.MeanIDs()
	}
	return own
}

// rows returns the expected number of rows of a number of distinct ids: each id has one of
// the hash stack's rows in every round.
func (g *group) rows(ids float64) float64 {
	if g.stack.Rounds == 0 {
		return ids
	}
	rows := float64(g.stack.Rows)
	return -float64(g.stack.Rounds) * rows * math.Expm1(ids*math.Log1p(-1/rows))
}

// lay adds to a workload what depends on the model and the optimizer, and returns the layout
// of the network.
func lay(w cost.Workload, schema *batch.Schema, j *job.Job) (cost.Workload, *model.Layout, error) {
	w.Slots, w.Winners = len(schema.Slots), schema.Winners()
	dims, settings := schema.Dims(), j.RowSettings()
	kinds := make([]cost.RowClass, max(len(dims.Lengths()), 1))
	for place := range kinds {
		own, dim := settings[0], j.Model.Dim() // of no slot
		if len(dims.Lengths()) > 0 {
			own, dim = settings[dims.Classes()[place]], dims.Lengths()[place]
		}
		rows, err := opt.NewRow(own.Optimizer)
		if err != nil {
			return w, nil, fmt.Errorf("rows.optimizer: %w", err)
		}
		precision, err := table.ParsePrecision(own.Precision)
		if err != nil {
			return w, nil, fmt.Errorf("rows.%w", err)
		}
		kinds[place].Dim = dim
		kinds[place].Bytes, kinds[place].State = table.RowBytes(dim, rows, precision)
	}
	w.RowDim, w.RowBytes, w.RowState = kinds[0].Dim, kinds[0].Bytes, kinds[0].State
	for place, kind := range kinds[:len(w.Classes)] {
		c := &w.Classes[place]
		c.Dim, c.Bytes, c.State = kind.Dim, kind.Bytes, kind.State
	}
	layout, err := model.LayoutOf(j.Model.Spec, schema)
	return w, layout, err
}
