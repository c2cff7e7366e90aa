package graph

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/model"
	"tandem/sim/system"
	"tandem/sim/topo"
)

// Any number of GPUs, also such that leave a server partly empty, on which no step is faster than its bounds:
// FLOPs at the peak, bytes of weights, activations and rows at the memory's bandwidth, pooled rows at the
// rates of the cards.
func TestStepsAreNoFasterThanTheRoofline(t *testing.T) {
	for _, name := range []string{"mlperf-dcnv2", "mlperf-dlrm", "criteo"} {
		for _, gpus := range []int{1, 3, 8, 12, 24, 64, 112, 128, 16_384} {
			c := dgxH100(t)
			if name == "mlperf-dlrm" {
				c = dgxA100(t)
			}
			if gpus == 1 { // the tables take 209 GB
				c.Accelerator.Memory = 1e12
			}
			j := example(t, c, name, gpus, 64*1024)
			r := run(t, j)
			local := float64((64*1024 + gpus - 1) / gpus)
			n := j.Model.Network()
			peak := c.Accelerator.Peak[j.Model.Precisions.Compute.Device()]
			flops := local * float64(n.ForwardFLOPs()+n.BackwardFLOPs()) / float64(peak)
			// The mean rank reads a row for each id.
			size := j.Model.Size(j.Model.Precisions.Rows)
			dim := size.Parameters / size.Rows
			rows := 64 * 1024 / float64(gpus) * size.IDs * dim * float64(j.Model.Precisions.Rows.Bytes()) /
				float64(c.Accelerator.Bandwidth)
			// The cards of a server send and receive the gradients, less the server's own part, twice.
			servers := float64(gpus) / 8
			cards := float64(c.Topology.Groups[0].Cards.Rate) * 8
			gradients := 2 * max(0, servers-1) / servers * 4 * float64(n.Parameters()) / cards
			bounds := map[string]float64{"FLOPs": flops, "rows": rows, "gradients": gradients}
			for what, bound := range bounds {
				if r.StepTime.Seconds() < bound {
					t.Errorf("%s on %d GPUs: step of %v, but %s take %v s", name, gpus, r.StepTime, what,
						bound)
				}
			}
			if sum := sumOf(r.Bottlenecks); math.Abs(sum-1) > 1e-9 {
				t.Errorf("%s on %d GPUs: shares of resources add up to %v", name, gpus, sum)
			}
			if want := float64(64*1024) / r.StepTime.Seconds(); math.Abs(r.Throughput/want-1) > 1e-5 {
				t.Errorf("%s on %d GPUs: %v samples/s in steps of %v", name, gpus, r.Throughput, r.StepTime)
			}
		}
	}
}

func sumOf(list []Bottleneck) (sum float64) {
	for _, b := range list {
		sum += b.Share
	}
	return sum
}

