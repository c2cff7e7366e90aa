package driver

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/runtime/wire"
)

// adversary is the Remote of a role under attack. It accepts and ignores what the role sends.
type adversary struct{ handled chan error }

func (adversary) Reduce(context.Context, int32, dense.Buckets) error { return nil }

func (adversary) Finished(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (adversary) Send(context.Context, []exec.Letter) error { return nil }

func (a adversary) Handled(_ msg.Message, refused error) { a.handled <- refused }

// lies returns messages of one kind from one role to another: a plausible one, and others in which one field
// is false.
func lies(k msg.Kind, from, to msg.Address) []msg.Message {
	good := msg.Message{
		Kind: k, From: from, To: to, Rank: 1, Step: 1, Samples: 4, StepSamples: batchSize,
		Bytes: msg.HeaderBytes,
	}
	all := []msg.Message{good}
	for _, v := range []int32{-1 << 31, -1, 0, 2, 3, 4, 9, 1<<31 - 1} {
		for _, field := range []func(*msg.Message) *int32{
			func(m *msg.Message) *int32 { return &m.Rank }, func(m *msg.Message) *int32 { return &m.Step },
			func(m *msg.Message) *int32 { return &m.Floor },
			func(m *msg.Message) *int32 { return &m.Samples },
			func(m *msg.Message) *int32 { return &m.StepSamples },
		} {
			m := good
			*field(&m) = v
			all = append(all, m)
		}
	}
	return all
}

// payloads returns payloads that a message of any kind may carry.
func payloads() []exec.Payload {
	part := &batch.Cut(&batch.Batch{Samples: batchSize, Labels: make([]float32, batchSize)}, groups, 4)[1]
	ids := batch.Jagged{Offsets: []int32{0, 1, 2, 3, 4}, IDs: []uint64{1, 2, 3, 1 << 63}}
	return []exec.Payload{
		nil, exec.Samples{Part: part}, &exec.IDs{Samples: 4, FirstGroup: 1, Bounds: part.Bounds,
			Columns: []batch.Jagged{ids}},
		exec.Signs{}, exec.Signs{Signs: compress.Signs{Plain: []uint64{1 << 56, 1 << 63}}},
		exec.Values{Values: compress.Pack(compress.FP32, make([]float32, 4))},
		exec.Values{Values: compress.Pack(compress.FP32, nil)},
		&exec.Put{Samples: 4, Signs: compress.Signs{Plain: []uint64{1 << 56}},
			Sums: compress.Pack(compress.FP32, []float32{1})},
		exec.DenseShard{1, 2}, exec.DenseShard(nil),
	}
}

// sizeOf returns the size of a payload that its message must state.
func sizeOf(payload exec.Payload) int {
	switch p := payload.(type) {
	case exec.Samples:
		return 4 * (len(p.Dense) + len(p.Labels))
	case *exec.IDs:
		return p.Size()
	case exec.Signs:
		return p.Size()
	case exec.Values:
		return p.Size()
	case *exec.Put:
		return p.Signs.Size() + p.Sums.Size()
	}
	return 0
}

// Messages of any kind and sender, with false fields and payloads, cause no panic and no failed run. A role
// handles only messages whose fields and counts may be true.
func TestRolesUnderAttack(t *testing.T) {
	for turn, mode := range []string{job.Sync, job.Hybrid, job.SSP, job.AsyncAverage} {
		training := clusterTraining(pace.Sync{})
		training.Training.Mode = mode
		p, err := exec.New(training, steps(10), backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := training.RoleConfig(p.Model().Layout(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		roster := cfg.Roster()
		var all []msg.Address
		for i := range roster.Len() {
			if at := roster.Address(i); at.Index <= 1 {
				all = append(all, at)
			}
		}
		for _, at := range all {
			t.Run(mode+" "+at.String(), func(t *testing.T) { attack(t, cfg, &training, at, all, turn) })
		}
	}
}

// attack sends lies to one role, in the name of any: the first lie of every kind with every payload, and a
// third of the others, which depends on turn: three turns in a row send all.
func attack(t *testing.T, cfg *role.Config, training *job.Job, at msg.Address, others []msg.Address,
	turn int) {
	here := func(a msg.Address) bool { return a == at }
	p, err := exec.NewLocal(*training, steps(10), backend.Backend{}, here)
	if err != nil {
		t.Fatal(err)
	}
	enemy := adversary{make(chan error)}
	part, err := NewLocal(cfg, p, Options{}, here, enemy)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- part.Run(ctx, time.Now()) }()
	refused, taken, stock := 0, 0, payloads()
	for k := msg.Kind(0); k.Known(); k++ {
		for n, from := range others {
			for i, m := range lies(k, from, at) {
				for j, payload := range stock {
					if i > 0 && (n+i+j+turn)%3 != 0 {
						continue
					}
					if i%2 == 0 { // the others state a false size, too
						m.Bytes = msg.HeaderBytes + unit.Bytes(sizeOf(payload))
					}
					m, payload, ok := admitted(cfg, p, m, payload)
					if !ok {
						refused++
						continue
					}
					if err := part.Deliver(m, payload, nil); err != nil {
						t.Fatal(err)
					}
					select {
					case <-enemy.handled:
						taken++
					case err := <-ran:
						t.Fatalf("%v ends the run: %v", m, err)
					}
				}
			}
		}
	}
	t.Logf("%d messages are refused, %d taken", refused, taken)
	if taken == 0 || taken > refused/100 {
		t.Error("that cannot be right")
	}
	cancel(errDisk)
	if err := <-ran; !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

// admitted returns a message as it arrives, and whether it is delivered.
func admitted(cfg *role.Config, p *exec.Executor, m msg.Message, payload exec.Payload) (msg.Message,
	exec.Payload, bool) {
	f, err := wire.Encode(wire.Identity{}, m, payload)
	if err != nil {
		return m, nil, false // it has no encoding
	}
	h, payload, _, err := wire.Decode(slices.Concat(f.Segments...))
	return h.Message, payload, err == nil && role.Admit(cfg, h.Message) == nil &&
		p.Admission().CheckPayload(h.Message, payload) == nil
}
