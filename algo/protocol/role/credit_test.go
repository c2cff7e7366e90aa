package role_test

import (
	"strings"
	"testing"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// smallConfig returns a valid configuration: two ranks, one EW, two PSs.
func smallConfig() role.Config {
	return role.Config{
		Ranks: 2, EmbeddingWorkers: 1, EmbeddingPSs: 2, Steps: 8, Prefetch: 3, EdgeWindow: 2,
		Rule: pace.Hybrid{Staleness: 1, Overlap: pace.HybridNaive}, Buckets: []unit.Bytes{1000},
	}
}

func ps(i int32) msg.Address { return msg.Address{Role: msg.EmbeddingPS, Index: i} }

// ask returns a request of a kind from an EW to a PS.
func ask(k msg.Kind, server, rank, step int32, bytes unit.Bytes) msg.Message {
	return msg.Message{Kind: k, From: msg.Address{Role: msg.EmbeddingWorker}, To: ps(server), Rank: rank,
		Step: step, Bytes: bytes}
}

// answer returns an answer of a kind from a PS to an EW.
func answer(k msg.Kind, server, rank, step int32) msg.Message {
	return msg.Message{Kind: k, From: ps(server), To: msg.Address{Role: msg.EmbeddingWorker}, Rank: rank,
		Step: step}
}

// Each case lists the messages that one EW sends and receives. refused marks the messages for which it has no
// credit.
func TestCredit(t *testing.T) {
	type event struct {
		sent    bool
		message msg.Message
		refused bool
	}
	send := func(k msg.Kind, server, rank, step int32, bytes unit.Bytes) event {
		return event{sent: true, message: ask(k, server, rank, step, bytes)}
	}
	refused := func(e event) event { e.refused = true; return e }
	receive := func(k msg.Kind, server, rank, step int32) event {
		return event{message: answer(k, server, rank, step)}
	}
	for _, c := range []struct {
		name        string
		windowBytes unit.Bytes
		events      []event
	}{
		{"requests up to the window", 0, []event{
			send(msg.Lookup, 0, 0, 0, 1), send(msg.Lookup, 0, 0, 1, 1), refused(send(msg.Lookup, 0, 0, 2, 1)),
		}},
		{"an answer returns the credit", 0, []event{
			send(msg.Lookup, 0, 0, 0, 1), send(msg.Lookup, 0, 0, 1, 1), receive(msg.Rows, 0, 0, 1),
			send(msg.Lookup, 0, 0, 2, 1), refused(send(msg.Lookup, 0, 0, 3, 1)),
		}},
		{"an answer without a request returns no credit", 0, []event{
			send(msg.Lookup, 0, 0, 0, 1), send(msg.Lookup, 0, 0, 1, 1), receive(msg.Rows, 0, 0, 5),
			receive(msg.PutAck, 0, 0, 0),
			refused(send(msg.Lookup, 0, 0, 2, 1)),
		}},
		{"a repeated answer returns no credit", 0, []event{
			send(msg.Lookup, 0, 0, 0, 1), send(msg.Lookup, 0, 0, 1, 1), receive(msg.Rows, 0, 0, 0),
			receive(msg.Rows, 0, 0, 0),
			send(msg.Lookup, 0, 0, 2, 1), refused(send(msg.Lookup, 0, 0, 3, 1)),
		}},
		{"a repeated request uses no further credit", 0, []event{
			send(msg.Lookup, 0, 0, 0, 1), send(msg.Lookup, 0, 0, 0, 1), send(msg.Lookup, 0, 0, 1, 1),
			send(msg.Lookup, 0, 0, 1, 1),
			refused(send(msg.Lookup, 0, 0, 2, 1)),
		}},
		{"a request about an earlier step than all unanswered ones needs no credit", 0, []event{
			send(msg.Lookup, 0, 0, 4, 1), send(msg.Lookup, 0, 0, 5, 1), send(msg.Lookup, 0, 0, 3, 1),
			send(msg.Lookup, 0, 0, 2, 1),
			refused(send(msg.Lookup, 0, 0, 6, 1)),
		}},
		{"a request about a step between two unanswered ones needs credit", 0, []event{
			send(msg.Lookup, 0, 0, 2, 1), send(msg.Lookup, 0, 0, 5, 1), refused(send(msg.Lookup, 0, 0, 3, 1)),
		}},
		{"windows are separate by PS, rank and kind", 0, []event{
			send(msg.Lookup, 0, 0, 0, 1), send(msg.Lookup, 0, 0, 1, 1), send(msg.Lookup, 1, 0, 2, 1),
			send(msg.Lookup, 0, 1, 2, 1),
			send(msg.Put, 0, 0, 2, 1), refused(send(msg.Lookup, 0, 0, 2, 1)),
		}},
		{"the window also bounds bytes", 100, []event{
			send(msg.Lookup, 0, 0, 0, 60), refused(send(msg.Lookup, 0, 0, 1, 41)),
			send(msg.Lookup, 0, 0, 1, 40),
		}},
		{"a single message may be larger than the window", 100, []event{
			send(msg.Lookup, 0, 0, 0, 500), refused(send(msg.Lookup, 0, 0, 1, 1)), receive(msg.Rows, 0, 0, 0),
			send(msg.Lookup, 0, 0, 1, 500),
		}},
		{"answers need no credit", 0, []event{
			{sent: true, message: answer(msg.Rows, 0, 0, 0)},
			{sent: true, message: answer(msg.Rows, 0, 0, 1)},
			{sent: true, message: answer(msg.Rows, 0, 0, 2)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := smallConfig()
			cfg.WindowBytes = c.windowBytes
			credit := role.NewCredit(&cfg)
			for i, e := range c.events {
				if !e.sent {
					credit.Received(e.message)
					continue
				}
				err := credit.Sent(e.message)
				if (err != nil) != e.refused {
					t.Fatalf("event %d, %v: error %v, want refused = %t", i, e.message, err, e.refused)
				}
				if err != nil && !strings.Contains(err.Error(), "without credit") {
					t.Errorf("error %q, want one with \"without credit\"", err)
				}
			}
		})
	}
}

// The credit of the data loader is Prefetch, and one StepDone returns the credit of both messages of a batch.
func TestCreditOfTheDataLoader(t *testing.T) {
	cfg := smallConfig()
	credit := role.NewCredit(&cfg)
	deal := func(step int32) error {
		loader := msg.Address{Role: msg.DataLoader}
		for _, m := range []msg.Message{
			{Kind: msg.IDFeatures, From: loader, To: msg.Address{Role: msg.EmbeddingWorker}, Step: step},
			{Kind: msg.Samples, From: loader, To: msg.Address{Role: msg.NNWorker}, Step: step},
		} {
			if err := credit.Sent(m); err != nil {
				return err
			}
		}
		return nil
	}
	for step := range cfg.Prefetch {
		if err := deal(step); err != nil {
			t.Fatal(err)
		}
	}
	credit.Received(msg.Message{Kind: msg.StepDone, From: msg.Address{Role: msg.NNWorker}, Step: 0})
	if err := deal(cfg.Prefetch); err != nil {
		t.Error(err)
	}
	if err := deal(cfg.Prefetch + 1); err == nil {
		t.Error("the loader has credit for more than Prefetch batches")
	}
}

func TestCreditCloneSharesNothing(t *testing.T) {
	cfg := smallConfig()
	credit := role.NewCredit(&cfg)
	if err := credit.Sent(ask(msg.Lookup, 0, 0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	clone := credit.Clone()
	clone.Received(answer(msg.Rows, 0, 0, 0))
	for _, step := range []int32{1, 2} {
		if err := clone.Sent(ask(msg.Lookup, 0, 0, step, 1)); err != nil {
			t.Errorf("clone, step %d: %v", step, err)
		}
	}
	if err := credit.Sent(ask(msg.Lookup, 0, 0, 1, 1)); err != nil {
		t.Error(err)
	}
	if err := credit.Sent(ask(msg.Lookup, 0, 0, 2, 1)); err == nil {
		t.Error("an answer to the clone returned credit to the original")
	}
}
