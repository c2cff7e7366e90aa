package cluster

import (
	"fmt"
	"slices"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/station"
)

// served simulates a job whose samples have 20 times as many ids as clicks, at the middle of all ranges, with
// another service of its EWs.
func served(t *testing.T, c job.Cluster, j job.Job, ew cost.Service) Result {
	t.Helper()
	r := hardwareOf(t, c).Resolve()
	r.EWService, r.PSService = ew, cost.Service{Threads: 1, Width: 1}
	w := clicks()
	w.Occurrences *= 20
	a, err := runAt(r, j, tower(t), w, Options{check: true})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// use returns how a class of stations was used; nil if it served nothing.
func use(a *Result, class string) *station.Use {
	i := slices.IndexFunc(a.Stations, func(u station.Use) bool { return u.Name == class })
	if i < 0 {
		return nil
	}
	return &a.Stations[i]
}

// One EW with one thread of one core serves 16 ranks on a fast network. The thread is busy all the time while
// the cores of the host are idle; twice as many threads serve twice as fast, up to what the ranks compute.
func TestServiceThreadsBindWhileCoresAreIdle(t *testing.T) {
	c := small()
	c.EmbeddingWorkers.Count, c.EmbeddingWorkers.PerHost, c.NetworkRate = 1, 1, 1e12
	j := training(job.Hybrid, 16)
	var throughput []float64
	for _, threads := range []int{1, 2, 4} {
		a := served(t, c, j, cost.Service{Threads: threads, Width: 1})
		throughput = append(throughput, a.Throughput)
		u := use(&a, "EW threads")
		if u.Servers != float64(threads) || u.Busy < 0.95 || u.Queue < 1 || use(&a, "EW cores").Busy > 0.5 {
			t.Errorf("%d threads: %+v, cores %+v; want all threads busy and a queue, idle cores", threads, u,
				use(&a, "EW cores"))
		}
	}
	for i, faster := range []float64{throughput[1] / throughput[0], throughput[2] / throughput[1]} {
		if faster < 1.8 || faster > 2.05 {
			t.Errorf("doubling %d threads makes training %.2f times as fast, want nearly 2", i+1, faster)
		}
	}
}

// With the core time of one thread of four cores, four threads of one core serve four pieces in the time in
// which it serves four, one after the other: a saturated host is as fast.
func TestWidthAndThreadsSaturateAlike(t *testing.T) {
	c := small()
	c.EmbeddingWorkers.Count, c.EmbeddingWorkers.PerHost, c.NetworkRate = 1, 1, 1e12
	j := training(job.Hybrid, 16)
	wide := served(t, c, j, cost.Service{Threads: 1, Width: 4})
	many := served(t, c, j, cost.Service{Threads: 4, Width: 1})
	if f := many.Throughput / wide.Throughput; f < 0.95 || f > 1.05 {
		t.Errorf("4 threads of 1 core are %.2f times as fast as 1 thread of 4", f)
	}
}

// Without overlap a step of one rank waits for its host thread: a step takes as much longer as the thread
// takes.
func TestHostThreadDelaysItsRank(t *testing.T) {
	j := training(job.Sync, 1)
	j.Training.Overlap, j.Training.Prefetch = "none", 1000
	w := clicks()
	p := pricesOf(t, small(), &j, tower(t), &w)
	simulated := func() Result {
		a, err := runOnce(p, Options{check: true}, nil, span{8, 8, 1, 17})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	b := p.Batch(512)
	b.ForwardHost, b.BackwardHost = 0, 0
	before := simulated()
	b.ForwardHost, b.BackwardHost = 2*unit.Millisecond, unit.Millisecond
	after := simulated()
	if d := after.StepTime - before.StepTime - 3*unit.Millisecond; d < -10 || d > 10 {
		t.Errorf("3 ms of a rank's host thread add %v to a step", after.StepTime-before.StepTime)
	}
	if use(&before, launcherStation) != nil {
		t.Errorf("a host thread without work is reported: %+v", use(&before, launcherStation))
	}
	busy := 3 * unit.Millisecond.Seconds() / after.StepTime.Seconds()
	if u := use(&after, launcherStation); u.Busy < busy-1e-3 || u.Busy > busy+1e-3 {
		t.Errorf("host thread busy for %v of the time, want %v", u.Busy, busy)
	}
}

// trainServed trains in simulated time with a number of service threads of every EW and PS.
func trainServed(t *testing.T, j job.Job, source batch.Source, threads int, o Options,
	prepare func(*serial)) (Result, *serial) {
	t.Helper()
	r := hardwareOf(t, hosts(2, 2)).Resolve()
	r.EWService = cost.Service{Threads: threads, Width: 1}
	r.PSService = r.EWService
	engine, err := backend.NewEngine(&j, source.Schema(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	var n *serial
	o.check = true
	o.Numerics = func(j job.Job) (Numerics, error) {
		n, err = newSerial(j, source)
		prepare(n)
		return n, err
	}
	a, err := runAt(r, j, engine.Layout(), counted(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a, n
}

// Where the order of all updates is fixed, the bits do not depend on the number of threads.
func TestThreadsChangeNoBit(t *testing.T) {
	for _, overlap := range []string{"none", "ids+ds"} {
		var want bits
		for _, threads := range []int{1, 2, 8} {
			j := numeric(job.Sync, 4)
			j.Training.Overlap = overlap
			_, n := trainServed(t, j, samples{steps: 20, size: 32, last: 7}, threads, Options{},
				func(*serial) {})
			got := bitsOf(n.Model().DenseDigest(), n.Model().Tables()...)
			if threads == 1 {
				want = got
			} else if got != want {
				t.Errorf("overlap %s: %d threads train %x, one %x", overlap, threads, got, want)
			}
		}
	}
}

// With several threads too, a PS reads and updates rows in the order of the issue, in which the records are.
func TestThreadsKeepTheOrderOfEffects(t *testing.T) {
	told, did := ledger{}, ledger{}
	a, _ := trainServed(t, numeric(job.Hybrid, 4), samples{steps: 30, size: 32, last: 32}, 3,
		Options{Jitter: 1, Seed: 3, Observer: told}, func(n *serial) {
			n.did = func(at msg.Address, w role.Work) {
				if w.Kind == role.ReadRows || w.Kind == role.Apply {
					kind := map[role.WorkKind]string{role.ReadRows: "read ", role.Apply: "apply "}[w.Kind]
					did[at] = append(did[at], fmt.Sprint(kind, w.Rank, " ", w.Step))
				}
			}
		})
	for at, want := range told { // order-free: each PS is checked by itself
		if !slices.Equal(did[at], want) || len(want) != 2*4*30 {
			t.Errorf("%v: records tell of %d, it did %d:\n%v\n%v", at, len(want), len(did[at]), want, did[at])
		}
	}
	if u := use(&a, "PS threads"); u.Servers != 3 {
		t.Errorf("%+v", u)
	}
}
