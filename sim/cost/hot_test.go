package cost

import (
	"errors"
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/unit"
	network "tandem/sim/model"
)

// warm is a workload of 20 ids a sample in two slots of 10, with 5 hot rows of 4 values.
func warm() Workload {
	return Workload{
		Occurrences: 20, Distinct: func(samples int) float64 { return 15 * float64(samples) },
		Skew:   func(int, int) float64 { panic("the skew of all rows was asked for") },
		RowDim: 4, RowBytes: 16, RowState: 16, Slots: 2, Rows: 1005, Created: 1005, Trained: 1000,
		Hot: &HotRows{
			Rows: 5, Values: 20, Skew: func(int, int) float64 { return 1.25 },
			Batch: func(samples int) HotBatch {
				n := float64(samples)
				return HotBatch{Rows: 5, Cold: n, Occurrences: 3 * n, Pooled: 6 * n, Bags: n, ToRank: 4 * n,
					ToEW: 8 * n}
			},
		},
	}
}

// In a batch of 10 samples, PSs have the 145 rows of 150 that are not hot, 72.5 each of two, the fuller one a
// quarter more. The bytes of the messages of the rank are counted by hand.
func TestSizesOfABatchWithHotRows(t *testing.T) {
	j, w := job.Default(), warm()
	j.Wire.Precision = compress.FP32
	layout := &model.Layout{EmbeddingWidth: 8}
	s := newBatchSize(&j, &w, layout, 10, shard.Rows(2), 2)
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"rows on PSs", s.DistinctRows, 145}, {"rows on the fuller PS", s.HottestRows, 90.625},
		{"bytes of signs", float64(s.Routed.SignBytes[1]), 8 * 72.5},
		{"bytes of rows", float64(s.Routed.ValueBytes[0]), 4 * 4 * 72.5},
		{"bytes of ids", float64(s.IDBytes), 8 * 200},
		// 40 pooled values and 10 rows of 4; 5 hot rows, 60 rows of bags, 2 · 11 ends.
		{"bytes of embeddings", float64(s.EmbeddingBytes), 4*(40+10*4) + 4*(5+60+22)},
		{"bytes of gradients", float64(s.GradientBytes), 4 * 80},
		// 1,000 rows are created in 100 batches of 145 rows.
		{"new rows", s.NewRows, 1000.0 / 100 / 145},
		{"bytes of the bucket", float64(w.HotBucket()), 4 * (20 + 5)},
	} {
		if math.Abs(x.got-x.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", x.what, x.got, x.want)
		}
	}
	w.Skew, w.Hot.Rows = func(int, int) float64 { return 1 }, 0
	if s := newBatchSize(&j, &w, layout, 10, shard.Rows(2), 2); s.DistinctRows != 150 ||
		s.EmbeddingBytes != 4*8*10 || s.GradientBytes != 4*8*10 || w.HotBucket() != 0 {
		t.Errorf("no row is hot: %+v", s)
	}
	// A byte for each of 3 maxima of a sample.
	for hot, want := range map[float64][2]unit.Bytes{0: {4*8*10 + 30, 4*8*10 + 30},
		5: {4*(40+10*4) + 4*(5+60+22) + 30, 4*80 + 30}} {
		w.Hot.Rows, w.Winners = hot, 3
		s := newBatchSize(&j, &w, layout, 10, shard.Rows(2), 2)
		if got := [2]unit.Bytes{s.EmbeddingBytes, s.GradientBytes}; got != want {
			t.Errorf("%v hot rows, with maxima: %v, want %v", hot, got, want)
		}
	}
}

// Weights of ids travel with them, of 4 bytes each, however ids are written.
func TestWeightsTravelWithIDs(t *testing.T) {
	j, layout, w := job.Default(), &model.Layout{EmbeddingWidth: 8}, warm()
	before := newBatchSize(&j, &w, layout, 10, shard.Rows(2), 2)
	w.Weights = w.Occurrences / 2
	after := newBatchSize(&j, &w, layout, 10, shard.Rows(2), 2)
	if more := after.IDBytes - before.IDBytes; more != unit.Bytes(4*10*w.Weights) || more == 0 {
		t.Errorf("%v bytes more of %v weights a sample", more, w.Weights)
	}
	if w.Weights = w.Occurrences + 1; w.Validate() == nil {
		t.Error("more weights than ids are taken")
	}
}

