package role_test

import (
	"errors"
	"math"
	"testing"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// admissionConfig returns a configuration with every role.
func admissionConfig() role.Config {
	cfg := smallConfig()
	cfg.EmbeddingWorkers, cfg.Retry = 2, unit.Second
	cfg.Rule = pace.SSP{AsyncPS: pace.AsyncPS{Overlap: pace.PullAfterPush}, Slack: 1}
	cfg.DensePSs = []unit.Bytes{100, 200}
	return cfg
}

// adversarial yields messages of every kind between every pair of roles, with values at the limits of the
// range of each field, near them and far outside.
func adversarial(yield func(msg.Message)) {
	numbers := []int32{math.MinInt32, -1, 0, 1, 2, 7, 8, 9, 1 << 20, math.MaxInt32}
	base := msg.Message{Samples: 4, StepSamples: 8, Bytes: msg.HeaderBytes}
	for kind := range msg.Kinds + 1 {
		for from := range msg.RoleCount + 1 {
			for to := range msg.RoleCount + 1 {
				m := base
				m.Kind = msg.Kind(kind)
				m.From, m.To = msg.Address{Role: msg.Role(from)}, msg.Address{Role: msg.Role(to)}
				yield(m)
				shard := m
				shard.Bytes += 100 // the size of the shard of dense-ps 0
				yield(shard)
				for _, n := range numbers {
					for _, field := range []func(*msg.Message){
						func(m *msg.Message) { m.From.Index = n }, func(m *msg.Message) { m.To.Index = n },
						func(m *msg.Message) { m.Rank = n }, func(m *msg.Message) { m.Step = n },
						func(m *msg.Message) { m.Floor = n }, func(m *msg.Message) { m.Samples = n },
						func(m *msg.Message) { m.StepSamples = n },
						func(m *msg.Message) { m.Bytes = unit.Bytes(n) },
						func(m *msg.Message) { m.Rank, m.From.Index = n, n },
						func(m *msg.Message) { m.Rank, m.To.Index = n, n },
						func(m *msg.Message) { m.Rank, m.From.Index, m.Step, m.Floor = n, n, n, n },
					} {
						hostile := m
						field(&hostile)
						yield(hostile)
					}
				}
			}
		}
	}
}

// No admitted message makes a role panic or send a message that is refused, in any incarnation, and all
// fields of an admitted message are in range.
func TestAdmittedMessagesAreHarmless(t *testing.T) {
	cfg := admissionConfig()
	roster := cfg.Roster()
	admitted := map[msg.Kind]int{}
	adversarial(func(m msg.Message) {
		if role.Admit(&cfg, m) != nil {
			return
		}
		admitted[m.Kind]++
		i, ok := roster.Index(m.To)
		if !ok || m.Rank < 0 || m.Rank >= cfg.Ranks || m.Step < 0 || m.Step > cfg.Steps ||
			m.Floor > cfg.Steps {
			t.Fatalf("Admit accepts a field out of range: %+v", m)
		}
		for _, incarnation := range []uint32{0, 1} {
			r := role.New(&cfg)[i]
			var out role.Outputs
			r.HandleInput(0, role.Input{Kind: role.Start, Incarnation: incarnation}, &out)
			r.HandleInput(0, role.Input{Kind: role.Received, Message: m}, &out)
			r.HandleInput(0, role.Input{Kind: role.Received, Message: m}, &out)
			r.HandleInput(0, role.Input{Kind: role.TimerFired}, &out)
			for _, o := range out.List {
				if o.Kind == role.Send {
					if err := role.Admit(&cfg, o.Message); err != nil {
						t.Fatalf("%v answers %+v with a message that Admit refuses: %v", m.To, m, err)
					}
				}
			}
		}
	})
	for kind := range msg.Kinds {
		if admitted[msg.Kind(kind)] == 0 {
			t.Errorf("Admit refuses every %v message", msg.Kind(kind))
		}
	}
}

// The error of Admit names the field that is out of range.
func TestAdmitNamesTheField(t *testing.T) {
	cfg := admissionConfig()
	ew := msg.Address{Role: msg.EmbeddingWorker, Index: 1} // of rank 1, step 0
	put := msg.Message{Kind: msg.Put, From: ew, To: ps(1), Rank: 1, Step: 2, Floor: 2, Samples: 4,
		StepSamples: 8, Bytes: 100}
	if err := role.Admit(&cfg, put); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		field  string
		change func(*msg.Message)
	}{
		{"kind", func(m *msg.Message) { m.Kind = msg.Rows }},
		{"from", func(m *msg.Message) { m.From.Index = 2 }},
		{"from", func(m *msg.Message) { m.From.Index = 0 }}, // a batch of the other EW
		{"to", func(m *msg.Message) { m.To.Index = 2 }},
		{"rank", func(m *msg.Message) { m.Rank = 2 }},
		{"step", func(m *msg.Message) { m.Step = 8 }},
		{"floor", func(m *msg.Message) { m.Floor = 3 }}, // the step of the put would count as applied
		{"samples", func(m *msg.Message) { m.Samples = 9 }},
		{"bytes", func(m *msg.Message) { m.Bytes = 47 }},
	} {
		m := put
		c.change(&m)
		var refused *role.RefusedError
		if err := role.Admit(&cfg, m); !errors.As(err, &refused) || refused.Field != c.field {
			t.Errorf("%+v: %v, want field %q", m, err, c.field)
		}
	}
}

