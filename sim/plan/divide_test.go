package plan

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// onGPUs returns a job that has on its GPUs the rows of slots that each name one row a sample, of a number,
// with room for some on each.
func onGPUs(t *testing.T, capacity int, rows ...float64) *predict.Job {
	t.Helper()
	j := job.Default()
	j.Training.Mode, j.Training.GlobalBatch, j.Roles.Ranks = job.Sync, 1024, 1
	j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA = job.RowsOnGPU, capacity, true
	w := cost.Workload{Slots: len(rows), Labels: 1, RowDim: j.Model.Dim(), RowBytes: 64, RowState: 64,
		Trained: 1e6}
	schema := &batch.Schema{Dense: []string{"x"}, Labels: []string{"y"}}
	for i, n := range rows {
		name := fmt.Sprint("slot", i)
		distinct := func(samples int) float64 { return -n * math.Expm1(float64(samples)*math.Log1p(-1/n)) }
		w.Groups = append(w.Groups, cost.GroupRows{Slots: []string{name}, Occurrences: 1, Named: 1, Rows: n,
			Created: n, Width: j.Model.Dim(), Distinct: distinct})
		w.Occurrences, w.Rows, w.Created = w.Occurrences+1, w.Rows+n, w.Created+n
		schema.Slots = append(schema.Slots, batch.Slot{Name: name, Dim: j.Model.Dim()})
	}
	w.Distinct = func(samples int) (sum float64) {
		for _, g := range w.Groups {
			sum += g.Distinct(samples)
		}
		return sum
	}
	layout, err := model.LayoutOf(j.Model.Spec, schema)
	if err != nil {
		t.Fatal(err)
	}
	return &predict.Job{Job: j, Workload: w, Layout: layout}
}

// Servers have 8 GPUs. Room for 100 rows on each is that for 1000 rows of two servers, but for 4000 of none:
// only then are slots left to PSs, and where they are, the place has the rate of the job with these slots.
func TestSlotsAreLeftToPSsWhereNoClusterHasRoom(t *testing.T) {
	for _, c := range []struct {
		rows  []float64
		lacks bool
	}{{[]float64{700, 300}, false}, {[]float64{700, 300, 3000}, true}} {
		s, _, err := NewSpace(Ask{Choice: predict.Choice{File: onGPUs(t, 100, c.rows...)}, Share: 1,
			Presets: []string{"persia-gcp"}, Modes: []string{job.Hybrid}, GPUsMost: 16, HostsMost: 2})
		if err != nil {
			t.Fatal(err)
		}
		search := &Search{Problem: s}
		fastest, err := search.Fastest()
		if err != nil || (fastest == nil) != c.lacks || s.LacksGPUMemory(search) != c.lacks {
			t.Fatalf("%v rows: %v, %v; want %v", c.rows, fastest, err, c.lacks)
		}
		if s.DivideSlots(); !c.lacks {
			continue
		}
		search = &Search{Problem: s}
		if fastest, err = search.Fastest(); err != nil || fastest == nil {
			t.Fatal(fastest, err)
		}
		j, err := s.Job(fastest.Place)
		if err != nil {
			t.Fatal(err)
		}
		p, err := predict.Run(t.Context(), j, predict.Options{Seed: Seed})
		if err != nil || p.Mid.Throughput != fastest.Throughput {
			t.Errorf("%v samples/s are found, %v simulated, %v", fastest.Throughput, p, err)
		}
		if left := strings.Join(s.Division(fastest.Place).OnPSs, " "); !strings.Contains(left, "slot2") {
			t.Errorf("%s on PSs", left)
		}
	}
}