// even is a model of some equal tables, with rows of 64 values and 3 ids of a sample, uniform.
func even(t testing.TB, tables int, rows float64) *model.Model {
	t.Helper()
	none := 0.0
	m := &model.Model{
		Name: "even", Source: "made up", Date: "2026", Numeric: 4,
		Groups: []model.Group{{Name: "t", Count: tables, Rows: rows, Dim: 64, IDs: 3,
			Popularity: model.Popularity{Exponent: &none}}},
		Dense: model.Dense{Bottom: []int{64}, Interaction: model.Concat, Top: []int{128, 1}},
		Precisions: model.Precisions{Compute: model.Half, Rows: model.Float32, Activations: model.Float16,
			Wire: model.Float16, Gradients: model.Float32},
		Optimizers: model.Optimizers{Rows: model.Adagrad, Dense: model.SGD},
		Batch:      model.Batch{PerGPU: 1024},
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return m
}

// ideal is a cluster whose collectives have no latency and reach the whole rates of wires: 100 GB/s inside
// servers of 4, 10 GB/s a card between them.
func ideal(t testing.TB) (*Cluster, *system.Profile) {
	t.Helper()
	c := dgxH100(t)
	c.Topology.Groups = []topo.Group{{Name: "server", AcceleratorsPerNode: 4,
		Inside:   topo.Inside{Kind: topo.InsideSwitch, Rate: 100e9},
		HostLink: topo.HostLink{Rate: 50e9}, Cards: topo.Cards{Count: 4, Rate: 10e9}}}
	c.Topology.Network = topo.Network{Kind: topo.NetworkFlat}
	s, err := system.LoadUncalibrated("hugectr")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*system.CollectiveShares{&s.Collectives.Inside, &s.Collectives.Network} {
		x.AllReduce.Mid, x.AllToAll.Mid, x.Half.Mid, x.PerDoubling.Mid = 1, 1, 0, 0
	}
	s.Collectives.LaunchTime.Mid = 0
	return c, s
}

// timeOf adds up the nodes of a name.
func timeOf(s *Step, name string) (sum unit.Tick) {
	for _, n := range s.Nodes {
		if n.Name == name {
			sum += n.Time
		}
	}
	return sum
}

// 512 values of embeddings and 64 of the bottom layers become 128 and 64. One kernel a direction reads and
// writes all of them in half precision.
func TestMeansOfEmbeddingsAreAKernel(t *testing.T) {
	c, s := ideal(t)
	m := even(t, 8, 1e6)
	m.Dense.Interaction, m.Dense.Stride = model.Pool, 4
	r := run(t, Job{Model: m, Cluster: c, System: s, GPUs: 4})
	want := c.Accelerator.Time(stream(1, 2*1024*(512+64+128+64)))
	if on, back := timeOf(r.Step, "means"), timeOf(r.Step, "means back"); on != want || back != want {
		t.Errorf("means take %d and %d ns, want %d", on, back, want)
	}
}

// The planner of TorchRec counts O·W·dim·c bytes of pooled rows a table and rank, with O the poolings of a
// rank: table-wise in an all-to-all, row-wise in a reduce-scatter (torchrec/distributed/planner,
// shard_estimators). Of the bytes of a collective, (n−1)/n leave the rank. On 4 ranks of a server with 8
// tables each rank has 2.
func TestBytesOfPooledRowsAreTorchRecs(t *testing.T) {
	c, s := ideal(t)
	const ranks, local, dim, wire, perRank = 4, 1024, 64, 2, 2
	for _, layout := range []Layout{TableWise, RowWise, ColumnWise} {
		j := Job{Model: even(t, 8, 1e6), Cluster: c, System: s, GPUs: ranks}
		for i := range 8 {
			j.Placement = append(j.Placement, Rule{Table: "t" + string(rune('1'+i)), Layout: layout,
				Parts: 4})
		}
		r := run(t, j)
		name, tables := "pooled rows", perRank
		if layout == RowWise {
			name, tables = "partial sums", 8
		}
		bytes := float64(tables * local * ranks * dim * wire)
		want := bytes * (ranks - 1) / ranks / 100e9
		for _, node := range []string{name, "gradients of " + name} {
			if got := timeOf(r.Step, node).Seconds(); math.Abs(got-want) > 1e-9+0.001*want {
				t.Errorf("%s: %s take %v s, want %v", layout, node, got, want)
			}
		}
		// Ids of 8 bytes, 3 a sample, and lengths of 8 bytes: of the samples of all ranks, for the tables or
		// columns of the rank. With rows spread over all ranks, every rank gets the lengths of all tables.
		ids, lengths := 8.*perRank*3*local*ranks, 8.*perRank*local*ranks
		switch layout {
		case ColumnWise:
			ids, lengths = 4*ids, 4*lengths
		case RowWise:
			lengths *= ranks
		}
		want = (ids + lengths) * (ranks - 1) / ranks / 100e9
		if got := timeOf(r.Step, "ids of batch i+1").Seconds(); math.Abs(got-want) > 0.001*want {
			t.Errorf("%s: ids take %v s, want %v", layout, got, want)
		}
	}
}

// A ring all-reduce moves 2(n−1)/n of the parameters. The network of 4·64 + 64 + (8·64 + 64)·128 + 128 + 128
// + 1 parameters is in fp32.
func TestBytesOfGradients(t *testing.T) {
	c, s := ideal(t)
	r := run(t, Job{Model: even(t, 8, 1e6), Cluster: c, System: s, GPUs: 4})
	const parameters = 4*64 + 64 + (8*64+64)*128 + 128 + 128 + 1
	want := 2 * 3. / 4 * 4 * parameters / 100e9
	if got := timeOf(r.Step, "gradients").Seconds(); math.Abs(got-want) > 1e-8 {
		t.Errorf("gradients take %v s, want %v", got, want)
	}
}

// Kernels on tables: 2 tables of a rank, each with 4096 samples of 3 ids of 8 bytes and a length, as many
// rows of 256 bytes, and pooled rows of 128 bytes. The 12,288 draws of a million rows are 1e6 · (1 − (1 −
// 1e-6)^12288) distinct rows, which the cache holds: reads of those again take 1/2.4 of the time. Rows of 256
// bytes take longer than as long a stream.
func TestBytesOfKernelsOnTables(t *testing.T) {
	c, s := ideal(t)
	var rules []Rule
	for i := range 8 {
		rules = append(rules, Rule{Table: "t" + string(rune('1'+i)), Layout: TableWise})
	}
	r := run(t, Job{Model: even(t, 8, 1e6), Cluster: c, System: s, GPUs: 4, Placement: rules})
	a := c.Accelerator
	penalty := func(row float64) float64 { return a.RowShare.At(1e9) / a.RowShare.At(row) }
	distinct := 1e6 * (1 - math.Pow(1-1e-6, 12288))
	reads := distinct + (12288-distinct)/2.4
	lookup := 2 * (12288*8 + 4096*(8+128) + reads*256*penalty(256)) / s.EmbeddingKernels.Forward.Mid
	gradients := 4096 + (12288-4096)/2.4
	update := 2 * (12288*12 + gradients*128*penalty(128) + 2*distinct*512*penalty(256)) /
		s.EmbeddingKernels.Backward.Mid
	passes := float64(s.EmbeddingKernels.Passes.Mid)
	sort := 2 * 12288 * (8 + 24*(passes+1)) / a.MemoryShare.At(1e9)
	for _, x := range []struct {
		name     string
		bytes    float64
		launches int
	}{{"lookup", lookup, 1}, {"update of rows", update, 1}, {"sort of ids", sort, 3 + int(passes)}} {
		// Kernels of a few megabytes reach less of the bandwidth than long streams do.
		long := x.bytes * a.MemoryShare.At(1e9)
		want := long/a.MemoryShare.At(long/float64(x.launches))/float64(a.Bandwidth) +
			float64(x.launches)*a.Launch.Seconds()
		if got := timeOf(r.Step, x.name).Seconds(); math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s takes %v s, want %v", x.name, got, want)
		}
	}
}

