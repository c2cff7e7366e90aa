package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/experiments/internal/report"
)

// An experiment that fails does not keep the others from running; --resume runs only what has no results,
// with the settings of the command.
func TestSeveralGoOnAfterAFailure(t *testing.T) {
	p, stdout, stderr, asked := newProgram(t, nil)
	p.set(fake("one", asked, errors.New("no SimGrid")), fake("two", asked, nil))
	if code := p.run(t.Context(), []string{"--seeds", "3", "--out", "here"}); code != 1 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	for _, want := range []string{
		"2 experiments, quick versions", "1 of 2: one", "no SimGrid", "2 of 2: two",
		"error: 1 of 2 experiments failed: one", "--resume here",
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in %s", want, stderr)
		}
	}
	if !strings.Contains(stdout.String(), "two: Why?") || strings.Contains(stdout.String(), "one: Why?") {
		t.Errorf("stdout %s", stdout)
	}
	*p.first() = fake("one", asked, nil)
	if code := p.run(t.Context(), []string{"--resume", "here"}); code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	last := (*asked)[len(*asked)-1]
	if len(*asked) != 3 || !last.Quick || last.Seeds != 3 || !last.Resume {
		t.Errorf("asked %d times, at last %+v", len(*asked), last)
	}
	if got := files(t, "here"); got != "again.html index.html one paper.html runs.json two" {
		t.Errorf("files %s", got)
	}
}

// An interrupt ends all, and the hint names the folder of the command.
func TestSeveralEndWhenInterrupted(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	one := before(fake("one", asked, context.Canceled), func(report.Options) { cancel() })
	p.set(one, fake("two", asked, nil))
	if code := p.run(ctx, []string{"all", "--out", "here"}); code != 1 || len(*asked) != 1 {
		t.Fatalf("exit status %d, %d experiments ran: %s", code, len(*asked), stderr)
	}
	if !strings.Contains(stderr.String(), "resume with go run ./experiments --resume here\n") {
		t.Error(stderr)
	}
	*p.first() = fake("one", asked, nil)
	if code := p.run(t.Context(), []string{"--resume", "here"}); code != 0 || len(*asked) != 3 ||
		(*asked)[1].Quick {
		t.Errorf("exit status %d, %d runs: %s", code, len(*asked), stderr)
	}
}

// A resumed command keeps its settings.
func TestResumeOfSeveralKeepsSettings(t *testing.T) {
	p, _, stderr, _ := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"--out", "here"}); code != 0 {
		t.Fatal(stderr)
	}
	for args, want := range map[string]string{
		"--resume here --seeds 9": "--seeds: a resumed run keeps its settings",
		"--resume here --out x":   "--out: a resumed run keeps its settings",
		"one --resume here":       "--resume here continues all experiments of a command",
	} {
		stderr.Reset()
		code := p.run(t.Context(), strings.Fields(args))
		if code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit status %d, %s", args, code, stderr)
		}
	}
	if err := os.WriteFile("here/runs.json", []byte(`{"format": 99}`), 0o644); err != nil {
		t.Fatal(err)
	}
	stderr.Reset()
	if code := p.run(t.Context(), []string{"--resume", "here"}); code != 1 ||
		!strings.Contains(stderr.String(), "here/runs.json: a file of another version") {
		t.Errorf("exit status %d, %s", code, stderr)
	}
}

// A later experiment of a command knows where the earlier ones have written.
func TestLaterExperimentsSeeEarlierResults(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"--out", "here"}); code != 0 {
		t.Fatal(stderr)
	}
	if got := (*asked)[1].Earlier; len((*asked)[0].Earlier) != 0 || len(got) != 1 || got[0] != "here/one" {
		t.Errorf("the second experiment got %q", got)
	}
}

// repeat runs the command of a run, which is found by its id among own and stored results.
func TestRepeat(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	if code := p.run(t.Context(), []string{"two", "--quick", "--seeds", "3", "--seed", "9"}); code != 0 {
		t.Fatal(stderr)
	}
	if code := p.run(t.Context(), []string{"repeat", (*asked)[0].Run, "--out", "again"}); code != 0 {
		t.Fatal(stderr)
	}
	if o := (*asked)[1]; !o.Quick || o.Seeds != 3 || o.Seed != 9 || files(t, "again") == "" {
		t.Errorf("repeated with %+v", o)
	}
	text, err := json.Marshal(report.Result{
		Name: "one", Run: "0123abcd", Command: "go run ./experiments one --seeds 4 --seed 2",
	})
	if err != nil {
		t.Fatal(err)
	}
	p.stored = fstest.MapFS{"one/full.json": {Data: text}}
	if code := p.run(t.Context(), []string{"repeat", "0123abcd"}); code != 0 {
		t.Fatal(stderr)
	}
	if o := (*asked)[2]; o.Quick || o.Seeds != 4 || o.Seed != 2 {
		t.Errorf("repeated with %+v", o)
	}
	if !strings.Contains(stderr.String(), "note: run 0123abcd is of commit") {
		t.Errorf("no note on the commit: %s", stderr)
	}
	for args, code := range map[string]int{"repeat": 2, "repeat ffffffff": 1,
		"repeat 0123abcd --results none": 2} {
		if got := p.run(t.Context(), strings.Fields(args)); got != code {
			t.Errorf("%s: exit status %d", args, got)
		}
	}
}

// A command is printed as a shell reads it, so folders may have spaces and quotes in their names.
func TestRepeatWithSpaces(t *testing.T) {
	p, _, stderr, asked := newProgram(t, nil)
	const folder = "Jo's \"own\" data"
	if code := p.run(t.Context(), []string{"one", "--data-folder", folder}); code != 0 {
		t.Fatal(stderr)
	}
	if code := p.run(t.Context(), []string{"repeat", (*asked)[0].Run}); code != 0 {
		t.Fatal(stderr)
	}
	if got := (*asked)[1].DataFolder; got != folder {
		t.Errorf("repeated with data folder %q, want %q", got, folder)
	}
	if got := unquoted("  one --a  'b c' 'd'\\''e' ''"); !slices.Equal(got, []string{"one", "--a", "b c",
		"d'e", ""}) {
		t.Errorf("words %q", got)
	}
}
