package graph

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tandem/algo/unit"
	"tandem/sim/model"
)

// tableWise places tables of a model whole on the ranks of a server of 4.
func tableWise(t *testing.T, ids []float64, ranks int) *Result {
	t.Helper()
	c, s := ideal(t)
	m := even(t, 1, 1e5)
	var rules []Rule
	group := m.Groups[0]
	m.Groups = nil
	for i, n := range ids {
		group.Name, group.IDs = fmt.Sprint("t", i), n
		m.Groups = append(m.Groups, group)
		rules = append(rules, Rule{Table: group.Name, Layout: TableWise})
	}
	return run(t, Job{Model: m, Cluster: c, System: s, GPUs: ranks, Placement: rules})
}

// loadsOf adds up the seconds of the shards of each rank.
func loadsOf(r *Result, ranks int) []float64 {
	loads := make([]float64, ranks)
	for _, s := range r.Placement {
		for rank := s.Rank; rank < s.Rank+s.Ranks; rank++ {
			loads[rank] += s.Seconds
		}
	}
	return loads
}

// optimum returns the least possible maximum over ranks, by trying all placements.
func optimum(seconds, loads []float64) float64 {
	if len(seconds) == 0 {
		most := 0.0
		for _, x := range loads {
			most = max(most, x)
		}
		return most
	}
	best := math.Inf(1)
	for r := range loads {
		loads[r] += seconds[0]
		best = min(best, optimum(seconds[1:], loads))
		loads[r] -= seconds[0]
	}
	return best
}

// The most expensive first, each on the least loaded of m ranks, takes at most 4/3 − 1/(3m) of the optimum
// (Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969). The tables are more
// than those of which all placements are tried.
func TestGreedyPlacementIsWithinGrahamsBound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		ranks := 3 + random.IntN(2)
		ids := make([]float64, 9)
		for i := range ids {
			ids[i] = float64(1 + random.IntN(60))
		}
		r := tableWise(t, ids, ranks)
		var seconds []float64
		for _, s := range r.Placement {
			seconds = append(seconds, s.Seconds)
		}
		most := 0.0
		for _, x := range loadsOf(r, ranks) {
			most = max(most, x)
		}
		best := optimum(seconds, make([]float64, ranks))
		bound := 4./3 - 1/(3*float64(ranks))
		if most < best*(1-1e-9) || most > bound*best*(1+1e-9) {
			t.Errorf("%v ids on %d ranks: %v s, optimum %v, bound %v", ids, ranks, most, best, bound)
		}
	}
}

// Tables that one rank cannot balance are cut: of one table with 400 times the ids of the others, every rank
// gets a part, and no rank has more than twice the mean.
func TestHotTableIsCut(t *testing.T) {
	c, s := ideal(t)
	m := even(t, 7, 1e6)
	hot := m.Groups[0]
	hot.Name, hot.Count, hot.IDs = "hot", 1, 400
	m.Groups = append(m.Groups, hot)
	r := run(t, Job{Model: m, Cluster: c, System: s, GPUs: 4})
	loads := loadsOf(r, 4)
	most, sum := 0.0, 0.0
	for _, x := range loads {
		most, sum = max(most, x), sum+x
	}
	if most > 2*sum/4 {
		t.Errorf("loads %v", loads)
	}
	ranks := 0
	for _, s := range r.Placement {
		if s.Table == "hot" {
			ranks += s.Ranks
		}
	}
	if ranks < 2 {
		t.Errorf("the hot table is on %d ranks", ranks)
	}
}

// A tiny table is replicated on two servers: an all-reduce of its gradients moves less over the network than
// its pooled rows.
func TestSmallTableIsReplicated(t *testing.T) {
	c, s := ideal(t)
	m := even(t, 8, 1e6)
	tiny := m.Groups[0]
	tiny.Name, tiny.Count, tiny.Rows = "tiny", 1, 10
	m.Groups = append(m.Groups, tiny)
	for _, shard := range run(t, Job{Model: m, Cluster: c, System: s, GPUs: 8}).Placement {
		if (shard.Layout == DataParallel) != (shard.Table == "tiny") {
			t.Errorf("table %s is placed by %s", shard.Table, shard.Layout)
		}
	}
}

// No combination of layouts of three unlike tables on two servers makes a step much shorter than the
// placement that was found.
func TestNoCombinationOfLayoutsIsMuchFaster(t *testing.T) {
	c, s := ideal(t)
	m := even(t, 1, 1e6)
	group := m.Groups[0]
	m.Groups = nil
	for i, ids := range []float64{60, 3, 1} {
		group.Name, group.IDs, group.Rows = fmt.Sprint("t", i), ids, []float64{1e6, 1e5, 100}[i]
		m.Groups = append(m.Groups, group)
	}
	job := Job{Model: m, Cluster: c, System: s, GPUs: 8}
	found := run(t, job)
	layouts := []Layout{DataParallel, TableWise, ColumnWise, ServerRowWise, Grid, RowWise}
	for _, x := range layouts {
		for _, y := range layouts {
			for _, z := range layouts {
				job.Placement = []Rule{{Table: "t0", Layout: x}, {Table: "t1", Layout: y},
					{Table: "t2", Layout: z}}
				if r := run(t, job); float64(r.StepTime) < 0.95*float64(found.StepTime) {
					t.Errorf("%s, %s, %s: step of %v; found %v by %+v", x, y, z, r.StepTime, found.StepTime,
						found.Rules())
				}
			}
		}
	}
}

