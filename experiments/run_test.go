package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tandem/experiments/internal/report"
	"tandem/experiments/papers"
	"tandem/internal/cli"

	"github.com/spf13/pflag"
)

// fake returns an experiment that writes one file, records its options, and fails or answers.
func fake(name string, asked *[]report.Options, fail error) *report.Experiment {
	e := report.Experiment{Name: name, Question: "Why?", Help: "It asks.", QuickTime: time.Second}
	return report.Study(e, func(o report.Options) (map[string]int, error) {
		*asked = append(*asked, o)
		return map[string]int{"rows": 3}, nil
	}, func(_ map[string]int, _ context.Context, o report.Options) ([]int, error) {
		o.Progress(1, 2, "half")
		if err := os.WriteFile(filepath.Join(o.Folder, "runs.csv"), []byte("done\n"), 0o644); err != nil {
			return nil, err
		}
		return []int{1}, fail
	}, func(map[string]int, []int) *report.Report {
		return &report.Report{Findings: []string{"because"}, Tables: []cli.Table{{
			Caption: "Counts", Header: []string{"what", "rows/s"}, Rows: [][]string{{"a", "1"}}, Words: 1,
		}}}
	})
}

// before returns an experiment that calls a function and then runs another.
func before(e *report.Experiment, call func(o report.Options)) *report.Experiment {
	changed, run := *e, e.Run
	changed.Run = func(ctx context.Context, o report.Options) (*report.Report, error) {
		call(o)
		return run(ctx, o)
	}
	return &changed
}

// set replaces the experiments of a program.
func (p *program) set(list ...*report.Experiment) { p.chapters = []report.Chapter{{Experiments: list}} }

// first returns the place of the first experiment of a program, second of the second.
func (p *program) first() **report.Experiment  { return &p.chapters[0].Experiments[0] }
func (p *program) second() **report.Experiment { return &p.chapters[0].Experiments[1] }

// newProgram returns a program with two fake experiments, an empty working directory and a fixed time.
func newProgram(
	t *testing.T, fail error,
) (p *program, stdout, stderr *bytes.Buffer, asked *[]report.Options) {
	t.Helper()
	t.Chdir(t.TempDir())
	stdout, stderr, asked = &bytes.Buffer{}, &bytes.Buffer{}, &[]report.Options{}
	p = &program{
		stdout: stdout, stderr: stderr,
		now:    func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		stored: fstest.MapFS{},
		page: func(in papers.Input) (*papers.Page, error) {
			return &papers.Page{Counts: fmt.Sprintf("There are %d earlier runs.", len(in.Earlier))}, nil
		},
		wanted: []string{"one", "two"},
	}
	p.set(fake("one", asked, nil), fake("two", asked, fail))
	return p, stdout, stderr, asked
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
	const want = "one.json report.html run.json runs.csv settings.yaml table-1.csv"
	if got := files(t, "results/20260102-030405-one"); got != want {
		t.Errorf("files %s", got)
	}
	if got := files(t, "results"); got != "20260102-030405-one index.html" {
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
	if got := files(t, "results"); got != "20260102-030405-one 20260102-030405-one-2 index.html" {
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
	const want = "index.html one runs.json two"
	if len(*asked) != 2 || first.Seeds != 3 || first.Quick || files(t, "here") != want {
		t.Errorf("asked %+v, files %s", *asked, files(t, "here"))
	}
}

// Without names, the page of stored results comes at once, then the quick versions of what is wanted most,
// and then the page with their numbers.
func TestWithoutNamesThePapersFiguresRun(t *testing.T) {
	p, stdout, stderr, asked := newProgram(t, nil)
	p.wanted = p.wanted[:1]
	if code := p.run(t.Context(), []string{"--out", "here"}); code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	if len(*asked) != 1 || !(*asked)[0].Quick ||
		files(t, "here") != "again.html index.html one paper.html runs.json" {
		t.Errorf("asked %+v, files %s", *asked, files(t, "here"))
	}
	for name, want := range map[string]string{"paper.html": "There are 0 earlier", "again.html": "There " +
		"are 1 "} {
		page, err := os.ReadFile(filepath.Join("here", name))
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s has no %q (%v)", name, want, err)
		}
	}
	if !strings.HasPrefix(stdout.String(), "There are 0 earlier runs.") {
		t.Errorf("stdout %s", stdout)
	}
	for _, want := range []string{"stored results is here/paper.html\n", "the full versions, go run",
		"1 experiments, quick versions", "read here/again.html\n"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in %s", want, stderr)
		}
	}
}

