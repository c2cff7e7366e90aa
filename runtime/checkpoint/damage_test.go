package checkpoint_test

import (
	"flag"
	"strings"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/internal/damage"
	"tandem/runtime/checkpoint"
)

var long = flag.Bool("long", false, "damage 500 files")

// Of checkpoints that share files, of which one is damaged or is that of another training, a training begins
// with one that has the state of its step, bit for bit, or with none.
func TestDamagedCheckpointsAreNotBelieved(t *testing.T) {
	cases, newest := 12, 0
	if *long {
		cases = 500
	}
	j := exectest.Job(2, 2)
	j.Rows.Hot.Share = someShare
	var folders []string
	for seed := range uint64(2) {
		j.Training.Seed = seed
		_, state := trained(t, j)
		folders = append(folders,
			chained(t, &checkpoint.Saver{Chain: checkpoint.Chain{FullEvery: 9}}, j, state, 4))
	}
	j.Training.Seed = 0
	restored := func(c *checkpoint.Checkpoint) exec.State {
		state := untrained(t, j)
		if _, err := c.Restore(state); err != nil {
			t.Fatal(err)
		}
		return state
	}
	want := map[string]exec.State{}
	for step := 1; step <= 4; step++ {
		c := mustOpen(t, checkpoint.StepFolder(folders[0], step))
		want[c.Folder()] = restored(c)
	}
	damage.Each(t, cases, folders[0], folders[1], func(what, _ string) {
		c, damaged, err := checkpoint.OpenNewest(folders[0])
		if err != nil {
			t.Errorf("%s: error %v", what, err) // there is always one that shares no file with others
			return
		}
		t.Log(what)
		equalState(t, restored(c), want[c.Folder()])
		if len(damaged) == 0 {
			newest++
		}
		for _, d := range damaged {
			text := d.Err.Error()
			if !strings.Contains(text, "model "+d.Folder) || strings.Contains(text, "\n") {
				t.Errorf("%s: %s", what, text)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("of %d damages %d have no effect on the newest checkpoint", cases, newest)
}
