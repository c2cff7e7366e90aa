package role_test

import (
	"flag"
	"fmt"
	"testing"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// victim is the driver of one role that receives admitted messages from a fuzzer. It checks that the role
// holds the data that it sends, reads and releases.
type victim struct {
	cfg     *role.Config
	state   role.Role
	held    map[role.Handle]bool
	work    role.LaneQueues[completion]
	reduced role.Queue[role.Input]
	fed     *role.Reduction
	timer   bool
	halted  bool
	crashes uint32
}

func (v *victim) Send(m msg.Message, payload role.Handle) error {
	if err := role.Admit(v.cfg, m); err != nil {
		return fmt.Errorf("the role sends a message that Admit refuses: %w", err)
	}
	if m.Kind.HasPayload() != (payload.Kind != role.NoData) {
		return fmt.Errorf("the role sends %v with a payload of kind %v", m, payload.Kind)
	}
	return v.reads(payload)
}

// reads checks that the role holds data.
func (v *victim) reads(handles ...role.Handle) error {
	for _, h := range handles {
		if h.Kind != role.NoData && !v.held[h] {
			return fmt.Errorf("the role reads %+v, which it does not hold", h)
		}
	}
	return nil
}

func (v *victim) QueueWork(w role.Work, o role.Operands) error {
	if err := v.reads(o.Reads...); err != nil {
		return err
	}
	q := v.work.Lane(w.Kind)
	n := int(v.cfg.Ranks)
	result := role.Result{
		Bytes: 1, Samples: make([]int32, n), IDBytes: make([]unit.Bytes, n),
		SampleBytes: make([]unit.Bytes, n), Rows: make([]int32, v.cfg.EmbeddingPSs),
		SignBytes:  make([]unit.Bytes, v.cfg.EmbeddingPSs),
		ValueBytes: make([]unit.Bytes, v.cfg.EmbeddingPSs),
	}
	for b := range v.cfg.Buckets {
		if w.Kind == role.Backward {
			q.Push(completion{role.Input{Kind: role.WorkPart, Work: w, Bucket: int32(b)}, nil})
		}
	}
	for i := range result.Rows {
		result.Rows[i] = (w.Step + int32(i)) % 2
	}
	q.Push(completion{role.Input{Kind: role.WorkDone, Work: w, Result: result}, o.Makes})
	return nil
}

func (v *victim) Feed(c role.Contribution) error {
	v.held[c.Sum] = true
	if _, err := v.fed.Feed(0, c.Step, c.Bucket); err != nil {
		return err
	}
	v.reduced.Push(role.Input{Kind: role.BucketReduced, Work: role.Work{Rank: c.Rank, Step: c.Step},
		Bucket: c.Bucket})
	return nil
}

func (v *victim) Keep(_ msg.Message, h role.Handle) error {
	v.held[h] = true
	return nil
}

func (v *victim) Release(h role.Handle) error {
	if !v.held[h] {
		return fmt.Errorf("the role releases %+v, which it does not hold", h)
	}
	delete(v.held, h)
	return nil
}

func (v *victim) SetTimer(unit.Tick) error { v.timer = true; return nil }

func (v *victim) Observe(event.Record) error { return nil }

func (v *victim) Finish() error { return nil }

func (v *victim) Halt(error) error { v.halted = true; return nil }

// completion is the input that ends a piece of work, and the handles that the work makes.
type completion struct {
	input role.Input
	makes []role.Handle
}

// complete ends a piece of work.
func (v *victim) complete(t *testing.T, c completion) {
	for _, h := range c.makes {
		v.held[h] = true
	}
	v.step(t, c.input)
}

// step gives the role an input and performs its outputs.
func (v *victim) step(t *testing.T, in role.Input) {
	var out role.Outputs
	v.state.HandleInput(0, in, &out)
	if err := role.Dispatch(&in, &out, v); err != nil {
		t.Fatalf("%v, after %+v: %v", v.state.Address(), in, err)
	}
}

// fuzzRules has a rule for each mode with different roles.
var fuzzRules = []pace.Rule{
	pace.Sync{Overlap: pace.OverlapIDsDS},
	pace.Hybrid{Staleness: 1, Overlap: pace.HybridDS},
	pace.SSP{AsyncPS: pace.AsyncPS{Staleness: 1, Overlap: pace.PullEarly}, Slack: 1},
	pace.AsyncAverage{Staleness: 1, Every: 2},
	pace.GBA{AsyncPS: pace.AsyncPS{Overlap: pace.PullEarly}, Batches: 2, Tolerance: 1},
}

// With admitted messages in any order, a role does not panic, reads and releases only data that it holds, and
// sends only messages that Admit accepts.
func FuzzRoles(f *testing.F) {
	f.Add([]byte{0, 0})
	f.Add([]byte{1, 1, 0, 5, 0, 0, 0, 9, 0, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0})
	f.Add([]byte{2, 3, 0, 1, 0, 0, 0, 0, 7, 0, 0, 0, 1, 9, 3, 0, 1, 1, 0, 0, 9})
	f.Fuzz(playRole)
}

// playRole plays a history that is encoded in bytes.
func playRole(t *testing.T, data []byte) {
	if len(data) < 2 {
		return
	}
	cfg := admissionConfig()
	if cfg.Rule = fuzzRules[int(data[0])%len(fuzzRules)]; !cfg.Rule.Dense().DensePSs {
		cfg.DensePSs = nil
	}
	roles := role.New(&cfg)
	v := &victim{
		cfg: &cfg, state: roles[int(data[1])%len(roles)], held: map[role.Handle]bool{},
		fed: role.NewReduction(1, len(cfg.Buckets)),
	}
	v.step(t, role.Input{Kind: role.Start})
	for data = data[2:]; len(data) >= 8 && !v.halted; data = data[8:] {
		v.next(t, data[:8])
	}
	switch v.state.Address().Role {
	// the others hold no data when all ranks have finished
	case msg.DataLoader, msg.EmbeddingWorker, msg.EmbeddingPS:
		v.stop(t)
	}
}

// stop ends the work in flight and the run, and checks that the role releases all data.
func (v *victim) stop(t *testing.T) {
	for lane := range v.work {
		for v.work[lane].Len() > 0 {
			v.complete(t, v.work[lane].Pop())
		}
	}
	v.step(t, role.Input{Kind: role.Stop})
	for h := range v.held {
		t.Fatalf("%v holds %+v after Stop", v.state.Address(), h)
	}
}

// next gives the role one input, which eight bytes encode.
func (v *victim) next(t *testing.T, code []byte) {
	switch what := code[0] % 16; {
	case what == 0 && v.timer:
		v.timer = false
		v.step(t, role.Input{Kind: role.TimerFired})
	case what == 1 && v.reduced.Len() > 0:
		v.step(t, v.reduced.Pop())
	case what < 8 && v.work[what%role.Lanes].Len() > 0:
		v.complete(t, v.work[what%role.Lanes].Pop())
	case what == 8 && code[7] > 250 && role.CanRestart(v.state.Address().Role):
		v.crashes++
		clear(v.held)
		v.work.Clear()
		v.step(t, role.Input{Kind: role.Start, Incarnation: v.crashes})
	case what == 9 && v.state.Address().Role == msg.DataLoader:
		v.step(t, role.Input{Kind: role.Drain})
	default:
		m := v.message(code)
		if role.Admit(v.cfg, m) == nil && role.CheckCredit(v.cfg, v.state, m) == nil {
			v.step(t, role.Input{Kind: role.Received, Message: m})
		}
	}
}

// message returns a message of a kind that the role receives, mostly with a sender from which Admit accepts
// it.
func (v *victim) message(code []byte) msg.Message {
	kinds := received[v.state.Address().Role]
	m := msg.Message{
		Kind: kinds[int(code[1])%len(kinds)], To: v.state.Address(), Rank: int32(code[2]) % v.cfg.Ranks,
		Step: int32(code[3]) % 4, Floor: int32(code[4]) % 6, Samples: 1, StepSamples: 2,
		Bytes: msg.HeaderBytes,
	}
	if at := m.To; at.Role == msg.NNWorker {
		m.Rank = at.Index
	}
	for i := range 64 {
		m.From = msg.Address{Role: msg.Role((int(code[5]) + i) % msg.RoleCount),
			Index: int32(i/msg.RoleCount+int(code[6])) % 4}
		switch m.Bytes = msg.HeaderBytes; m.Kind {
		case msg.Params:
			m.Bytes += 100 * unit.Bytes(m.From.Index+1)
		case msg.Push:
			m.Bytes += 100 * unit.Bytes(m.To.Index+1)
		}
		if role.Admit(v.cfg, m) == nil || code[7] > 240 {
			break
		}
	}
	return m
}

// received has the kinds of message that each role receives.
var received = [msg.RoleCount][]msg.Kind{
	msg.DataLoader: {
		msg.SamplesAck, msg.StepDone, msg.ResendIDs, msg.Progress, msg.OfferEnd, msg.EndSet,
	},
	msg.EmbeddingWorker: {msg.IDFeatures, msg.GetEmbeddings, msg.Rows, msg.PutGradients, msg.PutAck},
	msg.EmbeddingPS:     {msg.Lookup, msg.Put, msg.SetEnd},
	msg.NNWorker: {
		msg.Samples, msg.Embeddings, msg.PutDone, msg.Params, msg.PushAck, msg.SlowestClock, msg.AskProgress,
		msg.AskEnd, msg.SetEnd,
	},
	msg.DensePS:     {msg.Pull, msg.Push, msg.SetEnd},
	msg.Coordinator: {msg.ReportClock},
}

var long = flag.Bool("long", false, "play more random histories")

// These are the checks of FuzzRoles on long random histories, which a fuzzer reaches late.
func TestRolesOnRandomHistories(t *testing.T) {
	seeds := uint64(100)
	if *long {
		seeds = 3000
	}
	for seed := range seeds {
		draw := rng.New(seed, "history")
		data := make([]byte, 2+8*600)
		for i := range data {
			data[i] = byte(draw.Uint32())
		}
		playRole(t, data)
	}
}