// No rate that doubles makes a step longer, with the same placement: the planner, whose estimates know no
// order of messages, may choose another.
func TestStepsAreMonotoneInEveryRate(t *testing.T) {
	for _, gpus := range []int{8, 64} {
		base := run(t, example(t, dgxH100(t), "mlperf-dcnv2", gpus, 65536))
		for name, double := range map[string]func(c *Cluster, s *system.Profile){
			"peak":    func(c *Cluster, _ *system.Profile) { c.Accelerator.Peak[device.Half] *= 2 },
			"memory":  func(c *Cluster, _ *system.Profile) { c.Accelerator.Bandwidth *= 2 },
			"launch":  func(c *Cluster, _ *system.Profile) { c.Accelerator.Launch /= 2 },
			"inside":  func(c *Cluster, _ *system.Profile) { c.Topology.Groups[0].Inside.Rate *= 2 },
			"cards":   func(c *Cluster, _ *system.Profile) { c.Topology.Groups[0].Cards.Rate *= 2 },
			"latency": func(c *Cluster, _ *system.Profile) { c.Topology.Network.Latency /= 2 },
			"link":    func(c *Cluster, _ *system.Profile) { c.HostLink.Bandwidth *= 2 },
			"host":    func(_ *Cluster, s *system.Profile) { s.NNWorker.LaunchTime.Mid /= 2 },
			"step":    func(_ *Cluster, s *system.Profile) { s.NNWorker.StepTime.Mid /= 2 },
			"lookup":  func(_ *Cluster, s *system.Profile) { s.EmbeddingKernels.Forward.Mid = 1 },
			"jitter":  func(_ *Cluster, s *system.Profile) { s.NNWorker.Jitter.Mid /= 2 },
		} {
			j := example(t, dgxH100(t), "mlperf-dcnv2", gpus, 65536)
			j.Placement = base.Rules()
			double(j.Cluster, j.System)
			if got := run(t, j).StepTime; float64(got) > 1.005*float64(base.StepTime) {
				t.Errorf("%d GPUs, %s twice as good: step of %v, was %v", gpus, name, got, base.StepTime)
			}
		}
	}
}

