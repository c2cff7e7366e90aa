package driver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// gated is a source whose batches can be read one by one.
type gated struct {
	steps
	gate chan struct{}
}

func (g gated) Read(step int) (*batch.Batch, error) {
	<-g.gate
	return g.steps.Read(step)
}

// outside is the Remote of a process with one role.
type outside struct {
	handled atomic.Int32

	mu   sync.Mutex
	sent []msg.Message
	// calls are the numbers of messages of each Send.
	calls []int
	over  chan struct{} // closed when all ranks have finished
}

// Handled implements Remote.
func (o *outside) Handled(_ msg.Message, refused error) {
	if refused != nil {
		panic(refused)
	}
	o.handled.Add(1)
}

func (o *outside) Send(_ context.Context, letters []exec.Letter) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range letters {
		o.sent = append(o.sent, l.Message)
	}
	o.calls = append(o.calls, len(letters))
	return nil
}

// callsSoFar returns the numbers of messages of each Send so far.
func (o *outside) callsSoFar() []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.calls)
}

// all returns what has been sent so far.
func (o *outside) all() []msg.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent
}

func (o *outside) Reduce(context.Context, int32, dense.Buckets) error { return nil }

func (o *outside) Finished(context.Context) error {
	<-o.over
	return nil
}

// solo is a data loader alone in its process, with faults, in a synctest bubble.
type solo struct {
	*Local
	outside *outside
	page    *page
	gate    chan struct{}
	ended   chan error
}

func startSolo(t *testing.T, faults string) *solo {
	t.Helper()
	s := &solo{outside: &outside{over: make(chan struct{})}, gate: make(chan struct{}),
		ended: make(chan error, 1)}
	cfg, p := cluster(t, pace.Hybrid{Staleness: 2, Overlap: pace.HybridDS}, gated{10, s.gate})
	cfg.Retry = unit.Second
	plan, err := fault.Parse(faults)
	if err != nil {
		t.Fatal(err)
	}
	n := &notebook{pages: map[msg.Address]*page{}}
	loader := msg.Address{Role: msg.DataLoader}
	here := func(at msg.Address) bool { return at == loader }
	if s.Local, err = NewLocal(cfg, p, Options{Faults: &plan, Recorder: n}, here, s.outside); err != nil {
		t.Fatal(err)
	}
	s.page = n.pages[loader]
	go func() { s.ended <- s.Run(t.Context(), time.Now()) }()
	synctest.Wait()
	return s
}

// receive delivers a message of rank 0 to the loader.
func (s *solo) receive(t *testing.T, kind msg.Kind, step, floor int32) {
	t.Helper()
	m := msg.Message{Kind: kind, From: msg.Address{Role: msg.NNWorker}, Step: step, Floor: floor}
	for m.Rank = range s.run.cfg.Ranks {
		if err := s.Deliver(m, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
}

// took checks which inputs the loader has taken since the last call.
func (s *solo) took(t *testing.T, want ...role.InputKind) {
	t.Helper()
	s.page.mu.Lock()
	defer s.page.mu.Unlock()
	if got := s.page.inputs; !slices.Equal(got, want) {
		t.Errorf("the loader took %v, want %v", got, want)
	}
	s.page.inputs = nil
}

// finish ends the run.
func (s *solo) finish(t *testing.T) {
	t.Helper()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// Every message that arrives counts as handled, also if its role is crashed, while Stop waits, and when the
// run is over. Otherwise a sender with a bounded inbox would wait forever.
func TestEveryArrivingMessageIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t, "crash=data-loader/0@5+1m")
		arrived := int32(0)
		receive := func(step int32) {
			s.receive(t, msg.StepDone, step, 0)
			if arrived += s.run.cfg.Ranks; s.outside.handled.Load() != arrived {
				t.Errorf("%d of %d messages are handled", s.outside.handled.Load(), arrived)
			}
		}
		receive(0)
		receive(5) // it crashes
		receive(6)
		close(s.outside.over)
		synctest.Wait()
		receive(7) // it has come back, and stopped
		close(s.gate)
		s.finish(t)
		receive(8)
	})
}

// A crash loses the messages that arrive while the role is away, the results of its work, its timer, and the
// messages that it has sent and that were held back.
func TestCrashLosesStateAndMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t, "reorder=1024,crash=data-loader/0@5+1500ms,crash=data-loader/0@6+10ms")
		s.took(t, role.Start) // and a batch is being read
		s.receive(t, msg.StepDone, 5, 0)
		s.receive(t, msg.Progress, 0, 0)
		s.gate <- struct{}{}
		time.Sleep(1500*time.Millisecond - 1)
		synctest.Wait()
		s.took(t)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		s.took(t, role.Start)            // it asks every rank how far it is
		s.receive(t, msg.StepDone, 6, 0) // before that could travel
		time.Sleep(9 * time.Millisecond)
		synctest.Wait()
		if sent := s.outside.all(); len(sent) > 0 {
			t.Errorf("a role that is away sends %v", sent)
		}
		time.Sleep(time.Millisecond + time.Duration(fault.HoldMax))
		synctest.Wait()
		s.took(t, role.Start)
		if n := len(s.outside.all()); n != int(s.run.cfg.Ranks) {
			t.Errorf("%d messages from the third incarnation", n)
		}
		close(s.outside.over)
		s.finish(t)
		s.took(t, role.Stop)
		if !slices.Equal(s.page.lives, []uint32{0, 1, 2}) {
			t.Errorf("incarnations %d", s.page.lives)
		}
		if got := s.Injected(); got.Crashes != 2 || got.Sent != 2*int64(s.run.cfg.Ranks) ||
			got.Held != got.Sent {
			t.Errorf("injected: %v", got)
		}
	})
}

