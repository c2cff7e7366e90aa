package main

import (
	"errors"
	"fmt"
	"time"

	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// behind writes the checkpoints of a training in this process while it goes on. At any time it writes one.
type behind struct {
	checkpoint.Saver
	size   unit.Bytes // of the buffer
	memory memory.Arena
	saved  []checkpoint.Saved // of the training in hand, once Wait has returned, unless it is endless
	// endless says that the training has no end, so that saved would grow without one.
	endless bool
}

// begin begins with another training, calls complete after each of its checkpoints, and failed with why one
// could not be written.
func (b *behind) begin(complete func(step int) error, failed func(error)) (err error) {
	if b.Buffer == nil { // memory that is not touched is not used
		if b.Buffer, err = b.memory.Slab(int(b.size)); err != nil {
			return &cli.Error{Err: fmt.Errorf("--checkpoint-buffer: there is no memory for %v", b.size),
				Hint: "choose a smaller one: training waits where it is too small"}
		}
	}
	b.saved, b.Failed = nil, failed
	b.Chain = checkpoint.Chain{FullEvery: b.Chain.FullEvery} // the tables of the one before can be freed
	b.Saved = func(one checkpoint.Saved) error {
		if !b.endless {
			b.saved = append(b.saved, one)
		}
		return complete(one.Step)
	}
	return nil
}

// complete returns a training whose last checkpoint is complete when it ends, because writing it reads the
// rows. A training that was interrupted and could not be saved has the error of saving alone; one that has
// ended needs that checkpoint no more.
func (b *behind) complete(run func() (*train.Result, error)) func() (*train.Result, error) {
	return func() (*train.Result, error) {
		result, err := run()
		failed := b.Wait()
		var drained *train.DrainedError
		if failed != nil && errors.As(err, &drained) {
			return result, failed
		}
		return result, err
	}
}

// noteworthy is the time of waiting for a disk from which on a note says what to do.
const noteworthy = time.Second

// note says how long training has waited for the disk, if that is long.
func (b *behind) note() []string {
	var waited, took time.Duration
	var rows unit.Bytes
	for _, one := range b.saved {
		waited, took, rows = waited+one.Waited, took+one.Time, max(rows, one.Rows)
	}
	if waited < noteworthy {
		return nil
	}
	written := 0.0
	for _, one := range b.saved {
		written += float64(one.Rows)
	}
	return []string{fmt.Sprintf("training waited %.1f s for the disk, which took rows at %.0f MB/s: with "+
		"--checkpoint-buffer %v it would not wait", waited.Seconds(), written/took.Seconds()/1e6,
		roundUp(rows))}
}

// roundUp rounds a size up to whole GiB.
func roundUp(size unit.Bytes) unit.Bytes { return (size + 1<<30 - 1) &^ (1<<30 - 1) }

// pause is the time for which training has stood still, or waited, for a checkpoint.
type pause struct {
	Step  int     `json:"step"`
	Drain float64 `json:"drain_s"`           // from the last step of rank 0 until no role has work
	Save  float64 `json:"save_s"`            // until the rows could change again
	Start float64 `json:"start_s,omitempty"` // of the processes that continue
	// Write is the time until the checkpoint was complete, in which training went on. Rows that changed
	// before they were written were copied, and waited while the buffer for them was full: these two are 0
	// with processes.
	Write  float64 `json:"write_s,omitempty"`
	Rows   float64 `json:"rows_bytes,omitempty"` // that were written; with processes 0, too
	Copied float64 `json:"copied_bytes,omitempty"`
	Waited float64 `json:"waited_s,omitempty"`
}

// pauses adds to the pauses of a training what happened behind it.
func (b *behind) pauses(result *train.Result) (all []pause) {
	for _, p := range result.Pauses {
		one := pause{Step: p.Step, Drain: p.Drain.Seconds(), Save: p.Save.Seconds(),
			Start: p.Start.Seconds(), Write: p.Write.Seconds()}
		for _, s := range b.saved {
			if s.Step == p.Step {
				one.Write, one.Rows = s.Time.Seconds(), float64(s.Rows)
				one.Copied, one.Waited = float64(s.Copied), s.Waited.Seconds()
			}
		}
		all = append(all, one)
	}
	return all
}
