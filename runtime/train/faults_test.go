package train

import (
	"errors"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

var long = flag.Bool("long", false, "train with 20 seeds of faults in each mode")

const (
	// longestStep is the longest time that a step may take, with any faults.
	longestStep = 5 * unit.Second
	// lossy are the faults of messages that every mode must survive.
	lossy = "drop=0.01,duplicate=0.01,reorder=16,delay=0.01:50ms"
)

// audit checks that every put has one outcome, and measures steps.
type audit struct {
	touched, applied map[put]int         // by put: how often it was routed, and applied
	dropped          map[put]bool        // batches whose gradients do not count, with server 0
	last             map[int32]unit.Tick // by rank: when its latest step ended
	longest          unit.Tick           // from the end of a rank's step to that of the next
}

// put names the row gradients of a batch for one PS.
type put struct{ server, rank, step int32 }

func newAudit() *audit {
	return &audit{map[put]int{}, map[put]int{}, map[put]bool{}, map[int32]unit.Tick{}, 0}
}

// Observe implements event.Observer.
func (a *audit) Observe(r event.Record) {
	switch {
	case r.Kind == event.BatchRouted:
		for server, rows := range r.Rows {
			if rows > 0 {
				a.touched[put{int32(server), r.Rank, r.Step}]++
			}
		}
	case r.Kind == event.BatchDropped:
		a.dropped[put{0, r.Rank, r.Step}] = true
	case (r.Kind == event.PutApplied || r.Kind == event.PutDropped) && r.Role.Role == msg.EmbeddingPS:
		a.applied[put{r.Role.Index, r.Rank, r.Step}]++
	case r.Kind == event.DenseApplied:
		a.longest = max(a.longest, r.At-a.last[r.Rank])
		a.last[r.Rank] = r.At
	}
}

// check reports puts without an outcome or with several, and steps that took too long.
func (a *audit) check(t *testing.T, batches int) {
	t.Helper()
	if len(a.touched)+len(a.dropped) < batches {
		t.Errorf("%d puts of %d batches", len(a.touched), batches)
	}
	for p := range a.touched {
		if a.applied[p] == 0 && !a.dropped[put{0, p.rank, p.step}] {
			t.Errorf("the put of rank %d, step %d on PS %d is never applied", p.rank, p.step, p.server)
		}
	}
	for p, n := range a.applied {
		if n != 1 || a.dropped[put{0, p.rank, p.step}] {
			t.Errorf("the put of rank %d, step %d on PS %d is applied or dropped %d times", p.rank, p.step,
				p.server, n)
		}
	}
	if a.longest > longestStep {
		t.Errorf("a step took %v, want at most %v", a.longest, longestStep)
	}
}

// faultRuns trains every mode that a plan fits, with two seeds of its faults, with -short one, or with -long
// twenty seeds and 100 steps. Each run must end within its bounds and hold no data, or Run fails. Sync must
// train the bits of sequential training. in is synctest.Test, in which time passes when all goroutines wait
// and a goroutine that is left over fails the test, or inRealTime.
func faultRuns(t *testing.T, in func(*testing.T, func(*testing.T)), faults string, plan func(*job.Job) bool) {
	t.Helper()
	steps, seeds := 30, uint64(2)
	if *long {
		steps, seeds = 100, 20
	} else if testing.Short() {
		seeds = 1
	}
	r := newRows(64*steps, 64, 4, 1)
	want := mustRun(t, small(job.Sequential, 4), r)
	for _, mode := range job.Modes() {
		if mode == job.Sequential {
			continue
		}
		var injected fault.Counts
		var longest unit.Tick
		var wall time.Duration
		for seed := range seeds {
			training := small(mode, 4)
			var err error
			if training.Faults, err = fault.Parse(fmt.Sprintf("%s,seed=%d", faults, seed)); err != nil {
				t.Fatal(err)
			}
			if !plan(&training) {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", mode, seed), func(t *testing.T) {
				in(t, func(t *testing.T) {
					a := newAudit()
					got, err := Run(t.Context(), training, r, r.all, Options{Observer: a})
					if err != nil {
						t.Fatalf("%s: %v", training.Faults, err)
					}
					a.check(t, steps*training.Roles.Ranks)
					if mode == job.Sync &&
						(got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest) {
						t.Errorf("%s: not the bits of sequential training", training.Faults)
					}
					if got.Faults.Crashes != int64(len(training.Faults.Crashes)) {
						t.Errorf("%d crashes, want those of %s", got.Faults.Crashes, training.Faults)
					}
					injected, longest, wall = injected.Add(got.Faults), max(longest, a.longest), max(wall,
						got.Wall)
				})
			})
		}
		if injected.Sent > 0 {
			t.Logf("%s: %v; longest run %v, longest step %v", mode, injected, wall, longest)
		}
	}
}

