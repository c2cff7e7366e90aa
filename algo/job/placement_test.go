package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"tandem/algo/protocol/msg"
)

// placed is a training of 2 EWs, 1 PS and 4 ranks with a placement.
func placed(mode, text string) (Job, error) {
	t := Default()
	t.Training.Mode, t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPSs, t.Roles.Ranks = mode, 2, 1, 4
	var err error
	t.Roles.Placement, err = ParsePlacement(text)
	return t, err
}

func TestPlacements(t *testing.T) {
	for _, c := range []struct {
		mode, text string
		want       []string
	}{
		{Sync, "apart", []string{"data-loader 0", "embedding-worker 0", "embedding-worker 1",
			"embedding-ps 0",
			"nn-worker 0", "nn-worker 1", "nn-worker 2", "nn-worker 3"}},
		{SSP, "together", []string{"the process of data-loader 0, embedding-worker 0 and 8 other roles"}},
		{AsyncPS, "workers", []string{"data-loader 0", "the process of embedding-worker 0 and nn-worker 0",
			"the process of embedding-worker 1 and nn-worker 1", "embedding-ps 0", "nn-worker 2",
			"nn-worker 3", "dense-ps 0"}},
		{Sync, "colocated", []string{"the process of data-loader 0, embedding-worker 0 and 5 other roles",
			"embedding-ps 0"}},
		{SSP, "colocated", []string{"the process of data-loader 0, embedding-worker 0 and 6 other roles",
			"the process of embedding-ps 0 and dense-ps 0"}},
		{SSP, "coordinator; nn-worker 3, nn-worker 0, embedding-ps; nn-worker 2,nn-worker " +
			"1;embedding-worker 1, dense-ps 0, data-loader, embedding-worker 0",
			[]string{"the process of data-loader 0, embedding-worker 0 and 2 other roles",
				"the process of embedding-ps 0, nn-worker 0 and nn-worker 3",
				"the process of nn-worker 1 and nn-worker 2", "coordinator 0"}},
		{Sequential, "data-loader; coordinator", nil},
	} {
		training, err := placed(c.mode, c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := training.Processes()
		if err != nil || training.Validate() != nil {
			t.Error(err, training.Validate())
		}
		var names []string
		roles := map[msg.Address]bool{}
		for _, p := range got {
			names = append(names, p.String())
			for _, at := range p {
				roles[at] = true
			}
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
		alone, _ := placed(c.mode, "apart")
		if all, _ := alone.Processes(); len(roles) != len(all) {
			t.Errorf("%s: %d roles, want %d", c.text, len(roles), len(all))
		}
	}
	ssp, err := placed(SSP, "data-loader, embedding-worker 0, embedding-worker 1, embedding-ps, "+
		"coordinator, dense-ps; "+
		"nn-worker 0, nn-worker 1, nn-worker 2, nn-worker 3")
	if err != nil {
		t.Fatal(err)
	}
	if got := ssp.InMode(SSP).Roles.Placement; got.Named() {
		t.Errorf("the mode's own placement becomes %v", got)
	}
	if got := ssp.InMode(Sync).Roles.Placement; got.String() != Apart {
		t.Errorf("a mode without coordinator has placement %v", got)
	}
	crowd := Default()
	crowd.Training.Mode, crowd.Roles.Ranks = Hybrid, 1000
	if err := crowd.Roles.Placement.UnmarshalText([]byte(Together)); err != nil {
		t.Fatal(err)
	}
	const most = "roles.placement: the process of data-loader 0, embedding-worker 0 and 1003 other roles " +
		"is too large; a process has at most 512 roles"
	if _, err := crowd.Processes(); err == nil || err.Error() != most {
		t.Errorf("%v, want %s", err, most)
	}
	var zero Job
	zero.Training.Mode, zero.Roles.Ranks = Sync, 1
	if got, err := zero.Processes(); err != nil || len(got) != 2 {
		t.Errorf("the zero value: %v, %v; want every role apart", got, err)
	}
}

// A placement that cannot be is refused in one line that names the role.
func TestPlacementsThatCannotBe(t *testing.T) {
	const rest = "; data-loader; embedding-worker 0; embedding-worker 1; embedding-ps; nn-worker 1; " +
		"nn-worker 2; nn-worker 3"
	for text, want := range map[string]string{
		"aprat":                    `"aprat" is unknown; the nearest is "apart"`,
		"":                         `"" is unknown; known are apart, together, workers, colocated`,
		"data-loader; nn-wroker 0": `process 2: role "nn-wroker" is unknown; the nearest is "nn-worker"`,
		"data-loader; xyz": `process 2: role "xyz" is unknown; known are data-loader, ` +
			`embedding-worker, embedding-ps, nn-worker, dense-ps, coordinator`,
		"data-loader;": `process 2: role "" is unknown; known are data-loader, ` +
			`embedding-worker, embedding-ps, nn-worker, dense-ps, coordinator`,
		"nn-worker -1":                 `process 1: "-1" is no number; write nn-worker 0`,
		"nn-worker 0 1":                `process 1: "0 1" is no number; write nn-worker 0`,
		"nn-worker 4" + rest:           "roles.placement: the job has no nn-worker 4, only nn-worker 0 to 3",
		"embedding-ps 1" + rest:        "roles.placement: the job has no embedding-ps 1, only embedding-ps 0",
		"nn-worker 0, dense-ps" + rest: "roles.placement: mode sync has no dense-ps",
		"nn-worker" + rest:             "roles.placement: nn-worker: which of 4? write nn-worker 0",
		"nn-worker 1" + rest: "roles.placement: nn-worker 1 is there twice; a role is in one " +
			"process",
		"data-loader, data-loader 0": "roles.placement: data-loader 0 is there twice; a role is in one " +
			"process",
		"nn-worker 0": "roles.placement: left out: data-loader 0, embedding-worker 0 and " +
			"5 other roles; list every role of the job",
		strings.TrimPrefix(rest, "; "): "roles.placement: left out: nn-worker 0; list every role of the job",
	} {
		training, err := placed(Sync, text)
		if err == nil {
			err = training.Validate()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A placement comes back from YAML, text and JSON as it was.
func TestPlacementsAreWrittenAsTheyAreRead(t *testing.T) {
	for file, want := range map[string]string{
		"workers":                        "workers",
		"[[data-loader], [nn-worker 1]]": "data-loader; nn-worker 1",
		"data-loader; nn-worker 0":       "data-loader; nn-worker 0",
		"\n  - [data-loader, coordinator]\n  - - embedding-worker 0\n    - nn-worker 0\n": "data-loader, " +
			"coordinator; embedding-worker 0, nn-worker 0",
	} {
		var read, again struct{ Placement Placement }
		if err := Decode([]byte("placement: "+file), "job.yaml", &read); err != nil ||
			read.Placement.String() != want {
			t.Fatalf("%q: %v, %v; want %s", file, read.Placement, err, want)
		}
		for name, codec := range map[string]struct {
			write func(any) ([]byte, error)
			read  func([]byte, any) error
		}{"YAML": {yaml.Marshal, yaml.Unmarshal}, "JSON": {json.Marshal, json.Unmarshal}} {
			text, err := codec.write(read)
			if err == nil {
				err = codec.read(text, &again)
			}
			if err != nil || fmt.Sprint(again) != fmt.Sprint(read) {
				t.Errorf("%s: %s reads as %v, want %v; %v", name, text, again, read, err)
			}
		}
	}
	for file, want := range map[string]string{
		"roles: {placement: {a: b}}": "job.yaml:1: roles.placement: want apart, together, " +
			"workers, colocated, or a list of roles for every process, as [[data-loader, embedding-ps 0], " +
			"[nn-worker 0]]",
		"roles: {ranks: 1,\n  placement: [apart]}": "job.yaml:2: roles.placement: want apart, together, " +
			"workers, colocated, or a list of roles for every process, as [[data-loader, embedding-ps 0], " +
			"[nn-worker 0]]",
		"roles: {placement: []}": "job.yaml:1: roles.placement: no process; list them, or " +
			"write one of apart, together, workers, colocated",
		"roles: {placement: [[data-loader], []]}": "job.yaml:1: roles.placement: process 2 has no role",
		"roles: {placement: [[data-loder]]}": `job.yaml:1: roles.placement: process 1: role ` +
			`"data-loder" is unknown; the nearest is "data-loader"`,
	} {
		training := Default()
		err := Decode([]byte(file), "job.yaml", &training)
		if err == nil || err.Error() != want || !errors.Is(err, ErrValue) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
}

// Processes are numbered for the roles if ranks share some with embedding workers.
func TestProcessNumbers(t *testing.T) {
	for text, want := range map[string][]int32{
		"apart":   nil,
		"workers": {1, 2, 1, 2, 4, 5},
		"embedding-worker 1, nn-worker 3; nn-worker 0, embedding-worker 0, nn-worker 2; nn-worker 1; " +
			"data-loader, embedding-ps": {1, 2, 1, 3, 1, 2},
		"embedding-worker 0, embedding-worker 1; nn-worker 0, nn-worker 1; nn-worker 2, nn-worker 3; " +
			"data-loader, embedding-ps": nil,
	} {
		j, err := placed(Sync, text)
		if err != nil {
			t.Fatal(err)
		}
		all, err := j.Processes()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ProcessNumbers(all, 2, 4)); diff != "" {
			t.Errorf("%s, want (−): %s", text, diff)
		}
	}
}
