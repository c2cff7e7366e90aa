package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/preset"
)

// small is a cluster of a few hosts of each kind, of which nothing is a guess.
func small() job.Cluster {
	s := job.PersiaCluster()
	s.EmbeddingWorkers = job.Hosts{Profile: "xeon-52-core-480gb", Count: 3, PerHost: 2}
	s.EmbeddingPSs = job.Hosts{Profile: "xeon-52-core-480gb", Count: 4, PerHost: 3}
	s.Loaders = job.Hosts{Profile: "xeon-52-core-480gb", Count: 1, PerHost: 1}
	return s
}

// digest hashes records with their times.
type digest struct{ hash.Hash }

func (d digest) Observe(r event.Record) {
	fmt.Fprintf(d, "%v\n", r)
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], uint64(r.At))
	d.Write(at[:])
}

// Hot rows need a mode that reduces dense gradients in every step, a workload that describes them and, with
// numerics, that they are chosen.
func TestHotRowsAreRefused(t *testing.T) {
	numerics := func(job.Job) (Numerics, error) { panic("started") }
	plain, hot := clicks(), hotClicks()
	broken := hotClicks()
	broken.Hot.Batch = nil
	cluster := small()
	narrow, few, enough := hotTraining(job.Hybrid, 4), hotTraining(job.Hybrid, 4), hotTraining(job.Hybrid, 4)
	narrow.Rows.Memory, few.Rows.Capacity = 10_000*128-1, 9_999
	enough.Rows.Memory, enough.Rows.Capacity = 10_000*128, 10_000
	for _, c := range []struct {
		job  job.Job
		w    cost.Workload
		o    Options
		want string
	}{
		{hotTraining(job.AsyncPS, 4), hot, Options{}, "use sync or hybrid instead of async-ps"},
		{hotTraining(job.Hybrid, 4), plain, Options{}, "workload: no hot rows"},
		{hotTraining(job.Hybrid, 4), broken, Options{}, "10000 hot rows of 160000 values"},
		{training(job.Hybrid, 4), hot, Options{}, "and the job has none"},
		{hotTraining(job.Hybrid, 4), hot, Options{Numerics: numerics}, "let frequent.Choose count them"},
		{narrow, hot, Options{}, "10000 rows on every rank are more than rows.memory"},
		{few, hot, Options{}, "10000 rows on every rank are more than"},
	} {
		_, err := Run(hardwareOf(t, cluster), c.job, tower(t), c.w, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	run(t, cluster, enough, Options{WarmUp: 1, Measured: 1})
}

func TestSameSeedSameBytes(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(5) {
		sums := [2]string{}
		for i := range sums {
			d := digest{sha256.New()}
			run(t, small(), training(job.Hybrid, 4),
				Options{Seed: seed, Jitter: 0.2, Observer: d, WarmUp: 5, Measured: 10})
			sums[i] = string(d.Sum(nil))
		}
		if sums[0] != sums[1] {
			t.Errorf("seed %d gives two different records of one run", seed)
		}
		seen[sums[0]] = true
	}
	if len(seen) != 5 {
		t.Errorf("5 seeds give %d different runs", len(seen))
	}
}

// A folded PS stands for all of them. What differs is how rounding falls and the order among what happens at
// one instant.
func TestFoldedAgreesWithUnfolded(t *testing.T) {
	const most = 0.01
	for _, mode := range []string{job.Sync, job.Hybrid} {
		for _, rate := range []unit.BytesPerSec{0, 0.05e9} { // the second makes embeddings the bound
			folded, unfolded := small(), small()
			unfolded.Unfold = true
			folded.NetworkRate, unfolded.NetworkRate = rate, rate
			a := run(t, folded, training(mode, 8), Options{check: true})
			b := run(t, unfolded, training(mode, 8), Options{check: true})
			difference := a.Throughput/b.Throughput - 1
			t.Logf("%s at %v: folded differs by %+.3f %%", mode, rate, 100*difference)
			if math.Abs(difference) > most {
				t.Errorf("%s at %v: folded %.0f, unfolded %.0f samples/s", mode, rate, a.Throughput,
					b.Throughput)
			}
			if math.Abs(float64(a.Messages-b.Messages)) > most*float64(b.Messages) ||
				math.Abs(float64(a.Bytes-b.Bytes)) > most*float64(b.Bytes) {
				t.Errorf("%s at %v: folded %d messages, %v; unfolded %d, %v", mode, rate, a.Messages, a.Bytes,
					b.Messages, b.Bytes)
			}
		}
	}
}

// On any cluster, with any rule, credit and handles are kept, bytes are conserved and every run ends; the
// staleness is within the rule's promise.
func TestEveryRunKeepsTheContract(t *testing.T) {
	layout, w := tower(t), clicks()
	checkSome(t, func(t *rapid.T) {
		s := small()
		s.Unfold = rapid.Bool().Draw(t, "unfold")
		s.AcceleratorsPerServer = rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "accelerators of a server")
		s.EmbeddingWorkers.Count = rapid.IntRange(1, 3).Draw(t, "EW hosts")
		s.EmbeddingPSs.Count = rapid.IntRange(1, 3).Draw(t, "PS hosts")
		s.NetworkRate = unit.BytesPerSec(rapid.Float64Range(1e7, 1e11).Draw(t, "network"))
		j := training(rapid.SampledFrom(job.Modes()[1:]).Draw(t, "mode"), // sequential has no roles
			rapid.IntRange(1, 16).Draw(t, "ranks"))
		j.Training.Groups = 16
		if j.Validate() != nil { // an exact mode
			j.Roles.Ranks = 16
		}
		j.Training.GlobalBatch = rapid.IntRange(j.Roles.Ranks, 4096).Draw(t, "batch")
		j.Roles.DensePSs = rapid.IntRange(1, 3).Draw(t, "dense PSs")
		j.Training.ModeSettings = map[string]int{
			"slack": rapid.IntRange(0, 3).Draw(t, "slack"),
			"every": rapid.IntRange(1, 4).Draw(t, "average every"),
		}
		j = j.InMode(j.Training.Mode)
		staleness := rapid.IntRange(0, 12).Draw(t, "staleness")
		j.Training.Staleness = &staleness
		if rapid.Bool().Draw(t, "prefetch is set") {
			j.Training.Prefetch = rapid.IntRange(staleness+1, staleness+4).Draw(t, "prefetch")
		}
		o := Options{
			Jitter: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "jitter"),
			WarmUp: 2, Measured: 4, check: true,
			fold: rapid.SampledFrom([]int{0, 4}).Draw(t, "ranks to simulate"),
		}
		h := hardwareOf(t, s)
		h = h.At(h.Parameters().Sample(1, rapid.Uint64().Draw(t, "point"))[0])
		a, err := Run(h, j, layout, w, o)
		if err != nil {
			t.Fatal(err)
		}
		rule, _ := j.Rule()
		b := rule.Bounds(j.Roles.Ranks)
		if a.Staleness.Own.Max() > b.Own || a.Staleness.Cross.Max() > b.Cross ||
			a.Staleness.Inflight.Max() > b.Inflight {
			t.Fatalf("staleness own %d, cross %d, inflight %d; promised %+v",
				a.Staleness.Own.Max(), a.Staleness.Cross.Max(), a.Staleness.Inflight.Max(), b)
		}
		for _, u := range a.Stations {
			if u.Busy < 0 || u.Busy > 1+1e-9 || u.MeanBusy > u.Busy+1e-9 || u.Queue < 0 {
				t.Fatalf("use of a station: %+v", u)
			}
		}
	})
}