func inRealTime(t *testing.T, run func(*testing.T)) { run(t) }

// Messages that are lost, repeated, delayed and reordered change only when things happen. With -long the runs
// take real time.
func TestLossyRunsEnd(t *testing.T) {
	in := synctest.Test
	if *long {
		in = inRealTime
	}
	faultRuns(t, in, lossy, func(*job.Job) bool { return true })
}

// With one message in four lost and one in four repeated, the invariants hold, and the run ends.
func TestVeryLossyRunsEnd(t *testing.T) {
	const faults = "drop=0.25,duplicate=0.25,reorder=100,delay=0.25:100ms"
	faultRuns(t, synctest.Test, faults, func(*job.Job) bool { return true })
}

// Each role that can restart crashes twice, the second time for longer, with lossy messages. Everything that
// it has lost is recovered. With -long it crashes in each of the first 20 steps, in one run for each.
func TestCrashedRolesComeBack(t *testing.T) {
	for _, at := range []msg.Address{
		{Role: msg.EmbeddingWorker}, {Role: msg.EmbeddingWorker, Index: 1}, {Role: msg.DataLoader},
		{Role: msg.Coordinator}, {Role: msg.EmbeddingPS}, {Role: msg.EmbeddingPS, Index: 1},
		{Role: msg.DensePS}, {Role: msg.NNWorker}, {Role: msg.NNWorker, Index: 3},
	} {
		if testing.Short() && at.Index > 0 {
			continue
		}
		t.Run(at.String(), func(t *testing.T) {
			tried := 0
			faultRuns(t, synctest.Test, lossy, func(training *job.Job) bool {
				if tried++; testing.Short() && (tried+int(at.Role))%2 != 0 {
					return false // modes take turns
				}
				rule, err := training.Rule()
				if err != nil {
					t.Fatal(err)
				}
				if dense := rule.Dense(); at.Role == msg.Coordinator && !dense.Coordinator ||
					at.Role == msg.DensePS && !dense.DensePSs ||
					at.Role == msg.NNWorker && dense.Strategy != pace.Reduced {
					return false
				}
				training.Faults.Crashes = []fault.Crash{
					{Role: at.Role, Index: at.Index, Step: int32(training.Faults.Seed)},
					{Role: at.Role, Index: at.Index, Step: 20, Away: 2 * unit.Second},
				}
				return true
			})
		})
	}
}

// A rank that comes back has the hot rows of the others, and trains the bits of sequential training.
func TestARankThatComesBackHasHotRows(t *testing.T) {
	r := newRows(64*30, 64, 4, 1)
	want := mustRun(t, small(job.Sequential, 4), r)
	for step := range int32(8) {
		synctest.Test(t, func(t *testing.T) {
			training := small(job.Sync, 4)
			training.Rows.Hot = job.Hot{Share: 0.01}
			training.Faults.Crashes = []fault.Crash{
				{Role: msg.NNWorker, Index: step % 4, Step: 2 * step,
					Away: unit.Tick(step) * unit.Millisecond},
				{Role: msg.NNWorker, Index: step % 4, Step: 2*step + 1},
			}
			got := mustRun(t, training, r)
			if got.HotRows == 0 || got.Faults.Crashes != 2 || got.DenseDigest != want.DenseDigest ||
				got.RowsDigest != want.RowsDigest {
				t.Errorf("%d hot rows, %d crashes at step %d: digests %x and %x, want %x and %x",
					got.HotRows, got.Faults.Crashes, 2*step, got.DenseDigest, got.RowsDigest,
					want.DenseDigest, want.RowsDigest)
			}
		})
	}
}

