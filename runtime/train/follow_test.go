package train_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// streamJob returns a job for the files of a folder, in a mode.
func streamJob(folder, mode string) job.Job {
	j := cutJob(mode, 2, 2)
	j.Data = job.Data{Kind: job.KindFollow, Path: folder, CSV: &job.Table{
		Slots: []job.IDColumn{{Column: "user"}, {Column: "item"}}, Numeric: []string{"price"},
		Label: "click"}}
	j.Training.Shuffle = false
	return j
}

// addFile renames another file of a stream into its folder.
func addFile(t *testing.T, folder string, number, rows int) {
	t.Helper()
	draw := rand.New(rand.NewPCG(uint64(number), 7))
	var text strings.Builder
	text.WriteString("user,item,price,click\n")
	for range rows {
		fmt.Fprintf(&text, "%d,%d,%d,%d\n", draw.IntN(30), draw.IntN(9), draw.IntN(100), draw.IntN(2))
	}
	name := fmt.Sprintf("%03d.csv", number)
	err := os.WriteFile(filepath.Join(folder, "."+name), []byte(text.String()), 0o644)
	if err == nil {
		err = os.Rename(filepath.Join(folder, "."+name), filepath.Join(folder, name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stream begins to follow the folder of a job, or goes on with a ledger.
func stream(t *testing.T, j *job.Job, ledger, next string) *datasets.Stream {
	t.Helper()
	var s *datasets.Stream
	var err error
	if ledger == "" {
		s, _, err = datasets.Follow(t.Context(), j.Data, "", "", nil, func(time.Duration) {})
	} else {
		s, _, err = datasets.FollowOn(j.Data, "", ledger, nil)
	}
	if err == nil {
		err = s.Begin(j, next)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// followAll trains on files until their rows are trained on, and returns the result.
func followAll(t *testing.T, j job.Job, files int, o train.Options, s *datasets.Stream) *train.Result {
	t.Helper()
	stop, trained := make(chan struct{}), 0
	o.Drain = stop
	result, err := train.Follow(t.Context(), j, s, o, train.FollowOptions{Trained: func(int) {
		if trained++; trained == files {
			close(stop)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// saveStep saves a model after a number of steps to a folder of checkpoints.
func saveStep(results string, j job.Job, step int, m exec.State) error {
	manifest := cutManifest(j)
	manifest.Step = step
	return checkpoint.Save(checkpoint.StepFolder(results, step), manifest, m)
}

// sizes are the numbers of rows of the files of a stream. A step has 16.
var sizes = []int{40, 16, 5, 77, 33}

// A stream in mode sync has the bits of sequential training, which knows no other order of the rows, whether
// its files come one by one or are all there, and wherever it is killed or asked to end: no row is trained
// twice, and none is left out.
func TestAStreamInSyncHasTheBitsOfAnUndisturbedOne(t *testing.T) {
	folder := t.TempDir()
	for i, rows := range sizes {
		addFile(t, folder, i, rows)
	}
	steps := 0
	for _, rows := range sizes {
		steps += (rows + 15) / 16
	}
	sequential := streamJob(folder, job.Sequential)
	want := followAll(t, sequential, len(sizes), train.Options{},
		stream(t, &sequential, "", filepath.Join(t.TempDir(), "ledger")))
	if want.Steps != steps || want.Samples != 171 {
		t.Errorf("%d steps of %d samples", want.Steps, want.Samples)
	}
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) { // waiting takes no time
			got := disturbed(t, seed)
			if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
				t.Errorf("seed %d: other bits", seed)
			}
		})
	}
}

// disturbed trains on a stream whose files come one by one, and which is killed and asked to end at random
// steps, and continues with the newest checkpoint.
func disturbed(t *testing.T, seed uint64) *train.Result {
	t.Helper()
	draw := rand.New(rand.NewPCG(seed, 3))
	folder, results := t.TempDir(), t.TempDir()
	j := streamJob(folder, []string{job.Sync, job.Sequential}[seed%4/3])
	files, ledger := 1, ""
	addFile(t, folder, 0, sizes[0])
	var begin train.Begin
	for try := 0; ; try++ {
		next := filepath.Join(results, fmt.Sprint("ledger", try))
		s := stream(t, &j, ledger, next)
		ledger = next
		ctx, kill := context.WithCancel(t.Context())
		stop := make(chan struct{})
		left := 1 + draw.IntN(6) // steps until the run is disturbed
		o := train.Options{Begin: begin, SaveEvery: 2 + draw.IntN(5)}
		o.Save = func(step int, m exec.State) error { return saveStep(results, j, step, m) }
		end := func() { close(stop) }
		if draw.IntN(2) == 0 {
			end = kill
		}
		o.Progress = func(int, int) {
			if left--; left == 0 {
				end()
			}
		}
		o.Drain = stop
		result, err := train.Follow(ctx, j, s, o, train.FollowOptions{
			Waiting: func(time.Duration) {
				if files < len(sizes) {
					addFile(t, folder, files, sizes[files])
					files++
				} else if left > 0 {
					left = 0
					close(stop)
				}
			}})
		kill()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		newest, _, err := checkpoint.OpenNewest(results)
		if err != nil {
			t.Fatal(err)
		}
		if newest == nil {
			continue
		}
		t.Cleanup(func() { _ = newest.Close() })
		if begin = (train.Begin{Step: newest.Step, Model: newest}); result != nil && begin.Step == steps(s) &&
			files == len(sizes) {
			return result
		}
	}
}

// steps returns the steps of a stream that have arrived, once it has looked for others.
func steps(s *datasets.Stream) int {
	_, _, _, _ = s.Next(s.Steps()) // there are none, or they count
	return s.Steps()
}

// The scores of a block are those of the model that was saved before it. A run that continues within a block
// does not predict it again.
func TestBlocksArePredictedBeforeTheyAreTrainedOn(t *testing.T) {
	for _, mode := range []string{job.Sequential, job.Hybrid} {
		folder, results := t.TempDir(), t.TempDir()
		for i, rows := range sizes {
			addFile(t, folder, i, rows)
		}
		j := streamJob(folder, mode)
		ledger := filepath.Join(results, "ledger")
		s := stream(t, &j, "", ledger)
		scored := map[int]train.Block{}
		stop := make(chan struct{})
		_, err := train.Follow(t.Context(), j, s, train.Options{SaveEvery: 1, Drain: stop,
			Save: func(step int, m exec.State) error {
				return saveStep(results, j, step, m)
			}}, train.FollowOptions{Waiting: func(time.Duration) { close(stop) },
			Predicted: func(b train.Block) { scored[b.First] = b }})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []int{4, 5, 6} { // the fourth file begins at 5
			rows, first, end, err := s.Next(step)
			if err != nil {
				t.Fatal(err)
			}
			if first == step {
				checkBlock(t, scored[step], end, rows, results, j, s)
			}
			predicted := 0
			stop := make(chan struct{})
			begin := train.Begin{Step: step, Model: mustOpen(t, checkpoint.StepFolder(results, step))}
			again := stream(t, &j, ledger, filepath.Join(t.TempDir(), "ledger"))
			if _, err := train.Follow(t.Context(), j, again, train.Options{Begin: begin, Drain: stop},
				train.FollowOptions{Trained: func(int) { close(stop) },
					Predicted: func(train.Block) { predicted++ }}); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 1}[first == step]; predicted != want {
				t.Errorf("step %d of a block from %d: %d blocks were predicted", step, first, predicted)
			}
		}
		if len(scored) != len(sizes) || scored[0].Rows != sizes[0] || scored[3].Before != sizes[0] {
			t.Errorf("%d blocks: %+v", len(scored), scored)
		}
	}
}

// checkBlock compares the scores of a block with those of the model that was saved before.
func checkBlock(t *testing.T, b train.Block, end int, rows *batch.Batch, results string, j job.Job,
	s *datasets.Stream) {
	t.Helper()
	q, err := reference.NewSequential(j.InMode(job.Sequential), s, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, checkpoint.StepFolder(results, b.First)).Initialize(q); err != nil {
		t.Fatal(err)
	}
	predictions, err := q.NewTestSet(rows).Evaluate(q)
	if err != nil {
		t.Fatal(err)
	}
	h := &b.Heads[0]
	mean, labels := metric.WeightedMean(predictions, nil), metric.WeightedMean(rows.Labels, nil)
	if b.End != end || h.AUC != metric.WeightedAUC(predictions, rows.Labels, nil) ||
		h.LogLoss != metric.WeightedLogLoss(predictions, rows.Labels, nil) || h.Predicted != mean ||
		h.Observed != labels {
		t.Errorf("%+v, end %d", b, end)
	}
}

// While there are no rows, a model that has changed is saved when that is due, and one that has not is not.
func TestAStreamIsSavedWhileItWaits(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Sequential} {
		folder := t.TempDir()
		addFile(t, folder, 0, 40)
		j := streamJob(folder, mode)
		stop := make(chan struct{})
		var steps []int
		waits := 0
		o := train.Options{SaveAfter: time.Hour, Drain: stop, Save: func(step int, _ exec.State) error {
			steps = append(steps, step)
			return nil
		}}
		s := stream(t, &j, "", filepath.Join(t.TempDir(), "ledger"))
		if _, err := train.Follow(t.Context(), j, s, o, train.FollowOptions{
			Waiting: func(time.Duration) { waits++; close(stop) }}); err != nil {
			t.Fatal(err)
		}
		if len(steps) != 1 || steps[0] != 3 || waits != 1 {
			t.Errorf("%s, stopped: saved after steps %v", mode, steps)
		}
		synctest.Test(t, func(t *testing.T) { // sleeping takes no time
			stop, steps, waits = make(chan struct{}), nil, 0
			o.Drain = stop
			s := stream(t, &j, "", filepath.Join(t.TempDir(), "ledger"))
			if _, err := train.Follow(t.Context(), j, s, o, train.FollowOptions{
				Waiting: func(time.Duration) {
					switch waits++; waits {
					case 1, 2:
						time.Sleep(2 * time.Hour)
					case 3:
						if !slices.Equal(steps, []int{3}) {
							t.Errorf("%s: saved after steps %v while waiting", mode, steps)
						}
						close(stop)
					}
				}}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A model that could not be written behind the training is saved again, when that is due and at the end,
// without another step.
func TestAStreamThatIsNotWrittenIsSavedAgain(t *testing.T) {
	folder := t.TempDir()
	addFile(t, folder, 0, 40)
	j := streamJob(folder, job.Sequential)
	synctest.Test(t, func(t *testing.T) { // sleeping takes no time
		stop, waits := make(chan struct{}), 0
		var steps []int
		s := stream(t, &j, "", filepath.Join(t.TempDir(), "ledger"))
		result, err := train.Follow(t.Context(), j, s, train.Options{SaveAfter: time.Hour, Drain: stop,
			Save: func(step int, _ exec.State) error {
				steps = append(steps, step)
				return nil
			}}, train.FollowOptions{Written: func() error {
			if len(steps) == 3 {
				return nil
			}
			return errors.New("no space left on device")
		}, Waiting: func(time.Duration) {
			if waits++; waits == 3 {
				close(stop)
			} else {
				time.Sleep(2 * time.Hour)
			}
		}})
		if err != nil || !slices.Equal(steps, []int{3, 3, 3}) {
			t.Fatalf("saved after steps %v, error %v", steps, err)
		}
		if len(result.Pauses) > 0 {
			t.Errorf("%d pauses are kept, which would grow without end", len(result.Pauses))
		}
	})
}

// An error of the source ends a training, after what it has trained is saved.
func TestAStreamThatFailsIsSaved(t *testing.T) {
	folder := t.TempDir()
	addFile(t, folder, 0, 40)
	j := streamJob(folder, job.Sync)
	s := stream(t, &j, "", filepath.Join(t.TempDir(), "ledger"))
	saved := 0
	_, err := train.Follow(t.Context(), j, s, train.Options{Save: func(step int, _ exec.State) error {
		saved = step
		return nil
	}}, train.FollowOptions{Trained: func(int) {
		if err := os.WriteFile(filepath.Join(folder, "001.csv"), []byte("user\n"), 0o644); err != nil {
			t.Error(err)
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "001.csv:1") || saved != 3 {
		t.Errorf("error %v, saved after %d steps", err, saved)
	}
}
