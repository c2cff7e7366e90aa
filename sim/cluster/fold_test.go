package cluster

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/station"
	"tandem/sim/timeline"
)

// foldedAndWhole returns the results of a run with about a number of ranks, and with all.
func foldedAndWhole(t *testing.T, c job.Cluster, j job.Job, ranks int, o Options) (folded, whole Result) {
	t.Helper()
	o.fold = ranks
	folded = run(t, c, j, o)
	if folded.Simulated < ranks/2 || folded.Simulated > ranks+c.AcceleratorsPerServer {
		t.Fatalf("%d ranks were simulated, want about %d", folded.Simulated, ranks)
	}
	o.fold = -1
	return folded, run(t, c, j, o)
}

// off returns by how much of the second a throughput differs.
func off(a, b Result) float64 { return a.Throughput/b.Throughput - 1 }

// Without jitter, ranks that stand for others take the time of all. In hybrid training, embeddings can
// compete with the all-reduce. Which of the transfers that begin at one instant is first then changes a step
// of 256 ranks by up to 0.6 % also where all are simulated. In async-ps, windows of steps take different
// times. Messages and bytes are those of all.
func TestFoldedRanksTakeTheTimeOfAll(t *testing.T) {
	for _, c := range []struct {
		mode        string
		ranks, fold int
		most        float64
		perServer   int // accelerators
		system      string
	}{
		{job.Sync, 64, 32, 0.001, 8, ""}, {job.Sync, 256, 64, 0.001, 8, ""},
		{job.Hybrid, 64, 32, 0.001, 8, ""}, {job.Hybrid, 256, 64, 0.01, 8, ""},
		{job.Sync, 128, 32, 0.001, 7, ""}, // 18 servers, and one of 2 GPUs
		{job.AsyncPS, 64, 32, 0.01, 8, ""}, {job.Sync, 64, 32, 0.003, 8, "tandem"},
		{job.Hybrid, 128, 32, 0.003, 1, ""},
	} {
		s := job.PersiaCluster()
		s.AcceleratorsPerServer = c.perServer
		if c.system != "" { // one thread for each role, and one connection from one to another
			s.System, s.EmbeddingWorkers.Count = c.system, 16
		}
		j := training(c.mode, c.ranks)
		j.Roles.DensePSs = 4
		o := Options{WarmUp: 12, Measured: 8, check: true}
		if c.mode == job.AsyncPS {
			o.Measured = 48
		}
		folded, whole := foldedAndWhole(t, s, j, c.fold, o)
		t.Logf("%s, %d of %d ranks: %+.3f %%", c.mode, folded.Simulated, c.ranks, 100*off(folded, whole))
		if math.Abs(off(folded, whole)) > c.most {
			t.Errorf("%s, %d of %d ranks: %.0f samples/s, want %.0f", c.mode, folded.Simulated, c.ranks,
				folded.Throughput, whole.Throughput)
		}
		if c.mode != job.AsyncPS && (folded.Messages != whole.Messages || folded.Bytes != whole.Bytes) {
			t.Errorf("%s, %d ranks: %d messages of %v, want %d of %v", c.mode, c.ranks, folded.Messages,
				folded.Bytes, whole.Messages, whole.Bytes)
		}
	}
}

// With jitter, a step takes as long as the slowest of all ranks. The draws are the ranks' own, so that both
// runs have the same slowest rank. With the draws of any rank of a class instead, the throughput of 64 ranks,
// of which 8 are simulated, is 4 % too high. What is busy is so for the mean of all ranks, not for the
// slowest.
func TestFoldedRanksTakeTheDrawsOfTheSlowest(t *testing.T) {
	tandem, persia := job.PersiaCluster(), job.PersiaCluster()
	tandem.System, tandem.EmbeddingWorkers.Count = "tandem", 16 // one thread for each role
	for _, c := range []struct {
		cluster job.Cluster
		o       Options
	}{
		{persia, Options{SystemJitter: true}}, {persia, Options{Jitter: 0.3}},
		{persia, Options{HostJitter: 0.4}}, {tandem, Options{SystemJitter: true}},
	} {
		c.cluster.AcceleratorsPerServer = 2
		c.o.WarmUp, c.o.Measured, c.o.Seed = 12, 24, 1
		for _, mode := range []string{job.Sync, job.Hybrid} {
			folded, whole := foldedAndWhole(t, c.cluster, training(mode, 64), 8, c.o)
			t.Logf("%s: %+.3f %%", mode, 100*off(folded, whole))
			if math.Abs(off(folded, whole)) > 0.007 {
				t.Errorf("%s: %.0f samples/s, want %.0f", mode, folded.Throughput, whole.Throughput)
			}
			checkMeans(t, mode, &folded, &whole)
		}
	}
}