// Ranks that crash one after the other have each other's parameters. If all are away at once, the run ends
// and says so.
func TestRanksThatCrashInTurnComeBack(t *testing.T) {
	r := newRows(64*30, 64, 4, 1)
	want := mustRun(t, small(job.Sequential, 2), r)
	for _, away := range []unit.Tick{0, unit.Second / 10} {
		synctest.Test(t, func(t *testing.T) {
			training := small(job.Sync, 2)
			for n := range int32(4) {
				training.Faults.Crashes = append(training.Faults.Crashes,
					fault.Crash{Role: msg.NNWorker, Index: n % 2, Step: 7 * n, Away: away})
			}
			if got := mustRun(t, training, r); got.DenseDigest != want.DenseDigest ||
				got.RowsDigest != want.RowsDigest || got.Faults.Crashes != 4 {
				t.Errorf("away for %v: %d crashes; digests %x and %x, want %x and %x", away,
					got.Faults.Crashes, got.DenseDigest, got.RowsDigest, want.DenseDigest, want.RowsDigest)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		training := small(job.Hybrid, 2)
		for index := range int32(2) {
			training.Faults.Crashes = append(training.Faults.Crashes,
				fault.Crash{Role: msg.NNWorker, Index: index, Step: 5, Away: unit.Second})
		}
		_, err := Run(t.Context(), training, r, r.all, Options{})
		if !errors.Is(err, role.ErrParametersLost) {
			t.Errorf("error %v, want %v", err, role.ErrParametersLost)
		}
	})
}

// A role that is crashed at the end of the run comes back to stop. The run does not wait for its return time.
func TestCrashAtTheEndOfARun(t *testing.T) {
	r := newRows(64*10, 64, 4, 1)
	for _, mode := range []string{job.Sync, job.SSP} {
		synctest.Test(t, func(t *testing.T) {
			training := small(mode, 2)
			training.Faults.Crashes = []fault.Crash{{Role: msg.DataLoader, Step: 9, Away: unit.Minute}}
			got := mustRun(t, training, r)
			if got.Faults.Crashes != 1 || got.Wall > time.Minute {
				t.Errorf("%s: %v, after %v", mode, got.Faults, got.Wall)
			}
		})
	}
}

// In sync mode, the points of evaluation during training equal those of sequential training, also when roles
// crash.
func TestEvaluationWithFaults(t *testing.T) {
	r := newRows(64*30, 64, 4, 1)
	var reference []evaluation.Point
	for _, mode := range []string{job.Sequential, job.Sync, job.Hybrid, job.AsyncPS} {
		synctest.Test(t, func(t *testing.T) {
			training := small(mode, 4)
			training.Training.EvaluateEvery = job.Every{Steps: 7}
			var err error
			training.Faults, err = fault.Parse(lossy +
				",crash=embedding-worker/0@7+1s,crash=data-loader/0@14+1s")
			if err != nil {
				t.Fatal(err)
			}
			curve := mustRun(t, training, r).Curve
			if mode == job.Sequential {
				reference = curve
			}
			if len(curve) != len(reference) || len(curve) != 30/7+1 {
				t.Fatalf("%s: %d points", mode, len(curve))
			}
			for i, point := range curve {
				if want := reference[i]; point.Step != want.Step || mode == job.Sync &&
					point.AUC != want.AUC {
					t.Errorf("%s: AUC %v before step %d, sequential training has %v before step %d", mode,
						point.AUC, point.Step, want.AUC, want.Step)
				}
			}
		})
	}
}
