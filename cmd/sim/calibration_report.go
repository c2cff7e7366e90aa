package main

import (
	"fmt"

	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/calibrate"
	"tandem/sim/device"
)

// comparison returns a short table of what was measured, beside what a profile predicts, if there is one, and
// the wire that was chosen for copies.
func comparison(r *calibrate.Result, like *device.AcceleratorProfile,
	wire *device.WireProfile) cli.Table {
	t := &compared{Table: cli.Table{Header: []string{"operation", "measured", "quartiles", ""}, Words: 1}}
	if like != nil {
		t.Header[3], t.like = like.Name, like.Resolve(0)
	}
	t.times("launch in a graph", r.GraphLaunch, t.price(device.Kernel{Launches: 1}))
	t.times("launch in a stream", r.StreamLaunch, 0)
	for _, p := range largest(r.Products) {
		flops := calibrate.FLOPs(p.Product)
		t.rates(p.Product.String(), p.Times, flopsPerSec(flops),
			t.price(device.Kernel{Launches: 1, FLOPs: flops, Precision: precision(p.Type)}))
	}
	stream := r.Streams[len(r.Streams)-1]
	t.rates(fmt.Sprintf("%v through memory", stream.Bytes), stream.Times, bytesPerSec(stream.Bytes),
		t.price(device.Kernel{Launches: 1, Bytes: stream.Bytes}))
	for _, x := range r.Rows {
		t.rates(fmt.Sprintf("random rows of %v", x.Row), x.Times, bytesPerSec(x.Bytes), t.priceRows(x))
	}
	for _, c := range []struct {
		what string
		all  []calibrate.Transfer
	}{{"from", r.In}, {"to", r.Out}} {
		first, last := c.all[0], c.all[len(c.all)-1]
		what := "copy of %v " + c.what + " the host"
		t.times(fmt.Sprintf(what, first.Bytes), first.Times, t.copies(wire, first.Bytes))
		t.rates(fmt.Sprintf(what, last.Bytes), last.Times, bytesPerSec(last.Bytes),
			t.copies(wire, last.Bytes))
	}
	return t.Table
}

// largest returns the largest product of each type and shape: square or flat.
func largest(all []calibrate.Product) (chosen []calibrate.Product) {
	type shape struct {
		of     cuda.Type
		square bool
	}
	of := func(p calibrate.Product) shape {
		return shape{p.Type, p.Rows == p.Columns && p.Rows == p.Inner}
	}
	last := map[shape]int{}
	for i, p := range all {
		last[of(p)] = i
	}
	for i, p := range all {
		if last[of(p)] == i {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// compared is a table of measured rates and times beside those of a profile.
type compared struct {
	cli.Table
	like *device.Accelerator // or nil
}

// price returns what the other profile predicts for a kernel, or 0 without one.
func (t *compared) price(k device.Kernel) unit.Nanos {
	if t.like == nil {
		return 0
	}
	return unit.Nanos(t.like.Time(k))
}

// priceRows is price for reads of rows: the model knows their share of the bandwidth, for many of them.
func (t *compared) priceRows(x calibrate.Rows) unit.Nanos {
	if t.like == nil {
		return 0
	}
	rate := float64(t.like.Bandwidth) * t.like.RowShare.At(float64(x.Row))
	return unit.Nanos(t.like.Launch) + unit.Nanos(float64(x.Bytes)/rate*1e9)
}

// copies is price for a copy over a wire.
func (t *compared) copies(wire *device.WireProfile, bytes unit.Bytes) unit.Nanos {
	if t.like == nil {
		return 0
	}
	return unit.Nanos(wire.Resolve(0).Time(bytes))
}

func flopsPerSec(work unit.FLOPs) func(unit.Nanos) string {
	return func(t unit.Nanos) string {
		return unit.FLOPsPerSec(float64(work) / float64(t) * 1e9).String()
	}
}

func bytesPerSec(work unit.Bytes) func(unit.Nanos) string {
	return func(t unit.Nanos) string {
		return unit.BytesPerSec(float64(work) / float64(t) * 1e9).String()
	}
}

// rates adds a row of rates, of times.
func (t *compared) rates(what string, x calibrate.Times, rate func(unit.Nanos) string, like unit.Nanos) {
	row := []string{what, rate(x.Mid), deviation(x), ""}
	if like > 0 {
		row[3] = rate(like)
	}
	t.Rows = append(t.Rows, row)
}

// times adds a row of times.
func (t *compared) times(what string, x calibrate.Times, like unit.Nanos) {
	row := []string{what, x.Mid.String(), deviation(x), ""}
	if like > 0 {
		row[3] = like.String()
	}
	t.Rows = append(t.Rows, row)
}

// deviation returns how far the quartiles of times are from the median.
func deviation(x calibrate.Times) string {
	return fmt.Sprintf("±%.1f %%", 100*max(float64(x.High/x.Mid)-1, 1-float64(x.Low/x.Mid)))
}

// calibrationDocument is what --json prints.
type calibrationDocument struct {
	Device   string     `json:"device"`
	Driver   string     `json:"driver_cuda"`
	Memory   int64      `json:"memory_bytes"`
	Used     int64      `json:"used_memory_bytes"`
	Seconds  float64    `json:"measuring_s"`
	Measured []measured `json:"measured"`
}

// measured is the time of one operation: median and quartiles.
type measured struct {
	What        string  `json:"operation"`
	FLOPs       float64 `json:"flops,omitempty"`
	Bytes       int64   `json:"bytes,omitempty"`
	RowBytes    int64   `json:"row_bytes,omitempty"`
	Low         float64 `json:"low_ns"`
	Mid         float64 `json:"mid_ns"`
	High        float64 `json:"high_ns"`
	Repetitions int     `json:"repetitions"`
}

// documentOf returns all measurements.
func documentOf(r *calibrate.Result) calibrationDocument {
	d := calibrationDocument{Device: r.Device.Name, Driver: r.Driver, Memory: int64(r.Device.Memory),
		Used: int64(r.Memory), Seconds: r.MeasuringTime.Seconds()}
	add := func(m measured, t calibrate.Times) {
		m.Low, m.Mid, m.High, m.Repetitions = float64(t.Low), float64(t.Mid), float64(t.High), t.Repetitions
		d.Measured = append(d.Measured, m)
	}
	for _, p := range r.Products {
		add(measured{What: p.Product.String(), FLOPs: float64(calibrate.FLOPs(p.Product))}, p.Times)
	}
	for _, x := range r.Streams {
		add(measured{What: "stream through memory", Bytes: int64(x.Bytes)}, x.Times)
	}
	for _, x := range r.Rows {
		add(measured{What: "random rows", Bytes: int64(x.Bytes), RowBytes: int64(x.Row)}, x.Times)
	}
	for _, x := range r.In {
		add(measured{What: "copy from the host", Bytes: int64(x.Bytes)}, x.Times)
	}
	for _, x := range r.Out {
		add(measured{What: "copy to the host", Bytes: int64(x.Bytes)}, x.Times)
	}
	add(measured{What: "launch in a stream"}, r.StreamLaunch)
	add(measured{What: "launch in a graph"}, r.GraphLaunch)
	return d
}