// Batches that wait for the one thread of an EW take the mean of a class. With the draws of the slowest, the
// throughput would be 3 % too low.
func TestFoldedRanksWaitForTheMeanOfOthers(t *testing.T) {
	c := job.PersiaCluster()
	c.System, c.EmbeddingWorkers.Count = "tandem", 8
	folded, whole := foldedAndWhole(t, c, training(job.Sync, 256), 32,
		Options{SystemJitter: true, Seed: 1, WarmUp: 12, Measured: 16})
	t.Logf("%+.3f %%", 100*off(folded, whole))
	if math.Abs(off(folded, whole)) > 0.015 {
		t.Errorf("%.0f samples/s, want %.0f", folded.Throughput, whole.Throughput)
	}
}

// checkMeans checks that stations are as busy in the mean, and that parts of a step take as long, as where
// all ranks are simulated.
func checkMeans(t *testing.T, mode string, folded, whole *Result) {
	t.Helper()
	for _, name := range []string{acceleratorStation, "EW cores", "PS cores", "GPU server cores",
		"GPU server network in"} {
		a, b := useOf(t, folded, name), useOf(t, whole, name)
		if math.Abs(a.MeanBusy/b.MeanBusy-1) > 0.03 || a.Stations != b.Stations ||
			math.Abs(a.Servers-b.Servers) > 1e-9 {
			t.Errorf("%s: %+v, want %+v", mode, a, b)
		}
	}
	for _, p := range []phase{forwarding, backwarding, updating} {
		a, b := folded.Phases[p], whole.Phases[p]
		if math.Abs(a.Time.Seconds()/b.Time.Seconds()-1) > 0.03 {
			t.Errorf("%s: %s takes %v, want %v", mode, a.Name, a.Time, b.Time)
		}
	}
}

// useOf returns the use of a class of stations.
func useOf(t *testing.T, r *Result, name string) station.Use {
	t.Helper()
	i := slices.IndexFunc(r.Stations, func(u station.Use) bool { return u.Name == name })
	if i < 0 {
		t.Fatalf("no stations %q", name)
	}
	return r.Stations[i]
}

// Each rank of a job is in one class, and classes of whole servers differ in size by at most one.
func TestEveryRankIsInOneClass(test *testing.T) {
	rapid.Check(test, func(t *rapid.T) {
		s := job.PersiaCluster()
		s.AcceleratorsPerServer = rapid.IntRange(1, 72).Draw(t, "accelerators of a server")
		ranks := rapid.IntRange(1, 16_384).Draw(t, "ranks")
		fold := rapid.SampledFrom([]int{0, 8, 128}).Draw(t, "to")
		f := foldingOf(test, s, job.Hybrid, ranks, Options{fold: fold})
		if f == nil {
			if fold == 0 && ranks > foldAbove && s.AcceleratorsPerServer <= foldServerMax {
				t.Fatalf("%d ranks are not folded", ranks)
			}
			return
		}
		if fold == 0 && ranks <= foldAbove {
			t.Fatalf("%d ranks are folded", ranks)
		}
		seen := make([]bool, ranks)
		least, most := int32(math.MaxInt32), int32(0)
		for rank, c := range f.ranks {
			if c.stride > 0 {
				least, most = min(least, c.size), max(most, c.size)
			}
			for i := range c.size {
				if m := f.member(int32(rank), i); seen[m] {
					t.Fatalf("rank %d is in two classes", m)
				} else {
					seen[m] = true
				}
			}
		}
		if slices.Contains(seen, false) || most-least > 1 {
			t.Fatalf("rank %d is in no class; classes of %d to %d", slices.Index(seen, false), least, most)
		}
	})
}

