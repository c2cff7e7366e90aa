package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
)

// scriptedCluster is a Cluster that trains at once and then does what its script says, a line for each Train.
type scriptedCluster struct {
	recordedCluster
	script []func(written *driver.Export) error // written: the latest export
	log    []string
	export *driver.Export
}

func (c *scriptedCluster) Train(_ context.Context, _ *role.Config, _ *batch.Schema, origin driver.Origin,
	callbacks driver.Callbacks) error {
	callbacks.Started(func() {})
	c.log = append(c.log, fmt.Sprintf("from %d, %q, held: %t", origin.Step, origin.Model, origin.Held))
	next := c.script[0]
	c.script = c.script[1:]
	return next(c.export)
}

func (c *scriptedCluster) Export(_ context.Context, folder string, _ int) (*driver.Export, error) {
	c.export = driver.NewExport(folder)
	c.export.Begin(msg.Address{Role: msg.EmbeddingPS}, "rows")
	return c.export, nil
}

func (c *scriptedCluster) AwaitExport(_ context.Context, e *driver.Export) error {
	<-e.Done()
	return e.Err()
}

// The processes go on with what they hold while a model is written. It is an origin when all have written it,
// and not before: after a loss training begins with the newest model that is complete.
func TestOnlyACompleteModelIsAnOrigin(t *testing.T) {
	const over = "the end of the script"
	lost := func(*driver.Export) error { return &driver.LostError{Reason: "a process is lost"} }
	written := func(then func(*driver.Export) error) func(*driver.Export) error {
		return func(e *driver.Export) error {
			e.End(msg.Address{Role: msg.EmbeddingPS}, nil)
			return then(e)
		}
	}
	c := &scriptedCluster{script: []func(*driver.Export) error{trained, written(trained), lost, trained,
		written(lost), func(*driver.Export) error { return errors.New(over) }}}
	r := newRows(64*4, 64, 4, 1)
	_, err := Run(t.Context(), small(job.Hybrid, 1), r, r.all, Options{
		Cluster: c, SaveEvery: 1, RestartsMax: 1,
		SetAside: func(string) error { return errors.New("no model is damaged") },
		SaveApart: func(step int, _ exec.State, export func(string) ([]string, error)) (Unfinished, error) {
			folder := strconv.Itoa(step)
			note := func(what string) { c.log = append(c.log, what+" "+folder) }
			names, err := export(folder)
			if len(names) != 1 {
				t.Errorf("files %v", names)
			}
			return Unfinished{folder, func() error { note("finish"); return nil },
				func() { note("discard") }}, err
		}})
	if err == nil || err.Error() != over {
		t.Errorf("error %v", err)
	}
	if want := []string{`from 0, "", held: false`, `from 1, "1", held: true`, "finish 1",
		`from 2, "2", held: true`, "discard 2", `from 1, "1", held: false`, `from 2, "2", held: true`,
		"finish 2", `from 2, "2", held: false`}; !slices.Equal(c.log, want) {
		t.Errorf("%q, want %q", c.log, want)
	}
}

// Without Unsaved, a model that a process cannot write ends the training with the reason.
func TestAModelThatCannotBeWrittenEndsTraining(t *testing.T) {
	full := errors.New("embedding-ps 0: no space left on device")
	discarded := false
	c := &scriptedCluster{script: []func(*driver.Export) error{
		func(*driver.Export) error { return nil },
		func(e *driver.Export) error { e.End(msg.Address{Role: msg.EmbeddingPS}, full); return nil },
	}}
	r := newRows(64*4, 64, 4, 1)
	_, err := Run(t.Context(), small(job.Hybrid, 1), r, r.all, Options{
		Cluster: c, SaveEvery: 1, RestartsMax: 1,
		SaveApart: func(_ int, _ exec.State, export func(string) ([]string, error)) (Unfinished, error) {
			_, err := export("folder")
			return Unfinished{"folder", func() error { return errors.New("finished") },
				func() { discarded = true }}, err
		}})
	if !errors.Is(err, full) || !discarded {
		t.Errorf("error %v, discarded: %t", err, discarded)
	}
}

