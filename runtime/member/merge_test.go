package member

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// story is the records of one role, written as (time, kind, step) of rank 0.
func story(at msg.Address, events ...any) (records []event.Record) {
	for i := 0; i < len(events); i += 3 {
		r := event.Record{
			At: unit.Tick(events[i].(int)), Role: at, Kind: events[i+1].(event.Kind),
			Step: int32(events[i+2].(int)),
		}
		if r.Kind == event.BatchRouted {
			r.Rows = []int32{3, 0}
		}
		records = append(records, r)
	}
	return records
}

var (
	worker  = msg.Address{Role: msg.EmbeddingWorker}
	server1 = msg.Address{Role: msg.EmbeddingPS, Index: 1}
)

func texts(records []event.Record) (all []string) {
	for _, r := range records {
		all = append(all, r.String())
	}
	return all
}

// Records are merged by time, but a batch is routed and its lookup issued before a PS reads rows for it, also
// if the PS's clock is behind.
func TestMergeRespectsCausality(t *testing.T) {
	got := mergeRecords([][]event.Record{
		story(worker, 20, event.BatchRouted, 1),
		story(server, 5, event.LookupServed, 1, 6, event.PutApplied, 1),
		story(trainer, 10, event.LookupIssued, 1, 50, event.BatchDone, 1),
	}, 2)
	if diff := cmp.Diff([]string{
		"nn-worker 0: lookup-issued rank 0 step 1", "embedding-worker 0: batch-routed rank 0 step 1",
		"embedding-ps 0: lookup-served rank 0 step 1", "embedding-ps 0: put-applied rank 0 step 1",
		"nn-worker 0: batch-done rank 0 step 1",
	}, texts(got)); diff != "" {
		t.Error(diff)
	}
}

// An embedding worker that died has sent no record of batch 0, and its next incarnation routes batch 1 a
// second time, after it was applied. A meter sees what happened: batch 2 reads without batch 1 on PS 0, and
// misses nothing else.
func TestLostRecordsAreDerived(t *testing.T) {
	roles := [][]event.Record{
		story(worker, 20, event.BatchRouted, 1, 100, event.BatchRouted, 1, 110, event.BatchRouted, 2),
		story(server, 5, event.LookupServed, 0, 6, event.PutApplied, 0, 25, event.LookupServed, 1, 40,
			event.LookupServed, 2,
			41, event.PutApplied, 1, 120, event.PutApplied, 2),
		story(server1, 5, event.LookupServed, 0, 6, event.PutApplied, 0),
		story(trainer, 1, event.LookupIssued, 0, 8, event.BatchDone, 0, 10, event.LookupIssued, 1, 30,
			event.LookupIssued, 2,
			50, event.BatchDone, 1, 130, event.BatchDone, 2),
	}
	meter := pace.NewMeter(1, 2)
	for _, r := range mergeRecords(roles, 2) {
		meter.Observe(r)
	}
	s := meter.Staleness()
	// Reads: batch 0 on both PSs, batches 1 and 2 on PS 0.
	if s.Own.Count() != 4 || s.Own.Max() != 1 || s.Own.Summary().Mean != 0.25 {
		t.Errorf("%+v, want 4 reads, one of which misses one batch", s.Own.Summary())
	}
	if left := texts(mergeRecords(nil, 2)); len(left) != 0 {
		t.Error(left)
	}
}
