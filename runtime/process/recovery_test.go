package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// saving makes a training save its model to a folder at multiples of a number of steps, two times of three as
// changes, and begin again when it loses a process.
func saving(folder, mode string, every int) train.Options {
	return train.Options{
		SaveEvery: every, FullEvery: 3, RestartsMax: 3, SetAside: checkpoint.SetAside,
		SaveApart: saveApart(folder, mode),
	}
}

// saver is the type of train.Options.SaveApart.
type saver = func(step int, m exec.State, export func(string) ([]string, error)) (train.Unfinished, error)

// saveApart saves the model of a training to a folder.
func saveApart(folder, mode string) saver {
	return func(step int, m exec.State, export func(string) ([]string, error)) (train.Unfinished, error) {
		about := &checkpoint.Manifest{Mode: mode, Step: step, Job: []byte("name: small\n"),
			Scaling: []batch.Scaling{{Std: 1}}}
		saved := checkpoint.StepFolder(folder, step)
		begun, err := checkpoint.BeginApart(saved, about, m, export)
		if err != nil {
			return train.Unfinished{}, err
		}
		return train.Unfinished{Folder: saved, Finish: begun.Finish, Discard: begun.Discard}, nil
	}
}

// assassin kills a process at a random time after training has begun, any number of times.
type assassin struct {
	victim  msg.Address
	cluster *Cluster
	draw    *rand.Rand
	left    int           // kills to come
	within  time.Duration // of the beginning
	once    sync.Once
	kills   sync.WaitGroup
}

// begin plans the first kill when training has begun.
func (a *assassin) begin(int, int) { a.once.Do(a.plan) }

// plan plans a kill.
func (a *assassin) plan() {
	if a.left == 0 {
		return
	}
	a.left--
	wait := time.Duration(a.draw.Int64N(int64(a.within)))
	a.kills.Go(func() {
		time.Sleep(wait)
		_ = a.cluster.running(job.Process{a.victim}).cmd.Process.Kill() // it may have ended
	})
}

// A training whose model is saved on the way survives the death of any process, at any time: it begins again
// with the model that was saved last. In sync mode it ends with the bits of a training that nothing disturbs.
func TestTrainingOutlivesAnyProcess(t *testing.T) {
	t.Parallel()
	victims, seeds := map[string][]msg.Role{
		job.Sync:   {msg.EmbeddingPS},
		job.Hybrid: {msg.NNWorker},
	}, uint64(1)
	if *long {
		seeds = 20
		victims[job.Sync] = append(victims[job.Sync], msg.NNWorker, msg.EmbeddingWorker, msg.DataLoader)
		victims[job.Hybrid] = append(victims[job.Hybrid], msg.EmbeddingPS, msg.EmbeddingWorker,
			msg.DataLoader)
		for _, mode := range []string{job.AsyncPS, job.SSP, job.AsyncAverage, "local-sgd", "gba",
			"backup-workers"} {
			victims[mode] = []msg.Role{msg.EmbeddingPS, msg.NNWorker}
		}
		victims[job.AsyncPS] = append(victims[job.AsyncPS], msg.DensePS)
		victims["backup-workers"] = append(victims["backup-workers"], msg.Coordinator)
	}
	if testing.Short() {
		delete(victims, job.Sync)
	}
	for mode, roles := range victims {
		for _, victim := range roles {
			for seed := range seeds {
				t.Run(fmt.Sprint(mode, " ", victim, " seed ", seed), func(t *testing.T) {
					s, o := setting{Training: small(mode), Steps: 200}, saving(t.TempDir(), mode, 50)
					a := &assassin{victim: msg.Address{Role: victim}, left: 2, within: 3 * time.Second / 4,
						draw: rand.New(rand.NewPCG(seed, 7))}
					o.Progress, o.Lost = a.begin, func(train.Recovery) { a.plan() }
					got, err := s.run(t.Context(), o, func(c *Cluster) { a.cluster = c })
					a.kills.Wait()
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range got.Recoveries {
						t.Logf("%v: again from step %d, %d steps repeated, down %v", r.Lost, r.Step, r.Again,
							r.Down.Round(time.Millisecond))
						if r.Step%50 != 0 || r.Again < 0 || r.Again > s.Steps || r.Down <= 0 {
							t.Errorf("recovery %+v", r)
						}
					}
					if mode == job.Sync {
						s.mustEqualSequential(t, got)
					}
				})
			}
		}
	}
}

