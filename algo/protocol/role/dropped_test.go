package role_test

import (
	"testing"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// A batch whose gradients do not count ends when DropBatch arrives: the embedding worker releases its data,
// and its unanswered lookups no longer hold back those of the next batch.
func TestDropBatchReleasesTheDataOfTheBatch(t *testing.T) {
	cfg := smallConfig()
	cfg.EmbeddingPSs, cfg.EdgeWindow = 1, 1
	worker := role.NewEmbeddingWorker(&cfg, 0)
	step := func(in role.Input) []role.Output {
		var out role.Outputs
		worker.HandleInput(0, in, &out)
		return out.List
	}
	lookups := func(outputs []role.Output) (steps []int32) {
		for _, o := range outputs {
			if o.Kind == role.Send && o.Message.Kind == msg.Lookup {
				steps = append(steps, o.Message.Step)
			}
		}
		return steps
	}
	result := role.Result{Rows: []int32{1}, SignBytes: []unit.Bytes{8}, ValueBytes: []unit.Bytes{16}}
	about := func(k msg.Kind, batch int32) role.Input {
		m := msg.Message{Kind: k, To: worker.Address(), Step: batch, Samples: 4, StepSamples: 8}
		return role.Input{Kind: role.Received, Message: m}
	}
	for batch, want := range []int{1, 0} {
		step(about(msg.IDFeatures, int32(batch)))
		step(role.Input{Kind: role.WorkDone, Work: role.Work{Kind: role.Split, Step: int32(batch)},
			Result: result})
		if got := lookups(step(about(msg.GetEmbeddings, int32(batch)))); len(got) != want {
			t.Fatalf("lookups of steps %v for batch %d, want %d", got, batch, want)
		}
	}
	outputs := step(about(msg.DropBatch, 0))
	if got := lookups(outputs); len(got) != 1 || got[0] != 1 {
		t.Errorf("lookups of steps %v after batch 0 was dropped, want a lookup of step 1", got)
	}
	released := map[role.Handle]bool{}
	for _, o := range outputs {
		if o.Kind == role.Release {
			released[o.Handle] = true
		}
	}
	if !released[role.Handle{Kind: role.RoutedIDs}] {
		t.Errorf("DropBatch releases %v, want the routed ids", released)
	}
}

// A late duplicate may open a batch that its rank has finished. The batch ends with the work in flight: the
// EW sends nothing, and releases the data then, not at the end of the run.
func TestFinishedBatchesEndWithTheWorkInFlight(t *testing.T) {
	for last, holds := range map[role.WorkKind][]role.HandleKind{
		role.Split: {role.RoutedIDs},
		role.Pool:  {role.RoutedIDs, role.ShardRows, role.PooledRows},
		role.Merge: {role.RoutedIDs, role.ShardGrads},
	} {
		cfg := smallConfig()
		cfg.EmbeddingPSs = 1
		worker := role.NewEmbeddingWorker(&cfg, 0)
		step := func(in role.Input) []role.Output {
			var out role.Outputs
			worker.HandleInput(0, in, &out)
			return out.List
		}
		received := func(m msg.Message) {
			m.To, m.Samples, m.StepSamples = worker.Address(), 4, 8
			step(role.Input{Kind: role.Received, Message: m})
		}
		// finish ends work. Before the last piece of work, the rank finishes the batch.
		finish := func(kind role.WorkKind) []role.Output {
			if kind == last {
				received(msg.Message{Kind: msg.GetEmbeddings, Step: 5, Floor: 1})
			}
			result := role.Result{Bytes: 64, Rows: []int32{1}, SignBytes: []unit.Bytes{8},
				ValueBytes: []unit.Bytes{16}}
			return step(role.Input{Kind: role.WorkDone, Work: role.Work{Kind: kind}, Result: result})
		}
		received(msg.Message{Kind: msg.IDFeatures})
		outputs := finish(role.Split)
		if last != role.Split {
			received(msg.Message{Kind: msg.GetEmbeddings})
			received(msg.Message{Kind: msg.Rows, From: ps(0)})
			outputs = finish(role.Pool)
		}
		if last == role.Merge {
			received(msg.Message{Kind: msg.PutGradients})
			outputs = finish(role.Merge)
		}
		released := map[role.HandleKind]bool{}
		for _, o := range outputs {
			switch o.Kind {
			case role.Release:
				released[o.Handle.Kind] = true
			case role.Send:
				t.Errorf("end of %v: the EW sends %v, want no message", last, o.Message)
			}
		}
		for _, kind := range holds {
			if !released[kind] {
				t.Errorf("the end of %v releases %v, want also %v", last, released, kind)
			}
		}
	}
}
