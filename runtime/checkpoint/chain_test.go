package checkpoint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// changesOf returns the largest number of files of changes of an owner.
func changesOf(c *checkpoint.Checkpoint) (most int) {
	for _, s := range c.Manifest.Rows.ByOwner() {
		most = max(most, s.Changes)
	}
	return most
}

// A checkpoint of changes has what one of all rows has that is saved at the same moment, in every mode, with
// eviction, and with hot rows that change their owners on the way: the state that training continues from,
// on as many PSs and on others, and what other programs read.
func TestChangesAreTheModelOfTheMoment(t *testing.T) {
	longest := 0
	for _, mode := range job.Modes() {
		t.Run(mode, func(t *testing.T) {
			j := exectest.Job(2, 2).InMode(mode)
			j.Rows.Capacity, j.Rows.Eviction = 20, job.SecondChance
			if j.Rows.Hot = (job.Hot{Share: someShare, Most: 20, Every: 2}); j.Validate() != nil {
				j.Rows.Hot = job.Hot{}
			}
			folder := t.TempDir()
			s := checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 4}}
			_, err := train.Run(t.Context(), j, columns(), columns().All, train.Options{SaveEvery: 1,
				Save: func(step int, state exec.State) error {
					at := checkpoint.StepFolder(folder, step)
					if err := s.Wait(); err != nil { // Save freezes the rows, too
						return err
					}
					if err := checkpoint.Save(at+"-whole", manifest(j), state); err != nil {
						return err
					}
					return s.Save(at, manifest(j), state)
				}})
			if err != nil || s.Wait() != nil {
				t.Fatal(err)
			}
			for step := 1; step < columns().Steps(); step++ {
				at := checkpoint.StepFolder(folder, step)
				got, want := mustOpen(t, at), mustOpen(t, at+"-whole")
				longest = max(longest, changesOf(got))
				if n := changesOf(got); step == 1 && n > 0 || n > 3 {
					t.Errorf("step %d has %d files of changes", step, n)
				}
				equalModels(t, j, got, want)
				if err := os.RemoveAll(at); err != nil { // what follows needs no other folder
					t.Fatal(err)
				}
			}
		})
	}
	if longest < 2 {
		t.Errorf("the longest chain has %d files of changes, want 2 or more", longest)
	}
}

// equalModels compares two models of a job, byte for byte.
func equalModels(t *testing.T, j job.Job, got, want *checkpoint.Checkpoint) {
	t.Helper()
	if err := got.Verify(); err != nil {
		t.Fatal(err)
	}
	d, err := checkpoint.Compare(got, want)
	if err != nil || !d.None() {
		t.Errorf("%s: another model: %+v, error %v", got.Folder(), d, err)
	}
	equalReaders(t, got, want)
	for _, servers := range []int{2, 3} {
		if servers == 3 {
			j.Rows.Capacity, j.Rows.Eviction = 0, "refuse"
		}
		j.Roles.EmbeddingPSs = servers
		a, b := untrained(t, j), untrained(t, j)
		for state, model := range map[exec.State]*checkpoint.Checkpoint{a: got, b: want} {
			if _, err := model.Restore(state); err != nil {
				t.Fatal(err)
			}
		}
		equalState(t, a, b)
	}
}

// equalReaders compares the rows that predictions read, and those that are exported, of two models.
func equalReaders(t *testing.T, got, want *checkpoint.Checkpoint) {
	t.Helper()
	a, err := got.Rows()
	if err != nil {
		t.Fatal(err)
	}
	b, err := want.Rows()
	if err != nil {
		t.Fatal(err)
	}
	exported := func(r *checkpoint.RowReader) (signs []uint64, values []float32) {
		for sign, embedding := range r.Trained() {
			signs, values = append(signs, sign), append(values, embedding...)
		}
		return signs, values
	}
	signs, x := exported(a)
	others, y := exported(b)
	if len(signs) == 0 || !slices.Equal(signs, others) || !slices.Equal(x, y) {
		t.Errorf("%s: %d rows are exported, or others than the %d of the moment", got.Folder(), len(signs),
			len(others))
	}
	read := make([]float32, len(x))
	if missing, err := a.Read(signs, read); err != nil || missing > 0 || !slices.Equal(read, x) {
		t.Errorf("%s: other rows are read, %d missing, error %v", got.Folder(), missing, err)
	}
}

// chained saves a state under steps 1, 2 and so on, after some of its rows have changed each time, and
// returns the folder of the checkpoints.
func chained(t *testing.T, s *checkpoint.Saver, j job.Job, state exec.State, checkpoints int) string {
	t.Helper()
	folder := t.TempDir()
	for step := 1; step <= checkpoints; step++ {
		saveNext(t, s, checkpoint.StepFolder(folder, step), j, state)
	}
	return folder
}

