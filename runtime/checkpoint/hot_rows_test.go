package checkpoint_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/frequent"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/msg"
	"tandem/runtime/checkpoint"
	"tandem/runtime/checkpoint/arrow"
)

// Least shares of hot rows: with someShare some rows of the tests' data are hot, with allShare all rows of
// the slot that is not raw.
const (
	someShare = 0.05
	allShare  = 1e-9
)

// withHot returns a job with hot rows and a number of PSs.
func withHot(j job.Job, share float64, servers int) job.Job {
	j.Rows.Hot, j.Roles.EmbeddingPSs = job.Hot{Share: share}, servers
	return j
}

// predictions returns the predictions of a state for the data of the tests.
func predictions(t *testing.T, s exec.State) []float32 {
	t.Helper()
	model, ok := s.(interface {
		evaluation.State
		NewTestSet(test *batch.Batch) *evaluation.TestSet
	})
	if !ok {
		t.Fatalf("%T does not predict", s)
	}
	p, err := model.NewTestSet(columns().All).Evaluate(model)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcomes returns the sum of what all tables count.
func outcomes(s exec.State) (sum table.Counters) {
	for owner := range s.Plan().Owners() {
		c := s.Tables(owner)[0].Counters()
		sum.Evicted += c.Evicted
		sum.Outcomes.Add(c.Outcomes)
	}
	return sum
}

// place is where rows are: the least share of hot ones, and the number of PSs.
type place struct {
	share   float64
	servers int
}

// A model is loaded with any hot rows and any number of PSs, and by sequential training. Every row goes to
// its owner with all its bits, no count is lost, and predictions are those of the model that was saved.
func TestRowsMoveBetweenPSsAndRanks(t *testing.T) {
	places := []place{{0, 2}, {someShare, 2}, {allShare, 2}, {someShare, 3}, {0, 1}}
	for i, mode := range []string{job.Sync, job.Hybrid} {
		base := exectest.Job(2, 2).InMode(mode)
		base.Rows.Precision, base.Rows.Admission = table.Precisions()[1+i], 0.8
		base.Rows.Optimizer.Kind = []string{opt.Adagrad, opt.Adam}[i]
		for _, from := range places {
			folder, state := trained(t, withHot(base, from.share, from.servers))
			want, model := predictions(t, state), mustOpen(t, folder)
			hot := model.Manifest.Rows.Hot // at most 30 rows are those of tags
			if from.share == 0 && hot != nil || from.share > 0 && (hot.Rows < 5 || hot.Rows > 30) ||
				from.share == someShare && hot.Rows > 25 {
				t.Fatalf("%s, share %g: hot rows %+v", mode, from.share, hot)
			}
			for i, to := range append(places, place{}) {
				j := withHot(base, to.share, to.servers)
				if i == len(places) {
					j = withHot(base, 0, 1).InMode(job.Sequential)
				}
				got := untrained(t, j)
				if notes, err := model.Restore(got); err != nil || len(notes) > 0 {
					t.Fatalf("%s, from %v to %v: error %v, notes %q", mode, from, to, err, notes)
				}
				equalState(t, got, state)
				if !slices.Equal(predictions(t, got), want) {
					t.Errorf("%s, from %v to %v: other predictions", mode, from, to)
				}
				if a, b := outcomes(got), outcomes(state); a != b {
					t.Errorf("%s, from %v to %v: counters %+v, want %+v", mode, from, to, a, b)
				}
			}
		}
	}
}

// A PS keeps its counts when rows become hot, and the first PS gets those of hot rows that no longer are.
// Eviction goes on where it was on a PS that has the rows that it had, and begins a new round on others.
func TestCountersOfHotRows(t *testing.T) {
	base := exectest.Job(2, 2)
	base.Rows.Capacity, base.Rows.Eviction, base.Rows.Admission = 12, job.SecondChance, 0.5
	some := withHot(base, someShare, 2)
	some.Rows.Hot.Most = base.Rows.Capacity
	folder, state := trained(t, some)
	model := mustOpen(t, folder)
	counters := func(s exec.State) (all []table.Counters) {
		for owner := range s.Plan().Owners() {
			all = append(all, s.Tables(owner)[0].Counters())
		}
		return all
	}
	old := counters(state)
	hot := old[2].Outcomes
	if old[0].Hand == 0 || old[0].Evicted == 0 || hot.Applied == 0 || hot.Refused == 0 {
		t.Fatalf("counters %+v do not show what is lost", old)
	}
	same := untrained(t, some)
	if _, err := model.Restore(same); err != nil || !slices.Equal(counters(same), old) {
		t.Errorf("the same hot rows: error %v, counters %+v, want %+v", err, counters(same), old)
	}
	base.Rows.Capacity, base.Rows.Eviction = 0, job.RefuseRows
	all := untrained(t, withHot(base, allShare, 2))
	want := slices.Clone(old)
	want[0].Hand, want[1].Hand = 0, 0
	if _, err := model.Restore(all); err != nil || !slices.Equal(counters(all), want) {
		t.Errorf("more hot rows: error %v, counters %+v, want %+v", err, counters(all), want)
	}
	none := untrained(t, withHot(base, 0, 2))
	want[0].Outcomes.Add(want[2].Outcomes)
	if _, err := model.Restore(none); err != nil || !slices.Equal(counters(none), want[:2]) {
		t.Errorf("no hot rows: error %v, counters %+v, want %+v", err, counters(none), want[:2])
	}
}

// Initialize moves rows as Restore does, without optimizer states and counts.
func TestInitializeWithOtherHotRows(t *testing.T) {
	j := exectest.Job(2, 2)
	j.Rows.Optimizer.Kind = opt.Adagrad
	folder, state := trained(t, withHot(j, someShare, 2))
	j.Rows.Optimizer.Kind = opt.Adam
	for _, share := range []float64{0, someShare, allShare} {
		got := untrained(t, withHot(j, share, 3))
		if err := mustOpen(t, folder).Initialize(got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(predictions(t, got), predictions(t, state)) || outcomes(got) != (table.Counters{}) {
			t.Errorf("share %g: other predictions, or counts %+v", share, outcomes(got))
		}
		for owner := range got.Plan().Owners() {
			for i, value := range columnsOf(got.Tables(owner)[0]).States {
				if value != 0 {
					t.Fatalf("share %g, owner %d: byte %d of optimizer states is %d", share, owner, i, value)
				}
			}
		}
	}
}

// processes returns the states of the processes of a job: one with rank 0 and PS 0, one with rank 1, and one
// with PS 1; and that of the host, which has no role.
func processes(t *testing.T, j job.Job) (states []exec.State, host exec.State) {
	t.Helper()
	if err := frequent.Choose(&j, columns(), 0); err != nil {
		t.Fatal(err)
	}
	at := func(role msg.Role, index int32) msg.Address { return msg.Address{Role: role, Index: index} }
	for _, roles := range [][]msg.Address{{at(msg.NNWorker, 0), at(msg.EmbeddingPS, 0)},
		{at(msg.NNWorker, 1)}, {at(msg.EmbeddingPS, 1)}, nil} {
		e, err := exec.NewLocal(j, columns(), backend.Backend{},
			func(a msg.Address) bool { return slices.Contains(roles, a) })
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, e.Model().State())
	}
	return states[:3], states[3]
}

// changeRows applies a gradient to every row, and creates a row.
func changeRows(t *table.Table) {
	signs := slices.Clone(columnsOf(t).Signs)
	grads := make([]float32, len(signs)*t.Dim())
	for i := range grads {
		grads[i] = 1
	}
	t.Apply(signs, grads, 0.5, nil)
	_ = t.Lookup([]uint64{1<<63 + 5}, make([]float32, t.Dim())) // it may be full
}

// exportAll has processes write their parts to the folder of a writer, as they are before their rows change,
// and collects them.
func exportAll(w *checkpoint.Writer, states []exec.State) error {
	for i, s := range states {
		name := fmt.Sprintf("process-%d", i)
		part, err := checkpoint.BeginExport(w.Folder(), name, s, nil, new(checkpoint.Chain))
		if err != nil {
			return err
		}
		for owner := range s.Plan().Owners() {
			if s.Exports(owner) {
				changeRows(s.Tables(owner)[0])
			}
		}
		if err := part.Wait(); err != nil {
			return err
		}
		if err := w.Collect(name); err != nil {
			return err
		}
	}
	return nil
}

// Every process with ranks loads the hot rows, and that of rank 0 saves them: what processes have loaded and
// saved again has the bytes that one process would save, with the hot rows and PSs of the model and others.
func TestProcessesShareHotRows(t *testing.T) {
	j := exectest.Job(2, 2)
	for _, from := range []place{{someShare, 2}, {someShare, 3}, {0, 2}} {
		folder, _ := trained(t, withHot(j, from.share, from.servers))
		for _, share := range []float64{0, someShare, allShare} {
			whole := untrained(t, withHot(j, share, 2))
			states, host := processes(t, withHot(j, share, 2))
			for _, s := range append(states, whole) {
				if _, err := mustOpen(t, folder).Restore(s); err != nil {
					t.Fatal(err)
				}
			}
			if share > 0 {
				want := whole.Tables(2)[0].Digest()
				if whole.Tables(2)[0].Len() == 0 || states[0].Tables(2)[0].Digest() != want ||
					states[1].Tables(2)[0].Digest() != want || states[2].Tables(2) != nil {
					t.Errorf("from %v to share %g: the hot rows of the ranks differ", from, share)
				}
			}
			want, got := filepath.Join(t.TempDir(), "want"), filepath.Join(t.TempDir(), "got")
			if err := checkpoint.Save(want, manifest(j), whole); err != nil {
				t.Fatal(err)
			}
			w, err := checkpoint.NewWriter(got)
			if err != nil {
				t.Fatal(err)
			}
			if err := exportAll(w, states); err != nil {
				t.Fatal(err)
			}
			if err := w.Finish(manifest(j), host); err != nil {
				t.Fatal(err)
			}
			equalFiles(t, got, want)
			equalFiles(t, want, got)
		}
	}
}

// A process reads the files that have rows of its tables, and no others: damage to the file of a PS is found
// by the process of that PS and, if rows of the PS have become hot, by those with ranks.
func TestProcessesReadTheirFiles(t *testing.T) {
	j := exectest.Job(2, 2)
	for _, c := range []struct {
		share, nowShare float64
		name            string
		refuses         [3]bool // by process
	}{
		{0, 0, "rows-00000-of-00002.arrow", [3]bool{true, false, false}},
		{someShare, someShare, "rows-00000-of-00002.arrow", [3]bool{true, false, false}},
		{someShare, someShare, "rows-hot.arrow", [3]bool{true, true, false}},
		{someShare, allShare, "rows-00001-of-00002.arrow", [3]bool{true, true, true}},
		{someShare, 0, "rows-hot.arrow", [3]bool{true, false, true}},
	} {
		folder, _ := trained(t, withHot(j, c.share, 2))
		withoutBlocks(t, folder) // with them, Open finds the damage: all of so small a file is one block
		path := filepath.Join(folder, c.name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[bytes.Index(data, embeddingIn(t, folder, c.name))] ^= 1
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		states, _ := processes(t, withHot(j, c.nowShare, 2))
		for i, s := range states {
			_, err := mustOpen(t, folder).Restore(s)
			if (err != nil) != c.refuses[i] || err != nil && !strings.Contains(err.Error(), c.name) {
				t.Errorf("%s damaged, shares %g and %g: process %d has the error %v", c.name, c.share,
					c.nowShare, i, err)
			}
		}
	}
}

// embeddingIn returns an embedding that is in a file of rows.
func embeddingIn(t *testing.T, folder, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := arrow.Read(data, func(lo, hi int) error { return nil })
	if err != nil || f.Rows() == 0 {
		t.Fatalf("%s has no rows: error %v", name, err)
	}
	embedding := slices.IndexFunc(f.Fields, func(f arrow.Field) bool { return f.Name == "embedding" })
	return bytes.Clone(f.Batches[0].Columns[embedding][:12])
}

// Rows that no process has written, or two have, are named.
func TestMissingAndRepeatedHotRows(t *testing.T) {
	j := withHot(exectest.Job(2, 2), someShare, 2)
	states, host := processes(t, j)
	_, cold := processes(t, withHot(j, 0, 2))
	hot := func(process int, saves bool) []exec.State {
		changed := slices.Clone(states)
		changed[process] = savesHot{states[process], saves}
		return changed
	}
	for want, of := range map[string]struct {
		states []exec.State
		host   exec.State
	}{
		"no process has written rows-hot.arrow":                 {hot(0, false), host},
		"no process has written rows-00001-of-00002.arrow":      {states[:2], host},
		"rows-hot.arrow: file exists":                           {hot(1, true), host},
		"written rows-hot.arrow, which the plan of the host do": {states, cold},
	} {
		w, err := checkpoint.NewWriter(filepath.Join(t.TempDir(), "model"))
		if err != nil {
			t.Fatal(err)
		}
		err = exportAll(w, of.states)
		if err == nil {
			err = w.Finish(manifest(j), of.host)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		w.Discard()
	}
}

// savesHot is a state with two PSs that saves hot rows or not, whichever rank it has.
type savesHot struct {
	exec.State
	saves bool
}

func (s savesHot) Exports(owner int) bool {
	return owner == 2 && s.saves || owner < 2 && s.State.Exports(owner)
}

// twice is a state with two PSs whose hot rows are those of PS 0 of another.
type twice struct {
	exec.State
	other exec.State
}

func (s twice) Tables(owner int) []*table.Table {
	if owner == 2 {
		return s.other.Tables(0)
	}
	return s.State.Tables(owner)
}

// A row that is hot and on a PS too is refused by all that read the rows.
func TestRowsThatAreHotAndOnAPSAreRefused(t *testing.T) {
	j := withHot(exectest.Job(2, 2), someShare, 2)
	_, state := trained(t, j)
	_, other := trained(t, j)
	folder := filepath.Join(t.TempDir(), "twice")
	if err := checkpoint.Save(folder, manifest(j), twice{state, other}); err != nil {
		t.Fatal(err)
	}
	model := mustOpen(t, folder)
	_, read := model.Rows()
	_, restored := model.Restore(untrained(t, j))
	for _, err := range []error{read, model.Verify(), restored} {
		if err == nil || !strings.Contains(err.Error(), "comes twice") {
			t.Errorf("error %v", err)
		}
	}
}

// Damage to a file without rows is found, also if the state has no PS of its number: without checksums of
// blocks Open accepts some flipped bits of such a file, and Restore none.
func TestFilesWithoutRowsAreChecked(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "model")
	j := exectest.Job(2, 3)
	if err := checkpoint.Save(folder, manifest(j), untrained(t, j)); err != nil {
		t.Fatal(err)
	}
	withoutBlocks(t, folder)
	path, opened := filepath.Join(folder, checkpoint.RowsFile(2, 3)), 0
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(good); at += 16 {
		data := bytes.Clone(good)
		data[at] ^= 1
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Open(folder)
		if err != nil {
			continue
		}
		opened++
		if _, err := c.Restore(untrained(t, withHot(j, 0, 2))); err == nil {
			t.Errorf("byte %d of the file: no error", at)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if opened == 0 {
		t.Error("no model with damage is opened")
	}
}