// What runs without names takes 6 minutes at most, and what the page needs can run.
func TestQuickPageIsQuick(t *testing.T) {
	p := program{chapters: chapters()}
	var all time.Duration
	for _, name := range papers.Quick() {
		_, e := p.leaf(name)
		if e == nil {
			t.Fatal(name)
		}
		all += e.QuickTime
	}
	if all > 6*time.Minute {
		t.Errorf("%v", all)
	}
	for _, name := range papers.Experiments() {
		if _, e := p.leaf(name); e == nil || e.Missing != nil {
			t.Errorf("%s cannot run everywhere", name)
		}
	}
}

// With all, an experiment that this machine cannot run is left out, which one line says.
// Its own name runs it.
func TestWhatCannotRunIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		args []string
		runs int
	}{{[]string{"all", "--out", "here"}, 2}, {[]string{"three"}, 1}} {
		p, _, stderr, asked := newProgram(t, nil)
		needy := fake("three", asked, nil)
		needy.Missing = func() error { return errors.New("there is no such machine") }
		p.chapters = append(p.chapters, report.Chapter{Experiments: []*report.Experiment{needy}})
		if code := p.run(t.Context(), c.args); code != 0 || len(*asked) != c.runs {
			t.Errorf("%v: exit status %d, %d experiments: %s", c.args, code, len(*asked), stderr)
		}
		const line = "experiments: three is left out: there is no such machine\n"
		if said := strings.Contains(stderr.String(), line); said != (c.runs == 2) {
			t.Errorf("%v: %s", c.args, stderr)
		}
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
		"experiments: hint: resume with go run ./experiments --resume here-partial\n"
	if stderr.String() != want || stdout.Len() != 0 {
		t.Errorf("stderr %q, want %q; stdout %q", stderr, want, stdout)
	}
	if got := files(t, "."); got != "here-partial" || files(t, "here-partial") != "run.json runs.csv" {
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

// resumed runs an experiment that fails, then resumes it with arguments and without the failure.
func resumed(t *testing.T, resume ...string) (code int, stderr string, asked []report.Options) {
	t.Helper()
	p, _, messages, options := newProgram(t, errors.New("interrupted"))
	first := []string{"two", "--quick", "--seeds", "3", "--seed", "9", "--out", "here"}
	if code := p.run(t.Context(), first); code != 1 {
		t.Fatalf("exit status %d", code)
	}
	messages.Reset()
	*p.second() = fake("two", options, nil)
	code = p.run(t.Context(), resume)
	return code, messages.String(), *options
}

// A run is resumed in its folder, with its settings and its id.
func TestResume(t *testing.T) {
	for _, args := range []string{
		"--resume here-partial", "--resume here", "two --resume here/ --quick --seeds 3", "two --resume here",
	} {
		code, stderr, asked := resumed(t, strings.Fields(args)...)
		if code != 0 || stderr != "experiments: results are in here\n" || files(t, ".") != "here" {
			t.Fatalf("%s: exit status %d, %q; files %s", args, code, stderr, files(t, "."))
		}
		first, again := asked[0], asked[1]
		if !again.Resume || first.Resume || !again.Quick || again.Seeds != 3 || again.Seed != 9 ||
			again.Run != first.Run || first.Run == "" {
			t.Errorf("%s: options %+v, then %+v", args, first, again)
		}
		text, err := os.ReadFile("here/two.json")
		if err != nil || !strings.Contains(string(text), "The run was interrupted and resumed once") ||
			!strings.Contains(string(text), `"run": "`+first.Run+`"`) {
			t.Errorf("%s: %s, error %v", args, text, err)
		}
	}
}

// What differs from the interrupted run, a finished run and an unknown one are one line each.
func TestResumeErrors(t *testing.T) {
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"one --resume here", "experiment one: this run has two", 2},
		{"two one --resume here", "--resume continues one run, not 2", 2},
		{"--resume here --seeds 4", "--seeds 4: this run has --seeds 3", 2},
		{"--resume here --seed 1", "--seed 1: this run has --seed 9", 2},
		{"--resume here --quick=false", "--quick=false: this run has --quick=true", 2},
		{"--resume here --out there", "--out there: a resumed run keeps its folder", 2},
		{"all --resume here", "--resume continues one run, not all", 2},
		{"--resume there", "there: there is no interrupted run", 1},
	} {
		code, stderr, asked := resumed(t, strings.Fields(c.args)...)
		line, _, _ := strings.Cut(stderr, "\n")
		if code != c.code || line != "experiments: error: "+c.want || len(asked) != 1 {
			t.Errorf("%s: exit status %d, %q; want %q", c.args, code, stderr, c.want)
		}
		if strings.Count(stderr, "\n") != 2 {
			t.Errorf("%s: %q: want a line and a hint", c.args, stderr)
		}
	}
}