// A grid on 8 ranks in servers of 4: two halves of the columns, of which every rank of a server has a quarter
// of the rows. 32 values of partial sums in fp16 go around in a server, a quarter of it leaves.
func TestGridCutsColumnsOverServersAndRowsInside(t *testing.T) {
	c, s := ideal(t)
	rules := []Rule{{Table: "t", Layout: Grid}}
	r := run(t, Job{Model: even(t, 1, 1e6), Cluster: c, System: s, GPUs: 8, GlobalBatch: 1 << 20,
		Placement: rules})
	if len(r.Placement) != 2 {
		t.Fatalf("placement %+v", r.Placement)
	}
	for i, shard := range r.Placement {
		if shard.Rank != 4*i || shard.Ranks != 4 || shard.Dim != 32 || shard.Rows != 1e6/4 {
			t.Errorf("shard %+v", shard)
		}
	}
	server := run(t, Job{Model: even(t, 1, 1e6), Cluster: c, System: s, GPUs: 8, GlobalBatch: 1 << 20,
		Placement: []Rule{{Table: "t", Layout: ServerRowWise}}})
	for _, node := range []string{"partial sums in servers", "pooled rows", "gradients in servers"} {
		got, whole := timeOf(r.Step, node).Seconds(), timeOf(server.Step, node).Seconds()
		if math.Abs(got-whole/2) > 5e-3*whole {
			t.Errorf("%s: %v s, want half of the %v s of all columns", node, got, whole)
		}
	}
}

// Hot tables are cut until no rank has twice the work of the mean, and twice the GPUs are not slower: what
// grows with them is the latency of collectives.
func TestHotTablesAreCutAtManyRanks(t *testing.T) {
	for _, name := range []string{"mlperf-dcnv2", "mlperf-dlrm"} {
		var steps []float64
		for _, gpus := range []int{64, 128} {
			r := run(t, example(t, dgxH100(t), name, gpus, 55_296))
			if r.Balance < 0.5 {
				t.Errorf("%s on %d GPUs: balance %.2f", name, gpus, r.Balance)
			}
			steps = append(steps, float64(r.StepTime))
		}
		if steps[1] > 1.05*steps[0] {
			t.Errorf("%s: steps of %.0f ns on 64 GPUs, %.0f ns on 128", name, steps[0], steps[1])
		}
	}
}

func TestRulesRepeatThePlacement(t *testing.T) {
	for _, gpus := range []int{8, 24, 64} {
		j := example(t, dgxH100(t), "mlperf-dcnv2", gpus, 65536)
		found := run(t, j)
		j.Placement = found.Rules()
		if again := run(t, j); again.StepTime != found.StepTime || again.Memory != found.Memory {
			t.Errorf("%d GPUs: step of %v and memory %+v, with rules %v and %+v", gpus, found.StepTime,
				found.Memory, again.StepTime, again.Memory)
		}
	}
}

// Two tables of 10^6 rows of 64 fp32 values with as much state on each of 4 ranks. The dense network has
// 74,241 parameters in fp32 with gradients, and in fp16; the batch of 1024 samples has 576 joined values and
// 64 + 128 + 1 of layers in fp16, and as many gradients; three batches of 8 tables with 3 ids and a length of
// 8 bytes, and 4 copies of 8 pooled rows of 128 bytes.
func TestMemoryOfARank(t *testing.T) {
	c, s := ideal(t)
	r := run(t, Job{Model: even(t, 8, 1e6), Cluster: c, System: s, GPUs: 4})
	const parameters = 4*64 + 64 + (8*64+64)*128 + 128 + 128 + 1
	want := Memory{
		Tables: 2 * 1e6 * 256, State: 2 * 1e6 * 256, Dense: parameters * (4 + 4 + 2),
		Activations: 2 * 2 * 1024 * (576 + 64 + 128 + 1), Buffers: 1024 * (3*8*(3*8+8) + 4*8*128),
		Reserve: 12e9, Capacity: 80e9,
	}
	if r.Memory != want {
		t.Errorf("memory %+v, want %+v", r.Memory, want)
	}
}

