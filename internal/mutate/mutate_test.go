package mutate

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	long = flag.Bool("long", false, "run the listed mutants and the draw")
	seed = flag.Uint64("seed", 1, "draw with another seed")
	only = flag.String("only", "", "run the mutants of these packages or with these IDs, separated by "+
		"commas")
	jobs   = flag.Int("jobs", 2, "test that many mutants at a time")
	report = flag.String("report", "", "write the report to this file")
	parts  = flag.String("part", "listed,core,outside", "run listed mutants, and those drawn from the core "+
		"and from the areas outside it")
	share = flag.Int("share", 100, "draw that percentage of the mutants")
)

// root is the root of the module, seen from the folder of this package.
const root = "../.."

// scoreLeast and outsideLeast are the percentages of the draw that must be killed, in the core and outside.
const scoreLeast, outsideLeast = 95, 90

func TestMutantsAreKilled(t *testing.T) {
	if !*long {
		t.Skip("runs the tests for hundreds of mutants: use -long")
	}
	runner := &Runner{Root: root, Scratch: t.TempDir()}
	var listed, core, outside []Result
	if inParts("listed") {
		listed = runListed(t, runner)
	}
	if inParts("core") {
		for _, a := range Core() {
			core = append(core, runDraw(t, runner, a)...)
		}
	}
	if inParts("outside") {
		for _, a := range Outside() {
			outside = append(outside, runDraw(t, runner, a)...)
		}
	}
	if len(listed)+len(core)+len(outside) == 0 {
		t.Fatalf("no mutant matches -only %s: give names of packages (role), of areas (serve), or whole IDs "+
			"(role/drop-factor/0f3c5a7e)", *only)
	}
	text := fmt.Sprintf("listed mutants\n%s\nthe core, with seed %d\n%s\noutside it\n%s", Report(listed),
		*seed, Report(core), Report(outside))
	t.Log(text)
	if *report != "" {
		if err := os.WriteFile(*report, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	if survived := Count(listed).Survived; survived > 0 {
		t.Errorf("%d listed mutants survive: each needs a test that fails with it", survived)
	}
	mustScore(t, "the core", core, scoreLeast)
	mustScore(t, "the areas outside the core", outside, outsideLeast)
}

// inParts reports whether -part asks for a part.
func inParts(name string) bool { return slices.Contains(strings.Split(*parts, ","), name) }

// mustScore fails the test if fewer than least percent of the mutants of a part were killed.
func mustScore(t *testing.T, part string, results []Result, least float64) {
	t.Helper()
	if score := Count(results).Score(); score < least {
		t.Errorf("%.1f %% of the draw from %s are killed, want %.0f %%: write tests for the rules that the "+
			"survivors break", score, part, least)
	}
}

// runListed runs the listed mutants.
func runListed(t *testing.T, runner *Runner) []Result {
	targets := map[string][]Target{}
	for _, a := range Core() {
		for _, folder := range a.Folders {
			targets[folder] = a.Targets(root, folder)
		}
	}
	var mutants []Mutant
	for _, l := range AllListed() {
		m, err := l.Mutant(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if targets[m.Folder] == nil {
			targets[m.Folder] = []Target{{Folder: m.Folder}}
		}
		if name, _, _ := strings.Cut(m.ID, "/"); selected(name) || selected(m.ID) {
			mutants = append(mutants, m)
		}
	}
	var results []Result
	for _, m := range mutants {
		results = append(results, runAll(t, runner, []Mutant{m},
			func(folder string) []Target { return targets[folder] })...)
	}
	for _, r := range results {
		if r.Outcome == Unbuilt {
			t.Errorf("listed mutant %s does not compile: adapt the entry to the code", r.ID)
		}
	}
	return results
}

// runDraw draws mutants of an area until enough of them count, and runs them.
func runDraw(t *testing.T, runner *Runner, a Area) []Result {
	var candidates []Mutant
	for _, folder := range a.Folders {
		found, err := Candidates(root, folder)
		if err != nil {
			t.Fatal(err)
		}
		candidates = append(candidates, found...)
	}
	drawn, missing := Draw(withoutEquivalents(candidates, Equivalents()), *seed), a.Count**share/100
	if !selected(a.Name) {
		drawn = slices.DeleteFunc(drawn, func(m Mutant) bool {
			return !selected(m.ID) && !selected(path.Base(m.Folder))
		})
		missing = min(a.Count, len(drawn))
	}
	var results []Result
	for missing > 0 && len(drawn) > 0 {
		var batch []Mutant
		for len(batch) < missing && len(drawn) > 0 {
			m := drawn[0]
			drawn = drawn[1:]
			compiles, err := runner.Compiles(&m)
			if err != nil {
				t.Fatal(err)
			}
			if compiles {
				batch = append(batch, m)
			}
		}
		targets := func(folder string) []Target { return a.Targets(root, folder) }
		for _, r := range runAll(t, runner, batch, targets) {
			if r.Outcome != Unbuilt {
				results = append(results, r)
				missing--
			}
		}
	}
	return results
}

// runAll runs mutants, some at a time, and returns the results in the order of the mutants.
func runAll(t *testing.T, runner *Runner, mutants []Mutant, targets func(folder string) []Target) []Result {
	for _, m := range mutants {
		for _, target := range targets(m.Folder) {
			if err := runner.Measure(target); err != nil {
				t.Fatal(err)
			}
		}
	}
	results := make([]Result, len(mutants))
	var running sync.WaitGroup
	slots := make(chan struct{}, *jobs)
	for i, m := range mutants {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			result, err := runner.Run(m, targets(m.Folder))
			if err != nil {
				t.Error(err)
			}
			results[i] = result
			t.Logf("%-9s %5.1f s  %-40s %s:%d  %s", result.Outcome, result.Elapsed.Seconds(), m.ID, m.File,
				m.Line, result.By)
		})
	}
	running.Wait()
	return results
}

// selected reports whether -only asks for a package or an ID.
func selected(name string) bool {
	return *only == "" || slices.Contains(strings.Split(*only, ","), name)
}

// withoutEquivalents returns the mutants that no entry proves to be equivalent.
func withoutEquivalents(mutants []Mutant, proven []Equivalent) []Mutant {
	return slices.DeleteFunc(slices.Clone(mutants), func(m Mutant) bool {
		return slices.ContainsFunc(proven, func(e Equivalent) bool { return e.matches(&m) })
	})
}

func TestEntriesOfTheTablesFitTheCode(t *testing.T) {
	for _, l := range AllListed() {
		if _, err := l.Mutant(root); err != nil {
			t.Error(err)
		}
	}
	candidates := map[string][]Mutant{}
	var folders []string
	for _, a := range slices.Concat(Core(), Outside()) {
		folders = append(folders, a.Folders...)
	}
	for _, folder := range folders {
		found, err := Candidates(root, folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Errorf("%s has no mutants", folder)
		}
		candidates[folder] = found
	}
	for _, e := range Equivalents() {
		if e.Proof == "" {
			t.Errorf("%s: %s has no proof", e.File, e.Before)
		}
		folder := filepath.ToSlash(filepath.Dir(e.File))
		if !slices.ContainsFunc(candidates[folder], func(m Mutant) bool { return e.matches(&m) }) {
			t.Errorf("no mutant of %s changes %q to %q: delete the entry of Equivalents, or adapt it to "+
				"the code", e.File, e.Before, e.After)
		}
	}
}
