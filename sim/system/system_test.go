package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryBuiltInProfileLoads(t *testing.T) {
	for _, name := range Systems.Names() {
		p, err := Load(name)
		if err != nil {
			t.Error(err)
		} else if p.Name != name {
			t.Errorf("file %s holds profile %s", name, p.Name)
		}
	}
}

// A profile with a base differs from it in what its file has and in nothing else.
func TestProfileWithABaseIsADifference(t *testing.T) {
	base, paddle := load(t, "persia-2021"), load(t, "paddlepaddle")
	if paddle.NNWorker.SlotTime == base.NNWorker.SlotTime {
		t.Error("the slot-time of paddlepaddle is that of its base")
	}
	paddle.NNWorker.SlotTime = base.NNWorker.SlotTime
	paddle.Name, paddle.Note, paddle.Base = base.Name, base.Note, base.Base
	if *paddle != *base {
		t.Errorf("paddlepaddle differs from its base in more than slot-time:\n%+v\n%+v", paddle, base)
	}
}

// Software whose connections grow with the messages gives no number of them; one with a number may have a
// window.
func TestConnectionsAreOptional(t *testing.T) {
	for name, given := range map[string]bool{"tandem": true, "persia-2021": false, "xdl": false} {
		m := load(t, name).Messages
		if m.Connections.Given() != given || m.Window.Given() != given {
			t.Errorf("%s: connections %+v, window %+v", name, m.Connections, m.Window)
		}
	}
}

func TestBadProfilesAreRefused(t *testing.T) {
	const head = "name: mine\narchitecture: roles\n"
	text, err := Systems.Text("persia-2021")
	if err != nil {
		t.Fatal(err)
	}
	withoutLoader, _, _ := strings.Cut(string(text), "loader:")
	origin := ", kind: default, source: test, date: 2026}\n"
	for name, test := range map[string]struct{ text, want string }{
		"no architecture": {"name: mine\n", `architecture = ""; want roles or step-graph`},
		"no quantity":     {head, "no nn-worker.step-time; add it, or name a base that has it"},
		"no loader":       {withoutLoader, "no loader.id-time; add it, or name a base that has it"},
		"unknown base": {head + "base: persia-2022\n",
			`unknown profile "persia-2022"; the nearest is "persia-2021"`},
		"base is a file": {head + "base: ./mine.yaml\n", "want a built-in profile: "},
		"other architecture": {
			head + "base: hugectr\n",
			"architecture = roles, but step-graph of the base hugectr; name another base",
		},
		"share above 1": {
			head + "base: tandem\nnn-worker:\n  captured: {mid: 1.5" + origin,
			"nn-worker.captured: high = 1.5; want a share of at most 1",
		},
		"no name": {"architecture: roles\n", "no name; name it after its file"},
		"a share that ends above 1": {
			head + "base: tandem\npipeline:\n  relayed: {low: 0.5, mid: 1, high: 1.01, kind: guessed, " +
				"source: test, date: 2026}\n",
			"pipeline.relayed: high = 1.01; want a share of at most 1",
		},
		"a reserve above 1": {
			head + "base: tandem\nembedding-kernels:\n  host-reserve: {mid: 1.5" + origin,
			"embedding-kernels.host-reserve: high = 1.5; want a share of at most 1",
		},
		"products below 1": {
			head + "base: tandem\ndense-kernels:\n  products: {mid: 0.9" + origin,
			"dense-kernels.products: low = 0.9; want a multiple of at least 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "mine.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(file)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// A share of 1 and a multiple of 1 are the ends of their ranges.
func TestWholeSharesAreValid(t *testing.T) {
	const origin = ", kind: default, source: test, date: 2026}\n"
	_, err := read(t, "name: mine\narchitecture: roles\nbase: tandem\nnn-worker:\n  captured: {mid: 1"+origin+
		"embedding-kernels:\n  host-reserve: {mid: 1"+origin+"dense-kernels:\n  products: {mid: 1"+origin)
	if err != nil {
		t.Error(err)
	}
}
