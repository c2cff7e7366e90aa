package main

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/datasets"
	"tandem/internal/workload"
	"tandem/runtime/train"
	"tandem/sim/cluster"
	"tandem/sim/cost"
)

// sequences collects the records of a run by role.
type sequences map[msg.Address][]event.Record

// Observe implements event.Observer.
func (s sequences) Observe(e event.Record) { s[e.Role] = append(s[e.Role], e) }

// eventsOf returns the events of a role, without times. The records of an embedding PS
// keep their order, which sync fixes completely. In other roles the batches of different
// steps and ranks are independent of each other, and so are, on an NN worker, the dense
// network and the embeddings of one batch. The order of independent events is not part of the
// algorithm, so these records are sorted.
func eventsOf(records []event.Record) []string {
	if records[0].Role.Role != msg.EmbeddingPS {
		slices.SortStableFunc(records, func(a, b event.Record) int {
			return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank),
				cmp.Compare(branch(a.Kind), branch(b.Kind)))
		})
	}
	var out []string
	for _, r := range records {
		out = append(out, r.String())
	}
	return out
}

func branch(k event.Kind) int {
	switch k {
	case event.LookupIssued, event.GradientsSent, event.BatchDone:
		return 1
	}
	return 0
}

// Under sync, every role does the same in the simulator and in the runtime:
// the same events about the same batches, in the same order. With three EWs, some rows are hot; with one,
// slots differ in dimension.
func TestSyncHasTheSameEventsInBothDrivers(t *testing.T) {
	const steps = 12
	for _, ranks := range []int{1, 2, 4} {
		for _, overlap := range []string{"none", "ids", "ids+ds"} {
			for _, workers := range []int{1, 3} {
				t.Run(fmt.Sprintf("N=%d %s %d EWs", ranks, overlap, workers), func(t *testing.T) {
					training := job.Default()
					training.Rows.Hot.Share = map[int]float64{1: 0, 3: 0.02}[workers]
					training.Training.Mode, training.Training.Overlap, training.Roles.Ranks = job.Sync,
						overlap, ranks
					training.Roles.EmbeddingWorkers, training.Roles.EmbeddingPSs = workers, 2
					training.Training.GlobalBatch, training.Training.Prefetch, training.Training.Shuffle = 32,
						3, false
					training.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 4, Top: []int{8},
						Activation: model.ReLU}
					training.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
						Seed: 1, TrainRows: 32 * steps, TestRows: 32, PositiveRate: 0.3, Numeric: 1,
						Teacher: job.SyntheticTeacher{Scale: 1, Linear: 1},
						Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 500, Exponent: 1},
							{Name: "item", Cardinality: 50, Exponent: 1}},
					}}
					if workers == 1 {
						training.Data.Slots = []job.SlotSetting{{Slot: "item", Dim: 3}}
					}
					data, err := datasets.Open(training.Data, "")
					if err != nil {
						t.Fatal(err)
					}
					source, err := datasets.TrainingSource(data, &training)
					if err != nil {
						t.Fatal(err)
					}
					real, simulated := sequences{}, sequences{}
					if _, err := train.Run(t.Context(), training, source, data.Test,
						train.Options{Observer: real}); err != nil {
						t.Fatal(err)
					}
					w, layout, err := workload.Counted(data, &training)
					if err != nil {
						t.Fatal(err)
					}
					spec := job.PersiaCluster()
					spec.Unfold = true
					spec.EmbeddingWorkers.Count, spec.EmbeddingPSs.Count = workers, 2
					hardware, _, err := cost.Load(&spec, "")
					if err != nil {
						t.Fatal(err)
					}
					// A run keeps its depth in steps behind those it measures.
					o := cluster.Options{WarmUp: 4, Measured: steps - 4 - training.Depth(),
						Observer: simulated}
					if _, err := cluster.Run(hardware, training, layout, w, o); err != nil {
						t.Fatal(err)
					}
					compareEvents(t, real, simulated, 1+workers+2+ranks)
				})
			}
		}
	}
}

func compareEvents(t *testing.T, real, simulated sequences, roles int) {
	t.Helper()
	if len(real) != roles || len(simulated) != roles {
		t.Fatalf("%d roles ran for real, %d were simulated, want %d", len(real), len(simulated), roles)
	}
	for address, records := range real {
		want, got := eventsOf(records), eventsOf(simulated[address])
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] {
				t.Fatalf("%v, event %d: real %q, simulated %q", address, i, want[i], got[i])
			}
		}
		if len(want) != len(got) {
			t.Errorf("%v: %d events for real, %d simulated", address, len(want), len(got))
		}
	}
}
