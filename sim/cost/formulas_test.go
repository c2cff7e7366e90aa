package cost

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/role"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/system"
)

// priced is a job of 3 ranks with system times of which no two are alike: 9 rows of 16 values a sample.
func priced(t *testing.T) (*Resolved, *job.Job, *model.Layout, *Workload) {
	t.Helper()
	j := job.Default()
	j.Training.Mode, j.Roles.Ranks, j.Roles.EmbeddingPSs = job.Hybrid, 3, 2
	h := h100s(t)
	s := &h.System
	s.EmbeddingWorker.IDTime.Mid, s.EmbeddingWorker.PoolIDTime.Mid = 11, 7
	s.EmbeddingWorker.PoolValueTime.Mid, s.EmbeddingWorker.ConvertTime.Mid = 3, 1.5
	s.EmbeddingWorker.MergeIDTime.Mid, s.EmbeddingWorker.MergeValueTime.Mid = 5, 2
	s.EmbeddingPS.Read.RowTime.Mid, s.EmbeddingPS.Read.ValueTime.Mid, s.EmbeddingPS.Read.Misses.Mid = 101,
		2.5, 1.5
	s.EmbeddingPS.Update.RowTime.Mid, s.EmbeddingPS.Update.ValueTime.Mid = 211, 4.5
	s.EmbeddingPS.Update.Misses.Mid = 0.5
	s.NNWorker.StepTime.Mid, s.NNWorker.SlotTime.Mid, s.NNWorker.LaunchTime.Mid = 100_000, 30_000, 5000
	s.NNWorker.Captured.Mid = 0.25
	s.Messages.Time.Mid, s.Messages.ByteTime.Mid = 4000, 0.125
	s.Loader.IDTime.Mid, s.Loader.BatchTime.Mid = 13, 70_000
	layout := &model.Layout{Params: 1_000_000, DenseWidth: 13, EmbeddingWidth: 48,
		Tensors: make([]model.Tensor, 5), Cost: model.Cost{Kernels: 7, ForwardFLOPs: 1e6, BackwardFLOPs: 3e6,
			ActivationBytes: 5000}}
	w := &Workload{Occurrences: 6, RowOccurrences: 9, Slots: 3, Labels: 2, RowDim: 16, RowBytes: 64,
		RowState: 32, Rows: 1e7, Distinct: func(n int) float64 { return 4 * float64(n) }}
	return h.Resolve(), &j, layout, w
}

// near reports whether a time is a number of nanoseconds, but for rounding up a few times.
func near(got unit.Tick, want float64) bool { return math.Abs(float64(got)-want) <= 4 }

