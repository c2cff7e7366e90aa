package capacity

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
	"tandem/runtime/probe"
	"tandem/sim/cost"
	"tandem/sim/device"
)

// What the rows of the look-up curve are: 16 values in half precision, and one float of row-wise Adagrad.
const (
	curveDim   = 16
	valueBytes = 2 * curveDim
	stateBytes = 4
	rowBytes   = valueBytes + stateBytes + table.Overhead
)

// Limits of the memory of the curve: what a table may take, and what stays free for others.
const (
	tableMost  = 20_000_000_000
	freeMost   = 3 << 30
	rowsLeast  = 3_000_000
	rowsMost   = 1_000_000_000
	leastSizes = 2
)

// errorGoal is by how much the simulated time of a row may differ from the measured one.
const errorGoal = 0.15

// curvePlan is everything about the look-up curve that is fixed before it is measured.
type curvePlan struct {
	Seed      uint64     `yaml:"seed"`
	Sizes     []int      `yaml:"rows"`     // ascending; the first calibrates the work of a core on a row
	LeftOut   []int      `yaml:"left-out"` // sizes for which there is no memory
	Available unit.Bytes `yaml:"available-memory"`
	Dim       int        `yaml:"dim"`
	Batch     int        `yaml:"batch"`   // rows of a look-up or an update
	Batches   int        `yaml:"batches"` // of a round
	Rounds    int        `yaml:"rounds"`
	// Small and Huge are the largest buffers of chases, in pages of 4 KiB and in huge ones. Reference is that
	// of the chase that is repeated beside the store.
	Small     unit.Bytes `yaml:"chase-small-pages"`
	Huge      unit.Bytes `yaml:"chase-huge-pages"`
	Reference unit.Bytes `yaml:"chase-reference"`
}

// newCurvePlan returns the plan of the quick or the full version, for the memory that is there. The largest
// number of rows may be 0 for that of the version.
func newCurvePlan(o report.Options, most int, available unit.Bytes) *curvePlan {
	p := &curvePlan{Seed: o.Seed, Available: available, Dim: curveDim, Batch: 4096, Batches: 104, Rounds: 31,
		Small: 4 << 30, Huge: 1 << 30, Reference: 256 << 20}
	if o.Quick {
		p.Rounds, p.Small = 15, 1<<30
	}
	switch {
	case most == 0 && o.Quick:
		most = 10_000_000
	case most == 0:
		most = tableMost / rowBytes
	}
	spare := float64(available) - min(float64(available)/4, freeMost) - float64(p.Reference)
	there := int(min(tableMost, max(0, spare))) / rowBytes
	sizes := []int{1e6, 3e6, 1e7, 3e7, 1e8, 2e8, 3e8}
	if sizes = slices.DeleteFunc(sizes, func(n int) bool { return n >= most }); most < tableMost/rowBytes {
		sizes = append(sizes, most)
	}
	for _, n := range sizes {
		if n <= there {
			p.Sizes = append(p.Sizes, n)
		} else {
			p.LeftOut = append(p.LeftOut, n)
		}
	}
	if n := len(p.Sizes); len(p.LeftOut) > 0 && n > 0 && there > p.Sizes[n-1]*5/4 {
		p.Sizes = append(p.Sizes, there/1_000_000*1_000_000) // what fits instead
	}
	if n := len(p.Sizes); n > 0 {
		const page = 2 << 20
		p.Huge = max(p.Huge, unit.Bytes(p.Sizes[n-1])*rowBytes/page*page)
	}
	return p
}

// checkRows returns an error about a largest number of rows that no curve can have.
func checkRows(most int) error {
	if most != 0 && (most < rowsLeast || most > rowsMost) {
		return cli.UsageError("the curve begins at a million rows of 60 bytes", "--most-rows %d: want %d "+
			"to %d",
			most, rowsLeast, rowsMost)
	}
	return nil
}

// curve is the measured look-up curve with the simulated one.
type curve struct {
	Plan    *curvePlan     `json:"-"`
	Machine *chased        `json:"machine"`
	Sizes   []measuredSize `json:"sizes"`
	Points  []curvePoint   `json:"points"`
	// Work is what a core works on a row that its memory does not hide, calibrated at the smallest size: of a
	// read and of an update.
	Work [2]float64 `json:"work_ns"`
}

// curvePoint is the time of rows in a table of one size, in nanoseconds.
type curvePoint struct {
	Rows  int     `json:"rows"`
	Bytes float64 `json:"bytes"`
	// Drift is the time of the reference chase beside the store, relative to what the fitted memory takes.
	Drift  float64   `json:"memory_drift"`
	Read   curveTime `json:"read"`
	Update curveTime `json:"update"`
}

