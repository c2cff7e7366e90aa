package process

import (
	"fmt"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/runtime/train"
)

// mixed is a free placement of the roles of small: two ranks that are no neighbours, a rank with rows and
// samples, and an embedding worker with the other rows.
const mixed = "nn-worker 2, nn-worker 0; data-loader, embedding-ps 1, nn-worker 3; nn-worker 1; " +
	"embedding-ps 0, embedding-worker 1; embedding-worker 0"

// mustPlace returns a training of small with a placement, to which it adds the roles that only some modes
// have.
func mustPlace(t *testing.T, mode, text string) job.Job {
	training := small(mode)
	training.Training.ModeSettings = map[string]int{"every": 3}
	training = training.InMode(mode)
	for _, more := range []string{"", ", dense-ps", ", coordinator", ", dense-ps, coordinator"} {
		var err error
		if training.Roles.Placement, err = job.ParsePlacement(text + more); err != nil {
			continue // a name takes no more
		}
		if training.Validate() == nil {
			return training
		}
	}
	t.Fatalf("placement %s does not suit mode %s", text, mode)
	return training
}

// Under any placement of roles, sync trains the bits of sequential training, and every mode keeps its bounds.
func TestPlacementsTrainAlike(t *testing.T) {
	for i, mode := range pace.Modes() {
		for k, text := range []string{job.Together, job.Workers, job.Colocated, mixed} {
			if !*long && mode != job.Sync && mode != job.Hybrid && (i+k)%2 != 0 {
				continue // modes take turns
			}
			if testing.Short() && (mode != job.Sync || text != mixed) {
				continue
			}
			t.Run(fmt.Sprint(mode, " ", text), func(t *testing.T) {
				t.Parallel()
				s := setting{Training: mustPlace(t, mode, text), Steps: 20}
				hot := mode == job.Sync || mode == job.Hybrid // rows on every rank
				if hot {
					s.Training.Rows.Hot.Share = 0.02
				}
				s.Training.Training.EvaluateEvery = job.Every{Steps: 8}
				got, err := s.run(t.Context(), train.Options{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if rows := got.Job.Rows.Hot.Rows().Len(); hot != (rows > 0) || rows >= got.Rows {
					t.Errorf("%d of %d rows are hot", rows, got.Rows)
				}
				all, err := s.Training.Processes()
				if err != nil || got.Processes != len(all) {
					t.Errorf("%d processes, want %d, %v", got.Processes, len(all), err)
				}
				counting, points := 4, 3 // ranks whose reads count, and evaluations
				if rule, err := s.Training.Rule(); err == nil && rule.Dense().Quorum > 0 {
					// rank 0 may pass over the steps of all but the last
					counting, points = int(rule.Dense().Quorum), 1
				}
				if len(got.Curve) < points || len(got.Curve) > 3 ||
					got.Staleness.Own.Count() < uint64(counting*s.Steps) {
					t.Errorf("%d evaluations, %d reads", len(got.Curve), got.Staleness.Own.Count())
				}
				if mode != job.Sync {
					return
				}
				want := s.mustEqualSequential(t, got)
				for i, point := range got.Curve {
					if point.AUC != want.Curve[i].AUC {
						t.Errorf("after %d steps: AUC %v, sequential has %v", point.Step, point.AUC,
							want.Curve[i].AUC)
					}
				}
			})
		}
	}
}

// The recordings of the processes of a placement are together the recording of the run, with faults and
// crashes of single roles.
func TestPlacedRunsReplayBitForBit(t *testing.T) {
	for _, mode := range []string{job.Sync, job.AsyncAverage} {
		t.Run(mode, func(t *testing.T) {
			s := setting{Training: mustPlace(t, mode, mixed), Steps: 12, Record: t.TempDir()}
			faults, err := fault.Parse("drop=0.01,duplicate=0.01,reorder=4,delay=0.01:5ms," +
				"crash=embedding-worker/1@4+10ms,crash=data-loader/0@6+10ms")
			if err != nil {
				t.Fatal(err)
			}
			s.Training.Faults = faults
			result, err := s.run(t.Context(), train.Options{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s.mustReplay(t, result)
		})
	}
}

// A process whose roles can all restart comes back with all of them, also if other roles share processes.
func TestProcessOfSeveralRolesComesBack(t *testing.T) {
	const text = "embedding-worker 0, embedding-worker 1; data-loader; embedding-ps 0, nn-worker 0, " +
		"nn-worker 1; " +
		"embedding-ps 1; nn-worker 2, nn-worker 3"
	victims := []msg.Address{{Role: msg.EmbeddingWorker}, {Role: msg.DataLoader}}
	if !*long {
		victims = victims[:1] // TestKilledProcessesComeBack kills a data loader that is alone
	}
	for _, victim := range victims {
		t.Run(victim.String(), func(t *testing.T) {
			var logged log
			// Steps are reported some time after they are trained: in a short run the last kill would come
			// too late.
			s := setting{Training: mustPlace(t, job.Sync, text), Steps: 500, stderr: &logged}
			s.Training.Wire.Retry = 100 * unit.Millisecond
			k := newKiller(t, 1, s.Steps, victim, victim)
			var puts outcomes
			got, err := s.run(t.Context(), train.Options{Progress: k.progress, Observer: &puts},
				func(made *Cluster) { k.cluster = made })
			if err != nil {
				t.Fatal(err, logged.String())
			}
			puts.mustBeOne(t)
			s.mustEqualSequential(t, got)
			back := "data-loader 0 is back at "
			if victim.Role == msg.EmbeddingWorker {
				back = "the process of embedding-worker 0 and embedding-worker 1 is back at "
			}
			if k.killed != 2 || strings.Count(logged.String(), back) != 2 {
				t.Errorf("killed %d times: %s", k.killed, logged.String())
			}
		})
	}
}

// An embedding worker that shares its process with a rank cannot come back, and the run ends with the reason.
func TestDeathOfWorkerAndRank(t *testing.T) {
	s := endless(job.Hybrid)
	s.Training = mustPlace(t, job.Hybrid, job.Workers)
	k := newKiller(t, 1, 100, msg.Address{Role: msg.EmbeddingWorker, Index: 1})
	_, err := s.run(t.Context(), train.Options{Progress: k.progress},
		func(made *Cluster) { k.cluster = made })
	const why = " has died: signal: killed; it cannot come back, because nn-worker 1 cannot restart"
	if err == nil || !strings.HasPrefix(err.Error(),
		"the process of embedding-worker 1 and nn-worker 1 at 127.0.0.1:") ||
		!strings.HasSuffix(err.Error(), why) {
		t.Errorf("%v, want %s", err, why)
	}
}
