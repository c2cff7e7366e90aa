package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/inference"
	"tandem/runtime/metrics"
	"tandem/runtime/train"
)

var long = flag.Bool("long", false, "ask for a million predictions while a training is followed")

// followedJob returns a job of few rows a step, so that few rows change from one checkpoint to the next.
func followedJob(t testing.TB) job.Job {
	t.Helper()
	j := clicksJob(t, 600, func(row int) (user, tag int) { return row * row % 331, row % 41 })
	j.Training.GlobalBatch, j.Model.EmbeddingDim, j.Model.Top = 4, 8, []int{8}
	j.Roles.EmbeddingPSs, j.Roles.Ranks = 2, 1
	return j
}

// followedTraining is a training whose models are saved and followed.
type followedTraining struct {
	job     job.Job
	data    *datasets.Dataset
	source  batch.Source
	rows    *batch.Batch // those of the table, as clients send them
	results string
	saver   checkpoint.Saver
}

func newFollowedTraining(j job.Job, results string) (*followedTraining, error) {
	f := &followedTraining{job: j, results: results, saver: checkpoint.Saver{
		Chain: checkpoint.Chain{FullEvery: 20}}}
	var err error
	if f.data, err = datasets.Open(j.Data, ""); err != nil {
		return nil, err
	}
	if f.source, err = datasets.TrainingSource(f.data, &j); err != nil {
		return nil, err
	}
	keep := func(b *batch.Batch, _ float64) error { f.rows = b; return nil }
	return f, datasets.ReadFeatures(j.Data, f.data.Scaling, j.Data.Path, keep)
}

// checkpoints returns the folder of the checkpoints.
func (f *followedTraining) checkpoints() string {
	return filepath.Join(f.results, f.job.Training.Mode, "checkpoints")
}

// save saves the model after a number of steps.
func (f *followedTraining) save(step int, state exec.State) error {
	text, err := yaml.Marshal(f.job.Resolved())
	if err != nil {
		return err
	}
	m := checkpoint.Describe(&f.job, text, f.data.Scaling, f.source, step)
	m.Written = time.Now().UTC()
	if err := f.saver.Save(checkpoint.StepFolder(f.checkpoints(), step), m, state); err != nil {
		return err
	}
	return f.saver.Wait()
}

// predict returns the predictions for the rows of the table by the parameters that the training has.
func (f *followedTraining) predict(state exec.State) ([]float32, error) {
	engine, err := backend.NewEngine(&f.job, state.Schema(), backend.Backend{})
	if err != nil {
		return nil, err
	}
	set := evaluation.NewTestSet(engine, state.Schema(), state.Plan(), f.rows)
	return set.Evaluate(state.(evaluation.State))
}

// followerOf returns a service of the first model of a training, and what follows it.
func followerOf(t *testing.T, results string, log io.Writer) *follower {
	t.Helper()
	of := &training{results: results}
	m, err := of.first(t.Context(), time.Millisecond, log)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{name: "tandem", rowsMax: 1000, timeMax: time.Minute, slots: make(chan struct{}, 256)}
	s.live = inference.NewLive(m, inference.QueueLimits{Rows: 64, Waiting: 64, Computed: s.counts.computed})
	t.Cleanup(func() {
		if err := s.live.Close(); err != nil {
			t.Error(err)
		}
	})
	return &follower{service: s, find: of.newest, training: of, patience: followPatience, log: log}
}

// Every prediction that is served while a training is followed has the bits of the parameters that the
// training had at the version in the answer: none mixes two versions.
func TestFollowedPredictionsAreThoseOfTheTraining(t *testing.T) {
	predictions, of := int64(20_000), []string{job.Hybrid, job.Sync, "async-ps"}
	if *long {
		predictions = 1_000_000
	}
	for i, mode := range of {
		t.Run(mode, func(t *testing.T) {
			j := followedJob(t).InMode(mode)
			if i > 0 {
				j.Rows.Capacity, j.Rows.Eviction = 100, job.SecondChance
			}
			if mode == job.Sync {
				j.Rows.Hot = job.Hot{Share: 0.05, Every: 40}
				j.Rows.Precision = "fp16"
			}
			followTraining(t, j, predictions/int64(len(of)))
		})
	}
}

