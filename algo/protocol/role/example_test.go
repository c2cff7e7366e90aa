package role_test

import (
	"fmt"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// delivery is an input for a role.
type delivery struct {
	to msg.Address
	in role.Input
}

// loop is a complete driver of a whole cluster: one queue of inputs. Work is done at once, takes no time and
// makes no data.
type loop struct {
	cfg     *role.Config
	inputs  role.Queue[delivery]
	barrier *role.Reduction
	current msg.Address // the role whose outputs are performed
	done    int         // batches that all PSs have applied
}

// Send delivers every message, in the order of sending.
func (l *loop) Send(m msg.Message, _ role.Handle) error {
	l.inputs.Push(delivery{m.To, role.Input{Kind: role.Received, Message: m}})
	return nil
}

// QueueWork answers work at once. Backward reports its buckets before it ends.
func (l *loop) QueueWork(w role.Work, _ role.Operands) error {
	if w.Kind == role.Backward {
		for bucket := range l.cfg.Buckets {
			l.inputs.Push(delivery{l.current,
				role.Input{Kind: role.WorkPart, Work: w, Bucket: int32(bucket)}})
		}
	}
	l.inputs.Push(delivery{l.current, role.Input{Kind: role.WorkDone, Work: w, Result: counts()}})
	return nil
}

// counts returns made-up counts of work for 2 ranks and 2 embedding PSs.
func counts() role.Result {
	sizes := []unit.Bytes{1, 1}
	return role.Result{
		Samples: []int32{1, 1}, IDBytes: sizes, SampleBytes: sizes, // of Read
		Rows: []int32{1, 1}, SignBytes: sizes, ValueBytes: sizes, // of Split
	}
}

// Feed tells every rank when all have fed a bucket.
func (l *loop) Feed(c role.Contribution) error {
	fed, err := l.barrier.Feed(int(c.Rank), c.Step, c.Bucket)
	if err != nil || fed != role.Complete {
		return err
	}
	for rank := range l.cfg.Ranks {
		l.inputs.Push(delivery{
			msg.Address{Role: msg.NNWorker, Index: rank},
			role.Input{Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: c.Step}, Bucket: c.Bucket},
		})
	}
	return nil
}

// Observe counts the batches that are done.
func (l *loop) Observe(e event.Record) error {
	if e.Kind == event.BatchDone {
		l.done++
	}
	return nil
}

func (l *loop) Keep(msg.Message, role.Handle) error { return nil } // there is no data
func (l *loop) Release(role.Handle) error           { return nil } // there is no data
func (l *loop) SetTimer(unit.Tick) error            { return nil } // roles set none if Retry is 0
func (l *loop) Finish() error                       { return nil } // the run ends with the last input
func (l *loop) Halt(reason error) error             { return reason }

// A driver gives roles their inputs and performs their outputs. This one trains 3 steps on 2 ranks.
func Example() {
	cfg := &role.Config{
		Ranks: 2, EmbeddingWorkers: 1, EmbeddingPSs: 2, Steps: 3, Prefetch: 2, EdgeWindow: 2,
		Rule: pace.Hybrid{Staleness: 1, Overlap: pace.HybridDS}, Buckets: []unit.Bytes{1000},
	}
	if err := cfg.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	roles, roster := role.New(cfg), cfg.Roster()
	l := &loop{cfg: cfg, barrier: role.NewReduction(int(cfg.Ranks), len(cfg.Buckets))}
	for _, r := range roles {
		l.inputs.Push(delivery{r.Address(), role.Input{Kind: role.Start}})
	}
	var out role.Outputs
	for l.inputs.Len() > 0 {
		next := l.inputs.Pop()
		l.current = next.to
		i, _ := roster.Index(next.to)
		out.Reset()
		roles[i].HandleInput(0, next.in, &out)
		if err := role.Dispatch(&next.in, &out, l); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(l.done, "batches are done")
	// Output: 6 batches are done
}
