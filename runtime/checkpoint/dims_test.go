package checkpoint_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// unequal are the data of columns, in slots of 5, 3 and 2 values.
func unequal() *exectest.Columns {
	c := columns()
	c.Fields.Slots = append(c.Fields.Slots, batch.Slot{Name: "again", Dim: 2})
	c.Fields.Slots[0].Dim = 5
	c.All.Slots = append(c.All.Slots, c.All.Slots[0])
	return c
}

// trainUnequal trains a job on some of the data and saves its models.
func trainUnequal(t *testing.T, j job.Job, rows *exectest.Columns, o train.Options) exec.State {
	t.Helper()
	var state exec.State
	o.Trained = func(s exec.State) error {
		state = s
		return nil
	}
	if _, err := train.Run(t.Context(), j, rows, rows.All, o); err != nil {
		t.Fatal(err)
	}
	return state
}

// untrainedUnequal returns the state of a job before its first step.
func untrainedUnequal(t *testing.T, j job.Job) exec.State {
	t.Helper()
	if j.Training.Mode == job.Sequential {
		q, err := reference.NewSequential(j, unequal(), backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	e, err := exec.New(j, unequal(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Model().State()
}

// mustSave returns the model of a state, opened again and verified.
func mustSave(t *testing.T, j job.Job, state exec.State) *checkpoint.Checkpoint {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "model")
	if err := checkpoint.Save(folder, manifest(j), state); err != nil {
		t.Fatal(err)
	}
	c := mustOpen(t, folder)
	if err := c.Verify(); err != nil {
		t.Fatal(err)
	}
	return c
}

// A model whose slots differ in dimension has a file of rows for each dimension of each PS. It is restored on
// any number of PSs, and without roles, with all rows, and it predicts as its training did.
func TestModelsOfDimensionsBySlot(t *testing.T) {
	j := exectest.Job(2, 2)
	state := trainUnequal(t, j, unequal(), train.Options{})
	c := mustSave(t, j, state)
	var names []string
	for _, f := range c.Files {
		if strings.HasPrefix(f.Name, "rows-") {
			names = append(names, f.Name)
		}
	}
	var files []string
	for ps := range 2 {
		for _, dim := range []int{5, 3, 2} {
			name := fmt.Sprintf("rows-%05d-of-00002-dim-%d.arrow", ps, dim)
			files = append(files, name, name+".crc32c")
		}
	}
	if c.Version != checkpoint.VersionDims || !slices.Equal(names, files) {
		t.Errorf("version %d, files %q", c.Version, names)
	}
	want := rowsOf(state)
	for _, servers := range []int{1, 2, 3} {
		other := j
		other.Roles.EmbeddingPSs = servers
		if servers == 1 {
			other.Training.Mode = job.Sequential
		}
		got := untrainedUnequal(t, other)
		if _, err := c.Restore(got); err != nil {
			t.Fatalf("%d PSs: %v", servers, err)
		}
		if !maps.Equal(rowsOf(got), want) {
			t.Errorf("%d PSs: other rows", servers)
		}
		if outcomesOf(got) != outcomesOf(state) {
			t.Errorf("%d PSs: lookups of %v, want %v", servers, outcomesOf(got), outcomesOf(state))
		}
		expectPredictions(t, got, state)
	}
	rows, err := c.Rows()
	if err != nil {
		t.Fatal(err)
	}
	byDim := [3][]uint64{}
	for sign := range want {
		place := state.Schema().Dims().Place(sign)
		byDim[place] = append(byDim[place], sign)
	}
	signs := slices.Concat(byDim[:]...)
	n, err := state.Schema().Dims().Values(signs)
	if err != nil {
		t.Fatal(err)
	}
	missing, err := rows.Read(signs, make([]float32, n))
	if err != nil || missing != 0 || rows.Len() != len(want) {
		t.Errorf("%d of %d rows, %d are missing, error %v", rows.Len(), len(want), missing, err)
	}
	trained := map[uint64]int{} // lengths of embeddings
	for sign, embedding := range rows.Trained() {
		trained[sign] = len(embedding)
	}
	for sign, n := range trained {
		if n != dimOfSign(state.Schema(), sign) {
			t.Errorf("row %x of %d values", sign, n)
		}
	}
	if len(trained) == 0 {
		t.Error("no row is trained")
	}
}

// ownRows are the job and the data of three slots of 3 values: tags as section rows says, history with SGD
// and values of bf16, again with Adam.
func ownRows() (job.Job, *exectest.Columns) {
	j, c := exectest.Job(2, 2), unequal()
	for i := range c.Fields.Slots {
		c.Fields.Slots[i].Dim = 3
	}
	sgd, adam := j.Rows.Optimizer, j.Rows.Optimizer
	sgd.Kind, sgd.Rate, adam.Kind = opt.SGD, 0.3, opt.Adam
	j.Data.Slots = []job.SlotSetting{{Slot: "history", Optimizer: &sgd, Precision: "bf16"},
		{Slot: "again", Optimizer: &adam, Init: new(0.5)}}
	for i, own := range j.SlotRows() {
		c.Fields.Slots[i+1].Class = own.Class
	}
	return j, c
}

// A model whose slots have optimizers and precisions of their own has a file of rows for each class, which
// says what they are. It is restored on any number of PSs, and predicts as its training did. A job with
// another optimizer for a slot, or with none of its own, is refused.
func TestModelsOfSettingsBySlot(t *testing.T) {
	j, rows := ownRows()
	state := trainUnequal(t, j, rows, train.Options{})
	c := mustSave(t, j, state)
	wanted := []checkpoint.DimRows{{Dim: 3, StateValues: 3}, {Dim: 3, Class: 1, Precision: "bf16"},
		{Dim: 3, StateValues: 7, Class: 2}}
	if r := c.Manifest.Rows; c.Version != checkpoint.VersionClasses || !slices.Equal(r.Dims, wanted) ||
		r.Precision != "fp32" || r.RowsFile(4) != "rows-00001-of-00002-dim-3-class-1.arrow" {
		t.Errorf("version %d, rows %+v, %s", c.Version, r, r.RowsFile(4))
	}
	want := rowsOf(state)
	for _, servers := range []int{1, 2, 3} {
		other := j
		other.Roles.EmbeddingPSs = servers
		e, err := exec.New(other, rows, backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		got := e.Model().State()
		if _, err := c.Restore(got); err != nil || !maps.Equal(rowsOf(got), want) {
			t.Errorf("%d PSs: other rows, error %v", servers, err)
		}
	}
	reader, err := c.Rows()
	if err != nil {
		t.Fatal(err)
	}
	var dst [3]float32
	for sign := range want {
		owner := state.Plan().Owner(sign)
		if err := state.(evaluation.State).ReadRows(owner, []uint64{sign}, dst[:]); err != nil {
			t.Fatal(err)
		}
		var got [3]float32
		if missing, err := reader.Read([]uint64{sign}, got[:]); err != nil || missing != 0 || got != dst {
			t.Errorf("row %x is %v, want %v, error %v", sign, got, dst, err)
		}
	}
	for text, change := range map[string]func(*job.Job){
		"rows with 7 values of optimizer state in the model, and 3 in the job": func(j *job.Job) {
			j.Data.Slots[1].Optimizer = new(j.Rows.Optimizer)
		},
		"rows of 3 values of bf16 in the model, and of 3 values of fp32 in the job": func(j *job.Job) {
			j.Data.Slots = nil
		},
	} {
		other, rows := ownRows()
		change(&other)
		for i := range rows.Fields.Slots[1:] {
			rows.Fields.Slots[1+i].Class = 0
		}
		for _, own := range other.SlotRows() {
			for i := range rows.Fields.Slots {
				if rows.Fields.Slots[i].Name == own.Name {
					rows.Fields.Slots[i].Class = own.Class
				}
			}
		}
		e, err := exec.New(other, rows, backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Restore(e.Model().State()); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q", err, text)
		}
	}
}

// The numbers of classes follow from the order of data.slots, and do not matter: in another order, a training
// goes on with the rows, states and counts of the model, and so do the checkpoints after it.
func TestOrderOfSlotSettingsDoesNotMatter(t *testing.T) {
	j, rows := ownRows()
	c := mustSave(t, j, trainUnequal(t, j, rows, train.Options{}))
	other, columns := ownRows()
	slices.Reverse(other.Data.Slots)
	columns.Fields.Slots[1].Class, columns.Fields.Slots[2].Class = 2, 1
	if all := other.SlotRows(); all[0].Name != "again" || all[0].Class != 1 {
		t.Fatalf("slots %+v", all)
	}
	state := mustState(t, other, columns)
	if _, err := c.Restore(state); err != nil {
		t.Fatal(err)
	}
	again := mustSave(t, other, state)
	if d, err := checkpoint.Compare(c, again); err != nil || !d.None() {
		t.Errorf("difference %+v, error %v", d, err)
	}
	s, next := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 3}}, filepath.Join(t.TempDir(), "next")
	s.Chain.Begin(c)
	if err := errors.Join(s.Save(next, manifest(other), state), s.Wait()); err != nil {
		t.Fatal(err)
	}
	if d, err := checkpoint.Compare(c, mustOpen(t, next)); err != nil || !d.None() {
		t.Errorf("the next checkpoint: difference %+v, error %v", d, err)
	}
}

// A training also goes on where slots share a table that had one each, and back, with every row and its
// state.
func TestRestoreWhereOtherSlotsShareATable(t *testing.T) {
	apart, rows := ownRows()
	apart.Data.Slots = []job.SlotSetting{{Slot: "again", Init: new(0.5)}}
	rows.Fields.Slots[1].Class, rows.Fields.Slots[2].Class = 0, 1
	together, columns := ownRows()
	together.Data.Slots = nil
	columns.Fields.Slots[1].Class, columns.Fields.Slots[2].Class = 0, 0
	state := trainUnequal(t, apart, rows, train.Options{})
	want, updates := rowsOf(state), 0
	for owner := range state.Plan().Owners() {
		for _, rows := range state.Tables(owner) {
			updates += rows.Counters().Outcomes.Applied
		}
	}
	for i, next := range []exec.State{mustState(t, together, columns), mustState(t, apart, rows)} {
		saved := mustSave(t, apart, state)
		for owner := range next.Plan().Owners() { // each in a process of its own
			if _, err := saved.Restore(ownerAlone{next, owner}); err != nil {
				t.Fatal(err)
			}
		}
		if state = next; !maps.Equal(rowsOf(state), want) {
			t.Errorf("change %d: other rows", i)
		}
		applied := 0
		for owner := range state.Plan().Owners() {
			for _, rows := range state.Tables(owner) {
				applied += rows.Counters().Outcomes.Applied
			}
		}
		if applied != updates || updates == 0 {
			t.Errorf("change %d: %d updates, want %d", i, applied, updates)
		}
	}
}

// ownerAlone is a state of a process that has the rows of one owner.
type ownerAlone struct {
	exec.State
	owner int
}

func (s ownerAlone) Tables(owner int) []*table.Table {
	if owner != s.owner {
		return nil
	}
	return s.State.Tables(owner)
}

// A new training may begin with the rows of a model whose slots had no settings of their own: each row goes
// to the table of its slot. Another precision needs other bytes, and is refused.
func TestInitializeWithASlotSetAnew(t *testing.T) {
	j, rows := ownRows()
	j.Data.Slots = nil
	for i := range rows.Fields.Slots {
		rows.Fields.Slots[i].Class = 0
	}
	trained := trainUnequal(t, j, rows, train.Options{})
	c, want := mustSave(t, j, trained), rowsOf(trained)
	other, columns := ownRows()
	other.Data.Slots[0].Precision = ""
	state := mustState(t, other, columns)
	if err := c.Initialize(state); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(state); len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d rows, the model has %d", len(got), len(want))
	}
	// Embeddings are those of the model, which zero updates after training would not be.
	before, err := c.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for sign := range want {
		var now, then [3]float32
		if _, err := before.Read([]uint64{sign}, then[:]); err != nil {
			t.Fatal(err)
		}
		owner := state.Plan().Owner(sign)
		err := state.(evaluation.State).ReadRows(owner, []uint64{sign}, now[:])
		if err != nil || now != then {
			t.Fatalf("row %x is %v, want %v, error %v", sign, now, then, err)
		}
	}
	halves, columns := ownRows()
	if err := c.Initialize(mustState(t, halves, columns)); err == nil || !strings.Contains(err.Error(),
		"rows of 3 values of fp32 in the model, and of 3 values of bf16 in the job") {
		t.Errorf("error %v", err)
	}
}

// mustState returns the state of a job before its first step.
func mustState(t *testing.T, j job.Job, rows *exectest.Columns) exec.State {
	t.Helper()
	e, err := exec.New(j, rows, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return e.Model().State()
}

// dimOfSign returns the length of the row of a sign.
func dimOfSign(schema *batch.Schema, sign uint64) int {
	dims := schema.Dims()
	return dims.Lengths()[dims.Place(sign)]
}

// Checkpoints with the rows that have changed have all rows of their moment, of every dimension.
func TestChangesOfDimensionsBySlot(t *testing.T) {
	j, folder := exectest.Job(1, 2), t.TempDir()
	s := &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 3}}
	moments, schema := map[int]map[uint64]string{}, unequal()
	trainUnequal(t, j, schema, train.Options{SaveEvery: 2, Save: func(step int, state exec.State) error {
		moments[step] = rowsOf(state)
		if err := s.Save(checkpoint.StepFolder(folder, step), manifest(j), state); err != nil {
			return err
		}
		return s.Wait()
	}})
	changes := 0
	for step, want := range moments {
		c := mustOpen(t, checkpoint.StepFolder(folder, step))
		for _, described := range c.Manifest.Rows.ByOwner() {
			changes += described.Changes
		}
		got := untrainedUnequal(t, j)
		if _, err := c.Restore(got); err != nil || !maps.Equal(rowsOf(got), want) {
			t.Errorf("step %d: other rows, error %v", step, err)
		}
		if err := c.Verify(); err != nil {
			t.Error(err)
		}
	}
	if len(moments) < 4 || changes == 0 {
		t.Errorf("%d checkpoints with %d files of changes", len(moments), changes)
	}
}

