package workload

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/datasets"
	"tandem/datasets/synth"
	simmodel "tandem/sim/model"
)

// Model returns the model of a job: a table for every slot of its data, and its network. Tables of generated
// data follow from their distributions; other data are read and counted, as Counted does. dataDir is the
// value of TANDEM_DATA.
func Model(j *job.Job, dataDir string) (*simmodel.Model, error) {
	schema, columns, err := columnsOf(j, dataDir)
	if err != nil {
		return nil, err
	}
	for _, slot := range schema.Slots {
		if slot.Pooling == batch.Max {
			return nil, fmt.Errorf("data.slots: slot %s takes a maximum, and systems with tables on "+
				"accelerators are priced with sums: set its pooling to %s, %s or %s", slot.Name, job.PoolSum,
				job.PoolMean, job.PoolSqrt)
		}
		if slot.Weighted {
			return nil, fmt.Errorf("data: the ids of slot %s have weights, and systems with tables on "+
				"accelerators are priced without: leave the weights out", slot.Name)
		}
		if slot.Class != 0 {
			return nil, fmt.Errorf("data.slots: slot %s has settings of its own for its rows, and systems "+
				"with tables on accelerators are priced with one optimizer and precision: leave out the "+
				"slot's optimizer, init and precision", slot.Name)
		}
	}
	m := &simmodel.Model{Name: j.Name, Source: "the job file", Numeric: len(schema.Dense),
		Labels: len(schema.Labels)}
	sharing := map[string]float64{} // slots of each group
	for _, slot := range schema.Slots {
		sharing[slot.Group]++
	}
	for i, slot := range schema.Slots {
		c := columns[i].hashed(slot.HashStack)
		if slot.Group != "" && slot.HashStack.Rounds > 0 {
			// Slots that share rows are tables with an equal part of them each, so that memory is right.
			// Without a hash-stack, slots of generated data have no id in common.
			c.rows /= sharing[slot.Group]
		}
		if slot.Pooling == batch.Raw {
			c.ids = min(c.ids, float64(slot.FixedSize))
		}
		rows := max(1, math.Ceil(c.rows))
		m.Groups = append(m.Groups, simmodel.Group{Name: slot.Name, Count: 1, Rows: rows, Dim: slot.Dim,
			IDs: c.ids, Sequence: slot.Pooling == batch.Raw,
			Popularity: simmodel.PopularityOf(rows, c.share)})
	}
	engine, err := model.New(j.Model.Spec, schema, nil)
	if err != nil {
		return nil, err
	}
	program, ok := model.NewProgram(engine)
	if !ok {
		return nil, fmt.Errorf("model.kind: %s is not a built-in network", j.Model.Kind)
	}
	m.Layers = simmodel.NewNetwork(program)
	m.Batch.PerGPU = max(1, j.Training.GlobalBatch/max(1, j.Roles.Ranks))
	formats(m, j)
	return m, nil
}

// formats sets number formats and optimizers to those of a job.
func formats(m *simmodel.Model, j *job.Job) {
	m.Precisions = simmodel.Precisions{Compute: simmodel.Compute(j.Model.ClusterPrecision()),
		Rows: simmodel.Format(j.Rows.Precision), Activations: simmodel.Float32, Wire: simmodel.Float32,
		Gradients: simmodel.Float32}
	if j.Wire.Precision != compress.FP32 {
		m.Precisions.Wire = simmodel.Float16
	}
	m.Optimizers = simmodel.Optimizers{Rows: simmodel.Optimizer(j.Rows.Optimizer.Kind),
		Dense: simmodel.Optimizer(j.Model.Optimizer.Kind)}
	if j.Rows.Optimizer.Kind == opt.FTRL {
		m.Optimizers.Rows = simmodel.Adam // two values for each value, too
	}
}

// column is what a table needs to know of a slot: its rows, those of a sample, and the share of all that the
// most frequent ones are.
type column struct {
	rows, ids float64
	share     func(most float64) float64
}

// hashed returns the column with the rows of a hash-stack in place of its own. In a round of n rows, those
// that the k most frequent ids have are n·(1 − (1 − 1/n)^k) on average. They have all of the share of these
// ids, and their part of the rest.
func (c column) hashed(stack batch.HashStack) column {
	if stack.Rounds == 0 {
		return c
	}
	n, rounds := float64(stack.Rows), float64(stack.Rounds)
	return column{rounds * n, rounds * c.ids, func(most float64) float64 {
		part := most / rounds / n
		if part >= 1 {
			return 1
		}
		own := c.share(math.Log1p(-part) / math.Log1p(-1/n))
		return own + (1-own)*part
	}}
}

// columnsOf returns the slots of a job's data.
func columnsOf(j *job.Job, dataDir string) (*batch.Schema, []column, error) {
	if j.Data.Kind == job.KindSynthetic {
		_, schema, err := expect(&j.Data, j)
		if err != nil {
			return nil, nil, err
		}
		spec := j.Data.Synthetic.Resolve()
		var columns []column
		for _, c := range spec.Columns {
			d := synth.NewDistribution(c)
			columns = append(columns, column{
				// Every day, drift replaces a share of the ids.
				rows:  float64(c.Cardinality) * (1 + c.Drift*float64(spec.Days()-1)),
				ids:   c.MeanIDs(),
				share: func(most float64) float64 { return d.Share(int64(most)) },
			})
		}
		return schema, columns, nil
	}
	data, err := datasets.Open(j.Data, dataDir)
	if err != nil {
		return nil, nil, err
	}
	rows := data.Train
	if data.Rows != nil {
		if rows, err = data.Rows.Between(0, min(countedRows, data.Rows.Samples())); err != nil {
			return nil, nil, err
		}
	}
	schema := datasets.WithDims(data.Schema, j)
	var columns []column
	for _, slot := range rows.Slots {
		columns = append(columns, countedColumn(slot.IDs, rows.Samples))
	}
	return &schema, columns, nil
}

// countedColumn returns the column that has some ids in some samples.
func countedColumn(ids []uint64, samples int) column {
	counts := map[uint64]int{}
	for _, id := range ids {
		counts[id]++
	}
	sorted := make([]int, 0, len(counts))
	for _, n := range counts { // order-free: sorted below
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	slices.Reverse(sorted)
	upTo := make([]float64, len(sorted)+1)
	for i, n := range sorted {
		upTo[i+1] = upTo[i] + float64(n)/float64(len(ids))
	}
	return column{float64(len(sorted)), float64(len(ids)) / float64(samples),
		func(most float64) float64 { return upTo[min(int(most), len(sorted))] }}
}
