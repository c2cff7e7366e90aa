package train_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// cutSteps is the length of the runs that are cut in two.
const cutSteps = 7

// cutJob returns a job whose rates, admission and optimizers depend on the step.
func cutJob(mode string, ranks, servers int) job.Job {
	j := exectest.Job(ranks, servers).InMode(mode)
	schedule := opt.Schedule{WarmUp: 3, Decay: opt.LinearDecay, Steps: 9}
	j.Rows.Admission, j.Rows.Optimizer.Schedule, j.Model.Optimizer.Schedule = 0.7, schedule, schedule
	j.Rows.Optimizer.Kind, j.Model.Optimizer.Kind = opt.Adagrad, opt.Adam
	return j
}

// cutData returns the samples of cutSteps steps, the last of which is short.
func cutData() *exectest.Columns { return exectest.NewColumns(16*cutSteps-5, 16) }

func mustTrain(t *testing.T, j job.Job, o train.Options) *train.Result {
	t.Helper()
	data := cutData()
	result, err := train.Run(t.Context(), j, data, data.All, o)
	if err != nil {
		t.Fatalf("%s: %v", j.Training.Mode, err)
	}
	return result
}

// saver returns a function that saves a model to a folder.
func saver(folder string, j job.Job) func(exec.State) error {
	return func(state exec.State) error { return checkpoint.Save(folder, cutManifest(j), state) }
}

// cutManifest describes the model of a run that is cut.
func cutManifest(j job.Job) *checkpoint.Manifest {
	return &checkpoint.Manifest{Mode: j.Training.Mode, Job: []byte("name: cut\n"),
		Scaling: []batch.Scaling{{Std: 1}}}
}

func mustOpen(t *testing.T, folder string) *checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// pauses returns options for pauses at the multiples of a number of steps, which save nothing.
func pauses(every int) train.Options {
	return train.Options{SaveEvery: every, Save: func(int, exec.State) error { return nil }}
}

// saveEveryStep trains a job, and saves it after every step, as changes or as a whole. It returns the folder
// of the checkpoints, and how many of them have changes.
func saveEveryStep(t *testing.T, j job.Job, draw *rand.Rand) (folder string, changes int) {
	t.Helper()
	folder = t.TempDir()
	s := checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 2 + draw.IntN(3)}}
	mustTrain(t, j, train.Options{SaveEvery: 1, Save: func(step int, state exec.State) error {
		return s.Save(checkpoint.StepFolder(folder, step), cutManifest(j), state)
	}})
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < cutSteps; cut++ {
		if mustOpen(t, checkpoint.StepFolder(folder, cut)).Version == checkpoint.VersionChanges {
			changes++
		}
	}
	return folder, changes
}

// A run that is cut in two after any step, where all rows were saved or the changes alone, ends with the bits
// of the whole run, in sync also if the second part has other numbers of ranks and PSs, or other hot rows
// than the first.
func TestRunContinuesFromEveryStep(t *testing.T) {
	later := map[string]job.Job{
		job.Sequential: cutJob(job.Sequential, 4, 2), job.Sync: cutJob(job.Sync, 2, 3),
	}
	allRanks := cutJob("backup-workers", 4, 2)
	allRanks.Training.ModeSettings = map[string]int{"wait-for": 4} // which others count depends on time
	later["backup-workers"] = allRanks
	hot := map[string]float64{} // least shares of the first part
	for _, shares := range [][2]float64{{0.05, 0.05}, {0.05, 0}, {0, 0.05}, {0.05, 1e-9}, {1e-9, 0.08}} {
		name := fmt.Sprintf("sync with hot rows of %g and then %g", shares[0], shares[1])
		second := cutJob(job.Sync, 2, 3)
		second.Rows.Hot.Share, hot[name] = shares[1], shares[0]
		later[name] = second
	}
	reference := mustTrain(t, cutJob(job.Sequential, 1, 1), train.Options{})
	draw := rand.New(rand.NewPCG(1, 2))
	for _, mode := range slices.Sorted(maps.Keys(later)) {
		second := later[mode]
		first := second
		first.Roles.Ranks, first.Roles.EmbeddingPSs, first.Rows.Hot.Share = 4, 2, hot[mode]
		whole := mustTrain(t, first, train.Options{})
		if whole.DenseDigest != reference.DenseDigest || whole.RowsDigest != reference.RowsDigest {
			t.Errorf("%s has other bits than sequential training", mode)
		}
		folder, changes := saveEveryStep(t, first, draw)
		if changes == 0 || changes == cutSteps-1 {
			t.Errorf("%s: %d of %d checkpoints have changes", mode, changes, cutSteps-1)
		}
		for cut := 1; cut < cutSteps; cut++ {
			if testing.Short() && cut%3 != 1 {
				continue
			}
			part := mustTrain(t, first, train.Options{End: cut})
			begin := train.Begin{Step: cut, Model: mustOpen(t, checkpoint.StepFolder(folder, cut))}
			rest := mustTrain(t, second, train.Options{Begin: begin})
			if rest.DenseDigest != whole.DenseDigest || rest.RowsDigest != whole.RowsDigest ||
				rest.AUC != whole.AUC || rest.LogLoss != whole.LogLoss {
				t.Errorf("%s, cut after %d steps: dense %x, rows %x; the whole run has %x, %x", mode, cut,
					rest.DenseDigest, rest.RowsDigest, whole.DenseDigest, whole.RowsDigest)
			}
			if part.Steps != cut || part.Steps+rest.Steps != whole.Steps ||
				part.Samples+rest.Samples != whole.Samples {
				t.Errorf("%s, cut after %d steps: %d + %d steps, %d + %d samples", mode, cut, part.Steps,
					rest.Steps, part.Samples, rest.Samples)
			}
			if last := rest.Curve[len(rest.Curve)-1]; last.Step != cutSteps || last.Samples != whole.Samples {
				t.Errorf("%s, cut after %d steps: the last evaluation is %+v", mode, cut, last)
			}
		}
	}
}

