package main

import (
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/cost"
)

// gpuRows is what a report says of rows on GPUs, at the middle of what is not known. Memory is that of a GPU,
// of those of the ranks the one with the least room.
type gpuRows struct {
	Rows      float64 `json:"rows"`     // of the data on each GPU, in the mean
	Capacity  int     `json:"capacity"` // of each GPU
	RowBytes  int64   `json:"row_bytes"`
	Memory    int64   `json:"memory_bytes"` // taken for rows
	Used      int64   `json:"used_bytes"`   // for all
	Has       int64   `json:"has_bytes"`
	Fullest   float64 `json:"fullest"` // rows of a batch on the GPU with most, relative to the mean
	Exchanged int64   `json:"exchanged_bytes_per_step"`
	OnPSs     *psRows `json:"on_pss,omitempty"` // rows of other slots, if the job places rows by slot
}

// psRows is what a report says of rows on PSs where other rows are on GPUs.
type psRows struct {
	Rows float64 `json:"rows"`       // of all tables there, on all PSs
	Used int64   `json:"used_bytes"` // of a PS host
	Has  int64   `json:"has_bytes"`
}

// gpuRows returns what a report says of rows on GPUs; nil if the job has none.
func (d *detailed) gpuRows() *gpuRows {
	j := d.job
	if !j.HasRowsOnGPU() || d.Mid.Roles == nil {
		return nil
	}
	w, ranks, c := &j.Workload, j.Roles.Ranks, j.RowsConfig()
	m := cost.MemoryUse(j.Hardware.Resolve(), &j.Job, j.Layout, w)
	on := w.OnGPUs(&j.Job)
	g := &gpuRows{Rows: on.RowsMade() / float64(ranks), Capacity: c.Most(),
		RowBytes: int64(c.RowBytes()), Memory: int64(m.GPURows), Used: int64(m.GPU), Has: int64(m.GPUHas),
		Fullest: on.FullestGPU(j.Training.GlobalBatch, ranks), Exchanged: int64(d.Mid.Roles.RowBytes)}
	if j.MixesPlacements() {
		g.OnPSs = &psRows{w.OnPSs(&j.Job).RowsMade(), int64(m.PS), int64(m.PSHas)}
	}
	return g
}

// lines describe rows on GPUs.
func (g *gpuRows) lines(ranks int) []string {
	each := ""
	if ranks > 1 {
		each = " on each"
	}
	list := []string{
		fmt.Sprintf("%s of %s%s, in %v", count(g.Rows), count(float64(g.Capacity)), each,
			unit.Bytes(g.Memory)),
		fmt.Sprintf("%v of %v with network and batch", unit.Bytes(g.Used), unit.Bytes(g.Has)),
	}
	if ranks > 1 {
		list = append(list, fmt.Sprintf("%v a step between GPUs; the fullest has %.2f × the mean",
			unit.Bytes(g.Exchanged), g.Fullest))
	}
	if p := g.OnPSs; p != nil {
		list = append(list, fmt.Sprintf("%s of other slots on PSs: %v of %v on a PS host", count(p.Rows),
			unit.Bytes(p.Used), unit.Bytes(p.Has)))
	}
	return list
}