// A rank that is killed after a number of steps is lost once, and the steps since the last checkpoint are
// trained again, and no other. The processes then write the changes since that checkpoint to the next, and
// all rows to the last model.
func TestStepsSinceTheCheckpointAreTrainedAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, o := setting{Training: small(job.Sync), Steps: 250}, saving(folder, job.Sync, 50)
	o.TrainedApart = func(m exec.State, export func(string) ([]string, error)) error {
		last, err := o.SaveApart(s.Steps, m, export)
		return errors.Join(err, last.Finish())
	}
	s.Training.Training.EvaluateEvery = job.Every{Steps: 25}
	k := newKiller(t, 1, s.Steps, msg.Address{Role: msg.NNWorker, Index: 2})
	k.at[0] = 110
	o.Progress = k.progress
	var lost []train.Recovery
	o.Lost = func(r train.Recovery) { lost = append(lost, r) }
	got, err := s.run(t.Context(), o, func(c *Cluster) { k.cluster = c })
	if err != nil {
		t.Fatal(err)
	}
	want := s.mustEqualSequential(t, got)
	if len(got.Recoveries) != 1 || len(lost) != 1 {
		t.Fatalf("%d recoveries, %d reported; want 1", len(got.Recoveries), len(lost))
	}
	r := got.Recoveries[0]
	if r.Step != 100 || r.Again < 10 || r.Again >= 100 || r.Down <= 0 || lost[0].Down != 0 ||
		!strings.HasPrefix(r.Lost.Error(), "nn-worker 2 at ") {
		t.Errorf("recovery %+v", r)
	}
	for step, changes := range map[int]int{50: 0, 100: 0, 150: 1, 250: 0} {
		saved, err := checkpoint.OpenIntact(checkpoint.StepFolder(folder, step))
		if err != nil {
			t.Fatal(err)
		}
		for server, described := range saved.Manifest.Rows.Servers {
			if described.Changes != changes {
				t.Errorf("checkpoint %d: embedding-ps %d has written %d files of changes, want %d", step,
					server, described.Changes, changes)
			}
		}
		if err := saved.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(got.Curve) != len(want.Curve) {
		t.Errorf("%d points, %d in sequential training", len(got.Curve), len(want.Curve))
	}
	for i := range got.Curve {
		if got.Curve[i].Step != want.Curve[i].Step || got.Curve[i].AUC != want.Curve[i].AUC {
			t.Errorf("point %+v, in sequential training %+v", got.Curve[i], want.Curve[i])
		}
	}
}