// If every row is hot, hybrid has the bits of sync: so has a run that is cut in two after any step, and
// continues with other ranks.
func TestHybridWithAllRowsHotContinuesFromEveryStep(t *testing.T) {
	data := cutData() // without its raw slot, whose rows are never hot
	data.Fields.Slots, data.All.Slots = data.Fields.Slots[:1], data.All.Slots[:1]
	j := cutJob(job.Hybrid, 4, 2)
	j.Rows.Hot.Share = 1e-9
	run := func(j job.Job, o train.Options) *train.Result {
		result, err := train.Run(t.Context(), j, data, data.All, o)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	whole := run(j.InMode(job.Sequential), train.Options{})
	for cut := 1; cut < cutSteps; cut++ {
		folder := filepath.Join(t.TempDir(), "model")
		run(j, train.Options{End: cut, Trained: saver(folder, j)})
		second := j
		second.Roles.Ranks, second.Roles.EmbeddingPSs = 2, 3
		rest := run(second, train.Options{Begin: train.Begin{Step: cut, Model: mustOpen(t, folder)}})
		if rest.DenseDigest != whole.DenseDigest || rest.RowsDigest != whole.RowsDigest ||
			rest.LogLoss != whole.LogLoss || rest.MissedUpdates.Max() != 0 {
			t.Errorf("cut after %d steps: dense %x, rows %x; the whole run has %x, %x", cut, rest.DenseDigest,
				rest.RowsDigest, whole.DenseDigest, whole.RowsDigest)
		}
	}
}

// Every mode saves its model during training and continues from it; the bounds of the mode hold, which Run
// checks, and every batch is trained.
func TestEveryModeIsSavedAndContinues(t *testing.T) {
	for _, mode := range job.Modes() {
		saveAndContinue(t, cutJob(mode, 2, 2))
	}
	for _, mode := range []string{job.Sync, job.Hybrid} {
		j := cutJob(mode, 2, 2)
		j.Rows.Hot.Share = 0.05
		saveAndContinue(t, j)
		j.Rows.Hot.Every = 2 // most choices are not where the model is saved
		saveAndContinue(t, j)
	}
}

// saveAndContinue is TestEveryModeIsSavedAndContinues for one job.
func saveAndContinue(t *testing.T, j job.Job) {
	mode, folder := j.Training.Mode, t.TempDir()
	var saved []string
	var progress []int
	o := train.Options{SaveEvery: 3, Save: func(step int, state exec.State) error {
		saved = append(saved, fmt.Sprint(step))
		return saver(checkpoint.StepFolder(folder, step), j)(state)
	}, Progress: func(done, steps int) { progress = append(progress, done) }}
	whole := mustTrain(t, j, o)
	if got := strings.Join(saved, " "); got != "3 6" || whole.Steps != cutSteps {
		t.Errorf("%s: %d steps, saved after %s", mode, whole.Steps, got)
	}
	if len(progress) != cutSteps || progress[cutSteps-1] != cutSteps {
		t.Errorf("%s: progress %v", mode, progress)
	}
	if mode == job.Sync || mode == job.Sequential {
		plain := mustTrain(t, j, train.Options{})
		if plain.DenseDigest != whole.DenseDigest || plain.RowsDigest != whole.RowsDigest {
			t.Errorf("%s: pauses to save change the model", mode)
		}
	}
	for _, step := range []int{3, 6} {
		model := mustOpen(t, checkpoint.StepFolder(folder, step))
		rest := mustTrain(t, j, train.Options{Begin: train.Begin{Step: step, Model: model}})
		if rest.Steps != cutSteps-step || len(rest.Notes) > 0 {
			t.Errorf("%s from step %d: %d steps, notes %v", mode, step, rest.Steps, rest.Notes)
		}
	}
}

// Evaluations of a run that continues have the steps and scores of the whole run.
func TestEvaluationsContinue(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Sequential} {
		j := cutJob(mode, 2, 2)
		j.Training.EvaluateEvery.Steps = 2
		whole := mustTrain(t, j, train.Options{})
		folder := filepath.Join(t.TempDir(), "model")
		part := mustTrain(t, j, train.Options{End: 3, Trained: saver(folder, j)})
		rest := mustTrain(t, j, train.Options{Begin: train.Begin{Step: 3, Model: mustOpen(t, folder)}})
		paused := mustTrain(t, j, pauses(2))
		plain := func(curve []evaluation.Point) string {
			text := ""
			for _, p := range curve {
				text += fmt.Sprint(p.Step, " ", p.Samples, " ", p.AUC, " ", p.LogLoss, "\n")
			}
			return text
		}
		both := append(part.Curve[:1:1], rest.Curve...) // without the evaluation after step 3
		if plain(both) != plain(whole.Curve) {
			t.Errorf("%s: evaluations\n%s, want\n%s", mode, plain(both), plain(whole.Curve))
		}
		if plain(paused.Curve) != plain(whole.Curve) {
			t.Errorf("%s: evaluations with pauses\n%s, want\n%s", mode, plain(paused.Curve),
				plain(whole.Curve))
		}
	}
}

