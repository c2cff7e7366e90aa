package driver

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// exchange connects Locals of one role each, as a network would.
type exchange struct {
	parts    map[msg.Address]*Local
	finished sync.WaitGroup // ranks
	freed    atomic.Int64   // payloads

	mu     sync.Mutex
	joined *sync.Cond
	round  int
	given  [][]float32 // by rank, of the current round
	count  int
	sums   []float32 // of the previous round
}

func newExchange(ranks int32) *exchange {
	x := &exchange{parts: map[msg.Address]*Local{}, given: make([][]float32, ranks)}
	x.joined = sync.NewCond(&x.mu)
	x.finished.Add(int(ranks))
	return x
}

// endpoint is one role's Remote in an exchange.
type endpoint struct {
	x  *exchange
	at msg.Address
	p  *exec.Executor
}

func (s endpoint) Send(_ context.Context, letters []exec.Letter) error {
	for _, l := range letters {
		payload, free := s.x.copied(l.Payload)
		if err := s.x.parts[l.Message.To].Deliver(l.Message, payload, free); err != nil {
			return err
		}
	}
	return nil
}

// copied returns a payload in memory of the receiver's own, which is spoilt when the receiver frees it.
func (x *exchange) copied(payload exec.Payload) (_ exec.Payload, free func()) {
	var signs *compress.Signs
	var values *compress.Values
	switch p := payload.(type) {
	case exec.Signs:
		p.Signs = clonedSigns(&p.Signs)
		payload, signs = p, &p.Signs
	case exec.Values:
		p.Floats = slices.Clone(p.Floats)
		payload, values = p, &p.Values
	case *exec.Put:
		put := *p
		put.Signs, put.Sums.Floats = clonedSigns(&p.Signs), slices.Clone(p.Sums.Floats)
		payload, signs, values = &put, &put.Signs, &put.Sums
	default:
		return payload, nil
	}
	return payload, func() {
		x.freed.Add(1)
		if signs != nil {
			for i := range signs.Plain {
				signs.Plain[i] = 1 << 60
			}
		}
		if values != nil {
			for i := range values.Floats {
				values.Floats[i] = float32(math.NaN())
			}
		}
	}
}

func clonedSigns(s *compress.Signs) compress.Signs {
	return compress.Signs{Plain: slices.Clone(s.Plain)}
}

func (s endpoint) Handled(m msg.Message, refused error) {
	if refused != nil {
		panic(refused)
	}
}

func (s endpoint) Reduce(_ context.Context, step int32, b dense.Buckets) error {
	return s.p.ReduceAcross(step, b, s)
}

func (s endpoint) Done() <-chan struct{} { return nil }

