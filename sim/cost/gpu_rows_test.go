package cost

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/shard"
	"tandem/algo/unit"
)

// onGPUs is a job of 100 samples a rank whose rows are on GPUs, with their rows and network.
func onGPUs(ranks int) (job.Job, *model.Layout, Workload) {
	j := job.Default()
	j.Training.Mode, j.Roles.Ranks, j.Training.GlobalBatch, j.Training.Groups = job.Sync, ranks, 100*ranks, 8
	j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA = job.RowsOnGPU, 10_000, true
	layout := &model.Layout{Params: 1000, EmbeddingWidth: 3 * j.Model.Dim(), Cost: model.Cost{Kernels: 1,
		ForwardFLOPs: 1e6, BackwardFLOPs: 2e6, ActivationBytes: 8}}
	return j, layout, Workload{Occurrences: 6, Slots: 3, Labels: 1, RowDim: j.Model.Dim(), RowBytes: 64,
		RowState: 64, Rows: 5000, Created: 5000, Trained: 100_000,
		Distinct: func(samples int) float64 { return math.Min(5000, 4*float64(samples)) }}
}

// pricesOnGPUs returns the prices of such a job on GPUs of an H100's kind.
func pricesOnGPUs(t *testing.T, j job.Job, layout *model.Layout, w Workload) *Prices {
	t.Helper()
	return NewPrices(h100s(t).Resolve(), &j, layout, &w, true)
}

// h100s is Persia's cluster with other accelerators.
func h100s(t *testing.T) *Hardware {
	t.Helper()
	c := job.PersiaCluster()
	c.SetAccelerator("H100-SXM5")
	c.System = "tandem"
	h, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A batch of 100 samples names 600 rows, of which 400 are distinct: a rank sends 8 bytes of each, and its 16
// values twice. PSs are asked for nothing, the EW passes 8 bytes of each id on, and no gradient leaves the
// rank.
func TestSizesOfABatchWithRowsOnGPUs(t *testing.T) {
	j, layout, w := onGPUs(4)
	s := newBatchSize(&j, &w, layout, 100, j.ShardPlan(), 2)
	if s.DistinctRows != 0 || s.HottestRows != 0 || s.Routed.Rows[0] != 0 || s.Routed.SignBytes[1] != 0 ||
		s.EmbeddingBytes != 8*600 || s.GradientBytes != 0 ||
		s.onGPU != (gpuBatch{600, 400, 5000. / 1000 / 400}) {
		t.Errorf("%+v", s)
	}
	b := pricesOnGPUs(t, j, layout, w).Batch(100)
	if b.Rows.Signs != 8*400 || b.Rows.Values != 64*400 || b.Rows.Staged != 8*750+4*(300+5) {
		t.Errorf("%+v; want signs of 400 rows, and room for a quarter more than 600", b.Rows)
	}
	checkHostTimes(t, pricesOnGPUs(t, j, layout, w), b.Rows)
	if b.Split.Core != 0 || b.Pool.Core != 0 || b.Pool.Memory != 0 {
		t.Errorf("the EW splits for %v and pools for %v", b.Split, b.Pool)
	}
	plain := j
	plain.Rows.Placement = ""
	if b := pricesOnGPUs(t, plain, layout, w).Batch(100); b.Rows != nil || b.Pool.Core == 0 {
		t.Error("rows on PSs have prices of GPUs")
	}
	if size := newBatchSize(&plain, &w, layout, 100, shard.Rows(2), 2); size.DistinctRows != 400 {
		t.Errorf("%v rows on PSs, want 400", size.DistinctRows)
	}
}

// checkHostTimes checks how long the host takes for a batch of 600 named rows in two groups: a launch for
// each kernel, of which a sort of up to 938 keys has six and one of owners three, 3 ns for an id, and waits.
func checkHostTimes(t *testing.T, p *Prices, g *GPURows) {
	t.Helper()
	host := func(launches, waits int) float64 {
		n, m := &p.System.NNWorker, &p.System.Messages
		return (float64(launches)*float64(n.LaunchTime.Mid) + float64(waits)*float64(m.Time.Mid)) /
			p.ServerHost.CoreSpeed
	}
	ids := 600 * float64(p.System.NNWorker.SignTime.Mid) / p.ServerHost.CoreSpeed
	link := func(numbers unit.Bytes) float64 { return float64(p.HostLinkWire.Time(4 * numbers)) }
	exchange := float64(p.System.Collectives.LaunchTime.Mid)
	for _, x := range []struct {
		what string
		got  unit.Tick
		want float64
	}{
		{"find", g.Find.Host, host(1+2+3+5, 0) + ids}, {"answer", g.Answer.Host, host(1+3, 0)},
		{"pool", g.Pool.Host, host(2, 0)}, {"sum", g.Sum.Host, host(6+1+1, 0)},
		{"update", g.Update.Host, host(6+1+1, 1) + link(1)},
		{"before signs", g.BeforeSigns, exchange + host(0, 4) + 2*link(4)},
		{"before values", g.BeforeValues, exchange + host(0, 2) + link(3)},
		{"before sums", g.BeforeSums, exchange + host(0, 2)},
	} {
		if math.Abs(float64(x.got)-x.want) > 10 || ids < 1000 {
			t.Errorf("%s: the host takes %v, want %.0f ns", x.what, x.got, x.want)
		}
	}
}

// A hash deals rows to GPUs unevenly: the fullest has what it has in the mean of many deals.
func TestTheFullestGPU(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ rows, gpus int }{{85, 8}, {400, 2}, {5000, 64}, {7, 1}} {
		w := Workload{Distinct: func(int) float64 { return float64(c.rows) }}
		const deals = 2000
		sum := 0
		for range deals {
			on := make([]int, c.gpus)
			for range c.rows {
				on[draws.IntN(c.gpus)]++
			}
			sum += slices.Max(on)
		}
		want := float64(sum) / deals * float64(c.gpus) / float64(c.rows)
		if got := w.FullestGPU(1, c.gpus); math.Abs(got-want) > 0.05 || c.gpus == 1 && got != 1 {
			t.Errorf("%+v: %.3f × the mean, drawn %.3f", c, got, want)
		}
	}
	even := Workload{Distinct: func(int) float64 { return 0 }, Skew: func(int, int) float64 { return 1.5 }}
	if got := even.FullestGPU(1, 4); got != 1.5 {
		t.Errorf("a skew of 1.5 makes %v", got)
	}
}

