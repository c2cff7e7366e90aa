package mutate

import (
	"flag"
	"fmt"
	"os"
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
)

// root is the root of the module, seen from the folder of this package.
const root = "../.."

// scoreLeast is the percentage of the draw that must be killed.
const scoreLeast = 95

func TestMutantsAreKilled(t *testing.T) {
	if !*long {
		t.Skip("takes most of an hour: use -long")
	}
	runner := &Runner{Root: root, Scratch: t.TempDir()}
	results := runListed(t, runner)
	listed := len(results)
	for _, s := range Subjects() {
		results = append(results, runDraw(t, runner, s)...)
	}
	if len(results) == 0 {
		t.Fatalf("no mutant matches -only %s: give names of packages (role), or whole IDs "+
			"(role/drop-factor/0f3c5a7e)", *only)
	}
	text := fmt.Sprintf("listed mutants\n%s\nthe draw with seed %d\n%s", Report(results[:listed]), *seed,
		Report(results[listed:]))
	t.Log(text)
	if *report != "" {
		if err := os.WriteFile(*report, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	if survived := Count(results[:listed]).Survived; survived > 0 {
		t.Errorf("%d listed mutants survive: each needs a test that fails with it", survived)
	}
	if score := Count(results[listed:]).Score(); score < scoreLeast {
		t.Errorf("%.1f %% of the draw are killed, want %d %%: write tests for the rules that the survivors "+
			"break", score, scoreLeast)
	}
}

// runListed runs the listed mutants.
func runListed(t *testing.T, runner *Runner) []Result {
	targets := map[string][]Target{}
	for _, s := range Subjects() {
		targets[s.Folder] = s.Targets()
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
		results = append(results, runAll(t, runner, []Mutant{m}, targets[m.Folder])...)
	}
	for _, r := range results {
		if r.Outcome == Unbuilt {
			t.Errorf("listed mutant %s does not compile: adapt the entry to the code", r.ID)
		}
	}
	return results
}

// runDraw draws mutants of a subject until enough of them count, and runs them.
func runDraw(t *testing.T, runner *Runner, s Subject) []Result {
	candidates, err := Candidates(root, s.Folder)
	if err != nil {
		t.Fatal(err)
	}
	drawn, missing := Draw(withoutEquivalents(candidates, Equivalents()), *seed), s.Count
	if !selected(s.Name()) {
		drawn = slices.DeleteFunc(drawn, func(m Mutant) bool { return !selected(m.ID) })
		missing = len(drawn)
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
		for _, r := range runAll(t, runner, batch, s.Targets()) {
			if r.Outcome != Unbuilt {
				results = append(results, r)
				missing--
			}
		}
	}
	return results
}

// runAll runs mutants of one package, some at a time, and returns the results
// in the order of the mutants.
func runAll(t *testing.T, runner *Runner, mutants []Mutant, targets []Target) []Result {
	if len(mutants) == 0 {
		return nil
	}
	for _, target := range targets {
		if err := runner.Measure(target); err != nil {
			t.Fatal(err)
		}
	}
	results := make([]Result, len(mutants))
	var running sync.WaitGroup
	slots := make(chan struct{}, *jobs)
	for i, m := range mutants {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			result, err := runner.Run(m, targets)
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
	for _, s := range Subjects() {
		found, err := Candidates(root, s.Folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Errorf("%s has no mutants", s.Folder)
		}
		candidates[s.Folder] = found
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