// Hybrid waits for less than sync does. Sharing may order transfers less luckily, hence the tolerance.
func TestHybridIsNotSlowerThanSync(t *testing.T) {
	layout, w := tower(t), clicks()
	checkSome(t, func(t *rapid.T) {
		s := small()
		s.NetworkRate = unit.BytesPerSec(rapid.Float64Range(1e8, 2e10).Draw(t, "network"))
		ranks := 1 << rapid.IntRange(0, 3).Draw(t, "log2 ranks")
		var throughput [2]float64
		for i, mode := range []string{job.Sync, job.Hybrid} {
			a, err := Run(hardwareOf(t, s), training(mode, ranks), layout, w,
				Options{WarmUp: 12, Measured: 6})
			if err != nil {
				t.Fatal(err)
			}
			throughput[i] = a.Throughput
		}
		if throughput[1] < 0.98*throughput[0] {
			t.Fatalf("%d ranks: hybrid %.0f samples/s, sync %.0f", ranks, throughput[1], throughput[0])
		}
	})
}

func TestJitterSlowsLockStepDown(t *testing.T) {
	steady := run(t, small(), training(job.Hybrid, 8), Options{})
	jittery := run(t, small(), training(job.Hybrid, 8), Options{Jitter: 0.5, Measured: 30})
	if jittery.Throughput >= steady.Throughput {
		t.Errorf("with jitter %.0f samples/s, without %.0f", jittery.Throughput, steady.Throughput)
	}
}

