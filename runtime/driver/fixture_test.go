package driver

import (
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

const (
	batchSize = 16
	groups    = 4
	servers   = 2
)

// steps is a source of that number of batches of random samples, with one slot of one id.
type steps int

func (s steps) Steps() int      { return int(s) }
func (s steps) Samples(int) int { return batchSize }
func (s steps) Schema() *batch.Schema {
	return &batch.Schema{Slots: []batch.Slot{{Name: "user", Dim: 1}}, Labels: []string{"click"},
		PrefixBits: 8}
}

func (s steps) Read(step int) (*batch.Batch, error) {
	draw := rng.New(1, "samples", uint64(step))
	b := &batch.Batch{Samples: batchSize, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
	for i := range batchSize {
		b.Slots[0].IDs = append(b.Slots[0].IDs, draw.Uint64N(100))
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(i+1))
		b.Labels = append(b.Labels, float32(draw.IntN(2)))
	}
	return b, nil
}

// cluster returns a configuration and an executor for Run: logistic regression over the ids, four ranks, two
// EWs and two PSs.
func cluster(t testing.TB, rule pace.Rule, source batch.Source) (*role.Config, *exec.Executor) {
	t.Helper()
	training := clusterTraining(rule)
	p, err := exec.New(training, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := &role.Config{
		Ranks: int32(training.Roles.Ranks), EmbeddingWorkers: int32(training.Roles.EmbeddingWorkers),
		EmbeddingPSs: servers,
		Steps:        int32(source.Steps()), Rule: rule, Prefetch: 3, EdgeWindow: 3,
	}
	for _, b := range p.Model().Layout().Buckets {
		cfg.Buckets = append(cfg.Buckets, unit.Bytes(4*(b.Hi-b.Lo)))
	}
	return cfg, p
}

// records keeps every record in the order of its arrival.
type records []event.Record

func (r *records) Observe(e event.Record) { *r = append(*r, e) }

func watchedBy(o event.Observer) Options { return Options{Observers: []event.Observer{o}} }

// rules are the algorithms, with the most and the least that they overlap.
func rules() []pace.Rule {
	return []pace.Rule{
		pace.Sync{Overlap: pace.OverlapNone}, pace.Sync{Overlap: pace.OverlapIDsDS},
		pace.Hybrid{Staleness: 0, Overlap: pace.HybridNaive},
		pace.Hybrid{Staleness: 2, Overlap: pace.HybridDS},
	}
}

// faultyPlan loses, repeats and reorders messages, and crashes an EW and the data loader.
func faultyPlan(t testing.TB) *fault.Plan {
	t.Helper()
	plan, err := fault.Parse("drop=0.02,duplicate=0.02,reorder=8,delay=0.02:5ms," +
		"crash=embedding-worker/1@5+30ms,crash=embedding-worker/1@9,crash=data-loader/0@7+20ms")
	if err != nil {
		t.Fatal(err)
	}
	return &plan
}
