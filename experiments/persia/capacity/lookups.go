package capacity

import (
	"cmp"
	"context"
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
	tableMost = 20_000_000_000
	freeMost  = 3 << 30
)

// curvePlan is everything about the look-up curve that is fixed before it is measured.
type curvePlan struct {
	Seed    uint64 `yaml:"seed"`
	Sizes   []int  `yaml:"rows"` // ascending; the first calibrates the work of a core on a row
	Dim     int    `yaml:"dim"`
	Batch   int    `yaml:"batch"`   // rows of a look-up or an update
	Batches int    `yaml:"batches"` // of a round
	Rounds  int    `yaml:"rounds"`
	// Small and Huge are the largest buffers of chases, in pages of 4 KiB and in huge ones, which grow with
	// the table. Reference is that of the chase that is repeated beside the store.
	Small     unit.Bytes `yaml:"chase-small-pages"`
	Huge      unit.Bytes `yaml:"chase-huge-pages"`
	Reference unit.Bytes `yaml:"chase-reference"`
}

// newCurvePlan returns the plan of the quick or the full version. The largest number of rows may be 0 for
// that of the version.
func newCurvePlan(o report.Options, most int) *curvePlan {
	p := &curvePlan{Seed: o.Seed, Dim: curveDim, Batch: 4096, Batches: 104, Rounds: 31,
		Small: 4 << 30, Huge: 1 << 30, Reference: 256 << 20}
	all := tableMost / rowBytes
	if o.Quick {
		p.Rounds, p.Small, all = 15, 1<<30, 10_000_000
	}
	most = cmp.Or(most, all)
	sizes := []int{1e6, 3e6, 1e7, 3e7, 1e8, 2e8, 3e8}
	p.Sizes = slices.DeleteFunc(sizes, func(n int) bool { return n >= most })
	if most < tableMost/rowBytes {
		p.Sizes = append(p.Sizes, most)
	}
	return p
}

// checkRows returns an error about a largest number of rows that no curve can have.
func checkRows(most int) error {
	const from, to = 3_000_000, 1_000_000_000
	if most != 0 && (most < from || most > to) {
		return cli.UsageError("the curve begins at a million rows of 60 bytes", "--most-rows %d: want %d "+
			"to %d", most, from, to)
	}
	return nil
}

// within returns the sizes for which there is memory, and those for which there is none.
func (p *curvePlan) within(available unit.Bytes) (sizes, leftOut []int) {
	spare := float64(available) - min(float64(available)/4, freeMost) - float64(p.Reference)
	there := int(min(tableMost, max(0, spare))) / rowBytes
	for _, n := range p.Sizes {
		if n <= there {
			sizes = append(sizes, n)
		} else {
			leftOut = append(leftOut, n)
		}
	}
	if n := len(sizes); len(leftOut) > 0 && n > 0 && there > sizes[n-1]*5/4 {
		sizes = append(sizes, there/1_000_000*1_000_000) // what fits instead
	}
	return sizes, leftOut
}

// curve is the measured look-up curve with the simulated one; without points, there was no memory.
type curve struct {
	Available unit.Bytes     `json:"available_memory,omitempty"`
	LeftOut   []int          `json:"left_out,omitempty"` // sizes for which there was no memory
	Machine   *chased        `json:"machine,omitempty"`
	Sizes     []measuredSize `json:"sizes,omitempty"`
	Points    []curvePoint   `json:"points,omitempty"`
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

// measure chases, measures the store, and simulates it.
func (p *curvePlan) measure(ctx context.Context, o report.Options) (*curve, error) {
	c := &curve{Available: probe.Available()}
	var sizes []int
	if sizes, c.LeftOut = p.within(c.Available); len(sizes) < 2 {
		return c, nil
	}
	m := &report.Meter{Total: len(sizes) + 2, Unit: "measurements", Report: o.Progress}
	const page = 2 << 20
	huge := max(p.Huge, unit.Bytes(sizes[len(sizes)-1])*rowBytes/page*page)
	var err error
	if c.Machine, err = chase(ctx, p.Small, huge, p.Reference, m); err != nil {
		return nil, err
	}
	if c.Sizes, err = p.measureSizes(ctx, sizes, m); err != nil {
		return nil, err
	}
	rates, err := probe.Run()
	if err != nil {
		return nil, err
	}
	c.simulate(p.Reference, &rates)
	return c, nil
}

// simulate prices the rows of every size on this machine.
func (c *curve) simulate(reference unit.Bytes, rates *probe.Result) {
	for i := range c.Sizes {
		s := &c.Sizes[i]
		byLaw := c.Machine.Memory
		byLaw.HugePageShare = s.ReferenceHuge
		step := 1e9 * byLaw.RowTime(device.Region{Bytes: reference, Touches: 1})
		drift := report.Median(s.Reference) / step
		point := curvePoint{Rows: s.Rows, Bytes: s.Bytes, Drift: drift}
		read, update := &point.Read, &point.Update
		read.Measured, update.Measured = medianInterval(s.Reads), medianInterval(s.Updates)
		if i == 0 {
			memoryRead, memoryUpdate := c.price(rates, s, drift)
			c.Work = [2]float64{max(0, read.Measured.Estimate-memoryRead),
				max(0, update.Measured.Estimate-memoryUpdate)}
		}
		read.Simulated, update.Simulated = c.price(rates, s, drift)
		c.Points = append(c.Points, point)
		first, last := &c.Points[0], &c.Points[i]
		last.Read.Null, last.Update.Null = first.Read.Measured.Estimate, first.Update.Measured.Estimate
	}
}

// price returns the nanoseconds of a row that is read, and of one that is updated, as the simulator prices
// them on a PS of this machine. The memory is as fast as the reference chase has found it at that size.
func (c *curve) price(rates *probe.Result, s *measuredSize, drift float64) (read, update float64) {
	const rows = 1e6 // whole nanoseconds do not matter
	memory := c.Machine.Memory
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
	perRow := func(c device.HostCost) float64 { return float64(max(c.Core, c.Memory)) / rows }
	return perRow(prices.ReadRows(rows, 1)), perRow(prices.Apply(rows, 1))
}

// medianInterval returns the median of values with the interval of 95 % that their order gives: the number of
// values below the median is binomial.
func medianInterval(values []float64) metric.Interval {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	low := max(0, int(math.Floor(float64(n)/2-0.98*math.Sqrt(float64(n)))))
	return metric.Interval{Estimate: report.Median(values), Low: sorted[low], High: sorted[n-1-low]}
}
