package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
)

// recastCluster is a scriptedCluster in which roles change before some calls of Train, and which writes what
// it is to wait for unless a process is lost.
type recastCluster struct {
	scriptedCluster
	changes []bool
	lost    error
}

func (c *recastCluster) Roles() (roles job.Roles, changed bool, err error) {
	roles, _, err = c.recordedCluster.Roles()
	changed, c.changes = c.changes[0], c.changes[1:]
	return roles, changed, err
}

func (c *recastCluster) AwaitExport(_ context.Context, e *driver.Export) error {
	lost := c.lost
	if c.lost = nil; lost == nil && e.Writes(msg.Address{Role: msg.EmbeddingPS}) {
		e.End(msg.Address{Role: msg.EmbeddingPS}, nil)
	}
	return lost
}

// train trains with the cluster to the end of its script.
func (c *recastCluster) train(t *testing.T) {
	t.Helper()
	over := errors.New("the end of the script")
	c.script = append(c.script, func(*driver.Export) error { return over })
	r := newRows(64*6, 64, 4, 1)
	_, err := Run(t.Context(), small(job.Hybrid, 1), r, r.all, Options{
		Cluster: c, SaveEvery: 1, RestartsMax: 3,
		SetAside: func(string) error { return errors.New("no model is damaged") },
		Lost:     func(r Recovery) { c.log = append(c.log, fmt.Sprintf("lost: %d again", r.Again)) },
		SaveApart: func(step int, _ exec.State, export func(string) ([]string, error)) (Unfinished, error) {
			folder := strconv.Itoa(step)
			_, err := export(folder)
			return Unfinished{folder, func() error { c.log = append(c.log, "finish "+folder); return nil },
				func() { c.log = append(c.log, "discard "+folder) }}, err
		}})
	if !errors.Is(err, over) {
		t.Errorf("error %v", err)
	}
}

// trained is a part of a script in which all steps are trained.
func trained(*driver.Export) error { return nil }

// Processes whose roles change read the model, which is complete before. When roles stay as they are after
// that, the processes go on with what they hold.
func TestNothingIsHeldWhenRolesChange(t *testing.T) {
	all := []func(*driver.Export) error{trained, trained, trained}
	c := &recastCluster{scriptedCluster: scriptedCluster{script: all},
		changes: []bool{false, true, false, false}}
	c.train(t)
	if want := []string{`from 0, "", held: false`, "finish 1", `from 1, "1", held: false`,
		`from 2, "2", held: true`, "finish 2", `from 3, "3", held: true`, "discard 3"}; !slices.Equal(c.log,
		want) {
		t.Errorf("%q, want %q", c.log, want)
	}
	c = &recastCluster{scriptedCluster: scriptedCluster{script: all[:1:1]},
		changes: []bool{false, true, true},
		lost:    &driver.LostError{Reason: "a process is lost before its part is written"}}
	c.train(t)
	if want := []string{`from 0, "", held: false`, "discard 1", "lost: 1 again",
		`from 0, "", held: false`}; !slices.Equal(c.log, want) {
		t.Errorf("%q, want %q", c.log, want)
	}
}

// A part that misses a process at its beginning begins again where it should have begun, unless the model of
// that step lacks the part of the process: then steps are lost.
func TestAPartThatMissesAProcessBeginsAgain(t *testing.T) {
	absent := &driver.LostError{Reason: "a process has not come back", Absent: true}
	c := &recastCluster{changes: []bool{false, false, true, false, false, true}}
	c.script = []func(*driver.Export) error{
		trained,
		func(e *driver.Export) error { e.End(msg.Address{Role: msg.EmbeddingPS}, nil); return absent },
		trained,
		func(*driver.Export) error { return absent },
	}
	c.train(t)
	if want := []string{`from 0, "", held: false`, `from 1, "1", held: true`, "finish 1",
		`from 1, "1", held: false`, `from 2, "2", held: true`, "discard 2", "lost: 1 again",
		`from 1, "1", held: false`}; !slices.Equal(c.log, want) {
		t.Errorf("%q, want %q", c.log, want)
	}
}