// Stop is handled when the work in flight is done. Messages and timers that arrive in between are dropped.
func TestStopWaitsForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t, "drop=0.5")
		close(s.outside.over)
		synctest.Wait()
		s.receive(t, msg.StepDone, 0, 0)
		time.Sleep(2 * time.Second)
		s.took(t, role.Start)
		close(s.gate)
		s.finish(t)
		// The first batch that is read is dealt to every rank, and so are two more.
		s.took(t, role.WorkDone, role.WorkDone, role.WorkDone, role.Stop)
	})
}

// A role that is crashed at the end starts again to stop, so that its recording contains the crash.
func TestStopOfCrashedRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t, "crash=data-loader/0@5+1m")
		s.receive(t, msg.StepDone, 5, 0)
		start := time.Now()
		close(s.outside.over)
		close(s.gate)
		s.finish(t)
		s.took(t, role.Start, role.Start, role.Stop)
		if took := time.Since(start); took > 0 {
			t.Errorf("the end takes %v", took)
		}
	})
}

// What a role sends because of one input is handed over in one call: here ids and samples for four ranks.
func TestOneInputSendsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t, "")
		s.gate <- struct{}{}
		synctest.Wait()
		want := []int{2 * int(s.run.cfg.Ranks)}
		if got := s.outside.callsSoFar(); !slices.Equal(got, want) {
			t.Errorf("calls of Send have %d messages, want %d", got, want)
		}
		close(s.outside.over)
		close(s.gate)
		s.finish(t)
	})
}

// A message that a clock delivers leaves at once, without the role.
func TestDelayedMessageLeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t, "delay=1:5ms")
		s.gate <- struct{}{}
		synctest.Wait()
		if got := s.outside.callsSoFar(); len(got) > 0 {
			t.Errorf("calls of Send have %d messages before the delay", got)
		}
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		if got := len(s.outside.callsSoFar()); got != 2*int(s.run.cfg.Ranks) {
			t.Errorf("%d calls of Send after the delay, want one for each of %d messages", got,
				2*s.run.cfg.Ranks)
		}
		close(s.outside.over)
		close(s.gate)
		s.finish(t)
	})
}

// A rank that is back has the parameters that it starts with, also for a rank that crashes next.
func TestARankThatIsBackHasItsParameters(t *testing.T) {
	cfg, e := cluster(t, pace.Sync{Overlap: pace.OverlapNone}, steps(4))
	cfg.RankRecovery, cfg.Retry = true, unit.Second
	r := newRun(cfg, e, Options{}, AllLocal, nil)
	back, next := r.ranks[0], r.ranks[1]
	for _, n := range r.ranks {
		n.gone.Store(true)
	}
	for bucket := range int32(len(cfg.Buckets)) {
		for _, n := range r.ranks {
			if err := r.feed(n, role.Contribution{Rank: n.address.Index, Bucket: bucket}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.reducing = 0
	if _, err := r.hasParametersFor(next); !errors.Is(err, role.ErrParametersLost) {
		t.Errorf("all ranks are away: %v", err)
	}
	start := delivery{input: role.Input{Kind: role.Start, Incarnation: 1, Next: 1}}
	if err := back.handle(&start, new(role.Outputs)); err != nil {
		t.Fatal(err)
	}
	if ready, err := r.hasParametersFor(next); !ready || err != nil {
		t.Errorf("a rank is back with the parameters before step 1: %t, %v", ready, err)
	}
}

// An export is done when the last process has ended it, with the first error.
func TestExportIsDoneWhenNoProcessWrites(t *testing.T) {
	e := NewExport("model")
	one, other := msg.Address{Role: msg.EmbeddingPS}, msg.Address{Role: msg.NNWorker}
	e.Begin(one, "a")
	e.Begin(other, "b")
	full := errors.New("disk full")
	e.End(one, full)
	select {
	case <-e.Done():
		t.Error("it is done while a process writes")
	default:
	}
	e.End(other, errors.New("another"))
	<-e.Done()
	if !errors.Is(e.Err(), full) {
		t.Errorf("error %v, want %v", e.Err(), full)
	}
}
