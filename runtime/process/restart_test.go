package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/rng"
	"tandem/algo/unit"
	"tandem/runtime/train"
)

// killer kills the process of a role several times during a run, each time in another step.
type killer struct {
	t       *testing.T
	victims []msg.Address
	cluster *Cluster
	at      []int // steps, ascending
	killed  int
	last    *child // the process that was killed last
}

// newKiller returns a killer whose steps follow from a seed.
func newKiller(t *testing.T, seed uint64, steps int, victims ...msg.Address) *killer {
	k := &killer{t: t, victims: victims}
	draw := rng.New(seed, "kill")
	for i := range victims {
		k.at = append(k.at, steps*i/len(victims)+1+draw.IntN(steps/len(victims)/2))
	}
	return k
}

// progress is called for every step, or with the last of several. It kills no process twice: steps that a
// process has trained before it died may be reported after its death.
func (k *killer) progress(done, _ int) {
	if k.killed < len(k.victims) && done >= k.at[k.killed] {
		p := k.cluster.running(job.Process{k.victims[k.killed]})
		if k.last == p {
			return
		}
		k.last = p
		k.killed++
		if err := p.cmd.Process.Kill(); err != nil {
			k.t.Error(err)
		}
	}
}

// log is a buffer for several goroutines.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// mustEqualSequential checks the parameters of a run against sequential training, whose
// result it returns.
func (s setting) mustEqualSequential(t *testing.T, got *train.Result) *train.Result {
	t.Helper()
	reference, rows := s.Training, s.rows()
	reference.Training.Mode = job.Sequential
	want, err := train.Run(t.Context(), reference, rows, rows.all, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest || got.Rows != want.Rows {
		t.Errorf("dense %x, rows %x (%d); sequential has %x, %x (%d)", got.DenseDigest, got.RowsDigest,
			got.Rows,
			want.DenseDigest, want.RowsDigest, want.Rows)
	}
	return want
}

// outcomes counts, by PS, rank and step, how often a put was applied. The PSs to which rows were routed
// determine whether there must be a put.
type outcomes struct {
	routed, applied map[[3]int32]int
	dropped         map[[2]int32]bool // by rank and step: batches whose gradients do not count
}

// Observe implements event.Observer.
func (o *outcomes) Observe(r event.Record) {
	if o.routed == nil {
		o.routed, o.applied, o.dropped = map[[3]int32]int{}, map[[3]int32]int{}, map[[2]int32]bool{}
	}
	if r.Kind == event.PutApplied || r.Kind == event.PutDropped {
		o.applied[[3]int32{r.Role.Index, r.Rank, r.Step}]++
	}
	if r.Kind == event.BatchDropped {
		o.dropped[[2]int32{r.Rank, r.Step}] = true
	}
	if r.Kind == event.BatchRouted {
		for server, rows := range r.Rows {
			if rows > 0 {
				o.routed[[3]int32{int32(server), r.Rank, r.Step}]++
			}
		}
	}
}

func (o *outcomes) mustBeOne(t *testing.T) {
	t.Helper()
	if len(o.routed) == 0 {
		t.Error("no batch was routed")
	}
	for put, n := range o.routed {
		counts := !o.dropped[[2]int32{put[1], put[2]}]
		if n < 1 || counts && (n != 1 || o.applied[put] != 1) {
			t.Errorf("the put of PS, rank, step %v: routed %d times, applied %d times", put, n,
				o.applied[put])
		}
	}
	for put, n := range o.applied {
		if n != 1 || o.dropped[[2]int32{put[1], put[2]}] {
			t.Errorf("the put of PS, rank, step %v: applied or dropped %d times", put, n)
		}
	}
}

// An embedding worker, the data loader or the coordinator whose process is killed comes back, and the run
// completes; in sync mode with the bits of sequential training.
func TestKilledProcessesComeBack(t *testing.T) {
	t.Parallel()
	type kill struct {
		mode   string
		victim msg.Address
	}
	kills, seeds := []kill{
		{job.Sync, msg.Address{Role: msg.EmbeddingWorker, Index: 1}},
		{job.Sync, msg.Address{Role: msg.DataLoader}},
		{job.SSP, msg.Address{Role: msg.Coordinator}},
	}, uint64(1)
	if *long {
		kills, seeds = append(kills, kill{job.Hybrid, msg.Address{Role: msg.EmbeddingWorker}},
			kill{job.Hybrid, msg.Address{Role: msg.DataLoader}}), 20
	} else if testing.Short() {
		kills = kills[2:] // TestProcessOfSeveralRolesComesBack kills an embedding worker
	}
	for _, c := range kills {
		for seed := range seeds {
			t.Run(fmt.Sprint(c.mode, " ", c.victim, " seed ", seed), func(t *testing.T) {
				var logged log
				s := setting{Training: small(c.mode), Steps: 160, stderr: &logged}
				s.Training.Training.Seed, s.Training.Wire.Retry = seed+1, 100*unit.Millisecond
				if c.victim.Role == msg.EmbeddingWorker { // which the next replaces without the pooled rows
					s.Training.Data.Slots = maxima()
				}
				k := newKiller(t, seed, s.Steps, c.victim, c.victim)
				start := time.Now()
				var puts outcomes
				got, err := s.run(t.Context(), train.Options{Progress: k.progress, Observer: &puts},
					func(made *Cluster) { k.cluster = made })
				if err != nil {
					t.Fatal(err, logged.String())
				}
				puts.mustBeOne(t)
				t.Logf("killed after steps %d; %v", k.at, time.Since(start).Round(10*time.Millisecond))
				if back := fmt.Sprintf("%v is back at ", c.victim); k.killed != 2 ||
					strings.Count(logged.String(), back) != 2 {
					t.Errorf("killed %d times: %s", k.killed, logged.String())
				}
				if c.mode == job.Sync {
					s.mustEqualSequential(t, got)
				}
				// Each batch is read at least once on some PS.
				if reads := uint64(4 * s.Steps); got.Staleness.Own.Count() < reads {
					t.Errorf("%d reads, want at least %d", got.Staleness.Own.Count(), reads)
				}
			})
		}
	}
}

// A role that can restart and panics comes back, and its stack is printed.
func TestPanickingRoleComesBack(t *testing.T) {
	worker := msg.Address{Role: msg.EmbeddingWorker, Index: 1}
	var logged log
	s := setting{Training: small(job.Sync), Steps: 100, Panic: worker.String(), stderr: &logged}
	s.Training.Wire.Retry = 100 * unit.Millisecond
	got, err := s.run(t.Context(), train.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.mustEqualSequential(t, got)
	if !strings.Contains(logged.String(),
		"embedding-worker 1 has ended with a panic:\npanic: too many inputs") {
		t.Error(logged.String())
	}
}

// If the next incarnations of a role cannot start, the run ends with their errors.
func TestRoleThatCannotRestart(t *testing.T) {
	victim := msg.Address{Role: msg.DataLoader}
	started := 0
	k := newKiller(t, 1, 100, victim)
	_, err := endless(job.Hybrid).run(t.Context(), train.Options{Progress: k.progress}, func(c *Cluster) {
		k.cluster = c
		c.options.Command = func(s Start) []string {
			if s.Process[0] == victim {
				if started++; started > 1 {
					return []string{os.Args[0], "play", "no such thing"}
				}
			}
			return command("role", s)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "data-loader 0 has died: ") ||
		!strings.HasSuffix(err.Error(), "; it has died 4 times, and the limit is 3") {
		t.Error(err)
	}
}

// A process that was started by hand and died may be started again by hand.
func TestRolesStartedByHandComeBack(t *testing.T) {
	victim := msg.Address{Role: msg.EmbeddingWorker}
	var logged log
	s := setting{Training: small(job.Sync), Steps: 100, stderr: &logged}
	s.Training.Wire.Retry = 100 * unit.Millisecond
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var started sync.WaitGroup
	start := func(at job.Process, host string) *exec.Cmd {
		arguments := command("role", Start{Process: at, Host: host})
		p := exec.Command(arguments[0], arguments[1:]...)
		p.Env = append(os.Environ(), settingName+"="+string(text))
		if err := p.Start(); err != nil {
			t.Error(err)
		}
		started.Go(func() { _ = p.Wait() }) // one was killed
		return p
	}
	var c *Cluster
	processes := map[msg.Address]*exec.Cmd{}
	killed := false
	got, err := s.run(t.Context(), train.Options{Progress: func(int, int) {
		if !killed {
			killed = true
			if err := processes[victim].Process.Kill(); err != nil {
				t.Error(err)
			}
			started.Go(func() { // until it knows of the death, the host refuses a second process of the role
				for !strings.Contains(logged.String(), "has died") && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				start(job.Process{victim}, c.address)
			})
		}
	}}, func(made *Cluster) {
		c = made
		c.options.Command = nil
		c.options.Gathering = func(host string, _ [16]byte, missing []job.Process) {
			for _, at := range missing {
				if processes[at[0]] == nil {
					processes[at[0]] = start(at, host)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err, logged.String())
	}
	s.mustEqualSequential(t, got)
	if !strings.Contains(logged.String(), "embedding-worker 0 is back at ") {
		t.Error(logged.String())
	}
	started.Wait()
}

// Messages that are lost, repeated, delayed and reordered, and roles that crash inside their processes, cost
// time only: every run ends within its bounds, and sync keeps its bits.
func TestFaultsInProcesses(t *testing.T) {
	t.Parallel()
	seeds := uint64(1)
	if *long {
		seeds = 5
	}
	for i, mode := range pace.Modes() {
		if !*long && i%2 != 0 || testing.Short() && i%3 != 0 {
			continue // TestRunsInProcessesReplayBitForBit has faults in the others
		}
		for seed := range seeds {
			t.Run(fmt.Sprint(mode, " seed ", seed), func(t *testing.T) {
				s := setting{Training: small(mode), Steps: 30}
				crashes := "crash=embedding-worker/1@4+50ms,crash=data-loader/0@9+50ms," +
					"crash=embedding-worker/0@20+50ms"
				if mode == job.SSP {
					crashes += ",crash=coordinator/0@12+50ms"
				}
				plan, err := fault.Parse(fmt.Sprintf("drop=0.01,duplicate=0.01,reorder=16,delay=0.01:50ms,"+
					"seed=%d,%s", seed+1, crashes))
				if err != nil {
					t.Fatal(err)
				}
				s.Training.Faults, s.Training.Training.Seed = plan, seed+1
				start := time.Now()
				var puts outcomes
				got, err := s.run(t.Context(), train.Options{Observer: &puts}, nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%v: %v", time.Since(start).Round(10*time.Millisecond), got.Faults)
				if got.Faults.Crashes != int64(len(plan.Crashes)) || got.Faults.Dropped == 0 ||
					got.Faults.Duplicated == 0 {
					t.Errorf("%v, want %d crashes", got.Faults, len(plan.Crashes))
				}
				puts.mustBeOne(t)
				if mode == job.Sync {
					s.Training.Faults = fault.Plan{}
					s.mustEqualSequential(t, got)
				}
			})
		}
	}
}
