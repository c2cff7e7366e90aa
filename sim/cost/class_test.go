package cost

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// short and long are classes of 4 and of 64 values: ids of a sample name two short rows and a long one, and a
// batch has three times as many short rows as long ones, of which there are 1,000 and 9,000.
func short() RowClass {
	return RowClass{Dim: 4, Bytes: 16, State: 16, Named: 2, Rows: 1000, Created: 1000,
		Distinct: func(samples int) float64 { return 3 * float64(samples) }}
}

func long() RowClass {
	return RowClass{Dim: 64, Bytes: 256, State: 256, Named: 1, Rows: 9000, Created: 9000,
		Distinct: func(samples int) float64 { return float64(samples) }}
}

// workloadOf returns the workload of some classes. One class is rows that are alike.
func workloadOf(classes ...RowClass) *Workload {
	w := &Workload{Trained: 1e6, Labels: 1, Distinct: func(samples int) (sum float64) {
		for _, c := range classes {
			sum += c.Distinct(samples)
		}
		return sum
	}}
	for _, c := range classes {
		w.Occurrences, w.Rows, w.Created = w.Occurrences+c.Named, w.Rows+c.Rows, w.Created+c.Created
	}
	if w.Classes = classes; len(classes) == 1 {
		w.RowDim, w.RowBytes, w.RowState, w.Classes = classes[0].Dim, classes[0].Bytes, classes[0].State, nil
	}
	return w
}

// machines are hosts whose rows are priced by misses, by their time as a whole, and by regions of memory.
func machines(t *testing.T) map[string]*Hardware {
	t.Helper()
	c := job.PersiaCluster()
	cluster, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	m := MeasuredMachine{Cores: 2, Memory: 1 << 30, Multiply: 1e9, CopySpeed: 4e9, RowTime: 100,
		CreateTime: 500, MessageTime: 1000, Date: "2026-11"}
	whole := ThisMachine(m)
	m.Access = &MeasuredAccess{Read: 50, Update: 80, Memory: device.Host{Cache: 1 << 14,
		CacheTogether: 1 << 14, CacheLatency: 5, MemoryLatency: 100, LinesInFlight: 8, WalksInFlight: 2,
		TLBEntries: 16}}
	return map[string]*Hardware{"cluster": cluster, "rows as a whole": whole, "memory": ThisMachine(m)}
}

func pricesOf(h *Hardware, w *Workload) *Prices {
	j := job.Default()
	layout := &model.Layout{Params: 1, EmbeddingWidth: 132, Cost: model.Cost{Kernels: 1, ForwardFLOPs: 1,
		BackwardFLOPs: 2, ActivationBytes: 8}}
	return NewPrices(h.Resolve(), &j, layout, w, true)
}

// Two classes of equal rows cost what the rows cost as one class, but for rounding to nanoseconds.
func TestEqualClassesAreOne(t *testing.T) {
	one := short()
	half := one
	half.Named, half.Rows, half.Created = one.Named/2, one.Rows/2, one.Created/2
	half.Distinct = func(samples int) float64 { return one.Distinct(samples) / 2 }
	for name, h := range machines(t) {
		if h == nil {
			t.Fatal(name)
		}
		want, got := pricesOf(h, workloadOf(one)), pricesOf(h, workloadOf(half, half))
		for what, cost := range map[string]func(p *Prices) device.HostCost{
			"read":   func(p *Prices) device.HostCost { return p.ReadRows(300, 100) },
			"create": func(p *Prices) device.HostCost { return p.CreateRows(300, 100) },
			"apply":  func(p *Prices) device.HostCost { return p.Apply(300, 100) },
			"step":   func(p *Prices) device.HostCost { return p.ApplyStep(100, []float64{200, 300}) },
			"merge":  func(p *Prices) device.HostCost { return p.Merge(100, 300) },
			"pool":   func(p *Prices) device.HostCost { return p.Batch(100).Pool },
		} {
			g, w := cost(got), cost(want)
			// Each of two tables has an index of its own, whose groups are 0.75 and 0.71 full (as those of
			// 500 and of 1,000 rows are), and only reads look into them.
			tolerance := 0.0
			if name == "memory" {
				tolerance = 0.05 * float64(w.Core)
			}
			if math.Abs(float64(g.Core-w.Core)) > 4+tolerance || math.Abs(float64(g.Memory-w.Memory)) > 4 ||
				w.Core == 0 {
				t.Errorf("%s: %s costs %+v, want %+v", name, what, g, w)
			}
		}
		if g, w := MemoryUse(h.Resolve(), got.Job, got.Layout, got.Workload),
			MemoryUse(h.Resolve(), want.Job, want.Layout, want.Workload); g.Row != w.Row || g.PS != w.PS {
			t.Errorf("%s: memory %+v, want %+v", name, g, w)
		}
	}
}