// Core times of hosts are the system's times for ids, rows and values, on a core of their speed, besides
// copies; the memory moves each value as a copy does. Counts are those of 100 samples with 400 distinct rows.
func TestHostsPayForIDsRowsAndValues(t *testing.T) {
	r, j, layout, w := priced(t)
	r.EWHost.CoreSpeed, r.PSHost.CoreSpeed, r.LoaderHost.CoreSpeed, r.ServerHost.CoreSpeed = 2, 4, 0.5, 0.8
	const samples, rows, values, pooled, distinct = 100, 900.0, 900.0 * 16, 100.0 * 48, 400.0
	copied := func(h *device.Host, bytes float64) device.HostCost { return h.CopyCost(unit.Bytes(bytes)) }
	held := 1e7 * (64 + 32 + table.Overhead) / float64(r.PSHostCount)
	for _, latency := range []unit.Tick{0, r.PSHost.MemoryLatency} {
		r.PSHost.MemoryLatency = latency
		p := NewPrices(r, j, layout, w, true)
		wait := 0.0
		if latency > 0 {
			wait = 1e9 * r.PSHost.Access(unit.Bytes(held)).Time
			if wait < 10 {
				t.Fatalf("a wait of %v ns for memory", wait)
			}
		}
		b := p.Batch(samples)
		ids, batch := copied(r.EWHost, 8*600), copied(r.LoaderHost, 8*600+4*(13+2)*samples)
		for _, x := range []struct {
			what string
			got  device.HostCost
			core float64
			mem  unit.Tick
		}{
			{"split", b.Split, float64(ids.Core) + 11*rows/2, ids.Memory},
			{"pool", b.Pool, (7*rows + 3*values + 1.5*pooled) / 2, copied(r.EWHost, 4*values).Memory},
			{"merge", p.Merge(samples, distinct), (5*rows + 2*values + 1.5*pooled) / 2,
				copied(r.EWHost, 4*(values+16*distinct)).Memory},
			{"read", p.ReadRows(1000, samples), 1000*(101+2.5*16)/4 + 1000*1.5*wait,
				r.PSHost.RowTraffic(device.Rows{Count: 1000, Bytes: 64})},
			{"update", p.Apply(1000, samples), 1000*(211+4.5*16)/4 + 1000*0.5*wait,
				r.PSHost.RowTraffic(device.Rows{Count: 1000, Bytes: 96, Write: true})},
			{"message", p.Message(r.EWHost, 80_000, false), (4000 + 80_000/8) / 2, 0},
			{"remote", p.Message(r.EWHost, 80_000, true),
				(4000+80_000/8)/2 + float64(copied(r.EWHost, 80_000).Core), copied(r.EWHost, 80_000).Memory},
			{"load", p.ReadBatch(samples), float64(batch.Core) + (13*600+70_000*3)/0.5, batch.Memory},
		} {
			if !near(x.got.Core, x.core) || math.Abs(float64(x.got.Memory-x.mem)) > 4 {
				t.Errorf("%s, latency %v: %v of a core and %v of the memory, want %.0f and %v", x.what,
					latency,
					x.got.Core, x.got.Memory, x.core, x.mem)
			}
		}
		if read := p.ReadRows(1000, samples); !near(read.Wait, 1500*wait) {
			t.Errorf("a lookup waits for %v, want %.0f", read.Wait, 1500*wait)
		}
		// half of a step and of its slots, and launches that are not in a captured graph
		step := (100_000 + 3*30_000.0) / 2
		if want := (step + 5000*7*0.75) / 0.8; !near(b.ForwardHost, want) {
			t.Errorf("the host takes %v for forward, want %.0f", b.ForwardHost, want)
		}
		if want := (step + 5000*(2*7+5)*0.75) / 0.8; !near(b.BackwardHost, want) {
			t.Errorf("the host takes %v for backward, want %.0f", b.BackwardHost, want)
		}
	}
}