// foldingOf returns how a job is folded.
func foldingOf(t *testing.T, s job.Cluster, mode string, ranks int, o Options) *folding {
	j := job.Default()
	j.Roles.Ranks, j.Training.GlobalBatch = ranks, 512*ranks
	j.Roles.DensePSs, j.Roles.EmbeddingWorkers = 2, 40
	j.Training.Groups = 16_384
	j = j.InMode(mode)
	return foldingOfJob(t, s, j, o)
}

// many is training with as many EWs as Persia's cluster has hosts for them.
func many(mode string, ranks int) job.Job {
	j := training(mode, ranks)
	j.Roles.EmbeddingWorkers = 40
	return j
}

func foldingOfJob(t *testing.T, s job.Cluster, j job.Job, o Options) *folding {
	layout, w := tower(t), clicks()
	p := pricesOf(t, s, &j, layout, &w)
	cfg, err := j.RoleConfig(layout, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	return newFolding(p, cfg, &o)
}

// A rank stands for others only where they are alike, and under rules that let it.
func TestOnlyLikeRanksAreFolded(t *testing.T) {
	const ranks = 1024
	for _, mode := range job.Modes()[1:] {
		want := mode == job.Sync || mode == job.Hybrid || mode == job.AsyncPS
		if got := foldingOf(t, job.PersiaCluster(), mode, ranks, Options{}) != nil; got != want {
			t.Errorf("%s: folded %v, want %v", mode, got, want)
		}
	}
	for name, change := range map[string]func(*job.Cluster, *job.Job, *Options){
		"unfold": func(s *job.Cluster, _ *job.Job, _ *Options) { s.Unfold = true },
		"mixed": func(s *job.Cluster, _ *job.Job, _ *Options) {
			s.Mixed = []job.MixedServers{{Accelerator: "V100-SXM2-32GB", Servers: 2}}
		},
		"racks": func(s *job.Cluster, _ *job.Job, _ *Options) {
			s.Topology = job.Topology{Kind: job.TopologyRacks, HostsPerRack: 16}
		},
		"rails": func(s *job.Cluster, _ *job.Job, _ *Options) { s.Topology.Kind = job.TopologyRails },
		"slow": func(_ *job.Cluster, j *job.Job, _ *Options) {
			j.Slow = fault.Slows{{Role: fault.SlowTarget{Role: msg.NNWorker, Index: 3}, Factor: 2}}
		},
		"few EWs":       func(_ *job.Cluster, j *job.Job, _ *Options) { j.Roles.EmbeddingWorkers = 15 },
		"EWs of a host": func(s *job.Cluster, _ *job.Job, _ *Options) { s.EmbeddingWorkers.Count = 39 },
		"large servers": func(s *job.Cluster, _ *job.Job, _ *Options) { s.AcceleratorsPerServer = 32 },
		"rows on GPUs": func(_ *job.Cluster, j *job.Job, _ *Options) {
			j.Rows.Placement, j.Model.Device.CUDA, j.Rows.Capacity = job.RowsOnGPU, true, 1000
		},
		"faults":  func(_ *job.Cluster, j *job.Job, _ *Options) { j.Faults.Drop = 0.01 },
		"observe": func(_ *job.Cluster, _ *job.Job, o *Options) { o.Observer = ignored{} },
		"trace":   func(_ *job.Cluster, _ *job.Job, o *Options) { o.Timeline = &timeline.Timeline{} },
		"devices": func(_ *job.Cluster, _ *job.Job, o *Options) { o.DeviceSpread = 0.1 },
	} {
		s, j, o := job.PersiaCluster(), many(job.Hybrid, ranks), Options{}
		change(&s, &j, &o)
		if foldingOfJob(t, s, j, o) != nil {
			t.Errorf("%s: folded", name)
		}
	}
	j := many(job.Hybrid, ranks)
	j.Slow = fault.Slows{{Role: fault.SlowTarget{Role: msg.NNWorker, Index: fault.AllInstances}, Factor: 2}}
	if foldingOfJob(t, job.PersiaCluster(), j, Options{}) == nil {
		t.Error("ranks that are all slow are not folded")
	}
}

type ignored struct{}

func (ignored) Observe(event.Record) {}

// 16,384 ranks take as few events as 1,024. Batches outstanding are those of all ranks.
func TestManyRanksTakeFewEvents(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Hybrid, job.AsyncPS} {
		j := training(mode, 16_384)
		r := run(t, job.PersiaCluster(), j, Options{SystemJitter: true, WarmUp: 2, Measured: 2})
		if r.Simulated != foldRanks || r.Events > 800*foldRanks*int64(4+r.Depth) {
			t.Errorf("%s: %d ranks, %d events", mode, r.Simulated, r.Events)
		}
		if bound := 16_384*r.Depth - 1; r.Staleness.Inflight.Max() > bound ||
			2*r.Staleness.Inflight.Max() < bound {
			t.Errorf("%s: %d batches outstanding, want up to %d", mode, r.Staleness.Inflight.Max(), bound)
		}
	}
}

