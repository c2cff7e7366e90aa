package train

import (
	"context"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
)

// recordedCluster is a Cluster that trains at once, with these records.
type recordedCluster []event.Record

func (c recordedCluster) Train(_ context.Context, _ *role.Config, _ *batch.Schema, _ driver.Origin,
	callbacks driver.Callbacks) error {
	for _, r := range c {
		callbacks.Observe(r)
	}
	return nil
}

func (recordedCluster) Roles() (_ job.Roles, changed bool, err error) {
	return job.Roles{Ranks: 1, EmbeddingWorkers: small(job.Hybrid, 1).Roles.EmbeddingWorkers,
		EmbeddingPSs: 1, DensePSs: 1}, false, nil
}

func (recordedCluster) Drain() {}

func (recordedCluster) ReadRows(context.Context, int, []uint64, []float32) error { return nil }

func (recordedCluster) ReadDense(context.Context, msg.Address) (model.Values, error) {
	return model.Values{}, nil
}

func (recordedCluster) Digests(context.Context) ([]driver.Digests, error) { return nil, nil }

func (recordedCluster) Export(context.Context, string, int) (*driver.Export, error) { return nil, nil }

func (recordedCluster) AwaitExport(context.Context, *driver.Export) error { return nil }

func (recordedCluster) Reports() []driver.Report { return nil }

func (recordedCluster) Wall() time.Duration { return time.Second }

func (recordedCluster) Close(error) {}

// The records of processes are checked against the bounds of the mode, too: here rank 0 reads for step 2
// before the puts of steps 0 and 1, and τ is 1.
func TestBrokenBoundsFailARunOfProcesses(t *testing.T) {
	var c recordedCluster
	for step := range int32(3) {
		for _, k := range []event.Kind{event.LookupIssued, event.BatchRouted, event.LookupServed} {
			r := event.Record{Role: msg.Address{Role: msg.NNWorker}, Kind: k, Step: step}
			switch k {
			case event.BatchRouted:
				r.Role.Role, r.Rows = msg.EmbeddingWorker, []int32{1}
			case event.LookupServed:
				r.Role.Role = msg.EmbeddingPS
			}
			c = append(c, r)
		}
	}
	training, r := small(job.Hybrid, 1), newRows(64*3, 64, 4, 1)
	training.Roles.EmbeddingPSs, training.Training.Staleness = 1, new(1)
	const want = "own staleness reached 2, and hybrid with ranks = 1 promises at most 1"
	_, err := Run(t.Context(), training, r, r.all, Options{Cluster: c})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Processes with ranks must end with the same hot rows; others have none.
func TestHotRowsOfProcessesAreCompared(t *testing.T) {
	none, one, other := driver.Digests{}, driver.Digests{Hot: 1}, driver.Digests{Hot: 2}
	for _, c := range []struct {
		digests []driver.Digests
		want    uint64 // 0: an error
	}{
		{[]driver.Digests{none, one, none, one}, 1}, {[]driver.Digests{none, one, none, other}, 0},
	} {
		if got, err := hotDigest(c.digests); got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%+v: digest %d, %v", c.digests, got, err)
		}
	}
	if got, err := hotDigest([]driver.Digests{none, none}); got != 0 || err != nil {
		t.Errorf("without hot rows: digest %d, %v", got, err)
	}
}