func (s endpoint) Finished(ctx context.Context) error {
	if s.at.Role == msg.NNWorker {
		s.x.finished.Done()
	}
	all := make(chan struct{})
	go func() { s.x.finished.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s endpoint) Sum(given [][]float32) error {
	x, values := s.x, given[0]
	x.mu.Lock()
	defer x.mu.Unlock()
	x.given[s.at.Index] = append([]float32{}, values...)
	round := x.round
	if x.count++; x.count == len(x.given) {
		collective.Tree(x.given)
		x.sums, x.count, x.round = x.given[0], 0, round+1
		x.joined.Broadcast()
	}
	for x.round == round {
		x.joined.Wait()
	}
	copy(values, x.sums)
	return nil
}

func (s endpoint) Gather([][]float32) ([]float32, error) {
	panic("logistic regression has no batch norm")
}

// runLocals trains as Run does, with one Local for each role, and returns the digests of network and rows.
func runLocals(t *testing.T, rule pace.Rule, n int, fail map[msg.Address]role.Role,
	faults *fault.Plan) (dense,
	rows uint64, errs []error) {
	training := clusterTraining(rule)
	cfg, _ := cluster(t, rule, steps(n))
	if faults != nil {
		cfg.Retry = 20 * unit.Millisecond
	}
	x := newExchange(cfg.Ranks)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	executors := map[msg.Address]*exec.Executor{}
	for _, state := range role.New(cfg) {
		at := state.Address()
		here := func(a msg.Address) bool { return a == at }
		p, err := exec.NewLocal(training, steps(n), backend.Backend{}, here)
		if err != nil {
			t.Fatal(err)
		}
		part, err := NewLocal(cfg, p, Options{Faults: faults}, here, endpoint{x, at, p})
		if err != nil {
			t.Fatal(err)
		}
		if rogue, ok := fail[at]; ok {
			part.run.instance(at).state = rogue
		}
		x.parts[at], executors[at] = part, p
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	for _, part := range x.parts {
		running.Go(func() {
			if err := part.Run(ctx, time.Now()); err != nil {
				cancel(err)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	running.Wait()
	if len(errs) == 0 && x.freed.Load() == 0 {
		t.Error("no memory of a payload was freed")
	}
	for at, p := range executors {
		switch at {
		case msg.Address{Role: msg.NNWorker}:
			dense = p.Model().Digest(at)
		default:
			if at.Role == msg.EmbeddingPS {
				rows += p.Model().Digest(at)
			}
		}
	}
	return dense, rows, errs
}

func clusterTraining(rule pace.Rule) job.Job {
	training := job.Default()
	training.Training.Mode, training.Model.Kind = rule.Name(), model.LogisticRegression
	training.Training.GlobalBatch, training.Training.Groups, training.Roles.EmbeddingPSs = batchSize, groups,
		servers
	return training
}

// Roles in separate Locals train the same bits as roles in one.
func TestLocalsTrainTheSameBits(t *testing.T) {
	rule := pace.Sync{Overlap: pace.OverlapIDsDS}
	cfg, p := cluster(t, rule, steps(20))
	if err := Run(t.Context(), cfg, p, Options{}); err != nil {
		t.Fatal(err)
	}
	var rows uint64
	for _, shard := range p.Model().Tables() {
		rows += shard.Digest()
	}
	gotDense, gotRows, errs := runLocals(t, rule, 20, nil, nil)
	if errs != nil || gotDense != p.Model().DenseDigest() || gotRows != rows {
		t.Errorf("dense %x, rows %x, %v; in one process %x and %x", gotDense, gotRows, errs,
			p.Model().DenseDigest(), rows)
	}
}

// Under every rule a run of several Locals ends.
func TestLocalsFinish(t *testing.T) {
	for _, rule := range rules() {
		if _, _, errs := runLocals(t, rule, 10, nil, nil); errs != nil {
			t.Errorf("%+v: %v", rule, errs)
		}
	}
}

// A Local that fails returns the reason. The others stop when their context ends.
func TestFailureStopsAllLocals(t *testing.T) {
	at := msg.Address{Role: msg.DataLoader}
	state := role.NewDataLoader(mustConfig(t))
	_, _, errs := runLocals(t, pace.Hybrid{Staleness: 2, Overlap: pace.HybridDS}, 10,
		map[msg.Address]role.Role{
			at: rogue{state, []role.Output{{Kind: role.Halt, Reason: errDisk}}},
		}, nil)
	if len(errs) != 1+2+servers+4 {
		t.Errorf("%d parts report, want all 9", len(errs))
	}
	for _, err := range errs {
		if !errors.Is(err, errDisk) {
			t.Error(err)
		}
	}
}

func mustConfig(t *testing.T) *role.Config {
	cfg, _ := cluster(t, pace.Hybrid{Staleness: 2, Overlap: pace.HybridDS}, steps(10))
	return cfg
}

// Deliver refuses messages for roles of other processes and for roles that do not exist.
func TestDeliverRefusesOtherReceivers(t *testing.T) {
	cfg, p := cluster(t, pace.Sync{Overlap: pace.OverlapNone}, steps(3))
	part, err := NewLocal(cfg, p, Options{}, func(a msg.Address) bool { return a.Role == msg.DataLoader },
		endpoint{})
	if err != nil {
		t.Fatal(err)
	}
	m := msg.Message{Kind: msg.Lookup, To: msg.Address{Role: msg.EmbeddingPS, Index: 1}}
	if err := part.Deliver(m, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "embedding-ps 1 is not in this process") {
		t.Error(err)
	}
	for _, to := range []msg.Address{
		{Role: 200}, {Role: msg.DataLoader, Index: -1}, {Role: msg.DataLoader, Index: 1},
		{Role: msg.Coordinator},
	} {
		if err := part.Deliver(msg.Message{Kind: 255, To: to}, nil, nil); err == nil {
			t.Errorf("a message to role %d, index %d is delivered", to.Role, to.Index)
		}
	}
}

// Faults are injected into messages between processes as into messages within one process, and roles crash
// there, too: the result is the same.
func TestLocalsWithFaults(t *testing.T) {
	rule := pace.Sync{Overlap: pace.OverlapIDsDS}
	cfg, p := cluster(t, rule, steps(20))
	if err := Run(t.Context(), cfg, p, Options{}); err != nil {
		t.Fatal(err)
	}
	var rows uint64
	for _, shard := range p.Model().Tables() {
		rows += shard.Digest()
	}
	plan := faultyPlan(t)
	gotDense, gotRows, errs := runLocals(t, rule, 20, nil, plan)
	if errs != nil || gotDense != p.Model().DenseDigest() || gotRows != rows {
		t.Errorf("dense %x, rows %x, %v; in one process %x and %x", gotDense, gotRows, errs,
			p.Model().DenseDigest(), rows)
	}
}

// refusalRecorder is the Remote of a PS. It records the refusals that are reported.
type refusalRecorder struct {
	endpoint
	refused chan error // of every message that is handled
}

func (j refusalRecorder) Handled(_ msg.Message, refused error) { j.refused <- refused }

// A message that a role must not handle in its current state, such as a lookup beyond all credit, is reported
// and not handled.
func TestRefusalsAreReported(t *testing.T) {
	cfg, p := cluster(t, pace.Sync{Overlap: pace.OverlapNone}, steps(1000))
	at := msg.Address{Role: msg.EmbeddingPS}
	j := refusalRecorder{endpoint{x: newExchange(1), at: at}, make(chan error)}
	defer j.x.finished.Done()
	part, err := NewLocal(cfg, p, Options{}, func(a msg.Address) bool { return a == at }, j)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- part.Run(ctx, time.Now()) }()
	taken := 0
	for step := range int32(cfg.Steps) {
		worker := msg.Address{Role: msg.EmbeddingWorker}
		m := msg.Message{Kind: msg.Lookup, From: worker, To: at, Step: step + 1, Samples: 4, StepSamples: 16}
		if err := part.Deliver(m, exec.Signs{Signs: compress.Signs{Plain: []uint64{7}}}, nil); err != nil {
			t.Fatal(err)
		}
		if err := <-j.refused; err == nil {
			taken++
		} else if refused := new(role.RefusedError); !errors.As(err, &refused) || refused.Field != "step" {
			t.Fatal(err)
		}
	}
	if held := part.run.instance(at).store.Len(); taken == 0 || taken > 100 || held != taken {
		t.Errorf("%d of %d lookups are taken, %d held", taken, cfg.Steps, held)
	}
	cancel(errDisk)
	if err := <-ran; !errors.Is(err, errDisk) {
		t.Error(err)
	}
}