// outcomesOf returns what the tables of all PSs remember of their lookups, by dimension.
func outcomesOf(s exec.State) (counts [3]table.Outcome) {
	for ps := range s.Plan().Servers() {
		for place, t := range s.Tables(ps) {
			counts[place].Add(t.Counters().Outcomes)
		}
	}
	return counts
}

// expectPredictions compares the predictions of two states.
func expectPredictions(t *testing.T, got, want exec.State) {
	t.Helper()
	engine, err := backend.NewEngine(ptr(exectest.Job(1, 1)), want.Schema(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	predicted := func(s exec.State) []float32 {
		set := evaluation.NewTestSet(engine, s.Schema(), s.Plan(), unequal().All)
		p, err := set.Evaluate(s.(evaluation.State))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if !slices.Equal(predicted(got), predicted(want)) {
		t.Error("other predictions")
	}
}

func ptr[T any](v T) *T { return &v }

// Models with rows of the same lengths in other slots have rows that cannot be compared.
func TestCompareRefusesSlotsOfOtherDimensions(t *testing.T) {
	j, models := exectest.Job(1, 1), []*checkpoint.Checkpoint{}
	for _, dim := range []int{5, 3} {
		rows := unequal()
		rows.Fields.Slots[2].Dim = dim
		folder := filepath.Join(t.TempDir(), "model")
		state := trainUnequal(t, j, rows, train.Options{})
		if err := checkpoint.Save(folder, manifest(j), state); err != nil {
			t.Fatal(err)
		}
		models = append(models, mustOpen(t, folder))
	}
	for i, first := range models {
		d, err := checkpoint.Compare(first, models[1-i])
		if err != nil || !strings.Contains(d.Rows.Format, "in slot again, and of") || d.Rows.Common != 0 {
			t.Errorf("%+v, error %v", d, err)
		}
		d, err = checkpoint.Compare(first, first)
		if err != nil || !d.None() || d.Rows.Common == 0 {
			t.Errorf("%+v, error %v", d, err)
		}
	}
}

// Rows meet by signs, which have the number of a feature group: where slots are grouped otherwise and rows
// differ, those of one slot would meet those of another.
func TestOtherGroupsOfUnequalSlotsAreNotCompared(t *testing.T) {
	var models []*checkpoint.Checkpoint
	for _, group := range []string{"", "both"} {
		rows := unequal()
		rows.All.Slots[1], rows.All.Slots[2] = rows.All.Slots[0], rows.All.Slots[0]
		rows.Fields.Slots = []batch.Slot{{Name: "a", Dim: 5, Group: group}, {Name: "b", Dim: 5, Group: group},
			{Name: "c", Dim: 3}}
		j := exectest.Job(1, 1)
		folder := filepath.Join(t.TempDir(), "model")
		state := trainUnequal(t, j, rows, train.Options{})
		if err := checkpoint.Save(folder, manifest(j), state); err != nil {
			t.Fatal(err)
		}
		models = append(models, mustOpen(t, folder))
	}
	for i, first := range models {
		d, err := checkpoint.Compare(first, models[1-i])
		if err != nil || d.Rows.Format != "the same kinds of rows in other slots" {
			t.Errorf("%+v, error %v", d, err)
		}
	}
}