// Forward computes each sample and moves activations and parameters; backward launches and moves twice that.
// The optimizer reads gradients and reads and writes parameters and state. Each kind of limit is tried:
// launches, products and memory.
func TestAcceleratorsPayForPasses(t *testing.T) {
	for name, change := range map[string]func(l *model.Layout){
		"launches":    func(l *model.Layout) { l.Params, l.Cost.Kernels = 100, 7000 },
		"products":    func(l *model.Layout) { l.Cost.ForwardFLOPs, l.Cost.BackwardFLOPs = 1e12, 3e12 },
		"memory":      func(l *model.Layout) { l.Params, l.Cost.ActivationBytes = 1e9, 1e8 },
		"activations": func(l *model.Layout) { l.Params, l.Cost.ActivationBytes = 1, 1e9 },
		"tensors":     func(l *model.Layout) { l.Params, l.Tensors = 10, make([]model.Tensor, 5000) },
		"none":        func(l *model.Layout) { l.Tensors = nil },
	} {
		for _, precision := range []device.Precision{device.FP32, device.Half} {
			r, j, layout, w := priced(t)
			change(layout)
			r.Precision = precision
			p := NewPrices(r, j, layout, w, true)
			b, a, params := p.Batch(100), r.Devices[0], layout.Params
			state := j.Model.Optimizer.StateSize(params)
			activations := layout.Cost.ActivationBytes * 100
			if precision == device.Half {
				activations = layout.Cost.ActivationBytes * 50
			}
			bytes, launches := activations+unit.Bytes(4*params), max(1, len(layout.Tensors))
			for _, x := range []struct {
				what string
				got  unit.Tick
				want device.Kernel
			}{
				{"forward", b.Forward, device.Kernel{Launches: layout.Cost.Kernels,
					FLOPs: 100 * layout.Cost.ForwardFLOPs, Bytes: bytes, Precision: precision}},
				{"backward", b.Backward, device.Kernel{Launches: layout.Cost.Kernels + layout.Cost.Kernels,
					FLOPs: 100 * layout.Cost.BackwardFLOPs, Bytes: bytes + bytes, Precision: precision}},
				{"update", b.Update, device.Kernel{Launches: launches, FLOPs: unit.FLOPs(params + params),
					Bytes: unit.Bytes(12*params + 8*state)}},
				{"sweep", p.SweepTime(0, 3), device.Kernel{Launches: 1, Bytes: unit.Bytes(12 * params),
					Precision: precision}},
			} {
				if want := a.Time(x.want); x.got != want || want <= 0 {
					t.Errorf("%s of %s in %v: %v, want %v", x.what, name, precision, x.got, want)
				}
			}
			if state == 0 {
				t.Error("an optimizer without state")
			}
		}
	}
}

// A dense PS adds up the pushes that it applies together, and updates once: half of a copy for each byte that
// is read or written.
func TestPushesAreAddedUpAndAppliedOnce(t *testing.T) {
	r, j, layout, w := priced(t)
	p := NewPrices(r, j, layout, w, true)
	const params = 1_000_000
	update := r.PSHost.CopyCost(unit.Bytes((12*params + 8*j.Model.Optimizer.StateSize(params)) / 2))
	add := r.PSHost.CopyCost(4 * params)
	for pushes, want := range []device.HostCost{{}, update, update.Add(add), update.Add(add).Add(add)} {
		if got := p.ApplyPush(4*params, pushes); got != want {
			t.Errorf("%d pushes: %+v, want %+v", pushes, got, want)
		}
	}
}

// Puts that are merged by step are added up, and each row is updated once; else each put is applied. No more
// rows are updated than a step has.
func TestPutsOfAStep(t *testing.T) {
	for _, merges := range []bool{false, true} {
		r, j, layout, w := priced(t)
		j.Training.Mode, j.Training.Merge = job.Sync, map[bool]string{false: job.MergeRank}[merges]
		if j.MergeByStep() != merges {
			t.Fatalf("merging by step: %v, want %v", j.MergeByStep(), merges)
		}
		p := NewPrices(r, j, layout, w, true)
		for _, puts := range [][]float64{{10, 20, 30}, {500, 700, 600}} {
			sum := puts[0] + puts[1] + puts[2]
			want := p.Apply(puts[0], 100).Add(p.Apply(puts[1], 100)).Add(p.Apply(puts[2], 100))
			if merges {
				want = p.Apply(min(sum, p.Batch(300).HottestRows), 300).Add(
					r.PSHost.CopyCost(unit.Bytes(4 * 16 * sum)))
			}
			if got := p.ApplyStep(300, puts); got != want {
				t.Errorf("merged %v, puts of %v rows: %+v, want %+v", merges, puts, got, want)
			}
		}
	}
}

