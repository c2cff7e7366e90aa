package role_test

import (
	"fmt"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// loop is a whole driver: one queue of inputs to come. All work is done at once and takes no time.
type loop struct {
	cfg     *role.Config
	roles   []role.Role
	inputs  role.Queue[pending]
	barrier *role.Reduction
	at      msg.Address // the role whose outputs are performed
	trained int
}

func (l *loop) Send(m msg.Message, _ role.Handle) error {
	l.inputs.Push(pending{m.To, role.Input{Kind: role.Received, Message: m}})
	return nil
}

func (l *loop) QueueWork(w role.Work, _ role.Operands) error {
	for b := range l.cfg.Buckets {
		if w.Kind == role.Backward {
			l.inputs.Push(pending{l.at, role.Input{Kind: role.WorkPart, Work: w, Bucket: int32(b)}})
		}
	}
	ones := []unit.Bytes{1, 1} // of two ranks, and of two PSs
	counts := role.Result{Samples: []int32{1, 1}, IDBytes: ones, SampleBytes: ones, Rows: []int32{1, 1}, SignBytes: ones, ValueBytes: ones}
	l.inputs.Push(pending{l.at, role.Input{Kind: role.WorkDone, Work: w, Result: counts}})
	return nil
}

func (l *loop) Feed(c role.Contribution) error {
	complete, err := l.barrier.Feed(int(c.Rank), c.Step, c.Bucket)
	for i := range l.cfg.Ranks {
		if complete {
			reduced := role.Input{Kind: role.BucketReduced, Work: role.Work{Rank: i, Step: c.Step}, Bucket: c.Bucket}
			l.inputs.Push(pending{msg.Address{Role: msg.NNWorker, Index: i}, reduced})
		}
	}
	return err
}

func (l *loop) Observe(e event.Record) error {
	if e.Kind == event.BatchDone {
		l.trained++
	}
	return nil
}

func (l *loop) Keep(msg.Message, role.Handle) error { return nil } // there is no data to hold
func (l *loop) Release(role.Handle) error           { return nil }
func (l *loop) SetTimer(unit.Tick) error            { return nil } // none is set: Retry is 0
func (l *loop) Finish() error                       { return nil }
func (l *loop) Halt(reason error) error             { return reason }

// A driver gives roles their inputs and performs their outputs.
func Example() {
	cfg := &role.Config{
		Ranks: 2, EmbeddingWorkers: 1, EmbeddingPSs: 2, Steps: 3, Prefetch: 2, Window: 2,
		Rule: pace.Hybrid{Staleness: 1, Overlap: pace.HybridDS}, Buckets: []unit.Bytes{1000},
	}
	l := &loop{cfg: cfg, roles: role.New(cfg), barrier: role.NewReduction(2, len(cfg.Buckets))}
	for _, r := range l.roles {
		l.inputs.Push(pending{r.Address(), role.Input{Kind: role.Start}})
	}
	roster := cfg.Roster()
	var out role.Outputs
	for l.inputs.Len() > 0 {
		next := l.inputs.Pop()
		l.at = next.to
		i, _ := roster.Index(next.to)
		out.Reset()
		l.roles[i].HandleInput(0, next.in, &out)
		if err := role.Dispatch(&next.in, &out, l); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(l.trained, "batches trained, each embedding put applied")
	// Output: 6 batches trained, each embedding put applied
}