// saveNext changes the first row of every owner, and saves a state to a folder.
func saveNext(t *testing.T, s *checkpoint.Saver, folder string, j job.Job, state exec.State) {
	t.Helper()
	changeFirst(state)
	if err := s.Save(folder, manifest(j), state); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A checkpoint of changes has a file of the rows that have changed, beside those of the checkpoint before,
// which take no space again. Every checkpoint is complete without the others, and every FullEvery-th has all
// rows in one file, as have the first two, so that one damaged file never damages all checkpoints.
func TestChangesTakeTheSpaceOfChanges(t *testing.T) {
	j := exectest.Job(2, 2)
	j.Rows.Hot.Share = someShare
	_, state := trained(t, j)
	s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 3}}
	folder := chained(t, s, j, state, 6)
	for step, changes := range []int{0, 0, 1, 2, 0, 1} {
		c := mustOpen(t, checkpoint.StepFolder(folder, step+1))
		for owner, described := range c.Manifest.Rows.ByOwner() {
			if described.Changes != changes {
				t.Errorf("checkpoint %d, owner %d: %d files of changes, want %d", step+1, owner,
					described.Changes, changes)
			}
			first := checkpoint.RowsFile(owner, 2)
			if changes > 0 && !sameFile(t, checkpoint.StepFolder(folder, step), c.Folder(), first) {
				t.Errorf("checkpoint %d has a copy of %s", step+1, first)
			}
		}
		names, err := os.ReadDir(c.Folder())
		if err != nil || len(names) != len(c.Files)+1 {
			t.Errorf("checkpoint %d has %d files besides its manifest, which lists %d; error %v", step+1,
				len(names)-1, len(c.Files), err)
		}
	}
	if err := checkpoint.Prune(folder, checkpoint.Keep{Newest: 1}); err != nil {
		t.Fatal(err)
	}
	got := untrained(t, j)
	if _, err := mustOpen(t, checkpoint.StepFolder(folder, 6)).Restore(got); err != nil {
		t.Fatal(err)
	}
	equalState(t, got, state)
}

// changeFirst applies a gradient to the first row of every owner.
func changeFirst(state exec.State) {
	for owner := range state.Plan().Owners() {
		tab := state.Tables(owner)[0]
		grad := make([]float32, tab.Dim())
		grad[0] = 1
		tab.Apply(columnsOf(tab).Signs[:1], grad, 0.5, nil)
	}
}

// sameFile reports whether two folders have the same file under a name.
func sameFile(t *testing.T, a, b, name string) bool {
	t.Helper()
	x, err := os.Stat(filepath.Join(a, name))
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.Stat(filepath.Join(b, name))
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(x, y)
}

// All rows are written where the checkpoint before is not there, or is another one than was written, where
// as many rows have changed as the table has, and for another state.
func TestAllRowsAreWrittenWhereChangesDoNotDo(t *testing.T) {
	j := exectest.Job(2, 2)
	_, state := trained(t, j)
	for what, c := range map[string]struct {
		changes int
		between func(t *testing.T, latest string) exec.State
	}{
		"nothing": {1, func(*testing.T, string) exec.State { return state }},
		"no other is there": {0, func(t *testing.T, latest string) exec.State {
			if err := os.RemoveAll(checkpoint.StepFolder(filepath.Dir(latest), 1)); err != nil {
				t.Fatal(err)
			}
			return state
		}},
		"the one before is gone": {0, func(t *testing.T, latest string) exec.State {
			if err := os.RemoveAll(latest); err != nil {
				t.Fatal(err)
			}
			return state
		}},
		"the one before is a copy": {0, func(t *testing.T, latest string) exec.State {
			if err := os.CopyFS(latest+"-copy", os.DirFS(latest)); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(latest); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(latest+"-copy", latest); err != nil {
				t.Fatal(err)
			}
			return state
		}},
		"another state": {0, func(t *testing.T, _ string) exec.State {
			_, other := trained(t, j)
			return other
		}},
	} {
		t.Run(what, func(t *testing.T) {
			s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}
			folder := chained(t, s, j, state, 2)
			now := c.between(t, checkpoint.StepFolder(folder, 2))
			saveNext(t, s, checkpoint.StepFolder(folder, 3), j, now)
			saved := mustOpen(t, checkpoint.StepFolder(folder, 3))
			if n := changesOf(saved); n != c.changes {
				t.Errorf("%d files of changes, want %d", n, c.changes)
			}
			got := untrained(t, j)
			if _, err := saved.Restore(got); err != nil {
				t.Fatal(err)
			}
			equalState(t, got, now)
		})
	}
	t.Run("all rows change", func(t *testing.T) {
		s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}
		folder := chained(t, s, j, state, 2)
		for step, changes := range []int{1, 0, 1} {
			for owner := range state.Plan().Owners() {
				changeRows(state.Tables(owner)[0])
			}
			at := checkpoint.StepFolder(folder, step+3)
			saveNext(t, s, at, j, state)
			if n := changesOf(mustOpen(t, at)); n != changes {
				t.Errorf("checkpoint %d: %d files of changes, want %d", step+3, n, changes)
			}
		}
	})
}