// curveTime is a measured time, its simulation, and the null model: that all rows take what those of the
// smallest table take.
type curveTime struct {
	Measured  metric.Interval `json:"measured_ns"`
	Simulated float64         `json:"simulated_ns"`
	Null      float64         `json:"null_ns"`
}

// relative returns a prediction ÷ the measured time − 1, with the interval of the measured time.
func (t *curveTime) relative(prediction float64) metric.Interval {
	return metric.Interval{Estimate: prediction/t.Measured.Estimate - 1, Low: prediction/t.Measured.High - 1,
		High: prediction/t.Measured.Low - 1}
}

// measure chases, measures the store, and simulates it.
func (p *curvePlan) measure(ctx context.Context, o report.Options) (*curve, error) {
	if len(p.Sizes) < leastSizes {
		return nil, nil
	}
	m := &report.Meter{Total: len(p.Sizes) + 2, Unit: "measurements", Report: o.Progress}
	machine, err := p.chase(ctx, m)
	if err != nil {
		return nil, err
	}
	sizes, err := p.measureSizes(ctx, m)
	if err != nil {
		return nil, err
	}
	rates, err := probe.Run()
	if err != nil {
		return nil, err
	}
	c := &curve{Plan: p, Machine: machine, Sizes: sizes}
	c.simulate(&rates)
	return c, nil
}

// simulate prices the rows of every size on this machine.
func (c *curve) simulate(rates *probe.Result) {
	for i := range c.Sizes {
		s := &c.Sizes[i]
		point := curvePoint{Rows: s.Rows, Bytes: s.Bytes, Drift: report.Median(s.Reference) / c.reference(s)}
		point.Read.Measured, point.Update.Measured = medianInterval(s.Reads), medianInterval(s.Updates)
		if i == 0 {
			read, update := c.price(rates, s, point.Drift)
			c.Work = [2]float64{max(0, point.Read.Measured.Estimate-read),
				max(0, point.Update.Measured.Estimate-update)}
		}
		point.Read.Simulated, point.Update.Simulated = c.price(rates, s, point.Drift)
		c.Points = append(c.Points, point)
		point.Read.Null = c.Points[0].Read.Measured.Estimate
		point.Update.Null = c.Points[0].Update.Measured.Estimate
		c.Points[i] = point
	}
}

// reference returns the time of a step of the reference chase by the law, in nanoseconds.
func (c *curve) reference(s *measuredSize) float64 {
	h := c.Machine.Fit
	h.HugePageShare = s.ReferenceHuge
	return 1e9 * h.RowTime(device.Region{Bytes: c.Plan.Reference, Touches: 1})
}

// price returns the nanoseconds of a row that is read, and of one that is updated, as the simulator prices
// them on a PS of this machine. The memory is as fast as the reference chase has found it at that size.
func (c *curve) price(rates *probe.Result, s *measuredSize, drift float64) (read, update float64) {
	memory := c.Machine.Fit
	memory.HugePageShare = s.Huge
	memory.LinesInFlight /= drift
	memory.WalksInFlight /= drift
	h := cost.ThisMachine(cost.MeasuredMachine{
		Cores: rates.Cores, Memory: rates.Memory, Multiply: rates.Multiply, CopySpeed: rates.Copy,
		RowTime: (rates.Lookup + rates.Update) / 2, MessageTime: rates.Message, Date: rates.Date,
		Access: &cost.MeasuredAccess{Memory: memory, Read: unit.Nanos(c.Work[0]),
			Update: unit.Nanos(c.Work[1])},
	})
	j := job.Default()
	w := cost.Workload{Rows: float64(s.Rows), RowDim: curveDim, RowBytes: valueBytes, RowState: stateBytes}
	prices := cost.NewPrices(h.Resolve(), &j, &model.Layout{}, &w, true)
	perRow := func(c device.HostCost) float64 { return float64(max(c.Core, c.Memory)) / manyRows }
	return perRow(prices.ReadRows(manyRows)), perRow(prices.Apply(manyRows))
}

// manyRows is a number at which whole nanoseconds do not matter.
const manyRows = 1e6

// medianInterval returns the median of values with the interval of 95 % that their order gives: the number of
// values below the median is binomial.
func medianInterval(values []float64) metric.Interval {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	low := max(0, int(math.Floor(float64(n)/2-0.98*math.Sqrt(float64(n)))))
	return metric.Interval{Estimate: report.Median(values), Low: sorted[low], High: sorted[n-1-low]}
}

// millions returns a number of rows for people.
func millions(rows int) string { return fmt.Sprintf("%g M rows", float64(rows)/1e6) }