// warmPrices returns the prices of warm on hardware, and those of the same job without hot rows.
func warmPrices(h *Hardware) (hot, plain *Prices) {
	j := job.Default()
	layout := &model.Layout{Params: 1, EmbeddingWidth: 8, Cost: model.Cost{Kernels: 1, ForwardFLOPs: 1,
		BackwardFLOPs: 2, ActivationBytes: 8}}
	of := func(w Workload) *Prices {
		w.Skew = nil
		return NewPrices(h.Resolve(), &j, layout, &w, true)
	}
	without := warm()
	without.Hot = nil
	return of(warm()), of(without)
}

// An EW finds the hot rows of 200 ids, merges 170, and converts what it sends: 80 values instead of 80, and
// 80 gradients.
func TestEmbeddingWorkersPayForHotRows(t *testing.T) {
	c := job.PersiaCluster()
	c.System = "tandem"
	h, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	hot, plain := warmPrices(h)
	ew, speed := &h.System.EmbeddingWorker, hot.EWHost.CoreSpeed
	b := hot.Batch(10)
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"split", float64(b.Split.Core - plain.Batch(10).Split.Core), 200 * float64(ew.HotIDTime.Mid)},
		{"pool", float64(b.Pool.Core - plain.Batch(10).Pool.Core), 0},
		{"merge", float64(hot.Merge(10, 145).Core - plain.Merge(10, 145).Core),
			-30 * 4 * float64(ew.MergeValueTime.Mid)},
	} {
		if math.Abs(x.got-x.want/speed) > 2 {
			t.Errorf("%s takes %v ns longer, want %v", x.what, x.got, x.want/speed)
		}
	}
	if ew.HotIDTime.Mid == 0 || b.Pool.Memory <= plain.Batch(10).Pool.Memory {
		t.Error("hot rows cost the EW nothing")
	}
}

// On an accelerator, kernels gather 60 rows for 10 bags, sort and merge 30 gradients, and update 5 rows; they
// also move what comes from and goes to the EW. The host thread launches them.
func TestAcceleratorsPayForHotRows(t *testing.T) {
	c := job.PersiaCluster()
	h, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	hot, plain := warmPrices(h)
	a, b := hot.Devices[0], hot.Batch(10)
	kernels := func(lookups, distinct float64) (forward, backward unit.Tick) {
		e := hot.hotKernels(a, lookups, distinct, 10)
		look, merge := a.Lookup(e), a.MergeRows(e)
		look.Bytes, look.Launches = look.Bytes+8*40, 2
		merge.Bytes, merge.Launches = merge.Bytes+8*80, 2
		return a.Time(look), a.Time(a.SortIDs(e)) + a.Time(merge)
	}
	forward, _ := kernels(60, 15)
	_, backward := kernels(30, 5)
	if b.HotForward != forward || b.HotBackward != backward || plain.Batch(10).HotForward != 0 {
		t.Errorf("%v forward and %v backward, want %v and %v", b.HotForward, b.HotBackward, forward, backward)
	}
	step := a.StepRows(hot.hotKernels(a, 5, 5, 5))
	step.Bytes, step.Launches = step.Bytes+4*5, 2
	if got := hot.HotUpdate(0, 100); got != a.Time(step) || plain.HotUpdate(0, 100) != 0 {
		t.Errorf("the optimizer takes %v, want %v", got, a.Time(step))
	}
	launch := float64(h.System.NNWorker.LaunchTime.Mid) * (1 - h.System.NNWorker.Captured.Mid) /
		hot.ServerHost.CoreSpeed
	// 2 kernels; 3 of sorting and 1 for its pass over keys of 3 bits, 2 of merging, 2 of the optimizer.
	for _, x := range [][2]float64{{float64(b.ForwardHost - plain.Batch(10).ForwardHost), 2},
		{float64(b.BackwardHost - plain.Batch(10).BackwardHost), 8}} {
		if math.Abs(x[0]-x[1]*launch) > 2 {
			t.Errorf("launches take %v ns longer, want %v", x[0], x[1]*launch)
		}
	}
}

// On a measured machine, a core does it at the prices of EWs and PSs.
func TestMeasuredMachinesPayForHotRows(t *testing.T) {
	h := ThisMachine(MeasuredMachine{Cores: 2, Memory: 1 << 30, Multiply: 1e9, CopySpeed: 4e9, RowTime: 100,
		CreateTime: 500, MessageTime: 1000, Date: "2026-11"})
	p, _ := warmPrices(h)
	ew, ps, b := &h.System.EmbeddingWorker, &h.System.EmbeddingPS, p.Batch(10)
	pool, merge := float64(ew.PoolValueTime.Mid)*4*60, float64(ew.MergeValueTime.Mid)*4*30
	row := func(times ...unit.Nanos) float64 { return 5 * float64(times[0]+4*times[1]) }
	for _, x := range []struct {
		what string
		got  unit.Tick
		want float64
	}{
		{"forward", b.HotForward, pool + row(ps.Read.RowTime.Mid, ps.Read.ValueTime.Mid)},
		{"backward", b.HotBackward, merge},
		{"update", p.HotUpdate(0, 100), row(ps.Update.RowTime.Mid, ps.Update.ValueTime.Mid)},
	} {
		if d := float64(x.got) - x.want/p.EWHost.CoreSpeed; d < 0 || d > 2 {
			t.Errorf("%s takes %v, want %v ns", x.what, x.got, x.want)
		}
	}
}