// A crash at a global step happens once, in the run of roles that trains the step.
func TestCrashesOfARunWithPauses(t *testing.T) {
	whole := mustTrain(t, cutJob(job.Sync, 2, 2), train.Options{})
	for _, step := range []int32{1, 3, 5} {
		j := cutJob(job.Sync, 2, 2)
		j.Wire.Retry = 20 * unit.Millisecond
		j.Faults.Crashes = []fault.Crash{{Role: msg.EmbeddingWorker, Step: step}}
		got := mustTrain(t, j, pauses(3))
		if got.Faults.Crashes != 1 || got.RowsDigest != whole.RowsDigest {
			t.Errorf("crash at step %d: %d crashes, rows %x; want 1, %x", step, got.Faults.Crashes,
				got.RowsDigest, whole.RowsDigest)
		}
	}
}

// idle is a cluster that is not asked to do anything.
type idle struct{ train.Cluster }

// Trainings that cannot begin or end in the middle are refused.
func TestSegmentsThatAreRefused(t *testing.T) {
	delayed := cutJob(job.Sequential, 2, 2)
	delayed.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: 1}
	again := cutJob(job.Sync, 2, 2)
	again.Rows.Hot = job.Hot{Share: 0.05, Every: cutSteps - 1}
	for _, c := range []struct {
		job  job.Job
		o    train.Options
		want string
	}{
		{cutJob(job.Sync, 2, 2), train.Options{End: cutSteps + 1}, "the data have steps 0 to 7"},
		{cutJob(job.Sync, 2, 2), train.Options{Begin: train.Begin{Step: cutSteps}}, "cannot begin at step 7"},
		{cutJob(job.Sync, 2, 2), train.Options{SaveEvery: -1}, "saved every -1 steps"},
		{delayed, train.Options{End: 3}, "late gradients are not part of a model"},
		{again, train.Options{Cluster: idle{}}, "let it save the model (--checkpoint-every)"},
	} {
		data := cutData()
		_, err := train.Run(context.Background(), c.job, data, data.All, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// A rank of a mode with reduced gradients takes one optimizer step a training step, also if it begins behind
// the first step with an untrained model.
func TestOneDenseStepForEachTrainingStep(t *testing.T) {
	for _, mode := range []string{job.Sequential, job.Sync, "hybrid"} {
		steps := -1
		mustTrain(t, cutJob(mode, 2, 1), train.Options{Begin: train.Begin{Step: 3},
			Trained: func(s exec.State) error {
				parts, err := s.ExportDense()
				steps = parts[0].Steps
				return err
			}})
		if steps != cutSteps-3 {
			t.Errorf("%s: %d optimizer steps in %d training steps", mode, steps, cutSteps-3)
		}
	}
}
