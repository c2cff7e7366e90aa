package cluster

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

var long = flag.Bool("long", false, "run 20 seeds of faults in each mode, double every resource of 50 "+
	"random jobs, and simulate three to four times as many steps and random runs")

// lossy are the faults of messages that every mode must stand.
const lossy = "drop=0.01,duplicate=0.01,reorder=16,delay=0.01:50ms"

// outcomes counts, by put, how often it was routed and applied, and hashes all records.
type outcomes struct {
	digest
	routed, applied map[[3]int32]int  // by PS, rank, step
	dropped         map[[2]int32]bool // by rank, step: batches whose gradients do not count
	longest         unit.Tick         // from the end of one step of a rank to that of the next
	last            map[int32]unit.Tick
}

func newOutcomes() *outcomes {
	return &outcomes{digest{sha256.New()}, map[[3]int32]int{}, map[[3]int32]int{}, map[[2]int32]bool{}, 0,
		map[int32]unit.Tick{}}
}

func (o *outcomes) Observe(r event.Record) {
	o.digest.Observe(r)
	switch {
	case r.Kind == event.BatchRouted:
		for server, rows := range r.Rows {
			if rows > 0 {
				o.routed[[3]int32{int32(server), r.Rank, r.Step}]++
			}
		}
	case r.Kind == event.BatchDropped:
		o.dropped[[2]int32{r.Rank, r.Step}] = true
	case (r.Kind == event.PutApplied || r.Kind == event.PutDropped) && r.Role.Role == msg.EmbeddingPS:
		o.applied[[3]int32{r.Role.Index, r.Rank, r.Step}]++
	case r.Kind == event.DenseApplied:
		o.longest = max(o.longest, r.At-o.last[r.Rank])
		o.last[r.Rank] = r.At
	}
}

// check reports puts that are not applied once, and a step that takes longer than it may.
func (o *outcomes) check(t *testing.T, batches int) {
	t.Helper()
	if len(o.routed)+len(o.dropped) < batches {
		t.Errorf("%d puts of %d batches", len(o.routed), batches)
	}
	for put := range o.routed { // order-free: each is checked by itself
		want := 1
		if o.dropped[[2]int32{put[1], put[2]}] {
			want = 0
		}
		if o.applied[put] != want {
			t.Errorf("the put to PS %d of rank %d, step %d is applied or dropped %d times, want %d", put[0],
				put[1], put[2], o.applied[put], want)
		}
	}
	if o.longest > 5*unit.Second {
		t.Errorf("a step takes %v", o.longest)
	}
}

// faultRuns trains in every mode under a plan, with some seeds. Every run must end, keep the contract and its
// bounds, hold nothing at its end and apply each put once; sync must train the bits of sequential training.
// The first seed is run twice, with numbers done as early and as late as may be: the record is the same.
func faultRuns(t *testing.T, plan func(j *job.Job, seed uint64) (faults string)) {
	steps, seeds := 30, uint64(2)
	if *long {
		steps, seeds = 100, 20
	}
	source := samples{steps: steps, size: 32, last: 7}
	want := sequential(t, source)
	for _, mode := range job.Modes()[1:] {
		var injected fault.Counts
		var longest unit.Tick
		for seed := range seeds {
			j := numeric(mode, 4)
			j.Roles.DensePSs, j.Training.ModeSettings = 2, map[string]int{"every": 2}
			j = j.InMode(mode)
			faults := plan(&j, seed)
			if faults == "" {
				continue
			}
			var err error
			if j.Faults, err = fault.Parse(fmt.Sprintf("%s,seed=%d", faults, seed)); err != nil {
				t.Fatal(err)
			}
			late := false
			train := func() (bits, *outcomes) {
				o := newOutcomes()
				a, n := simulate(t, hosts(2, 2), j, source, Options{Observer: o, Jitter: 0.3, Seed: seed},
					func(n *serial) {
						n.late = func() bool { return late }
					})
				o.check(t, steps*j.Roles.Ranks)
				if a.Faults.Crashes != int64(len(j.Faults.Crashes)) {
					t.Errorf("%s: %v, want the crashes of %s", mode, a.Faults, j.Faults)
				}
				injected, longest = injected.Add(a.Faults), max(longest, o.longest)
				return bitsOf(n.Model().DenseDigest(), n.Model().Tables()...), o
			}
			got, o := train()
			if mode == job.Sync && got != want {
				t.Errorf("%s: not the bits of sequential training", j.Faults)
			}
			if seed == 0 {
				late = true
				again, o2 := train()
				if again != got || string(o2.Sum(nil)) != string(o.Sum(nil)) {
					t.Errorf("%s, %s: two runs differ", mode, j.Faults)
				}
			}
		}
		if injected.Sent > 0 {
			t.Logf("%s: %v; longest step %v", mode, injected, longest)
		}
	}
}