// Weak scaling: with the same samples a GPU, throughput grows with the servers, but not faster than their
// number. Strong scaling: with the same global batch, steps of more GPUs are not as many times shorter.
func TestScaling(t *testing.T) {
	weak := func(gpus int) float64 {
		return run(t, example(t, dgxH100(t), "mlperf-dcnv2", gpus, 4096*gpus)).Throughput
	}
	one, eight := weak(8), weak(64)
	if eight < one || eight > 8*one {
		t.Errorf("weak: %v samples/s on 8 GPUs, %v on 64", one, eight)
	}
	strong := func(gpus int) unit.Tick {
		return run(t, example(t, dgxH100(t), "mlperf-dcnv2", gpus, 65536)).StepTime
	}
	if a, b := strong(8), strong(64); 8*b < a {
		t.Errorf("strong: steps of %v on 8 GPUs, %v on 64", a, b)
	}
}

func TestRunsAreDeterministicAndConcurrent(t *testing.T) {
	j := example(t, dgxH100(t), "mlperf-dcnv2", 24, 65536)
	j.Seed = 5
	first := run(t, j)
	var group sync.WaitGroup
	results := make([]*Result, 4)
	for i := range results {
		group.Go(func() { results[i], _ = Run(context.Background(), j) })
	}
	group.Wait()
	for _, r := range results {
		if !reflect.DeepEqual(r, first) {
			t.Error("another result of the same job")
		}
	}
	j.Seed = 6
	if other := run(t, j); other.StepTime == first.StepTime {
		t.Error("another seed gives the same step time")
	}
}

// Without jitter all steps take the same time, and the host thread is busy for the work of one step in each:
// it does not run further ahead than the batches in flight.
func TestStepsRepeatWithoutJitter(t *testing.T) {
	j := example(t, dgxH100(t), "mlperf-dcnv2", 8, 65536)
	j.System.NNWorker.Jitter.Mid = 0
	r := run(t, j)
	for _, d := range r.Steps {
		if d < r.StepTime-1 || d > r.StepTime+1 {
			t.Fatalf("steps of %v", r.Steps)
		}
	}
	if got, want := r.Stations[Host].Busy, r.Parts[0].Time.Seconds()/r.StepTime.Seconds(); math.Abs(
		got-want) > 0.01*want {
		t.Errorf("host thread busy %v of the time, want %v", got, want)
	}
}