// With Unsaved, a model that cannot be written, or not even begun, is reported, and training goes on with
// what the processes hold. It is no origin: after a loss, training begins with the newest model that is one.
func TestAModelThatCannotBeWrittenIsReported(t *testing.T) {
	const over = "the end of the script"
	full := errors.New("no space left on device")
	ends := func(failed, then error) func(*driver.Export) error {
		return func(e *driver.Export) error {
			e.End(msg.Address{Role: msg.EmbeddingPS}, failed)
			return then
		}
	}
	lost := &driver.LostError{Reason: "a process is lost"}
	c := &scriptedCluster{script: []func(*driver.Export) error{trained, ends(nil, nil), ends(full, nil),
		func(*driver.Export) error { return lost }, func(*driver.Export) error { return errors.New(over) }}}
	var reported []string
	r := newRows(64*5, 64, 4, 1)
	_, err := Run(t.Context(), small(job.Hybrid, 1), r, r.all, Options{
		Cluster: c, SaveEvery: 1, RestartsMax: 1,
		SetAside: func(string) error { return errors.New("no model is damaged") },
		Unsaved:  func(err error) { reported = append(reported, err.Error()) },
		SaveApart: func(step int, _ exec.State, export func(string) ([]string, error)) (Unfinished, error) {
			u := Unfinished{strconv.Itoa(step), func() error { return nil }, func() {}}
			if step == 3 {
				return u, full
			}
			_, err := export(u.Folder)
			return u, err
		}})
	if err == nil || err.Error() != over {
		t.Errorf("error %v", err)
	}
	if want := []string{"the model cannot be saved to 2: no space left on device",
		"the model cannot be saved to 3: no space left on device"}; !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
	if want := []string{`from 0, "", held: false`, `from 1, "1", held: true`, `from 2, "2", held: true`,
		`from 3, "3", held: true`, `from 1, "1", held: false`}; !slices.Equal(c.log, want) {
		t.Errorf("%q, want %q", c.log, want)
	}
}

// Where a model is damaged, training begins with the newest one before that is there: those in between were
// removed. It may begin with that one as often as with any.
func TestRemovedModelsAreNoOrigins(t *testing.T) {
	const over = "the end of the script"
	written := func(then error) func(*driver.Export) error {
		return func(e *driver.Export) error {
			e.End(msg.Address{Role: msg.EmbeddingPS}, nil)
			return then
		}
	}
	lost := &driver.LostError{Reason: "a process is lost"}
	c := &scriptedCluster{script: []func(*driver.Export) error{trained, written(nil), written(nil),
		written(nil), written(lost),
		func(*driver.Export) error { return &driver.ModelError{Reason: "damaged"} },
		func(*driver.Export) error { return lost }, func(*driver.Export) error { return errors.New(over) }}}
	folder, aside := t.TempDir(), ""
	r := newRows(64*6, 64, 4, 1)
	_, err := Run(t.Context(), small(job.Hybrid, 1), r, r.all, Options{
		Cluster: c, SaveEvery: 1, RestartsMax: 1,
		SetAside: func(model string) error { aside = model; return nil },
		SaveApart: func(step int, _ exec.State, export func(string) ([]string, error)) (Unfinished, error) {
			u := Unfinished{filepath.Join(folder, strconv.Itoa(step)), func() error { return nil }, func() {}}
			if step == 1 || step == 4 { // others are gone when they are needed
				if err := os.Mkdir(u.Folder, 0o755); err != nil {
					return u, err
				}
			}
			_, err := export(u.Folder)
			return u, err
		}})
	if err == nil || err.Error() != over || filepath.Base(aside) != "4" {
		t.Errorf("error %v, set aside %s", err, aside)
	}
	again := c.log[len(c.log)-3:]
	for i, step := range []int{4, 1, 1} {
		if want := fmt.Sprintf("from %d, %q, held: false", step,
			filepath.Join(folder, strconv.Itoa(step))); again[i] != want {
			t.Errorf("%s, want %s", again[i], want)
		}
	}
}

// A training that is asked to end, and whose model cannot be written, says so.
func TestAnEndThatCannotBeSavedIsAnError(t *testing.T) {
	full := errors.New("no space left on device")
	drain := make(chan struct{})
	c := &scriptedCluster{script: []func(*driver.Export) error{
		func(*driver.Export) error { close(drain); return nil }}}
	r := newRows(64*4, 64, 4, 1)
	_, err := Run(t.Context(), small(job.Hybrid, 1), r, r.all, Options{
		Cluster: c, SaveEvery: 1, Drain: drain, Unsaved: func(error) {},
		SaveApart: func(int, exec.State, func(string) ([]string, error)) (Unfinished, error) {
			return Unfinished{Folder: "folder"}, full
		}})
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// closedOnDrain is closed by Drain.
type closedOnDrain chan struct{}

func (c closedOnDrain) Drain() { close(c) }

// A model that is due by time waits until the one before is saved, while training goes on.
func TestAModelThatIsDueWaitsForTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &Options{SaveAfter: time.Second}
		begun, earlier, part := make(chan func(), 1), make(chan struct{}), make(closedOnDrain)
		ended := o.drainWhenDue(part.Drain, begun, o.SaveAfter, earlier)
		begun <- part.Drain
		time.Sleep(2 * time.Second)
		synctest.Wait()
		select {
		case <-part:
			t.Error("training ends while a model is written")
		default:
		}
		close(earlier)
		<-part
		if !ended() {
			t.Error("the model was not due")
		}
	})
}

// A run that is lost while a model is due, and waits for the one before, does not drain the run that follows.
func TestALostRunDrainsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &Options{SaveAfter: time.Second}
		begun := make(chan func(), 1)
		ended := o.drainWhenDue(func() { t.Error("the next run is asked to end") }, begun, o.SaveAfter,
			make(chan struct{}))
		begun <- func() { t.Error("a run that is lost is drained") }
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if ended() {
			t.Error("the model was due")
		}
	})
}