// A jitter factor has mean 1 over standard normal z: E exp(σz) = exp(σ²/2). The mean is taken by the midpoint
// rule over ±8.
func TestLognormalHasMeanOne(t *testing.T) {
	sum, mass := 0.0, 0.0
	for z := -8.0; z < 8; z += 0.01 {
		weight := math.Exp(-z * z / 2)
		sum, mass = sum+weight*lognormal(0.4, z), mass+weight
	}
	if mean := sum / mass; math.Abs(mean-1) > 1e-9 {
		t.Errorf("mean %v, want 1", mean)
	}
}

func TestErrors(t *testing.T) {
	with := func(change func(*job.Cluster, *job.Job)) error {
		s, j := small(), training(job.Hybrid, 2)
		change(&s, &j)
		h, _, err := cost.Load(&s, "")
		if err == nil {
			_, err = Run(h, j, tower(t), clicks(), Options{})
		}
		return err
	}
	for name, test := range map[string]struct {
		change func(*job.Cluster, *job.Job)
		is     error
		text   string
	}{
		"profile": {func(s *job.Cluster, _ *job.Job) { s.Accelerator = "V1000" }, preset.ErrUnknown,
			`cluster.accelerator: unknown profile "V1000"; the nearest is "V100-SXM2-32GB"`},
		"host": {func(s *job.Cluster, _ *job.Job) { s.EmbeddingPSs.Profile = "x" }, preset.ErrUnknown,
			"embedding-ps.profile"},
		"sequential": {func(_ *job.Cluster, j *job.Job) { j.Training.Mode = job.Sequential }, ErrSequential,
			""},
		"memory": {func(s *job.Cluster, j *job.Job) { j.Training.GlobalBatch = 2 << 24 }, cost.ErrMemory,
			"smaller batches"},
		"none": {func(s *job.Cluster, _ *job.Job) { s.EmbeddingPSs.PerHost = 0 }, nil,
			"embedding-ps.per-host = 0"},
		"precision": {func(s *job.Cluster, _ *job.Job) { s.Precision = "fp8" }, nil, `precision = "fp8"`},
		"training":  {func(_ *job.Cluster, j *job.Job) { j.Training.Prefetch = -1 }, nil, "prefetch = -1"},
	} {
		err := with(test.change)
		if err == nil || (test.is != nil && !errors.Is(err, test.is)) || !strings.Contains(err.Error(),
			test.text) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A network of 2e11 parameters is 2.4 TB with Adam's state, five times what a host of 480 GB has. Its ranks
// are not asked first.
func TestDenseShardMustFit(t *testing.T) {
	layout := *tower(t)
	layout.Params = 2e11
	j := training(job.AsyncPS, 2)
	j.Model.Optimizer.Kind, j.Roles.DensePSs = "adam", 1
	_, err := Run(hardwareOf(t, small()), j, &layout, clicks(), Options{})
	if !errors.Is(err, cost.ErrMemory) || !strings.Contains(err.Error(), "add dense PSs") {
		t.Errorf("one dense PS: error %v, want cost.ErrMemory of it", err)
	}
	j.Roles.DensePSs = 6
	_, err = Run(hardwareOf(t, small()), j, &layout, clicks(), Options{})
	if !errors.Is(err, cost.ErrMemory) || !strings.Contains(err.Error(), "accelerator") {
		t.Errorf("six dense PSs: error %v, want cost.ErrMemory of an accelerator", err)
	}
}

// With Adam's state and gradients, 1.6e9 parameters are 25.6 GB and fit a card of 32 GB; with the two copies
// of an average they are 38.4 GB.
func TestAveragedReplicaMustFit(t *testing.T) {
	layout := *tower(t)
	layout.Params = 1.6e9
	for mode, want := range map[string]error{job.Hybrid: nil, job.AsyncAverage: cost.ErrMemory,
		"backup-workers": nil} {
		j := training(mode, 2)
		j.Model.Optimizer.Kind = "adam"
		if _, err := Run(hardwareOf(t, small()), j, &layout, clicks(), Options{}); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", mode, err, want)
		}
	}
}

// Rows of 64 B of values, 64 B of state and 24 B of overhead: 4 hosts, which have 1.92 TB, hold 12.63e9 of
// them.
func TestTableMustFit(t *testing.T) {
	for rows, want := range map[float64]error{12.6e9: nil, 12.7e9: cost.ErrMemory} {
		w := clicks()
		w.Rows = rows
		if _, err := Run(hardwareOf(t, small()), training(job.Hybrid, 2), tower(t), w,
			Options{}); !errors.Is(err, want) {
			t.Errorf("%.3g rows: error %v, want %v", rows, err, want)
		}
	}
}

func TestPresetsRun(t *testing.T) {
	for _, s := range []job.Cluster{job.PersiaCluster(), job.GoogleCloudCluster()} {
		if a := run(t, s, training(job.Hybrid, 2), Options{check: true}); a.Throughput <= 0 {
			t.Errorf("%+v: %v samples/s", s, a.Throughput)
		}
	}
}

// One machine of one core: no matter what overlaps, no work comes for free. A step of one rank takes at least
// its forward, backward and update.
func TestThisMachineSharesItsCores(t *testing.T) {
	m := cost.MeasuredMachine{Cores: 1, Memory: 16e9, Multiply: 50e9, CopySpeed: 5e9, RowTime: 200,
		MessageTime: 1000, Date: "2026-01-01"}
	j := training(job.Hybrid, 1)
	one := runOn(t, cost.ThisMachine(m), j, Options{check: true})
	// 3 passes of 2·params FLOPs a sample and more.
	if least := 3 * 2 * 12.8e6 * 512 / 50e9; one.StepTime.Seconds() < least {
		t.Errorf("a step takes %v, the products alone %v s", one.StepTime, least)
	}
	if one.Bottleneck != "machine cores" {
		t.Errorf("bottleneck %q", one.Bottleneck)
	}
	j = training(job.Hybrid, 4)
	four := runOn(t, cost.ThisMachine(m), j, Options{check: true})
	// One replica serves all ranks, and so one update: 7 passes over the parameters, of which a copy makes 2.
	// Nothing else is saved; messages are more.
	update := 7 * 4 * 12.8e6 / (2 * 5e9)
	if saved := 4*one.StepTime.Seconds() - four.StepTime.Seconds(); saved < 2*update || saved > 3*update {
		t.Errorf(
			"four ranks on one core save %.3f s of four single ones, want nearly three updates of %.3f s",
			saved,
			update,
		)
	}
}

// Runs on several goroutines at once do not affect each other, even if they share hardware, layout and
// workload.
func TestRunsAreIndependent(t *testing.T) {
	h, layout, w := hardwareOf(t, small()), tower(t), clicks()
	simulate := func(seed uint64) Result {
		a, err := Run(h, training(job.Hybrid, 8), layout, w,
			Options{SystemJitter: true, Seed: seed, Measured: 20})
		if err != nil {
			t.Error(err)
		}
		return a
	}
	const seeds = 4
	var alone, together [seeds]Result
	var running sync.WaitGroup
	for seed := range uint64(seeds) {
		alone[seed] = simulate(seed)
		running.Go(func() { together[seed] = simulate(seed) })
	}
	running.Wait()
	for seed := range alone {
		if alone[seed].Throughput != together[seed].Throughput {
			t.Errorf("seed %d: %v samples/s, %v beside others", seed, alone[seed].Throughput,
				together[seed].Throughput)
		}
		if seed > 0 && alone[seed].Throughput == alone[0].Throughput {
			t.Errorf("seeds 0 and %d give the same throughput", seed)
		}
	}
}

// A rate without trained parameters is that of the long run, in which the warm-up of τ is over.
func TestRatesAreThoseAfterTheWarmUp(t *testing.T) {
	plain, warming := training(job.Hybrid, 2), training(job.Hybrid, 2)
	warming.Training.StalenessWarmUp = 1_000_000
	want, got := run(t, small(), plain, Options{}), run(t, small(), warming, Options{})
	if got.Throughput != want.Throughput {
		t.Errorf("%v samples/s, without a warm-up %v", got.Throughput, want.Throughput)
	}
}