// Many ids are hashed by all cores of a host, which its ranks share, but by no more than a rank has slots in
// its groups.
func TestHostsHashIDsOnAllCores(t *testing.T) {
	for _, c := range []struct {
		ranks, groups, cores int
		share                float64
	}{{1, 8, 16, 16}, {1, 2, 16, 6}, {4, 64, 16, 4}, {8, 64, 4, 1}} {
		j, layout, w := onGPUs(c.ranks)
		j.Training.Groups = c.groups
		p := pricesOnGPUs(t, j, layout, w)
		host := *p.ServerHost
		host.Cores, p.ServerHost = c.cores, &host
		one := float64(p.System.NNWorker.SignTime.Mid) * 100_000 / host.CoreSpeed
		if got := float64(p.hashTime(100_000)); math.Abs(got-one/c.share) > 1 {
			t.Errorf("%+v: %v ns, want %v", c, got, one/c.share)
		}
		if got := float64(p.hashTime(50_000)); math.Abs(got-one/2) > 1 {
			t.Errorf("%+v: half as many, by one core, take %v ns, want %v", c, got, one/2)
		}
	}
}

// total is the time that all parts of a batch take on the accelerator.
func total(g *GPURows) unit.Tick {
	return g.Find.Kernels + g.Answer.Kernels + g.Pool.Kernels + g.Sum.Kernels + g.Update.Kernels
}