// sequential returns the bits of sequential training.
func sequential(t *testing.T, source samples) bits {
	t.Helper()
	q, err := reference.NewSequential(numeric(job.Sequential, 1), source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for step := range source.Steps() {
		if err := q.Step(step); err != nil {
			t.Fatal(err)
		}
	}
	return bitsOf(q.Dense().Digest(), q.Rows()...)
}

// Messages that are lost, repeated, late and out of order change when things happen, and nothing else.
func TestLossyRunsEnd(t *testing.T) {
	faultRuns(t, func(*job.Job, uint64) string { return lossy })
}

// A tenth of all messages lost and a quarter repeated, with EWs, loader and coordinator in turn down at any
// time, is still no reason for another outcome.
func TestRolesComeBackAmongHeavyFaults(t *testing.T) {
	faultRuns(t, func(j *job.Job, seed uint64) string {
		draw := rng.New(seed, "crashes")
		faults := "drop=0.1,duplicate=0.25,reorder=16,delay=0.1:20ms"
		for range 4 {
			role := []string{"embedding-worker/0", "embedding-worker/1", "data-loader/0",
				"coordinator/0"}[draw.IntN(4)]
			if role == "coordinator/0" && j.Training.Mode != job.SSP {
				role = "data-loader/0"
			}
			faults += fmt.Sprintf(",crash=%s@%d+%dms", role, draw.IntN(25), draw.IntN(300))
		}
		return faults
	})
}

// Each role that can restart crashes twice, the second time for longer; with -long, in each of the first 20
// steps of as many runs.
func TestCrashedRolesComeBack(t *testing.T) {
	for i, role := range []string{"embedding-worker/0", "embedding-worker/1", "data-loader/0",
		"coordinator/0", "embedding-ps/0", "embedding-ps/1", "dense-ps/0", "nn-worker/0",
		"nn-worker/3"} {
		t.Run(role, func(t *testing.T) {
			faultRuns(t, func(j *job.Job, seed uint64) string {
				if !*long && seed != uint64(i%2) {
					return "" // seeds take turns
				}
				rule, err := j.Rule()
				if err != nil {
					t.Fatal(err)
				}
				if dense := rule.Dense(); role == "coordinator/0" && !dense.Coordinator ||
					role == "dense-ps/0" && !dense.DensePSs ||
					strings.HasPrefix(role, "nn-worker") && dense.Strategy != pace.Reduced {
					return ""
				}
				return fmt.Sprintf("%s,crash=%s@%d,crash=%s@20+2s", lossy, role, seed, role)
			})
		})
	}
}

// Faults need no numbers: the same holds where only time passes, on folded and other clusters. A step that
// crashes cut short is not what is measured.
func TestPredictionWithFaults(t *testing.T) {
	for _, mode := range job.Modes()[1:] {
		j := training(mode, 4)
		clean := run(t, small(), j, Options{check: true})
		var err error
		if j.Faults, err = fault.Parse(lossy + ",crash=embedding-worker/5@110+3s"); err != nil {
			t.Fatal(err)
		}
		folded, unfolded := small(), small()
		unfolded.Unfold = true
		o := newOutcomes()
		a := run(t, folded, j, Options{check: true, Observer: o})
		b := run(t, unfolded, j, Options{check: true})
		if a.Throughput != b.Throughput || a.Faults != b.Faults {
			t.Errorf("%s: folded %v, %v; unfolded %v, %v: a folded PS cannot lose messages of one", mode,
				a.Throughput, a.Faults, b.Throughput, b.Faults)
		}
		if a.Throughput >= clean.Throughput || a.Faults.Dropped == 0 || a.Faults.Crashes != 1 {
			t.Errorf("%s: %.0f samples/s and %v, %.0f without faults", mode, a.Throughput, a.Faults,
				clean.Throughput)
		}
		if a.Elapsed < 3*unit.Second {
			t.Errorf("%s: an EW is away for 3 s, the run takes %v", mode, a.Elapsed)
		}
		o.check(t, 110*j.Roles.Ranks)
	}
}

// A crash in the first steps costs as much as a later one: of at least 100 measured steps of some 25 ms, one
// waits for most of the 2 s for which the EW is away.
func TestEarlyCrashesAreMeasured(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Hybrid} {
		j := training(mode, 4)
		clean := run(t, small(), j, Options{})
		for _, step := range []int{0, 4, 40} {
			var err error
			j.Faults, err = fault.Parse(fmt.Sprintf("crash=embedding-worker/0@%d+2s", step))
			if err != nil {
				t.Fatal(err)
			}
			a := run(t, small(), j, Options{})
			lost := (a.StepTime - clean.StepTime) * unit.Tick(len(a.StepTimes))
			if lost < 1800*unit.Millisecond || lost > 2500*unit.Millisecond || a.Faults.Crashes != 1 {
				t.Errorf("%s: a crash at step %d costs %v, want about 2s", mode, step, lost)
			}
		}
	}
}

