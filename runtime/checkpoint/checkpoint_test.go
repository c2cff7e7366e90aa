package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/frequent"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/pace"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// manifest returns what a caller of Save knows.
func manifest(j job.Job) *checkpoint.Manifest {
	return &checkpoint.Manifest{Mode: j.Training.Mode, Step: 5, Job: []byte("name: test\n"),
		Scaling: []batch.Scaling{{Mean: 0.1, Std: 2}}}
}

// columns are the data of all tests.
func columns() *exectest.Columns { return exectest.NewColumns(160, 16) }

// trained trains a job and saves its model in a new folder, which it returns with the state.
func trained(t *testing.T, j job.Job) (string, exec.State) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "model")
	var state exec.State
	_, err := train.Run(t.Context(), j, columns(), columns().All, train.Options{
		Trained: func(s exec.State) error {
			state = s
			return checkpoint.Save(folder, manifest(j), s)
		}})
	if err != nil {
		t.Fatal(err)
	}
	return folder, state
}

// untrained returns the state of a job before its first step.
func untrained(t *testing.T, j job.Job) exec.State {
	t.Helper()
	if j.Training.Mode == job.Sequential {
		q, err := reference.NewSequential(j, columns(), backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	if err := frequent.Choose(&j, columns(), 0); err != nil {
		t.Fatal(err)
	}
	e, err := exec.New(j, columns(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Model().State()
}

// mustOpen opens a model for the time of a test.
func mustOpen(t *testing.T, folder string) *checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// rowsOf returns all rows of a state, as text by sign.
func rowsOf(s exec.State) map[uint64]string {
	all := map[uint64]string{}
	for owner := range s.Plan().Owners() {
		for place, rows := range s.Tables(owner) {
			c, embedding, state := columnsOf(rows), rows.EmbeddingBytes(), rows.StateBytes()
			for i, sign := range c.Signs {
				if s.Plan().Owner(sign) != owner || s.Schema().Dims().Place(sign) != place {
					all[sign] = "at another place than its owner"
					continue
				}
				text, _ := json.Marshal([]any{c.Updates[i], c.Read[i],
					c.Embeddings[i*embedding:][:embedding], c.States[i*state:][:state]})
				all[sign] = string(text)
			}
		}
	}
	return all
}

// columnsOf returns all rows of a table, in order.
func columnsOf(t *table.Table) *table.Columns {
	n := t.Len()
	c := &table.Columns{Signs: make([]uint64, n), Updates: make([]uint32, n), Read: make([]uint8, n),
		Embeddings: make([]byte, n*t.EmbeddingBytes()), States: make([]byte, n*t.StateBytes())}
	t.CopyRows(0, c)
	return c
}

// exported returns the parts of a state's dense network.
func exported(t *testing.T, s exec.State) []dense.Part {
	t.Helper()
	parts, err := s.ExportDense()
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// equalState compares everything that training needs.
func equalState(t *testing.T, got, want exec.State) {
	t.Helper()
	if a, b := marshal(exported(t, got)), marshal(exported(t, want)); a != b {
		t.Errorf("dense parts\n%s\nwant\n%s", a, b)
	}
	a, b := rowsOf(got), rowsOf(want)
	if len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%d rows, want %d", len(a), len(b))
	}
	for sign, row := range b {
		if a[sign] != row {
			t.Fatalf("row %x is %s, want %s", sign, a[sign], row)
		}
	}
	if !samePlan(got.Plan(), want.Plan()) {
		return
	}
	for owner := range got.Plan().Owners() {
		x, y := got.Tables(owner)[0], want.Tables(owner)[0]
		if !slices.Equal(columnsOf(x).Signs, columnsOf(y).Signs) || x.Counters() != y.Counters() {
			t.Errorf("owner %d: rows in another order, or counters %+v, want %+v", owner, x.Counters(),
				y.Counters())
		}
	}
}

// samePlan reports whether every row has the same owner under two plans.
func samePlan(a, b shard.Plan) bool {
	return a.Servers() == b.Servers() && slices.Equal(a.Hot().Signs(), b.Hot().Signs())
}

func marshal(parts []dense.Part) string {
	text, _ := json.Marshal(parts)
	return strings.ReplaceAll(string(text), "null", "[]")
}

// jobs returns a job of every mode, with the optimizers and precisions of rows, and jobs with hot rows, of
// which some are on PSs.
func jobs() map[string]job.Job {
	all := map[string]job.Job{}
	for i, mode := range append(pace.Modes(), job.Sequential) {
		j := exectest.Job(4, 2).InMode(mode)
		j.Rows.Precision = table.Precisions()[i%3]
		j.Rows.Optimizer.Kind = []string{opt.SGD, opt.Adagrad, opt.Adam}[i%3]
		j.Model.Optimizer.Kind = []string{opt.Adam, opt.Adagrad, opt.SGD}[i%3]
		if mode != job.Sequential && i%2 == 0 {
			j.Rows.Capacity, j.Rows.Eviction = 20, job.SecondChance
		}
		all[mode] = j
		if mode == job.Sync || mode == job.Hybrid {
			j.Rows.Hot.Share = someShare
			all[mode+" with hot rows"] = j
		}
	}
	return all
}

// A job that names other columns than the schema is refused, because predictions read the columns of the job
// into rows of the schema.
func TestJobOfOtherColumnsIsRefused(t *testing.T) {
	j := exectest.Job(4, 2).InMode(job.Sequential)
	_, state := trained(t, j)
	m := manifest(j)
	m.Job = []byte("name: test\ndata:\n  kind: csv\n  path: clicks.csv\n  csv:\n" +
		"    slots:\n      - column: user\n    label: click\n")
	folder := filepath.Join(t.TempDir(), "other")
	if err := checkpoint.Save(folder, m, state); err != nil {
		t.Fatal(err)
	}
	_, err := mustOpen(t, folder).ParseJob()
	if err == nil || !strings.HasSuffix(err.Error(), "job.yaml and manifest.json name different columns") {
		t.Errorf("error %v", err)
	}
}

// What is saved is restored bit for bit, in every mode.
func TestRestoreIsExact(t *testing.T) {
	for mode, j := range jobs() {
		t.Run(mode, func(t *testing.T) {
			folder, state := trained(t, j)
			c := mustOpen(t, folder)
			if err := c.Verify(); err != nil {
				t.Error(err)
			}
			got := untrained(t, j)
			notes, err := c.Restore(got)
			if err != nil || len(notes) != 0 {
				t.Fatalf("error %v, notes %q", err, notes)
			}
			equalState(t, got, state)
		})
	}
}

// Predictions need the network that evaluation joins, and the rows that it reads.
func TestDenseAndRowsAreThoseOfEvaluation(t *testing.T) {
	for mode, j := range jobs() {
		t.Run(mode, func(t *testing.T) {
			folder, state := trained(t, j)
			c := mustOpen(t, folder)
			want, err := state.(evaluation.State).ReadDense()
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Dense()
			if err != nil || !slices.Equal(got.Params, want.Params) ||
				!slices.Equal(got.Running, want.Running) {
				t.Errorf("another network, error %v", err)
			}
			rows, err := c.Rows()
			if err != nil {
				t.Fatal(err)
			}
			dim := rows.Dims()[0]
			count := 0
			for owner := range state.Plan().Owners() {
				signs := append(columnsOf(state.Tables(owner)[0]).Signs, 12345)
				count += len(signs) - 1
				got, want := make([]float32, len(signs)*dim), make([]float32, len(signs)*dim)
				state.Tables(owner)[0].SnapshotTrained(signs, want)
				missing, err := rows.Read(signs, got)
				if err != nil || missing != 1 || !slices.Equal(got, want) {
					t.Errorf("owner %d: %v, want %v; %d missing, error %v", owner, got, want, missing, err)
				}
			}
			if rows.Len() != count {
				t.Errorf("%d rows, want %d", rows.Len(), count)
			}
		})
	}
}

// Rows go to the PS that owns them, for any numbers of PSs; the dense PSs are cut again.
func TestOtherNumbersOfServers(t *testing.T) {
	for mode, j := range jobs() {
		j.Rows.Capacity, j.Rows.Eviction = 0, "refuse"
		folder, state := trained(t, j)
		if mode == job.Sequential {
			continue // one table
		}
		for _, servers := range []int{1, 3, 7} {
			other := j
			other.Roles.EmbeddingPSs, other.Roles.DensePSs = servers, servers
			got := untrained(t, other)
			if notes, err := mustOpen(t, folder).Restore(got); err != nil || len(notes) > 0 {
				t.Fatalf("%s on %d: error %v, notes %q", mode, servers, err, notes)
			}
			a, b := rowsOf(got), rowsOf(state)
			for sign, row := range b {
				if len(a) != len(b) || a[sign] != row {
					t.Fatalf("%s on %d: row %x is %s, want %s", mode, servers, sign, a[sign], row)
				}
			}
			again := filepath.Join(t.TempDir(), "again")
			if checkpoint.Save(again, manifest(j), got) != nil {
				t.Errorf("%s on %d: cannot be saved", mode, servers)
			} else if back := untrained(t, j); true {
				if _, err := mustOpen(t, again).Restore(back); err != nil {
					t.Fatal(err)
				}
				if a, b := marshal(exported(t, back)), marshal(exported(t, state)); a != b {
					t.Errorf("%s: dense parts after %d servers\n%s\nwant\n%s", mode, servers, a, b)
				}
			}
		}
	}
}

// With another number of ranks, replicas and their optimizer states become their mean, and a note says so.
func TestOtherNumbersOfRanks(t *testing.T) {
	for _, mode := range []string{"async-average", "local-sgd"} {
		j := jobs()[mode]
		j.Model.Optimizer.Kind = opt.Adam
		folder, state := trained(t, j)
		other := j
		other.Roles.Ranks = 2
		got := untrained(t, other)
		notes, err := mustOpen(t, folder).Restore(got)
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "4 replicas") {
			t.Fatalf("%s: error %v, notes %q", mode, err, notes)
		}
		old, parts := exported(t, state), exported(t, got)
		if len(parts) != 2 || parts[1].Steps != old[0].Steps {
			t.Fatalf("%s: %d parts after %d steps", mode, len(parts), parts[0].Steps)
		}
		for i, got := range parts[1].Optimizer {
			mean := float32(0)
			for _, p := range old {
				mean += p.Optimizer[i] / 4
			}
			if d := got - mean; d > 1e-6 || d < -1e-6 {
				t.Fatalf("%s: optimizer state %d is %v, want %v", mode, i, got, mean)
			}
		}
	}
}

// Initialize takes parameters and rows, and begins optimizers and steps afresh.
func TestInitialize(t *testing.T) {
	j := jobs()[job.Sync]
	j.Model.Optimizer.Kind, j.Rows.Optimizer.Kind = opt.Adam, opt.Adagrad
	folder, state := trained(t, j)
	other := j.InMode("async-ps")
	other.Model.Optimizer.Kind, other.Rows.Optimizer.Kind = opt.SGD, opt.Adam
	got, fresh := untrained(t, other), untrained(t, other)
	if err := mustOpen(t, folder).Initialize(got); err != nil {
		t.Fatal(err)
	}
	var params []float32
	for i, p := range exported(t, got) {
		params = append(params, p.Params...)
		if p.Steps != 0 || !slices.Equal(p.Optimizer, exported(t, fresh)[i].Optimizer) {
			t.Errorf("part %d has taken %d steps", i, p.Steps)
		}
	}
	if !slices.Equal(params, exported(t, state)[0].Params) {
		t.Error("other parameters")
	}
	for server := range got.Plan().Servers() {
		a, b := columnsOf(got.Tables(server)[0]), columnsOf(state.Tables(server)[0])
		if !slices.Equal(a.Embeddings, b.Embeddings) || len(bytes.Trim(a.States, "\x00")) > 0 {
			t.Errorf("PS %d: other embeddings, or old states", server)
		}
	}
}

// What does not fit is refused, and the first difference is named.
func TestRestoreRefuses(t *testing.T) {
	j := exectest.Job(4, 2)
	j.Rows.Optimizer.Kind, j.Model.Optimizer.Kind = opt.SGD, opt.Adam
	folder, _ := trained(t, j)
	for want, change := range map[string]func(*job.Job, *exectest.Columns){
		`id column 2 is "history" in the model and "past" in`: func(_ *job.Job, c *exectest.Columns) {
			c.Fields.Slots[1].Name = "past"
		},
		`numeric column 1 is "age" in the model and none in the data`: func(_ *job.Job, c *exectest.Columns) {
			c.Fields.Dense = nil
		},
		`label 1 is "click" in the model and "sale" in the data`: func(_ *job.Job, c *exectest.Columns) {
			c.Fields.Labels = []string{"sale"}
		},
		"id column tags has sqrt_scaling false in the model and true in": func(_ *job.Job,
			c *exectest.Columns) {
			c.Fields.Slots[0].Scale = batch.SqrtScaled
		},
		"id column tags has mean false in the model and true in": func(_ *job.Job, c *exectest.Columns) {
			c.Fields.Slots[0].Scale = batch.Mean
		},
		"tensor 1 of the dense network is": func(j *job.Job, _ *exectest.Columns) {
			j.Model.Top = []int{9, 5}
		},
		"values of bf16 in the job": func(j *job.Job, _ *exectest.Columns) { j.Rows.Precision = "bf16" },
		"values of optimizer state in the model, and 7 in the job": func(j *job.Job, _ *exectest.Columns) {
			j.Rows.Optimizer.Kind = opt.Adam
		},
		"values of optimizer state; the weights have 0": func(j *job.Job, _ *exectest.Columns) {
			j.Model.Optimizer.Kind = opt.SGD
		},
	} {
		other, data := j, columns()
		change(&other, data)
		e, err := exec.New(other, data, backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = mustOpen(t, folder).Restore(e.Model().State())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A folder with a missing file, a wrong size, a flipped bit in any byte that is looked at, or of another
// version is refused, and the error names the file.
func TestDamageIsRefusedByName(t *testing.T) {
	for _, share := range []float64{0, someShare} {
		refuseDamage(t, share)
	}
}

// refuseDamage is TestDamageIsRefusedByName with hot rows of a least share.
func refuseDamage(t *testing.T, share float64) {
	j := exectest.Job(4, 2)
	j.Rows.Hot.Share = share
	folder, _ := trained(t, j)
	names, err := os.ReadDir(folder)
	version, files := `"version": 1`, 7
	if share > 0 {
		version, files = `"version": 2`, 9
	}
	if err != nil || len(names) != files {
		t.Fatalf("%d files, error %v; want %d", len(names), err, files)
	}
	refused := func(what, name string) {
		t.Helper()
		c, err := checkpoint.Open(folder)
		if err == nil {
			err = c.Verify()
			if _, failed := c.Restore(untrained(t, j)); (err == nil) != (failed == nil) {
				t.Errorf("%s: Verify says %v, Restore %v", what, err, failed)
			}
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want one that names %s", what, err, name)
		}
	}
	for _, e := range names {
		path := filepath.Join(folder, e.Name())
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write := func(data []byte) {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for at := 0; at < len(good); at += max(len(good)/60, 1) {
			broken := bytes.Clone(good)
			broken[at] ^= 1 << (at % 8)
			write(broken)
			refused("a flipped bit", e.Name())
		}
		write(good[:len(good)-1])
		refused("a byte less", e.Name())
		write(append(bytes.Clone(good), ' '))
		refused("a byte more", e.Name())
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		refused("no file", e.Name())
		write(good)
	}
	path := filepath.Join(folder, checkpoint.ManifestFile)
	good, _ := os.ReadFile(path)
	if bytes.Contains(good, []byte(`"hot"`)) != (share > 0) || !bytes.Contains(good, []byte(version)) {
		t.Errorf("the manifest with hot rows of share %g is\n%s\nwant %s", share, good, version)
	}
	next := bytes.Replace(good, []byte(version), []byte(`"version": 11`), 1)
	if err := os.WriteFile(path, next, 0o644); err != nil {
		t.Fatal(err)
	}
	refused("another version", "version 11, and this program reads versions 1 to 10")
}

// Checkpoints are never overwritten, and one process at a time writes one.
func TestOneWriter(t *testing.T) {
	j := exectest.Job(4, 2)
	folder, state := trained(t, j)
	if err := checkpoint.Save(folder, manifest(j), state); !errors.Is(err, checkpoint.ErrExists) {
		t.Errorf("error %v, want %v", err, checkpoint.ErrExists)
	}
	next := filepath.Join(filepath.Dir(folder), "next")
	w, err := checkpoint.NewWriter(next)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(next, manifest(j), state); !errors.Is(err, checkpoint.ErrInUse) {
		t.Errorf("error %v, want %v", err, checkpoint.ErrInUse)
	}
	w.Discard()
	if err := checkpoint.Save(next, manifest(j), state); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(next)); len(left) != 2 {
		t.Errorf("%d folders, want 2", len(left))
	}
}

// The manifest of a model has the samples of the steps that it was trained for, also if a step has fewer.
func TestDescribeCountsSamples(t *testing.T) {
	j := exectest.Job(2, 2)
	scaling := []batch.Scaling{{Mean: 1, Std: 2}}
	for steps, samples := range []int{0, 16, 32, 40} {
		m := checkpoint.Describe(&j, []byte("name: test\n"), scaling, exectest.NewColumns(40, 16), steps)
		if m.Step != steps || m.Samples != samples || m.Mode != j.Training.Mode ||
			m.Seed != j.Training.Seed || string(m.Job) != "name: test\n" ||
			!slices.Equal(m.Scaling, scaling) {
			t.Errorf("after %d steps: %+v, want %d samples", steps, m, samples)
		}
	}
}
