package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/experiments/report"
	"tandem/internal/cli"
)

// fakeExperiment writes one file and records its options.
type fakeExperiment struct {
	name  string
	asked *[]report.Options
	fail  error
}

func (f fakeExperiment) Name() string           { return f.name }
func (fakeExperiment) Question() string         { return "Why?" }
func (fakeExperiment) Help() string             { return "It asks." }
func (fakeExperiment) QuickTime() time.Duration { return time.Second }

func (f fakeExperiment) Run(_ context.Context, o report.Options) (*report.Report, error) {
	*f.asked = append(*f.asked, o)
	o.Progress(1, 2, "half")
	if err := os.WriteFile(filepath.Join(o.Folder, "runs.csv"), []byte("done\n"), 0o644); err != nil {
		return nil, err
	}
	if f.fail != nil {
		return nil, f.fail
	}
	return &report.Report{
		Findings: []string{"because"}, Settings: map[string]int{"rows": 3}, Data: []int{1},
		Tables: []cli.Table{{
			Caption: "Counts", Header: []string{"what", "rows/s"}, Rows: [][]string{{"a", "1"}}, Words: 1,
		}},
	}, nil
}

// newProgram returns a program with two fake experiments, an empty working directory and a fixed time.
func newProgram(
	t *testing.T, fail error,
) (p *program, stdout, stderr *bytes.Buffer, asked *[]report.Options) {
	t.Helper()
	t.Chdir(t.TempDir())
	stdout, stderr, asked = &bytes.Buffer{}, &bytes.Buffer{}, &[]report.Options{}
	return &program{
		experiments: []experiment{fakeExperiment{"one", asked, nil}, fakeExperiment{"two", asked, fail}},
		stdout:      stdout, stderr: stderr,
		now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}, stdout, stderr, asked
}

// files returns the names in a folder, including hidden files.
func files(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestRunWritesAFolder(t *testing.T) {
	p, stdout, stderr, asked := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"one", "--seeds", "3", "--seed", "9"}); code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	if got := files(t, "results/20260102-030405-one"); got != "one.json report.html runs.csv settings.yaml" {
		t.Errorf("files %s", got)
	}
	if got := files(t, "results"); got != "20260102-030405-one" {
		t.Errorf("left behind: %s", got)
	}
	if o := (*asked)[0]; o.Quick || o.Seeds != 3 || o.Seed != 9 {
		t.Errorf("options %+v", o)
	}
	for _, want := range []string{"one: Why?", "Counts", "rows/s", "- because"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in %s", want, stdout)
		}
	}
	// Without a terminal there is no progress bar: one line names the folder of the results.
	if got := stderr.String(); got != "experiments: results are in results/20260102-030405-one\n" {
		t.Errorf("stderr %q", got)
	}
}

// Two runs in the same second get separate folders.
func TestRunsInOneSecond(t *testing.T) {
	p, _, stderr, _ := newProgram(t, nil)
	for range 2 {
		if code := p.run(t.Context(), []string{"one"}); code != 0 {
			t.Fatalf("exit status %d: %s", code, stderr)
		}
	}
	if got := files(t, "results"); got != "20260102-030405-one 20260102-030405-one-2" {
		t.Errorf("folders %s", got)
	}
}

// Several experiments share --out, in any order and with flags anywhere.
func TestSeveralNames(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"--seeds", "3", "two", "--out", "here", "one"}); code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	first := (*asked)[0]
	if len(*asked) != 2 || first.Seeds != 3 || first.Quick || files(t, "here") != "one two" {
		t.Errorf("asked %+v, files %s", *asked, files(t, "here"))
	}
}

func TestWithoutNamesTheQuickVersionOfAllRuns(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"--out", "here"}); code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	if len(*asked) != 2 || !(*asked)[0].Quick || !(*asked)[1].Quick || files(t, "here") != "one two" {
		t.Errorf("asked %+v, files %s", *asked, files(t, "here"))
	}
}

func TestAllIsNotQuickByDefault(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"all"}); code != 0 || len(*asked) != 2 || (*asked)[0].Quick {
		t.Errorf("exit status %d, asked %+v: %s", code, *asked, stderr)
	}
}

func TestJSONIsOneDocument(t *testing.T) {
	p, stdout, _, _ := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"one", "--quick", "--json"}); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	var document struct {
		Name, Command string
		Data          []int
	}
	if err := json.Unmarshal(stdout.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	const again = "go run ./experiments one --quick --seeds 5 --seed 1"
	if document.Name != "one" || document.Command != again || len(document.Data) != 1 {
		t.Errorf("document %+v", document)
	}
}

// A run that fails or is stopped keeps its files in a folder named -partial.
func TestFailureKeepsFiles(t *testing.T) {
	p, stdout, stderr, _ := newProgram(t, errors.New("two: stopped after 1 of 2: interrupted"))
	if code := p.run(t.Context(), []string{"two", "--out", "here"}); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	want := "experiments: error: two: stopped after 1 of 2: interrupted\n" +
		"experiments: hint: what was done is kept in here-partial\n"
	if stderr.String() != want || stdout.Len() != 0 {
		t.Errorf("stderr %q, want %q; stdout %q", stderr, want, stdout)
	}
	if got := files(t, "."); got != "here-partial" || files(t, "here-partial") != "runs.csv" {
		t.Errorf("left %s", got)
	}
}

// On a terminal there is a progress bar, which is removed at the end of the run.
func TestProgressBarOnTerminals(t *testing.T) {
	p, _, stderr, _ := newProgram(t, nil)
	p.terminal = true
	if code := p.run(t.Context(), []string{"one"}); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	bar, rest, _ := strings.Cut(stderr.String(), "experiments: results")
	if !strings.Contains(bar, "half ") || !strings.Contains(bar, "%") || !strings.HasSuffix(bar, " \r") {
		t.Errorf("bar %q: want a bar, then spaces over it", bar)
	}
	if !strings.HasPrefix(rest, " are in") {
		t.Errorf("stderr ends in %q", rest)
	}
}
