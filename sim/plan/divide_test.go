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

// Servers have 8 GPUs. Room for 100 rows on each is that for 1000 rows of two servers, but for those of no
// single one, nor for 4000 rows of two: there slots are left to PSs, and the place has the rate of the job
// with these slots.
func TestSlotsAreLeftToPSsWhereGPUsLackRoom(t *testing.T) {
	for _, c := range []struct {
		rows    []float64
		divided [2]bool // of one server, and of two
		never   string  // on GPUs
	}{
		{[]float64{700, 300}, [2]bool{true, false}, ""},
		{[]float64{700, 300, 3000}, [2]bool{true, true}, "slot2"},
	} {
		s, _, err := NewSpace(Ask{Choice: predict.Choice{File: onGPUs(t, 100, c.rows...)}, Share: 1,
			Presets: []string{"persia-gcp"}, Modes: []string{job.Hybrid}, GPUsMost: 16, HostsMost: 2})
		if err != nil {
			t.Fatal(err)
		}
		for servers, divided := range c.divided {
			_, place := (&Search{Problem: s}).corners(0, servers)
			found, err := s.Simulate(place)
			if err != nil || found.Short != divided {
				t.Fatalf("%+v, %v", found, err)
			}
			d := s.Division(place)
			if (d != nil) != divided || d != nil && !strings.Contains(strings.Join(d.OnPSs, " "), c.never) {
				t.Errorf("%v rows, place %d: %+v", c.rows, servers, d)
			}
			j, err := s.Job(place)
			if err != nil {
				t.Fatal(err)
			}
			p, err := predict.Run(t.Context(), j, predict.Options{Seed: Seed})
			if err != nil || p.Mid.Throughput != found.Throughput {
				t.Errorf("%v samples/s are found, %v simulated, %v", found.Throughput, p, err)
			}
		}
	}
}

// spilling is a family of which 1 and 2 servers lack memory, so that 4 are thirty times as fast as one.
type spilling struct{}

func (spilling) Families() int           { return 1 }
func (spilling) Servers(int) []int       { return []int{1, 2, 4, 8} }
func (spilling) Hosts(int) [roles]int    { return [roles]int{1, 1, 1} }
func (spilling) PerHour(p Place) float64 { return float64(spilling{}.Servers(0)[p.Servers]) }
func (spilling) Simulate(p Place) (Outcome, error) {
	return Outcome{Throughput: []float64{1, 10, 30, 40}[p.Servers], Short: p.Servers < 2}, nil
}

// Servers that lack memory say little of how fast more of them are.
func TestLargerClustersAreFoundBehindThoseThatLackMemory(t *testing.T) {
	s := &Search{Problem: spilling{}}
	found, err := s.Cheapest(25, func(perHour, _ float64) float64 { return perHour })
	if err != nil || found == nil || found.PerHour != 4 {
		t.Errorf("%+v, %v; want 4 servers", found, err)
	}
}