// A lost message takes its sender's cores and the wire, a late one what it is late by, and one for a role
// that is away as much as a lost one; none of these takes the receiver's cores.
func TestWhatFaultsCost(t *testing.T) {
	const size, late = unit.Bytes(1 << 20), unit.Millisecond
	from, to := msg.Address{Role: msg.EmbeddingPS, Index: 1}, msg.Address{Role: msg.EmbeddingWorker, Index: 2}
	m := msg.Message{Kind: msg.Rows, From: from, To: to, Bytes: size}
	for _, c := range []struct {
		name                string
		delay               unit.Tick
		lost, away, arrives bool
	}{
		{"arrives", 0, false, false, true}, {"late", late, false, false, true},
		{"lost", 0, true, false, false}, {"away", 0, false, true, false},
	} {
		j := training(job.Hybrid, 2)
		w := worldOf(t, &j)
		p, receiver := w.prices, w.roleIndex(to)
		end := alone(p.Message(p.EWHost, size, true), 1)
		want := c.delay + transit(p, size-msg.HeaderBytes, true)
		if !c.arrives {
			want -= end
		}
		w.instances[receiver].away = c.away
		w.send(w.roleIndex(from), fault.Parcel[exec.Payload]{Message: m, Delay: c.delay}, c.lost)
		w.Settle(0)
		w.clock.Run(unit.Forever-1, w)
		if d := w.clock.Now() - want; d < -5 || d > 5 {
			t.Errorf("%s: takes %v, want %v", c.name, w.clock.Now(), want)
		}
		if busy := w.hosts[w.places[receiver].host].cores.Busy(w.clock.Now()); (busy > 0) != c.arrives {
			t.Errorf("%s: the receiver's cores are busy for %v", c.name, busy)
		}
		if arrived := w.received == size && w.dropped == 0; arrived != c.arrives || w.sent != size {
			t.Errorf("%s: %v sent, %v received, %v dropped", c.name, w.sent, w.received, w.dropped)
		}
	}
}

// What is counted are the messages of all incarnations. Roles that are long away, one time after the other,
// do not count as stalled.
func TestCrashesAreCounted(t *testing.T) {
	j := training(job.Hybrid, 2)
	for range 25 {
		j.Faults.Crashes = append(j.Faults.Crashes,
			fault.Crash{Role: msg.DataLoader, Step: 2, Away: unit.Minute})
	}
	w := worldOf(t, &j)
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	if c := w.faultCounts(); c.Crashes != 25 || c.Sent != w.messages || c.Dropped > 0 {
		t.Errorf("%v; %d messages, 25 crashes", c, w.messages)
	}
}

// The ends of work that a role with a redo log could not take while it was away are handled once, when it is
// back, in their order; messages that arrived meanwhile are lost.
func TestEndsOfWorkWaitForARole(t *testing.T) {
	j := training(job.Hybrid, 2)
	j.Faults.Crashes = []fault.Crash{{Role: msg.EmbeddingPS, Step: 1 << 20}}
	w := worldOf(t, &j)
	at := w.roleIndex(msg.Address{Role: msg.EmbeddingPS, Index: 1})
	n, listener := &w.instances[at], new(listening)
	n.role = listener
	for range 2 {
		n.away, listener.steps = true, nil
		for step := range int32(3) {
			w.handleInput(at, role.Input{Kind: role.WorkDone, Work: role.Work{Step: step}})
			w.handleInput(at, role.Input{Kind: role.Received})
		}
		if len(listener.steps) > 0 {
			t.Errorf("a role that is away has taken %v", listener.steps)
		}
		w.restart(at)
		if !slices.Equal(listener.steps, []int32{0, 1, 2}) || n.away {
			t.Errorf("a role that is back, away: %t, takes the ends %v, want 0 to 2", n.away, listener.steps)
		}
	}
}

// listening is a role that notes the steps of its inputs.
type listening struct {
	role.Role
	steps []int32
}

func (l *listening) HandleInput(_ unit.Tick, in role.Input, _ *role.Outputs) {
	l.steps = append(l.steps, in.Work.Step)
}

// When every rank has trained every step, no role crashes any more: the clock of the one rank is then on its
// way to the coordinator.
func TestNoCrashAfterTheEnd(t *testing.T) {
	for step, want := range map[int32]int64{9: 1, 10: 0} {
		j := training(job.SSP, 1)
		j.Faults.Crashes = []fault.Crash{{Role: msg.Coordinator, Step: step, Away: unit.Minute}}
		w := worldOf(t, &j)
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		if c := w.faultCounts().Crashes; c != want {
			t.Errorf("step %d of 10: %d crashes", step, c)
		}
	}
}

func TestFaultsThatCannotBe(t *testing.T) {
	for faults, want := range map[string]string{
		"crash=embedding-worker/6@3":    "crashes[0].index = 6; the job has 6 instances of embedding-worker",
		"crash=coordinator/0@3":         "the mode has no such role",
		"crash=data-loader/0@1001":      "faults.crashes[0].step = 1001; want at most 1000",
		"drop=0.999,duplicate=0,seed=3": "no rank has done anything for",
	} {
		j := training(job.Hybrid, 2)
		var err error
		if j.Faults, err = fault.Parse(faults); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(hardwareOf(t, small()), j, tower(t), clicks(),
			Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", faults, err, want)
		}
	}
}