// A batch of 100 samples has 300 short rows of 4 values and 100 long ones of 64: 7,600 values. Their ids name
// 200 and 100: 7,200 values. Reads and updates of the rows of each class cost what they cost alone, and waits
// for memory are between those of the two.
func TestClassesAreRowsOfTheirLengths(t *testing.T) {
	for name, h := range machines(t) {
		both := pricesOf(h, workloadOf(short(), long()))
		a, b := pricesOf(h, workloadOf(short())), pricesOf(h, workloadOf(long()))
		s := both.Batch(100)
		if got, want := s.Routed.ValueBytes[0], bytesOf(4*7600/float64(both.Plan.Servers())); got != want {
			t.Errorf("%s: %v of rows from a PS, want %v", name, got, want)
		}
		if got := both.Workload.namedDim() * s.rowOccurrences; math.Abs(got-7200) > 1e-9 {
			t.Errorf("%s: ids name rows of %v values, want 7200", name, got)
		}
		read, alone := both.ReadRows(400, 100), a.ReadRows(300, 100).Add(b.ReadRows(100, 100))
		if d := (read.Core - read.Wait) - (alone.Core - alone.Wait); d < -4 || d > 4 ||
			read.Memory != alone.Memory {
			t.Errorf("%s: reads cost %+v, want %+v", name, read, alone)
		}
		apply, alone := both.Apply(400, 100), a.Apply(300, 100).Add(b.Apply(100, 100))
		if d := (apply.Core - apply.Wait) - (alone.Core - alone.Wait); d < -4 || d > 4 ||
			apply.Memory != alone.Memory {
			t.Errorf("%s: updates cost %+v, want %+v", name, apply, alone)
		}
		if name == "memory" && !(s.waits.read > a.waits.read && s.waits.read < b.waits.read &&
			s.waits.update > a.waits.update && s.waits.update < b.waits.update) {
			t.Errorf("%s: waits of %+v, those of the short rows alone are %+v", name, s.waits, a.waits)
		}
		// 10,000 lookups of 300 short and of 100 long rows create 1,000 and 9,000 rows.
		if fresh := [2]float64{s.classes[0].fresh, s.classes[1].fresh}; fresh != [2]float64{1000. / 3e6,
			9000. / 1e6} {
			t.Errorf("%s: shares of new rows %v", name, fresh)
		}
		want := unit.Bytes(1000*(32+table.Overhead)+9000*(512+table.Overhead)) /
			unit.Bytes(max(1, both.PSHostCount))
		if m := MemoryUse(h.Resolve(), both.Job, both.Layout, both.Workload); m.PS != want {
			t.Errorf("%s: rows take %v of a PS, want %v", name, m.PS, want)
		}
	}
}

// A class without values is refused.
func TestWorkloadsCheckTheirClasses(t *testing.T) {
	w := workloadOf(short(), long())
	if err := w.Validate(); err != nil {
		t.Error(err)
	}
	w.Classes[1].Dim = 0
	if w.Validate() == nil {
		t.Error("rows of 0 values are accepted")
	}
}

// Rows that are alike are priced without memory: a simulation asks for every lookup and put.
func TestEqualRowsAreFreeOfAllocations(t *testing.T) {
	for name, h := range machines(t) {
		p := pricesOf(h, workloadOf(short()))
		p.Batch(100)
		if n := testing.AllocsPerRun(10, func() { p.ReadRows(300, 100); p.Apply(300, 100) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// The puts of a step with fewer samples than ranks cost something.
func TestShortStepsCost(t *testing.T) {
	for name, h := range machines(t) {
		p := pricesOf(h, workloadOf(short(), long()))
		p.Job.Roles.Ranks, p.oneByOne = 4, true
		if cost := p.ApplyStep(3, []float64{300, 300}); cost.Core == 0 {
			t.Errorf("%s: puts of a step of 3 samples cost no time", name)
		}
	}
}

// Numbers of a workload out of their ranges are refused, and those at the ends are not.
func TestWorkloadsOutOfRangeAreRefused(t *testing.T) {
	for i, c := range []struct {
		change func(w *Workload)
		want   string // "" if it is valid
	}{
		{func(w *Workload) {}, ""},
		{func(w *Workload) { w.Occurrences, w.RowOccurrences, w.Labels = 0, 0, 0 }, ""},
		{func(w *Workload) { w.Occurrences, w.Weights = 3, 3 }, ""},
		{func(w *Workload) { w.Occurrences = -1 }, "-1 ids a sample"},
		{func(w *Workload) { w.Occurrences = math.Inf(1) }, "+Inf ids a sample"},
		{func(w *Workload) { w.Occurrences = math.NaN() }, "NaN ids a sample"},
		{func(w *Workload) { w.RowOccurrences = -1 }, "name -1 rows"},
		{func(w *Workload) { w.RowOccurrences = math.Inf(1) }, "name +Inf rows"},
		{func(w *Workload) { w.Created = math.Inf(1) }, "create +Inf rows"},
		{func(w *Workload) { w.Created, w.Trained = 1, 0 }, "0 samples create 1 rows"},
		{func(w *Workload) { w.Trained = -1 }, "-1 samples create"},
		{func(w *Workload) { w.Occurrences, w.Weights = 3, 3.1 }, "3.1 of 3 ids a sample have weights"},
		{func(w *Workload) { w.Weights = -1 }, "-1 of"},
		{func(w *Workload) { w.Distinct = nil }, "no function of distinct rows"},
		{func(w *Workload) { w.Labels = -1 }, "-1 labels"},
		{func(w *Workload) { w.Rows = -1 }, "-1 rows"},
		{func(w *Workload) { w.Rows = math.NaN() }, "NaN rows"},
		{func(w *Workload) { w.Hot = &HotRows{Rows: -1} }, "-1 hot rows"},
		{func(w *Workload) { w.Hot = &HotRows{Rows: 1} }, "want 0 or more rows, and their batches"},
	} {
		w := workloadOf(short(), long())
		c.change(w)
		err := w.Validate()
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d: error %v, want %q", i, err, c.want)
		}
	}
}