// The folder of a process that was killed has a hidden name.
func TestResumeAfterKill(t *testing.T) {
	p, _, stderr, asked := newProgram(t, errors.New("interrupted"))
	if code := p.run(t.Context(), []string{"two", "--out", "here"}); code != 1 {
		t.Fatal(stderr)
	}
	if err := os.Rename("here-partial", ".here-123"); err != nil {
		t.Fatal(err)
	}
	*p.second() = fake("two", asked, nil)
	if code := p.run(t.Context(), []string{"--resume", "here"}); code != 0 || files(t, ".") != "here" {
		t.Fatalf("%s; files %s", stderr, files(t, "."))
	}
	stderr.Reset()
	if code := p.run(t.Context(), []string{"--resume", "here"}); code != 1 ||
		!strings.HasPrefix(stderr.String(), "experiments: error: here: the run is finished\n") {
		t.Errorf("exit status %d, %s", code, stderr)
	}
}

// A record of another version, a damaged one and two interrupted runs are refused.
func TestResumeRefusesOtherVersions(t *testing.T) {
	p, _, stderr, _ := newProgram(t, nil)
	for i, c := range []struct{ text, want string }{
		{`{"format": 2}`, "here/run.json: a file of version 2; this program reads version 1"},
		{`{"format`, "here/run.json: unexpected end of JSON input"},
		{`{"format": 1, "experiment": "three"}`,
			`here/run.json: a file of another version: unknown experiment "three"`},
	} {
		if err := os.MkdirAll("here", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("here/run.json", []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		stderr.Reset()
		code := p.run(t.Context(), []string{"--resume", "here"})
		if code != 1 || !strings.HasPrefix(stderr.String(), "experiments: error: "+c.want+"\n") {
			t.Errorf("case %d: exit status %d, %s", i, code, stderr)
		}
	}
	for _, name := range []string{"twice-partial", "twice-partial-2"} {
		if err := os.CopyFS(name, os.DirFS("here")); err != nil {
			t.Fatal(err)
		}
	}
	stderr.Reset()
	const want = "twice: there are 2 interrupted runs\n" +
		"experiments: hint: name one: twice-partial, twice-partial-2\n"
	if p.run(t.Context(), []string{"--resume", "twice"}) != 1 || !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("%s", stderr)
	}
}

// A run keeps other processes from its folder.
func TestResumeRefusesARunThatIsRunning(t *testing.T) {
	p, _, stderr, _ := newProgram(t, nil)
	inner := &bytes.Buffer{}
	*p.first() = before(*p.first(), func(o report.Options) {
		other := *p
		other.stderr = inner
		if code := other.run(t.Context(), []string{"--resume", o.Folder}); code != 1 {
			t.Errorf("exit status %d", code)
		}
	})
	if code := p.run(t.Context(), []string{"one", "--out", "here"}); code != 0 {
		t.Fatal(stderr)
	}
	if !strings.Contains(inner.String(), "another process writes to this folder\n") {
		t.Errorf("%s", inner)
	}
}

// A failure before any result leaves no folder.
func TestFailureWithoutResultsLeavesNothing(t *testing.T) {
	p, _, stderr, _ := newProgram(t, nil)
	p.set(&report.Experiment{Name: "one", Run: func(context.Context, report.Options) (*report.Report, error) {
		return nil, &cli.Error{Err: errors.New("no data"), Hint: "put it there"}
	}})
	if code := p.run(t.Context(), []string{"one", "--out", "here"}); code != 1 || files(t, ".") != "" ||
		stderr.String() != "experiments: error: no data\nexperiments: hint: put it there\n" {
		t.Errorf("exit status %d, %q, left %s", code, stderr, files(t, "."))
	}
}

// Flags of one experiment are part of the record: they return when the run is resumed.
func TestResumeKeepsFlagsOfTheExperiment(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	grid := report.NewGrid(report.Taus)
	fail := errors.New("interrupted")
	var seen []int
	e := report.Study(report.Experiment{Name: "one", AddFlags: grid.AddFlags},
		func(report.Options) ([]int, error) { return grid.Taus(7), nil },
		func(taus []int, _ context.Context, o report.Options) ([]int, error) {
			seen = taus
			return taus, errors.Join(fail, os.WriteFile(filepath.Join(o.Folder, "runs.csv"), nil, 0o644))
		}, func(taus, _ []int) *report.Report { return &report.Report{} })
	p.set(e, fake("two", asked, nil))
	if code := p.run(t.Context(), []string{"one", "--taus", "3,0", "--out", "here"}); code != 1 {
		t.Fatal(stderr)
	}
	for args, want := range map[string]string{
		"one --resume here --taus 0,4": "--taus 0,4: this run has --taus 0,3\n",
		"one --resume here --taus 0,0": `invalid argument "0,0" for "--taus" flag: 0 is there twice` + "\n",
	} {
		stderr.Reset()
		if code := p.run(t.Context(), strings.Fields(args)); code != 2 ||
			!strings.HasPrefix(stderr.String(), "experiments: error: "+want) {
			t.Errorf("%s: exit status %d, %s", args, code, stderr)
		}
	}
	fail = nil
	if code := p.run(t.Context(), []string{"--resume", "here"}); code != 0 || len(seen) != 2 {
		t.Errorf("resumed with τ %v: %s", seen, stderr)
	}
}

// Without a terminal there is a line of progress every half minute.
func TestProgressLines(t *testing.T) {
	p, _, stderr, _ := newProgram(t, nil)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p.now = func() time.Time { return at }
	show, stop := p.progress()
	defer stop()
	for i := range 61 {
		show(i, 61, "working")
		at = at.Add(time.Second)
	}
	if got := stderr.String(); got != "experiments: working\nexperiments: working\n" {
		t.Errorf("%q", got)
	}
}

// The index has a line for every finished report.
func TestIndex(t *testing.T) {
	p, _, stderr, _ := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"one", "two", "--out", "here"}); code != 0 {
		t.Fatal(stderr)
	}
	page, err := os.ReadFile("here/index.html")
	for _, want := range []string{`href="one/report.html"`, `href="two/report.html"`, "because", "Why?",
		"2026-01-02 03:04:05 UTC"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("no %q in %s, error %v", want, page, err)
		}
	}
}