// Rank r has the samples s with r·n ≤ s·ranks < (r+1)·n … rounded down, and every sample has one rank.
func TestRanksDivideABatch(t *testing.T) {
	r, j, layout, w := priced(t)
	for ranks := 1; ranks < 6; ranks++ {
		j.Roles.Ranks = ranks
		p := NewPrices(r, j, layout, w, true)
		for n := range 20 {
			for rank := range ranks {
				first, end := int(float64(rank)*float64(n)/float64(ranks)+1e-9),
					int(float64(rank+1)*float64(n)/float64(ranks)+1e-9)
				if got := p.Samples(rank, n); int(got) != end-first {
					t.Errorf("rank %d of %d has %d of %d samples, want %d", rank, ranks, got, n, end-first)
				}
			}
		}
	}
}

// Buckets are final after the share of the parameters up to their end.
func TestBucketsEndWithTheirParameters(t *testing.T) {
	layout := &model.Layout{Params: 10, Buckets: []model.Bucket{{Lo: 6, Hi: 10}, {Lo: 5, Hi: 6}, {Lo: 0,
		Hi: 5}}}
	if got := BucketEnds(layout); !slices.Equal(got, []float64{0.4, 0.5, 1}) {
		t.Errorf("%v", got)
	}
}

// Each size and each device has its own prices.
func TestBatchesOfOtherSizesAndDevicesHaveOtherPrices(t *testing.T) {
	r, j, layout, w := priced(t)
	slow := *r.Devices[0]
	slow.Launch *= 10
	r.Devices = append(r.Devices, &slow)
	p := NewPrices(r, j, layout, w, true)
	for range 2 { // the second time from memory
		for on, a := range r.Devices {
			for _, samples := range []int32{100, 50} {
				b := p.BatchOn(on, samples)
				want := a.Time(device.Kernel{Launches: 7, FLOPs: unit.FLOPs(samples) * 1e6,
					Bytes: 5000*unit.Bytes(samples) + 4e6, Precision: r.Precision})
				if b.Samples != samples || b.Forward != want {
					t.Errorf("%d samples on device %d: %d, forward in %v, want %v", samples, on, b.Samples,
						b.Forward,
						want)
				}
			}
		}
	}
}

// Lines of 64 bytes that a row reaches behind its first, over all places at which rows can begin.
func TestLinesBehindTheFirst(t *testing.T) {
	for _, row := range []unit.Bytes{8, 24, 64, 72, 96, 100, 256} {
		for _, bytes := range []unit.Bytes{1, 8, row} {
			lines := 0
			for i := range 64 {
				first := int(row) * i / 64
				last := (int(row)*i + int(bytes) - 1) / 64
				lines += last - first
			}
			if got, want := linesBehind(bytes, row), float64(lines)/64; got != want {
				t.Errorf("%d bytes of rows of %d: %v lines, want %v", bytes, row, got, want)
			}
		}
	}
}

// One state machine stands for all PSs where they are folded; else there is one for each.
func TestFoldedPSsAreOne(t *testing.T) {
	r, j, layout, w := priced(t)
	r.EmbeddingPSs.PerHost = 3
	for _, fold := range []bool{true, false} {
		want := r.PSHostCount * 3
		p := NewPrices(r, j, layout, w, fold)
		if p.Plan.Servers() != want || (fold && p.PSStates != 1) || (!fold && p.PSStates != want) {
			t.Errorf("fold %v: %d of %d PSs", fold, p.PSStates, p.Plan.Servers())
		}
	}
}