// followTraining follows a training while clients ask for at least a number of predictions.
func followTraining(t *testing.T, j job.Job, least int64) {
	training, err := newFollowedTraining(j, filepath.Join(t.TempDir(), "results"))
	if err != nil {
		t.Fatal(err)
	}
	users, tags, prices := columns(t, j.Data.Path)
	var want sync.Map // predictions by version
	var seen atomic.Int64
	var newest atomic.Value
	ask := func(s *service, lo int) {
		q := asRaw(inferRequest(users[lo:lo+50], tags[lo:lo+50], prices[lo:lo+50]))
		inputs, err := tensorsOf(q)
		if err != nil {
			t.Error(err)
			return
		}
		a, err := s.infer(t.Context(), &request{model: "tandem", inputs: inputs})
		if err != nil {
			t.Error(err)
			return
		}
		all, ok := want.Load(a.version)
		if !ok || !slices.Equal(a.predictions, all.([]float32)[lo:lo+50]) {
			t.Errorf("version %s: predictions that no model has, or not this one", a.version)
		}
		newest.Store(a.version)
		seen.Add(50)
	}
	var log bytes.Buffer
	var f *follower
	var stop atomic.Bool
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop.Store(true)
	saves := len(checkpointSteps(training))
	_, err = train.Run(t.Context(), j, training.source, training.data.Test, train.Options{
		SaveEvery: everySteps,
		Save: func(step int, state exec.State) error {
			p, err := training.predict(state)
			if err != nil {
				return err
			}
			want.Store(strconv.Itoa(step), p)
			if err := training.save(step, state); err != nil {
				return err
			}
			if f == nil {
				f = followerOf(t, training.results, &log)
				for n := range 3 {
					clients.Go(func() {
						for lo := 0; !stop.Load() && !t.Failed(); lo = (lo + 50) % (len(users) - 50) {
							ask(f.service, lo+n)
							time.Sleep(time.Millisecond) // to leave the processors to the training
						}
					})
				}
			}
			f.poll(time.Now())
			if err := checkpoint.Prune(training.checkpoints(), checkpoint.Keep{Newest: 2}); err != nil {
				return err
			}
			asked := func(n int64) bool { return newest.Load() == strconv.Itoa(step) && seen.Load() >= n }
			for n := seen.Load() + least/int64(saves); !asked(n) && !t.Failed(); {
				time.Sleep(time.Millisecond)
				f.poll(time.Now()) // a machine with other work may need several
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	stop.Store(true)
	clients.Wait()
	changes, whole := f.service.counts.reloads[reloadChanges], f.service.counts.reloads[reloadLoaded]
	got := f.service.live.Acquire()
	if got.Steps() < everySteps*saves {
		t.Errorf("step %d is served at the end", got.Steps())
	}
	got.Release()
	if changes < 5 || whole < 1 || seen.Load() < least {
		t.Errorf("%d models of changes and %d with all rows have followed, and there were %d predictions; "+
			"want at least 5, 1 and %d", changes, whole, seen.Load(), least)
	}
	t.Logf("%d predictions, of %d models of changes and %d others", seen.Load(), changes, whole)
}

// everySteps is the number of steps after which a followed training is saved.
const everySteps = 5

// checkpointSteps returns the steps at which a training is saved.
func checkpointSteps(f *followedTraining) (steps []int) {
	for step := everySteps; step < f.source.Steps(); step += everySteps {
		steps = append(steps, step)
	}
	return steps
}

// saved trains a job, and keeps the first of its checkpoints in the folder of the training. It returns a
// function that adds the next one, and names its folder.
func (f *followedTraining) saved(t *testing.T) (next func() (folder string)) {
	t.Helper()
	if _, err := train.Run(t.Context(), f.job, f.source, f.data.Test, train.Options{SaveEvery: everySteps,
		Save: f.save}); err != nil {
		t.Fatal(err)
	}
	away := t.TempDir()
	steps := checkpointSteps(f)
	for _, step := range steps {
		place(t, checkpoint.StepFolder(f.checkpoints(), step), checkpoint.StepFolder(away, step))
	}
	next = func() (folder string) {
		folder = checkpoint.StepFolder(f.checkpoints(), steps[0])
		place(t, checkpoint.StepFolder(away, steps[0]), folder)
		steps = steps[1:]
		return folder
	}
	next()
	return next
}

// A file that is missing or torn is waited for, then named once and counted, while the model before is
// served; when it is there the model is served. Meanwhile a newer one is served, too. A model of another
// training is refused at once.
func TestFollowWaitsForFiles(t *testing.T) {
	j := followedJob(t)
	training, err := newFollowedTraining(j, filepath.Join(t.TempDir(), "results"))
	if err != nil {
		t.Fatal(err)
	}
	next := training.saved(t)
	var log bytes.Buffer
	f := followerOf(t, training.results, &log)
	now := time.Now()
	poll := func(after time.Duration, step int, line string) {
		t.Helper()
		now = now.Add(after)
		log.Reset()
		f.poll(now)
		m := f.service.live.Acquire()
		defer m.Release()
		got := log.String()
		if m.Steps() != step || (got == "") != (line == "") || !strings.Contains(got, line) {
			t.Errorf("step %d is served, want %d; line %q, want %q", m.Steps(), step, got, line)
		}
	}
	poll(0, 5, "")
	for _, name := range []string{"rows-00001-of-00002.arrow", checkpoint.DenseFile} {
		path := filepath.Join(next(), name)
		step := map[string]int{"rows-00001-of-00002.arrow": 5, checkpoint.DenseFile: 10}[name]
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		poll(0, step, "")
		if err := os.WriteFile(path, good[:len(good)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		poll(followPatience-1, step, "")
		poll(1, step, fmt.Sprintf("cannot be loaded, step %d is still served: model %s: %s:", step,
			filepath.Dir(path), name))
		poll(followPatience, step, "")
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
		poll(followPatience-1, step, "")
		if name == checkpoint.DenseFile { // a model of changes
			poll(1, step+5, "of step 15 replaces that of step 10; of the next ones that bring changed")
		} else {
			poll(1, step+5, "of step 10 replaces that of step 5")
		}
	}
	manifest := filepath.Join(next(), checkpoint.ManifestFile)
	good, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, good[:len(good)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	poll(0, 15, "")
	poll(followPatience, 15, checkpoint.ManifestFile)
	next()
	poll(0, 25, "")
	other := j
	other.Training.Seed++
	foreign, err := newFollowedTraining(other, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := train.Run(t.Context(), other, foreign.source, foreign.data.Test, train.Options{
		SaveEvery: 60, Save: foreign.save}); err != nil {
		t.Fatal(err)
	}
	place(t, checkpoint.StepFolder(foreign.checkpoints(), 60),
		checkpoint.StepFolder(training.checkpoints(), 60))
	poll(0, 25, "is refused, step 25 is still served: model")
	if !strings.Contains(log.String(), "of another training: training.seed") {
		t.Errorf("%s", &log)
	}
	poll(time.Hour, 25, "")
	if got := f.service.counts.reloads; got[reloadFailed] != 2 || got[reloadRefused] != 1 ||
		got[reloadChanges] != 2 || got[reloadLoaded] != 1 {
		t.Errorf("counts: %v", got)
	}
}

// The results of a training are found under the temporary name that they have while it runs, and under their
// own; so is a mode that is named, and a folder of checkpoints. Several modes are an error that lists them.
func TestTrainingIsFound(t *testing.T) {
	j := followedJob(t)
	made, err := newFollowedTraining(j, filepath.Join(t.TempDir(), "results"))
	if err != nil {
		t.Fatal(err)
	}
	next := made.saved(t)
	next()
	parent := filepath.Dir(made.results)
	running := filepath.Join(parent, ".results-17")
	if err := os.Rename(made.results, running); err != nil {
		t.Fatal(err)
	}
	all := &training{results: made.results}
	newest := func(of *training, step int, want string) {
		t.Helper()
		folder, m, err := of.newest()
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("error %v, want %q", err, want)
		case want == "" && (err != nil || m.Step != step || filepath.Base(folder) != strconv.Itoa(step)):
			t.Errorf("model %s, error %v; want step %d", folder, err, step)
		}
	}
	newest(&training{results: filepath.Join(parent, "other")}, 0, "no model yet")
	newest(all, 10, "")
	newest(&training{results: filepath.Join(made.results, "hybrid")}, 10, "")
	newest(&training{results: filepath.Join(running, "hybrid", "checkpoints")}, 10, "")
	if got := all.state(); !strings.Contains(got, "killed") {
		t.Errorf("no process has the folder: %s", got)
	}
	hybrid := filepath.Join(running, "hybrid")
	if err := os.CopyFS(filepath.Join(running, "sync"), os.DirFS(hybrid)); err != nil {
		t.Fatal(err)
	}
	newest(&training{results: made.results}, 0, "name one of hybrid, sync")
	newest(all, 10, "") // which has begun with a mode, and stays with it
	next()
	newest(all, 15, "") // in results that a training has written which continued the other
	if err := os.RemoveAll(made.results); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(running, made.results); err != nil {
		t.Fatal(err)
	}
	newest(all, 10, "")
	if got := all.state(); !strings.Contains(got, "has ended") {
		t.Errorf("the results have their name: %s", got)
	}
	torn := filepath.Join(parent, ".results-18", "hybrid", "checkpoints", "99")
	if err := os.MkdirAll(torn, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(torn, checkpoint.ManifestFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	newest(all, 10, "") // beside results that cannot be read
	folder, err := cli.NewFolder(filepath.Join(parent, "again"))
	if err == nil {
		err = folder.Lock()
	}
	if err != nil {
		t.Fatal(err)
	}
	again := &training{results: filepath.Join(parent, "again")}
	if got := again.state(); got != "the training runs" {
		t.Errorf("a process has the folder: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	if m, err := again.first(ctx, time.Hour, &log); m != nil || err != nil || !strings.Contains(log.String(),
		"waits for a model in "+again.results) {
		t.Errorf("interrupted while it waits: model %v, error %v, %s", m, err, &log)
	}
	folder.Discard()
}

// The first model of a training is not served while one of its files is damaged.
func TestFirstModelIsVerified(t *testing.T) {
	made, err := newFollowedTraining(followedJob(t), filepath.Join(t.TempDir(), "results"))
	if err != nil {
		t.Fatal(err)
	}
	made.saved(t)
	rows := filepath.Join(checkpoint.StepFolder(made.checkpoints(), everySteps), checkpoint.RowsFile(0, 2))
	intact, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(intact)
	damaged[len(damaged)/2] ^= 1
	if err := os.WriteFile(rows, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	of := &training{results: made.results}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	if m, err := of.first(ended, time.Hour, &log); m != nil || err != nil ||
		!strings.Contains(log.String(), "the file is damaged") {
		t.Errorf("model %v, error %v, %s", m, err, &log)
	}
	if err := os.WriteFile(rows, intact, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := of.first(t.Context(), time.Hour, &log)
	if err != nil || m.Steps() != everySteps {
		t.Fatal(m, err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// A line says once that the model has become old, and once that there is a newer one; the metrics have its
// age.
func TestFollowNamesAnOldModel(t *testing.T) {
	training, err := newFollowedTraining(followedJob(t), filepath.Join(t.TempDir(), "results"))
	if err != nil {
		t.Fatal(err)
	}
	next := training.saved(t)
	var log bytes.Buffer
	f := followerOf(t, training.results, &log)
	f.staleAfter = time.Minute
	current := f.service.live.Acquire()
	written := current.Written()
	current.Release()
	for _, after := range []time.Duration{time.Minute, time.Minute + 1, time.Hour} {
		f.poll(written.Add(after))
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got,
		"the model of step 5 is 1m0s old, and there is no newer one: the training has ended") {
		t.Errorf("%s", got)
	}
	log.Reset()
	next()
	f.poll(written.Add(time.Minute))
	f.poll(written.Add(time.Minute))
	if got := log.String(); strings.Count(got, "newer models come again, step 10 is served\n") != 1 {
		t.Errorf("%s", got)
	}
	var all metrics.Snapshot
	f.service.collect(&all)
	var text strings.Builder
	if err := all.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tandem_served_model_step 10\n", "tandem_served_model_age_seconds ",
		`reloads_total{result="loaded"} 1` + "\n", "tandem_serve_delay_seconds_count 1\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in\n%s", want, &text)
		}
	}
}