// After a crash the data loader deals out batches from the first unfinished step of each rank, and no step
// that a rank has finished.
func TestDataLoaderResumesAfterACrash(t *testing.T) {
	cfg := smallConfig()
	l := role.NewDataLoader(&cfg)
	var out role.Outputs
	step := func(in role.Input) []role.Output {
		out.Reset()
		l.HandleInput(0, in, &out)
		return out.List
	}
	progress := func(rank, floor int32) role.Input {
		from := msg.Address{Role: msg.NNWorker, Index: rank}
		return role.Input{Kind: role.Received,
			Message: msg.Message{Kind: msg.Progress, From: from, Rank: rank, Floor: floor}}
	}
	if asked := step(role.Input{Kind: role.Start, Incarnation: 1}); len(asked) != 2 ||
		asked[1].Message.Kind != msg.AskProgress {
		t.Fatalf("outputs after a crash: %+v, want AskProgress to both ranks", asked)
	}
	if out := step(progress(0, 5)); len(out) != 0 {
		t.Fatalf("outputs before all ranks have reported: %+v, want none", out)
	}
	if out := step(progress(1, 3)); len(out) != 1 || out[0].Kind != role.Do || out[0].Work.Step != 3 {
		t.Fatalf("outputs after all ranks have reported: %+v, want step 3 read", out)
	}
	result := role.Result{Samples: []int32{4, 4}, IDBytes: []unit.Bytes{1, 1},
		SampleBytes: []unit.Bytes{1, 1}}
	for read := int32(3); read < 6; read++ {
		done := role.Input{Kind: role.WorkDone,
			Work: role.Work{Kind: role.Read, Rank: event.NoRank, Step: read}, Result: result}
		for _, o := range step(done) {
			if o.Kind == role.Send && o.Message.Rank == 0 && o.Message.Step < 5 {
				t.Errorf("the loader deals out step %d to rank 0, which has finished it", o.Message.Step)
			}
		}
	}
	finished := msg.Message{Kind: msg.StepDone, From: msg.Address{Role: msg.NNWorker, Index: 1}, Rank: 1,
		Step: 3}
	want := role.Handle{Kind: role.GlobalBatch, Rank: event.NoRank, Step: 3}
	if out := step(role.Input{Kind: role.Received, Message: finished}); len(out) == 0 ||
		out[0].Kind != role.Release || out[0].Handle != want {
		t.Errorf("outputs when both ranks have finished step 3: %+v, want its batch released", out)
	}
}

// When an embedding worker holds as many batches as CheckCredit allows, messages about these batches are
// accepted, and messages that open another batch are refused.
func TestCheckCreditAcceptsMessagesAboutHeldBatches(t *testing.T) {
	cfg := admissionConfig()
	cfg.Steps = 1000
	worker := role.NewEmbeddingWorker(&cfg, 0)
	limit := 4*cfg.Prefetch + 16
	about := func(step int32) msg.Message {
		return msg.Message{Kind: msg.IDFeatures, To: worker.Address(), Step: step, Samples: 4, StepSamples: 8}
	}
	for step := range limit {
		if err := role.CheckCredit(&cfg, worker, about(step)); err != nil {
			t.Fatalf("batch %d of %d: %v", step, limit, err)
		}
		worker.HandleInput(0, role.Input{Kind: role.Received, Message: about(step)}, &role.Outputs{})
	}
	if err := role.CheckCredit(&cfg, worker, about(3)); err != nil {
		t.Errorf("a message about a held batch: %v", err)
	}
	if err := role.CheckCredit(&cfg, worker, about(limit)); err == nil {
		t.Errorf("CheckCredit accepts batch %d beside %d others", limit, limit)
	}
}

// CheckCredit bounds the payloads that a sender without credit can make a role hold. It accepts repeated
// messages.
func TestCheckCreditBoundsTheHeldPayloads(t *testing.T) {
	cfg := admissionConfig()
	cfg.Steps, cfg.Rule = 1000, pace.Sync{} // the PS holds lookups of later steps back
	cfg.DensePSs = nil
	server := role.NewEmbeddingPS(&cfg, 0)
	kept := 0
	for step := range cfg.Steps {
		m := ask(msg.Lookup, 0, 0, step, 100)
		for range 2 {
			if role.CheckCredit(&cfg, server, m) != nil {
				continue
			}
			var out role.Outputs
			server.HandleInput(0, role.Input{Kind: role.Received, Message: m}, &out)
			for _, o := range out.List {
				if o.Kind == role.Keep {
					kept++
				}
			}
		}
	}
	if want := 4*int(cfg.Prefetch) + 16; kept != want {
		t.Errorf("the PS holds %d payloads, want %d", kept, want)
	}
}