// The price of a cluster is that of its accelerators, whole servers and hosts; a part without a price is
// named.
func TestClustersCostTheirParts(t *testing.T) {
	c := job.GoogleCloudCluster()
	c.Mixed = []job.MixedServers{{Accelerator: "V100-SXM2-32GB", Servers: 1}}
	h, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	price := func(d unit.Dollars) quantity.Value[unit.Dollars] {
		return quantity.Value[unit.Dollars]{Low: d / 2, Mid: d, High: 2 * d, Kind: quantity.Default}
	}
	h.Cluster.AcceleratorsPerServer = 8
	h.Accelerator.DollarsPerHour, h.Mixed[0].Accelerator.DollarsPerHour = price(3), price(5)
	h.Server.DollarsPerHour = price(100)
	h.EmbeddingWorkers.Host.DollarsPerHour, h.EmbeddingWorkers.Count.Mid = price(1000), 2
	h.EmbeddingPSs.Host.DollarsPerHour, h.EmbeddingPSs.Count.Mid = price(10_000), 3
	h.Loaders.Host.DollarsPerHour, h.Loaders.Count.Mid = price(100_000), 4
	for _, x := range []struct {
		accelerators, densePSs int
		want                   unit.Dollars
	}{
		{17, 0, 9*3 + 8*5 + 3*100 + 2*1000 + 3*10_000 + 4*100_000},
		{16, 2, 8*3 + 8*5 + 2*100 + 2*1000 + 5*10_000 + 4*100_000},
		{4, 0, 4*5 + 100 + 2*1000 + 3*10_000 + 4*100_000}, // all in the mixed server
	} {
		if got, missing := h.DollarsPerHour(x.accelerators, x.densePSs); got != x.want || missing != "" {
			t.Errorf("%+v: %v, without %s", x, got, missing)
		}
	}
	h.PayShare(0.5)
	all := unit.Dollars(9*3+8*5+3*100)/2 + 2*1000 + 3*10_000 + 4*100_000
	if got, _ := h.DollarsPerHour(17, 0); got != all || h.Server.DollarsPerHour.Low != 25 {
		t.Errorf("half for accelerators and servers: %v, want %v", got, all)
	}
	h.Loaders.Host.DollarsPerHour, h.Loaders.Host.Name = quantity.Value[unit.Dollars]{}, "n1"
	if got, missing := h.DollarsPerHour(17, 0); got != 0 || missing != "loaders (n1)" {
		t.Errorf("%v, without %s", got, missing)
	}
	h.Loaders.Count.Mid = 0
	h.System.Architecture = system.StepGraph
	if got, missing := h.DollarsPerHour(17, 0); got != unit.Dollars(9*3+8*5+3*100)/2 || missing != "" {
		t.Errorf("of a step graph: %v, without %s", got, missing)
	}
	if got, missing := ThisMachine(MeasuredMachine{Cores: 1, CopySpeed: 1, RowTime: 1}).DollarsPerHour(1,
		0); got != 0 || missing != "this machine" {
		t.Errorf("of this machine: %v, without %s", got, missing)
	}
}

// Recorded work of the same size takes its time, and of another size time in proportion.
func TestRecordedTimesOfWork(t *testing.T) {
	r := &RecordedTimes{Work: []RecordedWork{{role.Forward, 100, 1000}, {role.Forward, 50, 400},
		{role.Split, 0, 70}}}
	for _, x := range []struct {
		work  role.Work
		takes unit.Tick
		known bool
	}{
		{role.Work{Kind: role.Forward, Samples: 100}, 1000, true},
		{role.Work{Kind: role.Forward, Samples: 50}, 400, true},
		{role.Work{Kind: role.Forward, Samples: 25}, 250, true}, // by the first
		{role.Work{Kind: role.Split, Samples: 9}, 70, true},
		{role.Work{Kind: role.Backward, Samples: 100}, 0, false},
	} {
		if takes, known := r.WorkTime(x.work); takes != x.takes || known != x.known {
			t.Errorf("%+v: %v, %v", x.work, takes, known)
		}
	}
	if takes, known := (*RecordedTimes)(nil).WorkTime(role.Work{}); takes != 0 || known {
		t.Error("work of no recording has a time")
	}
	m := MeasuredMachine{Cores: 1, CopySpeed: 1, RowTime: 1, Recorded: r, TimerLate: 5}
	if h := ThisMachine(m); h.Recorded() != r || h.TimerLate() != 5 {
		t.Errorf("%v, %v", h.Recorded(), h.TimerLate())
	}
	if h := h100s(t); h.Recorded() != nil || h.TimerLate() != 0 {
		t.Error("a cluster has recorded times")
	}
}

