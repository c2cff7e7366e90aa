package record

import (
	"errors"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/rng"
	"tandem/algo/unit"
	"tandem/runtime/train"
)

// faulty returns a random training in a mode: on random roles, with random forms of payloads and rows, some
// of them hot, and with random faults: lost, repeated, reordered and delayed messages, and crashes of roles
// that can restart.
func faulty(t testing.TB, mode string, seed uint64, steps int) job.Job {
	draw := rng.New(seed, "faults of "+mode)
	upTo := func(n int) int { return draw.IntN(n + 1) }
	j := small(mode, seed)
	j.Roles.Ranks = anyRanks(t, mode, 1+upTo(7))
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs, j.Roles.DensePSs = 1+upTo(2), 1+upTo(2), 1+upTo(2)
	j.Training.Prefetch, j.Training.ModeSettings = 1+upTo(5), map[string]int{"slack": upTo(3),
		"every": 1 + upTo(4)}
	j.Wire.Precision, j.Wire.Index = compress.Forms()[upTo(len(compress.Forms())-1)], []string{job.IndexRaw,
		job.IndexCompressed}[upTo(1)]
	j.Rows.Precision, j.Rows.Admission = table.Precisions()[upTo(2)], []float64{1, 0.5}[upTo(1)]
	j.Wire.Retry = unit.Tick(2+upTo(18)) * unit.Millisecond
	j.Faults = fault.Plan{
		Seed: seed, Drop: draw.Float64() / 20, Duplicate: draw.Float64() / 20, Reorder: upTo(32),
		Delay: fault.Delay{Rate: draw.Float64() / 20, Max: unit.Tick(1+upTo(19)) * unit.Millisecond},
	}
	roles := []msg.Address{{Role: msg.DataLoader},
		{Role: msg.EmbeddingWorker, Index: int32(upTo(j.Roles.EmbeddingWorkers - 1))}}
	if (mode == job.Sync || mode == job.Hybrid) && j.Roles.Ranks > 1 && seed%2 == 0 {
		// In place of the embedding worker: a batch may be lost with both.
		roles[1] = msg.Address{Role: msg.NNWorker, Index: int32(upTo(j.Roles.Ranks - 1))}
	}
	if mode == job.SSP {
		roles = append(roles, msg.Address{Role: msg.Coordinator})
	}
	for range 1 + upTo(3) {
		at := roles[draw.IntN(len(roles))]
		j.Faults.Crashes = append(j.Faults.Crashes, fault.Crash{
			Role: at.Role, Index: at.Index, Step: int32(draw.IntN(steps)),
			Away: unit.Tick(upTo(30)) * unit.Millisecond,
		})
	}
	j = j.InMode(mode)
	if j.Rows.Hot.Share = []float64{0, 0.1, 0.02}[seed%3]; j.Validate() != nil {
		j.Rows.Hot.Share = 0 // not in this mode
	}
	if j.Rows.Hot.Any() {
		j.Rows.Hot.Every = int(seed % 5) // 0: never
	}
	return j
}

// Runs with faults replay bit for bit: one in each mode, or with -long a hundred.
func TestRunsWithFaultsReplayBitForBit(t *testing.T) {
	const steps = 20
	seeds := uint64(1)
	if *long {
		seeds = 100
	}
	start, runs := time.Now(), 0
	var injected fault.Counts
	for _, mode := range pace.Modes() {
		for seed := range seeds {
			source := newRows(steps, 32, seed)
			training := faulty(t, mode, seed, steps)
			folder, result := mustRecord(t, training, source)
			checkReplay(t, folder, source, result)
			if t.Failed() {
				t.Fatalf("%s, seed %d: faults %v", mode, seed, training.Faults)
			}
			runs++
			injected = injected.Add(result.Faults)
		}
	}
	t.Logf("%d runs replayed without a difference in %v: %v", runs, time.Since(start).Round(time.Second),
		injected)
	if injected.Dropped == 0 || injected.Duplicated == 0 || injected.Delayed == 0 || injected.Held == 0 ||
		injected.Crashes == 0 {
		t.Errorf("%v: some kind of fault did not occur", injected)
	}
}

// A recorded run that is requested to end replays bit for bit, in each mode, also with faults.
func TestDrainedRunsReplayBitForBit(t *testing.T) {
	const steps = 60
	for _, mode := range pace.Modes() {
		source := newRows(steps, 32, 7)
		folder := t.TempDir()
		training := faulty(t, mode, 7, 10)
		text, err := yaml.Marshal(training.Resolved())
		if err != nil {
			t.Fatal(err)
		}
		f, err := Create(folder, text)
		if err != nil {
			t.Fatal(err)
		}
		drain := make(chan struct{})
		_, err = train.Run(t.Context(), training, source, source.all, train.Options{Recorder: f, Drain: drain,
			Progress: func(done, _ int) {
				if done == 4 {
					close(drain)
				}
			}})
		var drained *train.DrainedError
		if !errors.As(err, &drained) {
			t.Fatalf("%s: error %v, want a DrainedError", mode, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		report, _, staleness := mustReplay(t, folder, source)
		reads := staleness.Own.Count()
		t.Logf("%s: ended after %d of %d steps, %d inputs, %d reads", mode, drained.Step, steps,
			report.Inputs, reads)
		if reads == 0 || drained.Step < 4 {
			t.Errorf("%s: ended after %d steps, %d reads", mode, drained.Step, reads)
		}
	}
}