// A model of one table of two ids a sample, with two rows that 80 % of the ids name and two others, and of a
// second table without frequent rows. The hot bags of a sample are those with a hot id: 96 % of them, and
// 64 % are wholly hot. A sample has a cold row in a bag with a hot one with probability 2 · 0.8 · 0.1.
func TestHotRowsOfAModel(t *testing.T) {
	zero := 0.0
	m := &network.Model{Name: "small", Labels: 1, Groups: []network.Group{
		{Name: "a", Rows: 4, Dim: 8, IDs: 2, Popularity: network.Popularity{
			Pieces: []network.Piece{{Rows: 0.5, IDs: 0.8}, {Rows: 0.5, IDs: 0.2}}}},
		{Name: "b", Rows: 1e6, Dim: 8, IDs: 1, Popularity: network.Popularity{Exponent: &zero}},
	}}
	w := ModelWorkload(m, network.Float32, job.Hot{Share: 0.5})
	b := w.Hot.Batch(10)
	want := HotBatch{Rows: 2 * (1 - math.Pow(0.6, 20)), Cold: 2 * (1 - math.Pow(0.84, 10)), Occurrences: 16,
		Pooled: 19.2, Bags: 9.6, ToRank: 10 * 8 * (1 + 0.04), ToEW: 10 * 8 * (1 + 0.36)}
	for _, x := range [][2]float64{{w.Hot.Rows, 2}, {w.Hot.Values, 16}, {b.Rows, want.Rows},
		{b.Cold, want.Cold}, {b.Occurrences, want.Occurrences}, {b.Pooled, want.Pooled}, {b.Bags, want.Bags},
		{b.ToRank, want.ToRank}, {b.ToEW, want.ToEW}} {
		if math.Abs(x[0]/x[1]-1) > 0.02 { // cold rows are drawn one by one here, not two by two
			t.Errorf("%+v of %+v, want %+v", b, w.Hot, want)
		}
	}
	if got := ModelWorkload(m, network.Float32, job.Hot{Share: 0.5, Most: 1}); got.Hot.Rows != 1 {
		t.Errorf("%v hot rows, want at most 1", got.Hot.Rows)
	}
	if got := ModelWorkload(m, network.Float32, job.Hot{}); got.Hot != nil {
		t.Errorf("a job without hot rows has %v", got.Hot.Rows)
	}
}

// Rows and ids of Criteo's model are on ranks or on PSs; without its hot rows, a PS is less uneven.
func TestHotRowsLeaveThePSs(t *testing.T) {
	m, err := network.Load("criteo")
	if err != nil {
		t.Fatal(err)
	}
	w := ModelWorkload(m, network.Float32, job.Hot{Share: 0.01})
	b := w.Hot.Batch(1000)
	if !(w.Hot.Rows > 100 && b.Rows <= w.Hot.Rows && b.Rows > 0.9*w.Hot.Rows) ||
		math.Abs(b.Occurrences-b.Pooled) > 1e-6 || b.Cold > 1e-6 { // one id a bag
		t.Errorf("%v hot rows, a batch has %+v", w.Hot.Rows, b)
	}
	if got, want := b.ToRank, float64(w.RowDim)*(1000*w.Occurrences-b.Occurrences); math.Abs(got-want) > 1 ||
		math.Abs(b.ToEW-b.ToRank) > 1e-6 {
		t.Errorf("%v values to the rank, want %v", got, want)
	}
	if before, after := w.Skew(1000, 50), w.Hot.Skew(1000, 50); !(after >= 1 && after < before) {
		t.Errorf("the hottest PS has %v times the mean, %v times without hot rows", before, after)
	}
}

