package jobfile

import (
	"fmt"
	"strconv"

	"tandem/algo/batch"
	"tandem/algo/job"
	"tandem/algo/model"
	"tandem/algo/opt"
	"tandem/datasets"
	"tandem/datasets/synth"
	"tandem/sim/cluster"
)

// Simulated returns what the simulator needs to know of a job's data: how many
// ids and rows samples have, and the layout of the network over them. Generated
// data are not generated for it, their law says all; others are read from
// dataDir, the value of TANDEM_DATA.
func (j *Job) Simulated(dataDir string) (cluster.Workload, *model.Layout, error) {
	if j.Data.Kind == datasets.Synthetic {
		w, schema := expect(*j.Data.Synthetic, &j.Training)
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
	}
	w.Rows = w.Distinct(data.Train.Samples)
	return lay(w, &schema, t)
}

// windowsMax is the number of batches that an average is taken over.
const windowsMax = 8

// distinct returns the mean number of distinct signs among so many neighbouring
// samples, or among all if there are fewer.
func distinct(schema *batch.Schema, rows *batch.Batch, samples int) float64 {
	samples = min(samples, rows.Samples)
	windows := min(rows.Samples/samples, windowsMax)
	seen := map[uint64]bool{}
	count := 0
	for window := range windows {
		clear(seen)
		for s, slot := range rows.Slots {
			signer := schema.Signer(s)
			for _, id := range slot.IDs[slot.Offsets[window*samples]:slot.Offsets[(window+1)*samples]] {
				for round := range schema.Slots[s].RowsPerID() {
					seen[signer.Sign(id, round)] = true
				}
			}
		}
		count += len(seen)
	}
	return float64(count) / float64(windows)
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
