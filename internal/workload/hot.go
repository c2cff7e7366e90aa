package workload

import (
	"sync"

	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/datasets"
	"tandem/sim/cost"
)

// hotOf returns the hot rows of a job, which it has already or which are counted in the data, as the runtime
// does; nil if the job has none.
func hotOf(data *datasets.Dataset, j *job.Job) (*shard.Hot, error) {
	if !j.HasHotRows() || j.Rows.Hot.Rows() != nil {
		return j.Rows.Hot.Rows(), nil
	}
	counted := *j
	source, err := datasets.TrainingSource(data, &counted)
	if err != nil {
		return nil, err
	}
	err = frequent.Choose(&counted, source, 0)
	return counted.Rows.Hot.Rows(), err
}

// hotOfGenerated returns the hot rows of generated data, and describes them by the first of these data. No
// more rows are generated than are counted.
func hotOfGenerated(config job.Data, j *job.Job) (*shard.Hot, *cost.HotRows, error) {
	spec := *config.Synthetic
	spec.Stream, spec.TestRows = true, 1
	config.Synthetic = &spec
	data, err := datasets.Open(config, "")
	if err != nil {
		return nil, nil, err
	}
	hot, err := hotOf(data, j)
	if err != nil {
		return nil, nil, err
	}
	first, err := data.Rows.Between(0, min(countedRows, data.Rows.Samples()))
	schema := datasets.WithDims(data.Schema, j)
	return hot, hotRows(&schema, first, hot), err
}

// hotRows describes hot rows by what neighbouring rows of the data have of them.
func hotRows(schema *batch.Schema, rows *batch.Batch, hot *shard.Hot) *cost.HotRows {
	h := &cost.HotRows{Rows: float64(hot.Len()), Values: float64(hot.Len() * schema.Slots[0].Dim)}
	var mu sync.Mutex // points of a prediction are simulated at the same time
	known := map[int]cost.HotBatch{}
	h.Batch = func(samples int) cost.HotBatch {
		mu.Lock()
		defer mu.Unlock()
		b, ok := known[samples]
		if !ok {
			b = hotBatch(schema, rows, hot, samples)
			known[samples] = b
		}
		return b
	}
	return h
}

// hotBatch returns the mean over batches of neighbouring samples. Of more samples than there are, distinct
// rows are those of all samples, and the rest grows in proportion.
func hotBatch(schema *batch.Schema, rows *batch.Batch, hot *shard.Hot, samples int) (b cost.HotBatch) {
	plan := shard.Rows(1).WithHot(hot)
	if hot.Len() == 0 {
		return b
	}
	count, part := windows(rows, samples)
	for window := range count {
		own := part(window)
		m := route.Route(schema, own, plan).Mixed(schema)
		b.Rows += float64(m.Hot)
		b.Cold += float64(len(m.Cold))
		b.ToRank += float64(m.PooledValues())
		b.ToEW += float64(m.GradValues())
		for _, bags := range m.Slots {
			b.Pooled += float64(len(bags.Rows))
			for _, row := range bags.Rows {
				if int(row) >= len(m.Cold) {
					b.Occurrences++
				}
			}
			for i := range own.Samples {
				if bags.Offsets[i] < bags.Offsets[i+1] {
					b.Bags++
				}
			}
		}
	}
	if count == 0 {
		return b
	}
	b.Rows, b.Cold = b.Rows/float64(count), b.Cold/float64(count)
	scale := max(1, float64(samples)/float64(rows.Samples)) / float64(count)
	for _, x := range []*float64{&b.Occurrences, &b.Pooled, &b.Bags, &b.ToRank, &b.ToEW} {
		*x *= scale
	}
	return b
}