// Of a large batch, more ids, other rows instead of the same ones, wider rows and more state take longer;
// more GPUs make each of them own less and add an exchange.
func TestPricesOfRowsOnGPUsMoveInTheRightDirection(t *testing.T) {
	const samples = 1 << 16
	price := func(ranks int, change func(*job.Job, *Workload)) *GPURows {
		j, layout, w := onGPUs(ranks)
		w.Rows, w.Created, w.Trained, j.Rows.Capacity = 4e8, 0, 0, 1_000_000_000/ranks
		w.Distinct = func(samples int) float64 { return 4 * float64(samples) }
		change(&j, &w)
		return pricesOnGPUs(t, j, layout, w).Batch(int32(samples / ranks)).Rows
	}
	base := func(*job.Job, *Workload) {}
	for _, ranks := range []int{1, 4} {
		plain := total(price(ranks, base))
		for what, change := range map[string]func(*job.Job, *Workload){
			"twice the ids":  func(_ *job.Job, w *Workload) { w.Occurrences *= 2 },
			"distinct ids":   func(_ *job.Job, w *Workload) { w.Distinct = times(6) },
			"wider rows":     func(j *job.Job, _ *Workload) { j.Model.Spec.EmbeddingDim *= 4 },
			"state":          func(j *job.Job, _ *Workload) { j.Rows.Optimizer.Kind = opt.Adam },
			"new rows":       func(_ *job.Job, w *Workload) { w.Created, w.Trained = 4e8, 1e8 },
			"a fuller index": func(j *job.Job, _ *Workload) { j.Rows.Capacity = 400_000_001 / ranks },
		} {
			if got := total(price(ranks, change)); got <= plain {
				t.Errorf("%d ranks, %s: %v, plain %v", ranks, what, got, plain)
			}
		}
		repeated := func(_ *job.Job, w *Workload) { w.Distinct = times(0.01) }
		if got := total(price(ranks, repeated)); got >= plain {
			t.Errorf("%d ranks, the same ids again: %v, other ids %v", ranks, got, plain)
		}
	}
	two, four := price(2, base), price(4, base)
	if four.Update.Kernels >= two.Update.Kernels || four.Values*2 != two.Values || four.Signs*2 != two.Signs {
		t.Errorf("4 ranks: %+v, 2 ranks: %+v", four, two)
	}
	skewed := price(4, func(_ *job.Job, w *Workload) { w.Skew = func(int, int) float64 { return 1.5 } })
	if skewed.Fullest != 1.5 || skewed.Update.Kernels <= four.Update.Kernels ||
		skewed.Values != four.Values || skewed.Sum != four.Sum {
		t.Errorf("the fullest has half as many again: %+v, even %+v", skewed, four)
	}
}

// times returns a number of distinct rows in proportion to samples.
func times(rows float64) func(int) float64 {
	return func(samples int) float64 { return rows * float64(samples) }
}

// Rows take what the runtime takes: 4 bytes a value and a state value, and 36. What does not fit is refused
// with what would.
func TestMemoryOfRowsOnGPUs(t *testing.T) {
	j, layout, w := onGPUs(1)
	r := h100s(t).Resolve()
	before := MemoryUse(r, &j, layout, &w)
	if before.PS != 0 || before.GPURows != 10_000*(4*32+36) {
		t.Errorf("%+v", before)
	}
	j.Rows.Capacity *= 3
	if more := MemoryUse(r, &j, layout, &w); more.GPU-before.GPU != 20_000*164 {
		t.Errorf("%v more for 20,000 rows", more.GPU-before.GPU)
	}
	j.Roles.Ranks = 2
	if two := MemoryUse(r, &j, layout, &w); two.GPU < before.GPU+model.NCCLReserve {
		t.Errorf("two GPUs keep %v less free for NCCL", before.GPU-two.GPU)
	}
	j.Rows.Capacity = 1_000_000_000
	err := CheckMemory(r, &j, layout, &w)
	const text = "1000000000 rows of 164B (16 values, 16 of optimizer state, 36 bytes of sign, count and " +
		"index) take 164GB, and "
	if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), text) ||
		!strings.Contains(err.Error(), "free beside the network and 0.5GiB for NCCL") {
		t.Fatalf("error %v, want %s", err, text)
	}
	_, after, _ := strings.Cut(err.Error(), "rows.capacity = ")
	fits := 0
	for _, digit := range strings.TrimSuffix(after, " would fit") {
		fits = 10*fits + int(digit-'0')
	}
	for more, want := range map[int]bool{0: true, 1: false} {
		j.Rows.Capacity = fits + more
		if err := CheckMemory(r, &j, layout, &w); (err == nil) != want {
			t.Errorf("%d rows: %v", j.Rows.Capacity, err)
		}
	}
	j.Rows.Capacity = 2499
	if err := CheckMemory(r, &j, layout, &w); !errors.Is(err, ErrMemory) ||
		!strings.Contains(err.Error(), "the data have 5000 rows, and 2 GPUs have room for 4998") {
		t.Errorf("error %v", err)
	}
}
