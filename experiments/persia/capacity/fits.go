package capacity

import (
	"context"
	"fmt"
	"math"
	"strings"

	"tandem/algo/job"
	"tandem/algo/numeric/table"
	"tandem/experiments/internal/paper"
	"tandem/sim/model"
	"tandem/sim/predict"
)

// fit says whether 100 T parameters fit a number of PS hosts.
type fit struct {
	Precision string  `json:"precision"`
	Dim       int     `json:"dim"` // values of a row
	Hosts     int     `json:"ps_hosts"`
	Rows      float64 `json:"rows"`
	RowBytes  float64 `json:"row_bytes"` // values, optimizer state and the overhead of a row
	Needed    float64 `json:"needed_bytes"`
	There     float64 `json:"there_bytes"`
	// OverheadMost is the largest overhead of a row that would fit, in bytes; negative if the values alone do
	// not.
	OverheadMost float64 `json:"overhead_most_bytes"`
	Refusal      string  `json:"refusal,omitempty"` // of the simulator; empty: it accepts the job
}

// fits asks the simulator whether 100 T fits: in half and in single precision, and on a third of the hosts.
func fits(ctx context.Context) (list []fit, err error) {
	for _, c := range []struct {
		rows  model.Format
		hosts int
	}{{model.Float16, 30}, {model.Float32, 30}, {model.Float16, 10}} {
		choice := paper.Choice{Preset: cluster, Model: largest().model, Mode: job.Hybrid, GPUs: gpus,
			Rows: string(c.rows), Set: map[string]string{"embedding-ps.count": fmt.Sprint(c.hosts)}}
		j, err := choice.Job()
		if err != nil {
			return nil, err
		}
		w := &j.Workload
		there := float64(j.Hardware.EmbeddingPSs.Host.Memory.Mid) * float64(c.hosts)
		f := fit{
			Precision: string(c.rows), Dim: w.RowDim, Hosts: c.hosts, Rows: w.Rows, There: there,
			RowBytes:     float64(w.RowBytes + w.RowState + table.Overhead),
			OverheadMost: math.Floor(there/w.Rows) - float64(w.RowBytes+w.RowState),
		}
		f.Needed = f.Rows * f.RowBytes
		_, err = predict.Run(ctx, j, predict.Options{Steps: 2})
		switch {
		case predict.DoesNotFit(err):
			f.Refusal = err.Error()
		case err != nil:
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// Target of the control: by how much 100 T is slower on PSs that bind. What binds must be a resource of PSs.
const (
	slowerLeast = 0.2
	ofPSs       = "PS "
)

// controlResult is the throughput of a size on few PS hosts.
type controlResult struct {
	Case   string  `json:"case"`
	Hosts  int     `json:"ps_hosts"`
	Size   float64 `json:"trillions"`
	Middle float64 `json:"samples_per_s"`
	// Ratio is the throughput divided by that of 100 T on 30 hosts, Low and High are the ends of its
	// interval; 0: there is none.
	Ratio      float64 `json:"of_30_hosts"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Bottleneck string  `json:"bottleneck"`
	MemoryBusy float64 `json:"ps_memory_busy"` // share of the time
	BusiestPS  string  `json:"busiest_of_ps"`  // the busiest resource of PSs
	BusyPS     float64 `json:"busiest_of_ps_busy"`
}

// controls returns the results on few PS hosts, those of 100 T on 30 hosts first.
func controls(r *paper.Predictions) []controlResult {
	one := func(c control, s size) controlResult {
		name := c.name(s)
		mid, ratio := &r.Of[name].Mid, r.Ratio(name, reference().name(largest()))
		out := controlResult{Case: name, Hosts: c.hosts, Size: s.trillions, Middle: mid.Throughput,
			Ratio: ratio.Middle, Bottleneck: mid.Roles.Bottleneck}
		if i := ratio.Interval(); len(ratio.Points) > 0 {
			out.Low, out.High = i.Low, i.High
		}
		for _, u := range mid.Stations {
			if u.Name == ofPSs+"memory" {
				out.MemoryBusy = u.Busy
			}
			if strings.HasPrefix(u.Name, ofPSs) && u.Busy > out.BusyPS {
				out.BusiestPS, out.BusyPS = u.Name, u.Busy
			}
		}
		return out
	}
	list := []controlResult{one(reference(), largest())}
	for _, c := range few() {
		for _, s := range sizes() {
			if r.Case(c.name(s)) != nil {
				list = append(list, one(c, s))
			}
		}
	}
	return list
}