// An instance has the threads of its system or, where that does not say how many, its share of the cores.
func TestThreadsOfAnInstance(t *testing.T) {
	for _, x := range []struct {
		threads, width, cores, instances int
		want                             Service
	}{
		{0, 0, 12, 3, Service{4, true, 1, 0.5}}, {0, 2, 12, 0, Service{12, true, 2, 0.5}},
		{0, 1, 2, 5, Service{1, true, 1, 0.5}}, {3, 4, 12, 1, Service{3, false, 4, 0.5}},
		{1, 1, 12, 1, Service{1, false, 1, 0.5}},
	} {
		var s system.Service
		s.Threads.Mid, s.Width.Mid, s.Jitter.Mid = x.threads, x.width, 0.5
		if got := service(&s, &device.Host{Cores: x.cores}, x.instances); got != x.want {
			t.Errorf("%+v: %+v", x, got)
		}
	}
}

// What a probe measures is what its machine costs, as the comment of ThisMachine says.
func TestMeasuredMachineCostsWhatWasMeasured(t *testing.T) {
	m := MeasuredMachine{Cores: 3, Memory: 1 << 30, Multiply: 1e9, CopySpeed: 4e9, RowTime: 100,
		CreateTime: 500, MessageTime: 1000, EmbeddingWorkers: 2, EmbeddingPSs: 5, Date: "2026-11"}
	h := ThisMachine(m)
	host, s, value := &h.EmbeddingPSs.Host, &h.System, 1.0 // nanoseconds to move 4 bytes
	if host.Bandwidth.Mid != 24e9 || host.RowsPerSec.Mid < 2.99e7 || host.RowsPerSec.Mid > 3.01e7 ||
		h.Accelerator.MemoryBandwidth.Mid != 8e9 || h.Accelerator.PeakFP32.Mid != 1e9 {
		t.Errorf("%+v, %+v", host, h.Accelerator)
	}
	if h.EmbeddingWorkers.PerHost != 2 || h.EmbeddingPSs.PerHost != 5 || h.Loaders.PerHost != 1 ||
		h.EmbeddingPSs.Count.Mid != 1 || h.Cluster.AcceleratorsPerServer != 1 {
		t.Errorf("%+v", h)
	}
	if none := ThisMachine(MeasuredMachine{Cores: 1, CopySpeed: 1,
		RowTime: 1}); none.EmbeddingPSs.PerHost != 1 ||
		none.EmbeddingWorkers.PerHost != 1 {
		t.Errorf("%+v", none)
	}
	ps, ew := &s.EmbeddingPS, &s.EmbeddingWorker
	if s.Messages.Time.Mid != 500 || ps.Create.RowTime.Mid != 500 || ps.Read.RowTime.Mid != 100 ||
		ps.Update.RowTime.Mid != 100 || float64(ps.Read.ValueTime.Mid) != 2*value ||
		float64(ps.Update.ValueTime.Mid) != 4*value || float64(ew.PoolValueTime.Mid) != value ||
		float64(ew.MergeValueTime.Mid) != value {
		t.Errorf("%+v", s)
	}
	m.MessageWork = 600
	m.Access = &MeasuredAccess{Read: 50, Update: 80, Memory: device.Host{MemoryLatency: 100,
		LinesInFlight: 8}}
	h = ThisMachine(m)
	host, ps = &h.EmbeddingPSs.Host, &h.System.EmbeddingPS
	if h.System.Messages.Time.Mid != 300 || ps.Read.RowTime.Mid != 50 || ps.Update.RowTime.Mid != 80 ||
		ps.Read.ValueTime.Mid != 0 || host.RowsPerSec.Mid < 2.39e8 || host.RowsPerSec.Mid > 2.41e8 ||
		host.Sockets.Mid != 1 {
		t.Errorf("%+v, %+v", host, ps)
	}
}