// Apart from the most frequent rows, the others keep their relative popularity.
func TestPopularityBeyondHotRows(t *testing.T) {
	m, err := network.Load("criteo")
	if err != nil {
		t.Fatal(err)
	}
	table := m.Tables()[2]
	const hot = 10
	all, ids := 0.0, 0.0
	rest := beyond(&table, hot)
	for _, g := range rest {
		all, ids = all+g.IDs*g.Probability, ids+g.IDs
	}
	if math.Abs(all-1) > 1e-9 || math.Abs(ids-(table.Rows-hot)) > 0.5 {
		t.Errorf("%v ids have the probability %v, want %v and 1", ids, all, table.Rows-hot)
	}
	f := table.Frequencies
	want := f.Probability(hot+1) / f.DistinctBeyond(1, hot)
	if math.Abs(rest[0].Probability/want-1) > 1e-4 {
		t.Errorf("the most frequent of the others has the probability %v, want %v", rest[0].Probability, want)
	}
}

// Frequent rows follow from popularity unless the ids of a sample do from each other.
func TestModelsWithDerivedIDs(t *testing.T) {
	for name, want := range map[string]string{"criteo": "", "mlperf-dcnv2": "rows.hot: the ids of a sample"} {
		m, err := network.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		err = CheckHotModel(m)
		if (err != nil) != (want != "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// 10¹³ hot rows of 32 B, with as much of gradients, do not fit an accelerator. They take no memory of PSs, in
// which they do not fit either.
func TestHotRowsTakeMemoryOfTheAccelerator(t *testing.T) {
	c := job.PersiaCluster()
	h, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	j, w := job.Default(), warm()
	if err := CheckMemory(h.Resolve(), &j, &model.Layout{}, &w); err != nil {
		t.Error(err)
	}
	w.Hot.Rows, w.Hot.Values, w.Rows = 1e13, 4e13, 1e13
	err = CheckMemory(h.Resolve(), &j, &model.Layout{}, &w)
	if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "1e+13 hot rows") {
		t.Errorf("%v, want that hot rows do not fit", err)
	}
}

// Of 5 hot rows of 40 B with state and sign, two PS hosts read half, and write as many. Both servers of 12
// ranks, 8 a server, get all, at the rate of the slower end: a PS sends 100 B to each. Then the rows that are
// no longer hot go back. On a measured machine they are copied. The samples are counted by reading them and
// resolving their 20 ids.
func TestRowsThatChangeTheirOwners(t *testing.T) {
	c := job.PersiaCluster()
	c.AcceleratorsPerServer = 8
	h, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := warmPrices(h)
	j := p.Job
	j.Roles.Ranks, p.PSHostCount = 12, 2
	p.PSHost.Network, p.ServerHost.Network = 1e3, 1e9 // a PS is slow, so that its wire takes most of the time
	ps, share := p.ReadRows(2.5, 1).Add(p.Apply(2.5, 1)), float64(p.NetworkShare)
	want := max(ps.Core.Scale(1/float64(p.PSHost.Cores)), ps.Memory).Seconds() + (2*100+100)/(1e3*share) +
		2*(p.NetworkWire.Latency.Seconds()+p.HostLinkWire.Time(200).Seconds())
	if got := p.MoveHotRows().Seconds(); math.Abs(got/want-1) > 1e-6 {
		t.Errorf("rows move in %v s, want %v", got, want)
	}
	p.PSHost.Network, p.ServerHost.Network = 1e9, 1e3
	if got := p.MoveHotRows().Seconds(); math.Abs(got-400/(1e3*share)) > 1e-3 {
		t.Errorf("rows move in %v s to slow servers, want %v", got, 400/(1e3*share))
	}
	n := j.Training.GlobalBatch
	read := p.ReadBatch(n).Core.Seconds()
	ids := float64(p.System.EmbeddingWorker.IDTime.Mid) * 20 * float64(n) * 1e-9 / p.LoaderHost.CoreSpeed
	if got := p.CountHotRows(3 * n).Seconds(); math.Abs(got/(3*(read+ids))-1) > 1e-6 {
		t.Errorf("%v s to count, want %v", got, 3*(read+ids))
	}
	measured, _ := warmPrices(ThisMachine(MeasuredMachine{Cores: 2, Memory: 1 << 30, Multiply: 1e9,
		CopySpeed: 4e9, RowTime: 100, CreateTime: 500, MessageTime: 1000, Date: "2026-11"}))
	work := measured.ReadRows(5, 1).Add(measured.Apply(5, 1))
	if d := measured.MoveHotRows() - max(work.Core/2, work.Memory) - 100; d < 0 || d > 2 {
		t.Errorf("rows move %v ns later than work and a copy of 400 B at 4 GB/s", d)
	}
	measured.Workload.Hot.Rows = 0
	if got := measured.MoveHotRows(); got != 0 {
		t.Errorf("no rows move in %v", got)
	}
}
