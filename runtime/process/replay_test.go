package process

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/replay"
	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/runtime/record"
	"tandem/runtime/train"
)

var long = flag.Bool("long", false, "replay 20 seeds")

// The recordings of all processes are together the recording of the run, with faults and crashes. It replays
// bit for bit, to the same rows, network and staleness.
func TestRunsInProcessesReplayBitForBit(t *testing.T) {
	t.Parallel()
	seeds := uint64(1)
	if *long {
		seeds = 20
	}
	for i, mode := range pace.Modes() {
		if !*long && i > 0 && i%2 == 0 || testing.Short() && i%3 != 0 {
			continue // TestFaultsInProcesses has the others, and runtime/record replays all
		}
		for seed := range seeds {
			t.Run(fmt.Sprint(mode, " seed ", seed), func(t *testing.T) {
				s := setting{Training: small(mode), Steps: 12, Record: t.TempDir()}
				s.Training.Roles.Ranks, s.Training.Training.Groups = 3, 16
				if s.Training.Validate() != nil { // an exact mode
					s.Training.Roles.Ranks = 4
				}
				s.Training.Training.Seed, s.Training.Roles.DensePSs = seed, 2
				s.Training.Training.ModeSettings = map[string]int{"every": 3}
				s.Training = s.Training.InMode(mode)
				if s.Training.Rows.Hot.Share = 0.02; s.Training.Validate() != nil {
					s.Training.Rows.Hot.Share = 0 // not in this mode
				}
				faults, err := fault.Parse(fmt.Sprintf("drop=0.01,duplicate=0.01,reorder=4,delay=0.01:5ms,"+
					"seed=%d,crash=embedding-worker/1@4+10ms", seed))
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
}

// A recording outlives the deaths of a data loader and of embedding workers, which come back: it replays bit
// for bit with what each incarnation has recorded.
func TestRunsWithKilledProcessesReplayBitForBit(t *testing.T) {
	t.Parallel()
	const placement = "data-loader, embedding-worker 0; embedding-worker 1; " +
		"embedding-ps 0, embedding-ps 1, nn-worker 0, nn-worker 1, nn-worker 2, nn-worker 3"
	loader, worker := msg.Address{Role: msg.DataLoader}, msg.Address{Role: msg.EmbeddingWorker, Index: 1}
	seeds := uint64(2)
	if *long {
		seeds = 20
	} else if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		mode := []string{job.Sync, job.Hybrid}[seed%2]
		t.Run(fmt.Sprint(mode, " seed ", seed), func(t *testing.T) {
			var logged log
			s := setting{Training: mustPlace(t, mode, placement), Steps: 300, Record: t.TempDir(),
				stderr: &logged}
			s.Training.Training.Seed, s.Training.Wire.Retry = seed, 100*unit.Millisecond
			k := newKiller(t, seed, s.Steps, worker, loader)
			result, err := s.run(t.Context(), train.Options{Progress: k.progress},
				func(c *Cluster) { k.cluster = c })
			if err != nil {
				t.Fatal(err, logged.String())
			}
			if files, err := filepath.Glob(filepath.Join(s.Record, "*.incarnation-1.*")); len(files) != 3 {
				t.Errorf("killed %d times; of later incarnations there are %v, %v: %s", k.killed, files, err,
					logged.String())
			}
			s.mustReplay(t, result)
		})
	}
}

// mustReplay replays what the processes of a run have recorded.
func (s setting) mustReplay(t *testing.T, was *train.Result) {
	t.Helper()
	files, err := record.Load(s.Record, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	rule, err := s.Training.Rule()
	if err != nil {
		t.Fatal(err)
	}
	recording, err := replay.New(rule, files.Readers)
	if err != nil {
		t.Fatal(err)
	}
	s.Training.Rows.Hot.SetRows(was.Job.Rows.Hot.Rows())
	p, err := exec.New(s.Training, newRows(s.Steps), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	meter := pace.NewMeter(s.Training.Roles.Ranks, s.Training.Roles.EmbeddingPSs)
	if _, err := recording.Replay(p, meter); err != nil {
		t.Fatal(err)
	}
	rows := uint64(0)
	for _, shard := range p.Model().Tables() {
		rows += shard.Digest()
	}
	if dense := p.Model().DenseDigest(); rows != was.RowsDigest || dense != was.DenseDigest {
		t.Errorf("rows %x, network %x, were %x and %x", rows, dense, was.RowsDigest, was.DenseDigest)
	}
	got := meter.Staleness()
	missed, _ := p.Model().Missed()
	if diff := cmp.Diff(
		fmt.Sprint(was.Staleness.Own, was.Staleness.Cross, was.Staleness.Dense, was.MissedUpdates),
		fmt.Sprint(got.Own, got.Cross, got.Dense, missed)); diff != "" {
		t.Errorf("staleness and missed updates, the run's (−): %s", diff)
	}
}
