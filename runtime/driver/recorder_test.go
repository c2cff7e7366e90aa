package driver

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// notebook is a Recorder in memory. It fails after failAfter steps of a role, unless failAfter is 0.
type notebook struct {
	failAfter int
	mu        sync.Mutex // Open is called for one role after the other, Step is not
	pages     map[msg.Address]*page
}

type page struct {
	mu        sync.Mutex
	failAfter int
	inputs    []role.InputKind
	lives     []uint32 // incarnations in order of their Start
	times     []unit.Tick
	records   []string
	unpaid    []msg.Kind // kinds of messages that lacked their payload or had one too many
	digest    uint64
	finished  int
}

var errFull = errors.New("disk is full")

func (n *notebook) Open(at msg.Address, _ uint32, cfg *role.Config) (Log, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pages[at] != nil || cfg == nil {
		return nil, fmt.Errorf("%v opened twice, or without configuration", at)
	}
	n.pages[at] = &page{failAfter: n.failAfter}
	return n.pages[at], nil
}

func (p *page) Step(now unit.Tick, in *role.Input, payload exec.Payload, out []role.Output) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inputs, p.times = append(p.inputs, in.Kind), append(p.times, now)
	if in.Kind == role.Start {
		p.lives = append(p.lives, in.Incarnation)
	}
	if in.Kind == role.Received && in.Message.Kind.HasPayload() != (payload != nil) {
		p.unpaid = append(p.unpaid, in.Message.Kind)
	}
	for _, o := range out {
		if o.Kind == role.Record {
			p.records = append(p.records, o.Event.String())
		}
	}
	if len(p.inputs) == p.failAfter {
		return errFull
	}
	return nil
}

func (p *page) Finish(digest uint64) error {
	p.digest = digest
	p.finished++
	return nil
}

// A recorder receives every input of every role from Start to Stop, all records that observers receive and,
// at the end, the digests of parameters.
func TestRecorderSeesEveryStep(t *testing.T) {
	for _, rule := range rules() {
		cfg, p := cluster(t, rule, steps(5))
		checkRecording(t, cfg, p, nil)
	}
}

// With faults, a recorder sees that roles start again and that timers fire.
func TestRecorderSeesFaults(t *testing.T) {
	for _, rule := range rules() {
		synctest.Test(t, func(t *testing.T) {
			cfg, p := cluster(t, rule, steps(20))
			cfg.Retry = 20 * unit.Millisecond
			n := checkRecording(t, cfg, p, faultyPlan(t))
			for at, want := range map[msg.Address][]uint32{
				{Role: msg.DataLoader}: {0, 1}, {Role: msg.EmbeddingWorker}: {0},
				{Role: msg.EmbeddingWorker, Index: 1}: {0, 1, 2},
			} {
				if got := n.pages[at].lives; !slices.Equal(got, want) {
					t.Errorf("%+v: %v starts as %d, want %d", rule, at, got, want)
				}
			}
			if worker := n.pages[msg.Address{Role: msg.NNWorker}]; !slices.Contains(worker.inputs,
				role.TimerFired) {
				t.Errorf("%+v: no timer fires", rule)
			}
		})
	}
}

// checkRecording records a run and checks what the recorder sees.
func checkRecording(t *testing.T, cfg *role.Config, p *exec.Executor, faults *fault.Plan) *notebook {
	t.Helper()
	var all records
	n := &notebook{pages: map[msg.Address]*page{}}
	if err := Run(t.Context(), cfg, p, Options{Observers: []event.Observer{&all}, Recorder: n,
		Faults: faults}); err != nil {
		t.Fatal(err)
	}
	observed := map[msg.Address][]string{}
	for _, r := range all {
		observed[r.Role] = append(observed[r.Role], r.String())
	}
	if len(n.pages) != len(role.New(cfg)) {
		t.Errorf("%d roles recorded", len(n.pages))
	}
	for at, got := range n.pages {
		last := len(got.inputs) - 1
		if got.inputs[0] != role.Start || got.inputs[last] != role.Stop || !slices.IsSorted(got.times) ||
			got.unpaid != nil {
			t.Errorf("%v: from %v to %v, payloads wrong of %v", at, got.inputs[0], got.inputs[last],
				got.unpaid)
		}
		if !slices.Equal(got.records, observed[at]) {
			t.Errorf("%v: recorded %d events, observed %d, or others", at, len(got.records),
				len(observed[at]))
		}
		if got.finished != 1 || got.digest != p.Model().Digest(at) {
			t.Errorf("%v: finished %d times, digest %x", at, got.finished, got.digest)
		}
	}
	return n
}

// A log that cannot be written ends the run with the reason, and no log is finished.
func TestRecorderFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, p := cluster(t, rules()[3], steps(20))
		n := &notebook{pages: map[msg.Address]*page{}, failAfter: 30}
		if err := Run(t.Context(), cfg, p, Options{Recorder: n}); !errors.Is(err, errFull) {
			t.Error(err)
		}
		for at, got := range n.pages {
			if got.finished > 0 {
				t.Errorf("%v is finished", at)
			}
		}
	})
}
