package driver

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

func TestWorkersShareTheCores(t *testing.T) {
	for _, c := range []struct{ embeddingWorkers, cores, want int }{
		{1, 1, 1}, {1, 2, 1}, {1, 4, 2}, {1, 16, 8}, {3, 16, 2}, {9, 16, 1}, {0, 16, 8},
	} {
		if got := workersOf(c.embeddingWorkers, c.cores); got != c.want {
			t.Errorf("%d embedding workers on %d cores: %d goroutines a lane, want %d", c.embeddingWorkers,
				c.cores, got, c.want)
		}
	}
}

// Ends of work are passed on in the order of its issue. Void work is left out.
func TestEndsOfWorkKeepTheirOrder(t *testing.T) {
	l := newLane()
	var passed []int32
	for _, number := range []uint64{2, 0, 3, 1, 5, 4} {
		var d *delivery
		if number != 3 {
			d = &delivery{input: role.Input{Work: role.Work{Step: int32(number)}}}
		}
		l.end(number, d, func(d delivery) { passed = append(passed, d.input.Work.Step) })
	}
	if !slices.Equal(passed, []int32{0, 1, 2, 4, 5}) || len(l.early) > 0 {
		t.Errorf("passed on %v, and %d wait", passed, len(l.early))
	}
}

// uneven is a Stopwatch and a Recorder. In a synctest bubble, its work takes the longer the earlier its
// batch, so that batches overtake each other; it notes how much work of embedding workers is done at the same
// time, and in which order work ends.
type uneven struct {
	mu      sync.Mutex
	working map[role.WorkKind]int
	most    map[role.WorkKind]int
	issued  map[msg.Address][role.Lanes][]role.Work // and not ended
	broken  bool                                    // an end came out of order
}

func newUneven() *uneven {
	return &uneven{working: map[role.WorkKind]int{}, most: map[role.WorkKind]int{},
		issued: map[msg.Address][role.Lanes][]role.Work{}}
}

func (u *uneven) Reduced(int32, time.Duration) {}

func (u *uneven) Worked(w role.Work, _ time.Duration) {
	u.mu.Lock()
	u.working[w.Kind]++
	u.most[w.Kind] = max(u.most[w.Kind], u.working[w.Kind])
	u.mu.Unlock()
	took := time.Duration(100-20*(w.Step%4)) * time.Microsecond
	if w.Kind.Independent() { // longer than what comes between two of them
		took *= 10
	}
	time.Sleep(took)
	u.mu.Lock()
	u.working[w.Kind]--
	u.mu.Unlock()
}

func (u *uneven) Open(at msg.Address, _ uint32, _ *role.Config) (Log, error) {
	return unevenLog{u, at}, nil
}

type unevenLog struct {
	u  *uneven
	at msg.Address
}

func (l unevenLog) Step(_ unit.Tick, in *role.Input, _ exec.Payload, out []role.Output) error {
	l.u.mu.Lock()
	defer l.u.mu.Unlock()
	lanes := l.u.issued[l.at]
	if in.Kind == role.WorkDone {
		own := &lanes[in.Work.Kind.Lane()]
		l.u.broken = l.u.broken || (*own)[0] != in.Work
		*own = (*own)[1:]
	}
	for _, o := range out {
		if o.Kind == role.Do {
			own := &lanes[o.Work.Kind.Lane()]
			*own = append(*own, o.Work)
		}
	}
	l.u.issued[l.at] = lanes
	return nil
}

func (unevenLog) Finish(uint64) error { return nil }

// Several goroutines do the work of an embedding worker at the same time, only its work, and end it in order.
// Sync trains the same bits.
func TestBatchesOfAnEmbeddingWorkerAreDoneAtTheSameTime(t *testing.T) {
	rule := pace.Sync{Overlap: pace.OverlapIDsDS}
	cfg, plain := cluster(t, rule, steps(20))
	if err := Run(t.Context(), cfg, plain, Options{}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		cfg, p := cluster(t, rule, steps(20))
		u := newUneven()
		local, err := NewLocal(cfg, p, Options{Stopwatch: u, Recorder: u}, AllLocal, nil)
		if err != nil {
			t.Fatal(err)
		}
		local.run.workers = 3
		if err := local.Run(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []role.WorkKind{role.Split, role.Pool, role.Merge} {
			if u.most[kind] <= int(cfg.EmbeddingWorkers) || !kind.Independent() {
				t.Errorf("%v: at most %d at the same time, by %d embedding workers", kind, u.most[kind],
					cfg.EmbeddingWorkers)
			}
		}
		for kind, holders := range map[role.WorkKind]int32{role.Read: 1, role.ReadRows: cfg.EmbeddingPSs,
			role.ApplyStep: cfg.EmbeddingPSs, role.Forward: cfg.Ranks} {
			if u.most[kind] > int(holders) || kind.Independent() {
				t.Errorf("%v: %d at the same time, by %d roles", kind, u.most[kind], holders)
			}
		}
		if u.broken {
			t.Error("ends of work came in another order than its issue")
		}
		if p.Model().DenseDigest() != plain.Model().DenseDigest() || !sameRows(p, plain) {
			t.Error("other bits than with one goroutine for each lane")
		}
	})
}

// sameRows reports whether the PSs of two executors have the same rows.
func sameRows(a, b *exec.Executor) bool {
	for i := range int32(servers) {
		at := msg.Address{Role: msg.EmbeddingPS, Index: i}
		if a.Model().Digest(at) != b.Model().Digest(at) {
			return false
		}
	}
	return true
}
