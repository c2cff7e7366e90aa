package jobfile

import (
	"fmt"
	"strconv"

	"tandem/algo/batch"
	"tandem/algo/compress"
	"tandem/algo/job"
	"tandem/algo/model"
	"tandem/algo/opt"
	"tandem/algo/route"
	"tandem/datasets"
	"tandem/datasets/synth"
	"tandem/sim/cluster"
)

// Simulated returns what the simulator needs to know of a job's data: how many
// ids and rows samples have, and the layout of the network over them. Generated
// data are not generated for it, their law says all, but for one global batch
// where ids are compressed; others are read from dataDir, the value of
// TANDEM_DATA.
func (j *Job) Simulated(dataDir string) (cluster.Workload, *model.Layout, error) {
	if j.Data.Kind == datasets.Synthetic {
		w, schema := expect(*j.Data.Synthetic, &j.Training)
		if j.Training.Index == job.IndexCompressed {
			var err error
			if w.Packed, err = packedSizesOfGenerated(*j.Data.Synthetic, &j.Training); err != nil {
				return w, nil, err
			}
		}
		return lay(w, schema, &j.Training)
	}
	data, err := datasets.Open(j.Data, dataDir)
	if err != nil {
		return cluster.Workload{}, nil, err
	}
	return Counted(data, &j.Training)
}

// Counted returns the same for data in memory, by counting the rows for
// training.
func Counted(data *datasets.Dataset, t *job.Training) (cluster.Workload, *model.Layout, error) {
	ids := 0
	for _, slot := range data.Train.Slots {
		ids += len(slot.IDs)
	}
	schema := datasets.WithDim(data.Schema, t.Model.Dim())
	w := cluster.Workload{
		Occurrences: float64(ids) / float64(data.Train.Samples),
		Distinct:    func(samples int) float64 { return distinct(&schema, data.Train, samples) },
		Labels:      len(schema.Labels),
		Packed:      packedSizes(&schema, data.Train),
	}
	w.Rows = w.Distinct(data.Train.Samples)
	return lay(w, &schema, t)
}

// packedSizes returns what compressed ids and signs take among neighbouring
// rows.
func packedSizes(schema *batch.Schema, rows *batch.Batch) *cluster.PackedSizes {
	type question struct{ samples, servers int }
	known := map[question]float64{}
	ask := func(q question, size func(part batch.Part) int) float64 {
		mean, ok := known[q]
		if !ok {
			mean = windowMean(rows, q.samples, size)
			known[q] = mean
		}
		return mean
	}
	return &cluster.PackedSizes{
		IDs: func(samples int) float64 {
			scale := max(1, float64(samples)/float64(rows.Samples))
			return scale * ask(question{samples, 0}, func(part batch.Part) int {
				return len(compress.AppendIDs(nil, part.Slots))
			})
		},
		Signs: func(samples, servers int) float64 {
			return ask(question{samples, servers}, func(part batch.Part) (size int) {
				routed := route.Route(schema, part, servers)
				for p := range servers {
					size += compress.PackSigns(routed.Of(p), schema.PrefixBits).Size()
				}
				return size
			}) / float64(servers)
		},
	}
}

// packedSizesOfGenerated returns the same for the first rows that a spec
// generates.
func packedSizesOfGenerated(spec synth.Spec, t *job.Training) (*cluster.PackedSizes, error) {
	spec.TrainRows, spec.TestRows = min(spec.TrainRows, t.GlobalBatch), 1
	data, err := datasets.Open(datasets.Config{Kind: datasets.Synthetic, Synthetic: &spec}, "")
	if err != nil {
		return nil, err
	}
	schema := datasets.WithDim(data.Schema, t.Model.Dim())
	return packedSizes(&schema, data.Train), nil
}

// windowsMax is the number of batches that an average is taken over.
const windowsMax = 8

// windowMean returns the mean of a count over batches of so many neighbouring
// samples, or of the count of all if there are fewer.
func windowMean(rows *batch.Batch, samples int, count func(part batch.Part) int) float64 {
	samples = min(samples, rows.Samples)
	windows := min(rows.Samples/samples, windowsMax)
	sum := 0
	for window := range windows {
		sum += count(batch.Cut(batch.Slice(rows, window*samples, (window+1)*samples), 1, 1)[0])
	}
	return float64(sum) / float64(windows)
}

// distinct returns the mean number of distinct signs among so many samples.
func distinct(schema *batch.Schema, rows *batch.Batch, samples int) float64 {
	return windowMean(rows, samples, func(part batch.Part) int { return len(route.Route(schema, part, 1).Signs) })
}

// expect returns the workload and schema of generated data.
func expect(spec synth.Spec, t *job.Training) (cluster.Workload, *batch.Schema) {
	spec = spec.Resolve()
	schema := &batch.Schema{Dense: make([]string, spec.Numeric), Labels: []string{"label"}}
	for i := range schema.Dense {
		schema.Dense[i] = "x" + strconv.Itoa(i+1)
	}
	var laws []*synth.Zipf
	w := cluster.Workload{Occurrences: float64(len(spec.Columns)), Labels: 1}
	for _, c := range spec.Columns {
		schema.Slots = append(schema.Slots, batch.Slot{Name: c.Name, Dim: t.Model.Dim()})
		laws = append(laws, synth.NewZipf(c))
		w.Rows += float64(c.Cardinality)
	}
	known := map[int]float64{}
	w.Distinct = func(samples int) float64 {
		sum, ok := known[samples]
		if !ok {
			for _, law := range laws {
				sum += law.ExpectedDistinct(float64(samples))
			}
			known[samples] = sum
		}
		return sum
	}
	return w, schema
}

// lay adds what the model and the optimizer decide.
func lay(w cluster.Workload, schema *batch.Schema, t *job.Training) (cluster.Workload, *model.Layout, error) {
	rows, err := opt.NewRow(t.Rows)
	if err != nil {
		return w, nil, fmt.Errorf("training.row-optimizer: %w", err)
	}
	w.RowDim = t.Model.Dim()
	w.RowState = rows.StateSize(w.RowDim)
	engine, err := model.New(t.Model, schema)
	if err != nil {
		return w, nil, err
	}
	return w, engine.Layout(), nil
}