// A training that continues from a checkpoint, of changes or not, goes on with its changes, if its rows have
// the owners that they had. If they have others, all are written.
func TestChangesGoOnAfterALoad(t *testing.T) {
	j := exectest.Job(2, 2)
	j.Rows.Hot.Share = someShare
	_, state := trained(t, j)
	s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}
	folder := chained(t, s, j, state, 3)
	for servers, changes := range map[int][]int{2: {2, 2, 2}, 3: {0, 0, 0, 1}} {
		next := j
		next.Roles.EmbeddingPSs = servers
		begun, from := untrained(t, next), mustOpen(t, checkpoint.StepFolder(folder, 3))
		if _, err := from.Restore(begun); err != nil {
			t.Fatal(err)
		}
		later := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}
		later.Chain.Begin(from)
		at := filepath.Join(t.TempDir(), "next")
		saveNext(t, later, at, next, begun)
		saved := mustOpen(t, at)
		var got []int
		for _, s := range saved.Manifest.Rows.ByOwner() {
			got = append(got, s.Changes)
		}
		if servers == 3 {
			changes[3] = got[3] // the ranks have the rows that they had
		}
		if !slices.Equal(got, changes) {
			t.Errorf("on %d PSs: files of changes %v, want %v", servers, got, changes)
		}
		restored := untrained(t, next)
		if _, err := saved.Restore(restored); err != nil {
			t.Fatal(err)
		}
		equalState(t, restored, begun)
	}
}

// Damage to a file of changes, or to one that several checkpoints share, is found and named.
func TestDamagedChangesAreRefused(t *testing.T) {
	j := exectest.Job(2, 2)
	_, state := trained(t, j)
	s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}
	folder := checkpoint.StepFolder(chained(t, s, j, state, 4), 4)
	c := mustOpen(t, folder)
	for _, name := range []string{"rows-00000-of-00002.arrow", "rows-00001-of-00002-changes-1.arrow",
		"rows-00000-of-00002-changes-2.arrow"} {
		if !slices.ContainsFunc(c.Files, func(f checkpoint.File) bool { return f.Name == name }) {
			t.Fatalf("the checkpoint has no %s", name)
		}
		path := filepath.Join(folder, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(good); at += max(len(good)/40, 1) {
			broken := slices.Clone(good)
			broken[at] ^= 1 << (at % 8)
			if err := os.WriteFile(path, broken, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := checkpoint.OpenIntact(folder); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("byte %d of %s: error %v", at, name, err)
			}
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What stays are the newest checkpoints, and those younger than a time. One of several has no file in common
// with the newest, if there is such a one: damage to one file then leaves a checkpoint.
func TestOneOfTheKeptSharesNoFile(t *testing.T) {
	j := exectest.Job(2, 2)
	for _, c := range []struct {
		full, saved int // checkpoints
		keep        checkpoint.Keep
		want        []string
	}{
		{9, 5, checkpoint.Keep{Newest: 3}, []string{"1", "4", "5"}},
		{3, 6, checkpoint.Keep{Newest: 2}, []string{"4", "6"}},
		{3, 6, checkpoint.Keep{Newest: 3}, []string{"4", "5", "6"}},
		{3, 7, checkpoint.Keep{Newest: 3}, []string{"4", "6", "7"}},
		{3, 7, checkpoint.Keep{Newest: 1}, []string{"7"}},
		{3, 7, checkpoint.Keep{For: time.Hour}, []string{"2", "4", "6", "7"}},
		{3, 7, checkpoint.Keep{Newest: 2, For: time.Hour}, []string{"2", "4", "6", "7"}},
		{1, 4, checkpoint.Keep{Newest: 2, For: time.Hour}, []string{"2", "3", "4"}},
	} {
		_, state := trained(t, j)
		s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: c.full}}
		folder := t.TempDir()
		for step := 1; step <= c.saved; step++ {
			m := manifest(j)
			if m.Written = time.Now().UTC(); step%2 == 1 {
				m.Written = m.Written.Add(-2 * time.Hour)
			}
			changeFirst(state)
			if err := s.Save(checkpoint.StepFolder(folder, step), m, state); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		if err := checkpoint.Prune(folder, c.keep); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(folder)
		var names []string
		for _, e := range left {
			names = append(names, e.Name())
		}
		if err != nil || !slices.Equal(names, c.want) {
			t.Errorf("a full one of %d, %d saved, kept %+v: %q, want %q", c.full, c.saved, c.keep, names,
				c.want)
		}
	}
}