// Processes go on from a checkpoint with what they hold, and do not read it: here none could. What they
// report of a part of the run is counted once.
func TestProcessesDoNotReadWhatTheyHold(t *testing.T) {
	t.Parallel()
	s, o := setting{Training: small(job.Sync), Steps: 90}, saving(t.TempDir(), job.Sync, 30)
	s.Training.Rows.Hot = job.Hot{Share: 0.02, Most: 20}
	whole, err := s.run(t.Context(), train.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	save := o.SaveApart
	o.SaveApart = func(step int, m exec.State, export func(string) ([]string, error)) (train.Unfinished,
		error) {
		u, err := save(step, m, export)
		finish := u.Finish
		u.Finish = func() error { return errors.Join(finish(), os.RemoveAll(u.Folder)) }
		return u, err
	}
	got, err := s.run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.mustEqualSequential(t, got)
	if a, b := got.MissedUpdates.Count(), whole.MissedUpdates.Count(); a != b || got.HotGradients == 0 ||
		got.HotGradients != whole.HotGradients || len(got.Recoveries) > 0 {
		t.Errorf("%d gradients, %d of hot rows; without a pause %d and %d; recoveries %+v", a,
			got.HotGradients, b, whole.HotGradients, got.Recoveries)
	}
}

// The warm-up of τ goes on from segment to segment in processes: its 60 steps are two segments of 30, of
// which each alone would have 1 of the 3 batches that may then be outstanding.
func TestStalenessWarmsUpAcrossSegments(t *testing.T) {
	t.Parallel()
	s, o := setting{Training: small(job.Hybrid), Steps: 90, Fast: true}, saving(t.TempDir(), job.Hybrid, 30)
	s.Training.Training.StalenessWarmUp = 60
	got, err := s.run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if most := got.Staleness.Own.Max(); most < 2 || most > 3 {
		t.Errorf("a read has missed %d earlier batches of its rank, want 3", most)
	}
}

// A process that is killed while the processes write a checkpoint loses no step: training goes on from that
// checkpoint, if all had written it, or from the one before. Nothing of one that is not complete is left.
func TestProcessDiesWhileACheckpointIsWritten(t *testing.T) {
	t.Parallel()
	victims := []msg.Address{{Role: msg.EmbeddingPS, Index: 1}}
	if *long {
		victims = append(victims, msg.Address{Role: msg.NNWorker})
	}
	for _, victim := range victims {
		folder := t.TempDir()
		s, o := setting{Training: small(job.Sync), Steps: 120}, saving(folder, job.Sync, 40)
		var c *Cluster
		var killed sync.Once
		save := o.SaveApart
		o.SaveApart = func(step int, m exec.State, export func(string) ([]string, error)) (train.Unfinished,
			error) {
			u, err := save(step, m, export)
			if step == 80 {
				killed.Do(func() { _ = c.running(job.Process{victim}).cmd.Process.Kill() })
			}
			return u, err
		}
		got, err := s.run(t.Context(), o, func(made *Cluster) { c = made })
		if err != nil {
			t.Fatal(err)
		}
		s.mustEqualSequential(t, got)
		for _, r := range got.Recoveries {
			if r.Step != 40 && r.Step != 80 {
				t.Errorf("recovery %+v", r)
			}
		}
		left, err := filepath.Glob(filepath.Join(folder, "*"))
		hidden, failed := filepath.Glob(filepath.Join(folder, ".*"))
		if len(left) != 2 || len(hidden) > 0 || err != nil || failed != nil {
			t.Errorf("%v and %v are left", left, hidden)
		}
	}
}

// Where a process cannot write its part of a checkpoint, training goes on without that checkpoint, of which
// nothing is left. The processes write all rows to the next one.
func TestTrainingGoesOnWithoutACheckpoint(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, o := setting{Training: small(job.Sync), Steps: 90}, saving(folder, job.Sync, 30)
	save := o.SaveApart
	o.SaveApart = func(step int, m exec.State, export func(string) ([]string, error)) (train.Unfinished,
		error) {
		return save(step, m, func(working string) ([]string, error) {
			if step == 30 { // what is to be a file there is a folder
				err := os.Mkdir(filepath.Join(working, checkpoint.RowsFile(1, 2)), 0o755)
				if err != nil {
					return nil, err
				}
			}
			return export(working)
		})
	}
	var reported []string
	o.Unsaved = func(err error) { reported = append(reported, err.Error()) }
	got, err := s.run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.mustEqualSequential(t, got)
	if len(reported) != 1 || !strings.Contains(reported[0], checkpoint.StepFolder(folder, 30)) ||
		!strings.Contains(reported[0], checkpoint.RowsFile(1, 2)) {
		t.Errorf("reported %q", reported)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || entries[0].Name() != "60" {
		t.Errorf("the folder has %v, error %v", entries, err)
	}
	saved, err := checkpoint.OpenIntact(checkpoint.StepFolder(folder, 60))
	if err != nil {
		t.Fatal(err)
	}
	if n := saved.Manifest.Rows.Servers; n[0].Changes+n[1].Changes != 0 {
		t.Errorf("files of changes: %+v", n)
	}
	if err := saved.Close(); err != nil {
		t.Error(err)
	}
}

// If the checkpoint to begin again with is damaged, the one before it is taken.
func TestDamagedCheckpointIsPassedOver(t *testing.T) {
	if testing.Short() {
		t.Skip("TestStepsSinceTheCheckpointAreTrainedAgain goes back to one that is intact")
	}
	t.Parallel()
	folder := t.TempDir()
	s, o := setting{Training: small(job.Sync), Steps: 300}, saving(folder, job.Sync, 100)
	s.Training.Rows.Hot = job.Hot{Share: 0.02, Most: 20, Every: 20} // chosen again at each checkpoint
	k := newKiller(t, 1, s.Steps, msg.Address{Role: msg.EmbeddingPS, Index: 1})
	k.at[0] = 250
	damage := func(done, steps int) {
		rows := filepath.Join(checkpoint.StepFolder(folder, 200), checkpoint.RowsFile(1, 2))
		if text, err := os.ReadFile(rows); k.killed == 0 && done >= 250 && err == nil {
			text[len(text)/2] ^= 1
			if err := os.WriteFile(rows, text, 0o600); err != nil {
				t.Error(err)
			}
		}
		k.progress(done, steps)
	}
	o.Progress = damage
	got, err := s.run(t.Context(), o, func(c *Cluster) { k.cluster = c })
	if err != nil {
		t.Fatal(err)
	}
	s.mustEqualSequential(t, got)
	steps := []int{}
	for _, r := range got.Recoveries {
		steps = append(steps, r.Step)
	}
	// Each batch is read on two PSs. The steps that are trained a second time count once.
	if n := int(got.Staleness.Own.Count()); n >= 8*(s.Steps+50) {
		t.Errorf("%d reads, want at most about %d", n, 8*s.Steps)
	}
	if _, err := os.Stat(checkpoint.StepFolder(folder, 200) + ".damaged"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(steps, []int{200, 100}) || !strings.Contains(got.Recoveries[1].Lost.Error(), "rows-") {
		t.Errorf("recoveries %+v", got.Recoveries)
	}
}

// A training that loses a process again and again, before the next checkpoint, ends and says why; one that
// may not begin again ends with the first loss.
func TestRestartsWithoutProgressEnd(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{
		2: "; training has begun 3 times after step 0 without reaching its next checkpoint",
		0: "signal: killed",
	} {
		s, o := endless(job.Hybrid), saving(t.TempDir(), job.Hybrid, 15_000)
		o.RestartsMax = most
		var cluster *Cluster
		o.Progress = func(int, int) {
			_ = cluster.running(job.Process{{Role: msg.EmbeddingPS}}).cmd.Process.Kill() // it may be dead
		}
		lost := 0
		o.Lost = func(train.Recovery) { lost++ }
		_, err := s.run(t.Context(), o, func(c *Cluster) { cluster = c })
		if err == nil || !strings.HasSuffix(err.Error(), want) || lost != most {
			t.Errorf("%d losses; error %v", lost, err)
		}
	}
}

// An error that a process reports is no loss: beginning again would meet it again.
func TestErrorsOfAProcessAreNoLoss(t *testing.T) {
	t.Parallel()
	s, o := setting{Training: small(job.Sync), Steps: 100}, saving(t.TempDir(), job.Sync, 50)
	s.Training.Rows.Capacity = 1
	o.Lost = func(r train.Recovery) { t.Errorf("lost: %v", r.Lost) }
	if _, err := s.run(t.Context(), o, nil); err == nil || !strings.Contains(err.Error(), "table is full") {
		t.Error(err)
	}
}

// A PS that keeps a redo log and is killed comes back with the rows that it had: no step is trained again,
// each put is applied once, and the records of the run have no gap. In sync mode the bits are those of
// sequential training.
func TestPSComesBackByItsRedoLog(t *testing.T) {
	t.Parallel()
	victims, seeds := map[string]msg.Role{job.Sync: msg.EmbeddingPS, job.Hybrid: msg.EmbeddingPS}, uint64(1)
	if *long {
		seeds = 20
		for _, mode := range []string{job.SSP, job.AsyncAverage, "local-sgd", "gba"} {
			victims[mode] = msg.EmbeddingPS
		}
		victims[job.AsyncPS], victims["backup-workers"] = msg.DensePS, msg.Coordinator
	}
	for mode, victim := range victims {
		for seed := range seeds {
			t.Run(fmt.Sprint(mode, " ", victim, " seed ", seed), func(t *testing.T) {
				var logged log
				s := setting{Training: small(mode), Steps: 160, Redo: t.TempDir(), stderr: &logged}
				s.Training.Training.EvaluateEvery = job.Every{Steps: 40}
				s.Training.Wire.Retry = 100 * unit.Millisecond
				at := msg.Address{Role: victim}
				k := newKiller(t, seed, s.Steps, at, at)
				var puts outcomes
				o := train.Options{Progress: k.progress, Observer: &puts}
				got, err := s.run(t.Context(), o, func(c *Cluster) { k.cluster = c })
				if err != nil {
					t.Fatal(err, logged.String())
				}
				puts.mustBeOne(t)
				if n := strings.Count(logged.String(), fmt.Sprintf("%v is back at ", at)); n != 2 {
					t.Errorf("back %d times: %s", n, logged.String())
				}
				if len(got.Replays) != 2 || got.Replays[0].Took <= 0 || got.Replays[0].Of <= 0 {
					t.Errorf("replays %+v", got.Replays)
				}
				if mode == job.Sync {
					s.mustEqualSequential(t, got)
				}
				if left, _ := os.ReadDir(s.Redo); len(left) > 0 {
					t.Errorf("%d files are left in the folder of redo logs", len(left))
				}
			})
		}
	}
}

// A PS whose redo log is lost with it, as with the disk of its machine, makes all begin again with the newest
// checkpoint.
func TestCheckpointRemainsWithoutTheRedoLog(t *testing.T) {
	t.Parallel()
	s := setting{Training: small(job.Sync), Steps: 200, Redo: t.TempDir()}
	o := saving(t.TempDir(), job.Sync, 100)
	s.Training.Wire.Retry = 100 * unit.Millisecond
	k := newKiller(t, 1, s.Steps, msg.Address{Role: msg.EmbeddingPS})
	k.at[0] = 150
	o.Progress = func(done, steps int) {
		if k.killed == 0 && done >= 150 {
			if err := os.Remove(filepath.Join(s.Redo, "embedding-ps-0.redo")); err != nil {
				t.Error(err)
			}
		}
		k.progress(done, steps)
	}
	got, err := s.run(t.Context(), o, func(c *Cluster) { k.cluster = c })
	if err != nil {
		t.Fatal(err)
	}
	want := s.mustEqualSequential(t, got)
	if len(got.Recoveries) != 1 || got.Recoveries[0].Step != 100 ||
		!strings.Contains(got.Recoveries[0].Lost.Error(), "no such file") {
		t.Errorf("recoveries %+v", got.Recoveries)
	}
	// Each batch is read on two PSs; reads are asked for twice where the machine is slow. Those of the 50
	// lost steps or more do not count.
	if n := int(got.Staleness.Own.Count()); got.Rows != want.Rows || n < 8*s.Steps || n > 8*(s.Steps+25) {
		t.Errorf("%d rows and %d reads; want %d, and about %d", got.Rows, n, want.Rows, 8*s.Steps)
	}
}

// A PS and the data loader, which send each other messages, come back together: neither waits for the other,
// which waits for it.
func TestPSAndDataLoaderComeBackTogether(t *testing.T) {
	t.Parallel()
	var logged log
	s := setting{Training: small(job.Sync), Steps: 160, Redo: t.TempDir(), stderr: &logged}
	s.Training.Wire.Retry = 100 * unit.Millisecond
	killed := false
	var c *Cluster
	o := train.Options{Progress: func(done, _ int) {
		if done < 60 || killed {
			return
		}
		killed = true
		for _, r := range []msg.Role{msg.DataLoader, msg.EmbeddingPS} {
			if err := c.running(job.Process{{Role: r}}).cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}}
	got, err := s.run(t.Context(), o, func(made *Cluster) { c = made })
	if err != nil {
		t.Fatal(err, logged.String())
	}
	s.mustEqualSequential(t, got)
	text := logged.String()
	if strings.Contains(text, "does not answer") || strings.Count(text, " is back at ") < 2 {
		t.Error(text)
	}
}