// The figures of the package comment for 1,024 ranks with jitter, on two clusters and with two systems.
func TestAThousandFoldedRanks(t *testing.T) {
	if !*long {
		t.Skip("a minute; -long runs it")
	}
	gcp, tandem := job.GoogleCloudCluster(), job.PersiaCluster()
	tandem.System = "tandem"
	atOnce := 0
	for _, c := range []struct {
		name    string
		cluster job.Cluster
		mode    string
		tau     *int
		most    float64
	}{
		{"persia", job.PersiaCluster(), job.Sync, nil, 0.007}, {"gcp", gcp, job.Sync, nil, 0.007},
		{"tandem", tandem, job.Sync, nil, 0.007}, {"persia", job.PersiaCluster(), job.Hybrid, nil, 0.004},
		{"gcp", gcp, job.Hybrid, nil, 0.004}, {"tandem", tandem, job.Hybrid, nil, 0.004},
		{"persia, τ = 0", job.PersiaCluster(), job.Hybrid, &atOnce, 0.004},
		{"persia", job.PersiaCluster(), job.AsyncPS, nil, 0.01},
	} {
		j := training(c.mode, 1024)
		j.Training.Staleness, j.Roles.DensePSs = c.tau, 4
		folded, whole := foldedAndWhole(t, c.cluster, j, foldRanks,
			Options{SystemJitter: true, Seed: 1, WarmUp: 12, Measured: 16})
		t.Logf("%s, %s: %+.2f %%", c.name, c.mode, 100*off(folded, whole))
		if math.Abs(off(folded, whole)) > c.most {
			t.Errorf("%s, %s: %.0f samples/s, want %.0f", c.name, c.mode, folded.Throughput, whole.Throughput)
		}
	}
}