// The factor of the slowest of 128 ranks: the mean of the largest of 128 normal values is 2.59 standard
// deviations (Harter, "Expected values of normal order statistics", Biometrika 48, 1961: 2.508 for 100, 2.649
// for 150).
func TestSlowestRankIsAnOrderStatistic(t *testing.T) {
	const sigma, steps = 0.05, 20_000
	factors := slowest(sigma, 128, 1, steps)
	sum := 0.0
	for i := range steps {
		sum += math.Log(factors(i)[Forward]) / sigma
	}
	if mean := sum/steps + sigma/2; math.Abs(mean-2.594) > 0.02 {
		t.Errorf("mean of the largest of 128: %v standard deviations, want 2.594", mean)
	}
}

func TestFaultsOfJobsAreNamed(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(j *Job)
	}{
		{"0 GPUs", func(j *Job) { j.GPUs = 0 }},
		{"global batch of 7", func(j *Job) { j.GlobalBatch = 7 }},
		{"global batch of -1", func(j *Job) { j.GlobalBatch = -1 }},
		{"-1 steps", func(j *Job) { j.Steps = -1 }},
		{"architecture", func(j *Job) { j.System.Architecture = system.Roles }},
		{"unknown table", func(j *Job) { j.Placement = []Rule{{Table: "C99"}} }},
		{`layout "diagonal"`, func(j *Job) { j.Placement = []Rule{{Table: "C1", Layout: "diagonal"}} }},
		{`tier "tape"`, func(j *Job) { j.Placement = []Rule{{Table: "C1", Tier: "tape"}} }},
		{"in 9 parts", func(j *Job) { j.Placement = []Rule{{Table: "C1", Layout: ColumnWise, Parts: 9}} }},
	} {
		j := example(t, dgxH100(t), "mlperf-dcnv2", 8, 65536)
		tt.change(&j)
		if _, err := Run(t.Context(), j); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(done, example(t, dgxH100(t), "mlperf-dcnv2", 8, 65536)); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A cache of a third of equally frequent rows: a batch of 6000 ids has 5824 distinct ones, half of which, on
// average, are in the cache already when a row comes up, so (33,333 − 2912) / (100,000 − 2912) = 0.313 are
// hits. Of rows by Zipf it holds more, but less than if it held the most frequent third. One that holds all
// misses none.
func TestRowsThatACacheMisses(t *testing.T) {
	uniform, one := 0.0, 1.0
	for _, c := range []struct {
		exponent       *float64
		cached, lo, hi float64
	}{
		{&uniform, 1. / 3, 0.685, 0.689}, {&uniform, 1, 0, 0}, {&one, 1. / 3, 0.2, 0.6}, {&one, 1, 0, 0},
	} {
		m := even(t, 1, 1e5)
		m.Groups[0].Popularity.Exponent = c.exponent
		table := m.Tables()[0]
		p := &placer{batch: 2000}
		got := p.missing(&placed{Table: &table}, c.cached)
		best := table.Frequencies.DistinctBeyond(6000, c.cached*table.Rows) / table.Frequencies.Distinct(6000)
		if got < c.lo || got > c.hi || got < best*(1-1e-3) {
			t.Errorf("exponent %v: a cache of %v misses %v of a batch, want %v to %v, at least %v",
				*c.exponent, c.cached, got, c.lo, c.hi, best)
		}
	}
}

// Kernels that are fused into products take no time of their own.
func TestFusedKernelsTakeNoTime(t *testing.T) {
	j := example(t, dgxH100(t), "mlperf-dcnv2", 8, 65536)
	times := map[float64]unit.Tick{}
	for _, share := range []float64{0, 0.5, 1} {
		j.System.DenseKernels.Fused.Mid = share
		r := run(t, j)
		times[share] = timeOf(r.Step, "cross") + timeOf(r.Step, "top1 activation back")
	}
	if times[0] == 0 || times[1] != 0 || 2*times[0.5] < times[0]-10 || 2*times[0.5] > times[0]+10 {
		t.Errorf("elementwise kernels take %v, half fused %v, fused %v", times[0], times[0.5], times[1])
	}
}