// The flags that only one experiment has are the words of the command that repeats its run: lists, switches
// and texts read back as they were given.
func TestOwnFlagsAreRepeated(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	flags := report.NewModeFlags(report.Taus)
	var fast bool
	e := fake("one", asked, nil)
	e.AddFlags = func(set *pflag.FlagSet) {
		flags.AddFlags(set)
		set.BoolVar(&fast, "fast", false, "")
	}
	p.set(e)
	args := "one --taus 15,0 --modes sync,hybrid --mode-set every=5 --mode-set slack=2 --fast --out here"
	if code := p.run(t.Context(), strings.Fields(args)); code != 0 {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile("here/one.json")
	if err != nil {
		t.Fatal(err)
	}
	const want = "go run ./experiments one --modes sync,hybrid --taus 0,15 --mode-set every=5,slack=2 " +
		"--fast=true --seeds 5 --seed 1"
	for _, word := range strings.Fields(want) {
		if !strings.Contains(string(text), word) {
			t.Errorf("no %q in the command of %s", word, text)
		}
	}
	again := []string{"repeat", (*asked)[0].Run, "--results", "here", "--out", "again"}
	if code := p.run(t.Context(), again); code != 0 || !fast || !slices.Equal(flags.Taus(), []int{0, 15}) ||
		!slices.Equal(flags.Modes(), []string{"sync", "hybrid"}) {
		t.Errorf("exit status %d, fast %v, τ %v, modes %v: %s", code, fast, flags.Taus(), flags.Modes(),
			stderr)
	}
}