// Of 64 ranks and 5 EWs, 16 ranks and one EW are simulated. A message for a class of 4 has the card of one
// host, not of the 5 that are one, and its 4 messages have 5 connections.
func TestPooledEWsHaveACardAndAConnectionEach(t *testing.T) {
	c := job.PersiaCluster()
	c.System, c.EmbeddingWorkers.Count = "tandem", 5
	h := hardwareOf(t, c)
	h.System.Messages.Window.Mid = 0
	j, layout, w := training(job.Sync, 64), tower(t), clicks()
	p := cost.NewPrices(h.Resolve(), &j, layout, &w, true)
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = p.EWHostCount, p.PSStates
	cfg, err := j.RoleConfig(layout, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSimulation(p, cfg, &Options{fold: 16})
	if err != nil {
		t.Fatal(err)
	}
	const worker, ps, rank = 1, 2, 3
	card := s.graph.Links()[s.graph.HostCards(s.hosts[s.places[worker].host].node)[0]].Capacity
	for _, c := range []struct {
		from, to    int32
		connections int
		limit       unit.BytesPerSec
	}{{worker, ps, 2, card}, {worker, rank, 1, card}, {0, worker, 2, card}, {0, rank, 1, 0}} {
		source, target := &s.places[c.from], &s.places[c.to]
		m := task{role: c.from, to: c.to, way: s.way(source, target)}
		if n := s.connectionsOf(&m); n != c.connections {
			t.Errorf("%v to %v: %d connections, want %d", s.instances[c.from].at, s.instances[c.to].at, n,
				c.connections)
		}
		if limit := s.rateLimit(&m, source, target); limit != c.limit {
			t.Errorf("%v to %v: at most %v, want %v", s.instances[c.from].at, s.instances[c.to].at, limit,
				c.limit)
		}
	}
}

// What is simulated for a class of ranks has the random factors of one of them, the one whose work and
// messages of a step take longest, and so its links are those of the simulated work and messages.
func TestAClassHasTheFactorsOfItsSlowestMember(t *testing.T) {
	c := job.PersiaCluster()
	c.System = "tandem"
	h := hardwareOf(t, c)
	j, layout, w := training(job.Sync, 64), tower(t), clicks()
	p := cost.NewPrices(h.Resolve(), &j, layout, &w, true)
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = p.EWHostCount, p.PSStates
	cfg, err := j.RoleConfig(layout, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSimulation(p, cfg, &Options{fold: 16, Jitter: 0.2, HostJitter: 0.3, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	index := func(r msg.Role) int32 { return s.roleIndex(msg.Address{Role: r}) }
	worker, ps, first := index(msg.EmbeddingWorker), index(msg.EmbeddingPS), index(msg.NNWorker)
	links, later := 0, 0
	for c := range chainCount {
		for class := range int32(16) {
			for step := range int32(4) {
				slowest := s.slowestOf(c, class, step)
				of := s.fold.member(class, slowest)
				if slowest > 0 {
					later++
				}
				for i := range s.fold.weights[c] {
					l := &s.fold.weights[c][i]
					var want float64
					m := &msg.Message{Kind: l.message, Rank: class, Step: step}
					k := role.Work{Kind: l.work, Rank: class, Step: step}
					switch {
					case l.message == msg.Rows:
						want = s.messageJitter(ps, worker, m)
					case l.message == msg.Embeddings:
						want = s.messageJitter(worker, first+class, m)
					case l.message == msg.PutGradients:
						want = s.messageJitter(first+class, worker, m)
					case l.message == msg.Put:
						want = s.messageJitter(worker, ps, m)
					case l.work == role.ReadRows:
						want = s.workJitter(ps, k)
					case l.work == role.Pool || l.work == role.Merge:
						want = s.workJitter(worker, k)
					default:
						want = s.launchJitter(k)
					}
					if got := s.linkJitter(l, of, step); got != want || got == 1 {
						t.Errorf("class %d, step %d: %+v has the factor %v, want %v", class, step, l, got,
							want)
					}
					links++
				}
			}
		}
	}
	if links < 16*4*6 || later < 16 {
		t.Errorf("%d links, and %d times another member than the first", links, later)
	}
}

// Of the reads of a class of four, each has the outstanding batches of all four members but its own, and the
// updates of all members of other classes, and of those of its own that came before it.
func TestStalenessOfClasses(t *testing.T) {
	const members, classes = 4, 6
	f := &folding{mean: members}
	var of pace.Staleness
	of.Inflight.AddCount(classes, 10)
	of.Dense.AddCount(classes, 10)
	sum := 0
	for before := range members {
		sum += members*classes + before
	}
	all := f.stalenessOfAll(&of)
	if got := all.Inflight.Max(); got != members*(classes+1)-1 {
		t.Errorf("%d batches outstanding", got)
	}
	if got, want := float64(all.Dense.Max()), float64(sum)/members; math.Abs(got-want) > 0.5 {
		t.Errorf("%v updates, want %v", got, want)
	}
	if all.Inflight.Count() != 10 || all.Dense.Count() != 10 {
		t.Errorf("%d and %d reads", all.Inflight.Count(), all.Dense.Count())
	}
}