// 100 T values are 200 TB in fp16 and 400 TB in fp32. 8 servers have 246 TB of SSDs, 16 have 492 TB; their
// hosts have 2 TB each, their accelerators 0.64.
func TestTablesThatDoNotFitAreRefusedWithTheArithmetic(t *testing.T) {
	for _, tt := range []struct {
		rows model.Format
		gpus int
		fits bool
	}{{model.Float16, 64, true}, {model.Float32, 64, false}, {model.Float32, 128, true},
		{model.Float16, 48, false}} {
		j := example(t, dgxH100(t), "criteo-syn-100t", tt.gpus, 65536)
		j.Precisions.Rows = tt.rows
		r, err := Run(t.Context(), j)
		if (err == nil) != tt.fits {
			t.Errorf("rows of %s on %d GPUs: error %v", tt.rows, tt.gpus, err)
		}
		if err == nil {
			if r.Memory.HostTables < 100e12/128 {
				t.Errorf("rows of %s: %v of host's memory and SSDs for a rank", tt.rows, r.Memory.HostTables)
			}
			continue
		}
		all := map[model.Format]string{model.Float16: "200TB", model.Float32: "400TB"}[tt.rows]
		if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), all) {
			t.Errorf("error %q, want one that wraps ErrMemory and has %s", err, all)
		}
	}
	// A table that is to be in an accelerator's memory as a whole, and a batch that fills it.
	j := example(t, dgxA100(t), "mlperf-dcnv2", 8, 65536)
	j.Cluster.Accelerator.Memory = 40e9
	j.Placement = []Rule{{Table: "C1", Layout: TableWise, Tier: HBM}}
	if _, err := Run(t.Context(), j); !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "C1") {
		t.Errorf("40.96 GB in 40 GB: %v", err)
	}
	j.GlobalBatch = 80_000_000
	if _, err := Run(t.Context(), j); !errors.Is(err, ErrMemory) ||
		!strings.Contains(err.Error(), "smaller batches") {
		t.Errorf("batch of 10^7 samples: %v", err)
	}
}

// With less accelerator memory, more rows are fetched from the host, and no step is shorter by more than what
// another greedy placement can save.
func TestHostMemoryTier(t *testing.T) {
	c, s := ideal(t)
	before := unit.Tick(0)
	for _, memory := range []unit.Bytes{80e9, 40e9, 20e9, 10e9} {
		c.Accelerator.Memory = memory
		r := run(t, Job{Model: even(t, 4, 1e8), Cluster: c, System: s, GPUs: 4}) // 51 GB a table
		if float64(r.StepTime) < 0.95*float64(before) {
			t.Errorf("%v of memory: step of %v, was %v with more", memory, r.StepTime, before)
		}
		before = r.StepTime
		hbm := unit.Bytes(0)
		for _, shard := range r.Placement {
			hbm += shard.Bytes * unit.Bytes(shard.Ranks)
		}
		if hbm > 4*memory {
			t.Errorf("%v of memory: shards take %v on 4 ranks", memory, hbm)
		}
	}
}

// Rows of 4 tables are spread over 4 ranks, each of which misses a quarter of the distinct rows that the
// cache does not hold, with 512 bytes each.
func TestRowsThatTheCacheMissesCrossTheHostLink(t *testing.T) {
	c, s := ideal(t)
	c.Accelerator.Memory = 60e9
	var rules []Rule
	for i := range 4 {
		rules = append(rules, Rule{Table: "t" + string(rune('1'+i)), Layout: RowWise, Tier: DDR})
	}
	r := run(t, Job{Model: even(t, 4, 1e8), Cluster: c, System: s, GPUs: 4, Placement: rules})
	if got := r.Placement[0].Cached; !(got > 0.8 && got < 0.95) {
		t.Fatalf("%v of the rows are cached; want most of 205 GB in 4 × 51 GB, less a tenth", got)
	}
	distinct := 1e8 * -math.Expm1(4096*3*math.Log1p(-1e-8))
	want := 4 * distinct / 4 * (1 - r.Placement[0].Cached) * 512 / float64(c.HostLink.Bandwidth)
	if got := timeOf(r.Step, "rows of batch i+1").Seconds(); math.Abs(got-want) > 1e-3*want+1e-9 {
		t.Errorf("rows take %v s, want %v", got, want)
	}
}

// The most frequent row is on one rank. With 30 % of the ids it makes that rank's part of 8 tables by rows
// 0.3 + 0.7/4 of the ids.
func TestOneRankHasTheHottestRow(t *testing.T) {
	c, s := ideal(t)
	m := even(t, 8, 1e6)
	one := 1.0
	m.Groups[0].Popularity = model.Popularity{Exponent: &one, Top: 0.3}
	var rules []Rule
	for i := range 8 {
		rules = append(rules, Rule{Table: "t" + string(rune('1'+i)), Layout: RowWise})
	}
	r := run(t, Job{Model: m, Cluster: c, System: s, GPUs: 4, Placement: rules})
	bytes := 8. * 8 * 4096 * (3*(0.3+0.7/4) + 1)
	want := bytes * 3 / 4 / 100e9
	if got := timeOf(r.Step, "ids of batch i+1").Seconds(); math.Abs(got-want) > 1e-3*want {
		t.Errorf("ids take %v s, want %v", got, want)
	}
}
