package mutate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// tiny returns the root of a module of two packages, ledger and audit.
func tiny(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/tiny.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := txtar.Write(archive, root); err != nil {
		t.Fatal(err)
	}
	return root
}

// planted returns the mutant of ledger that changes old, which occurs once, to
// new.
func planted(t *testing.T, root, old, new string) Mutant {
	t.Helper()
	m, err := Listed{Name: "planted", File: "ledger/ledger.go", Old: old, New: new}.Mutant(root)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestOutcomes(t *testing.T) {
	runner := &Runner{Root: tiny(t), Scratch: t.TempDir()}
	own, outside := Target{Folder: "ledger"}, Target{Folder: "audit", Flags: []string{"-short"}}
	for _, target := range []Target{own, outside} {
		if err := runner.Measure(target); err != nil {
			t.Fatal(err)
		}
	}
	runner.limits[own.name()] = time.Second // for the mutant that never ends
	for _, c := range []struct {
		old, new string
		want     Outcome
		by       string
	}{
		{"e.Step < step", "e.Step <= step", Killed, "ledger"},
		{"l.pending * rate", "l.pending", Killed, "audit"},
		{"l.pending > 1000", "l.pending > 1001", Survived, ""},
		{"kept := make", "for {\n}\nkept := make", TimedOut, "ledger"},
		{"e.Step < step", "e.Step < rate", Unbuilt, "ledger"},
	} {
		m := planted(t, runner.Root, c.old, c.new)
		got, err := runner.Run(m, []Target{own, outside})
		if err != nil {
			t.Fatal(err)
		}
		if got.Outcome != c.want || got.By != c.by {
			t.Errorf("%s -> %s: %s by %q, want %s by %q", c.old, c.new, got.Outcome, got.By, c.want, c.by)
		}
		compiles, err := runner.Compiles(&m)
		if err != nil {
			t.Fatal(err)
		}
		if compiles != (c.want != Unbuilt) {
			t.Errorf("%s -> %s: compiles = %v", c.old, c.new, compiles)
		}
	}
}

func TestListedTextMustOccurOnce(t *testing.T) {
	root := tiny(t)
	// order-free: each alone
	for text, count := range map[string]string{"no such text": "0 times", "l.pending": "5 times"} {
		_, err := Listed{Name: "n", File: "ledger/ledger.go", Old: text}.Mutant(root)
		if err == nil || !strings.Contains(err.Error(), count) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestReportNamesSurvivors(t *testing.T) {
	mutant := Mutant{ID: "p/off-by-one/1", Folder: "a/p", File: "a/p/f.go", Line: 7, Before: "x < 1",
		After: "x < (1 + 1)"}
	results := []Result{
		{Mutant: mutant, Outcome: Survived},
		{Mutant: Mutant{Folder: "a/p"}, Outcome: Killed},
		{Mutant: Mutant{Folder: "a/q"}, Outcome: TimedOut},
		{Mutant: Mutant{Folder: "a/q"}, Outcome: Unbuilt},
	}
	text := Report(results)
	for _, part := range []string{"a/p        2       1          0         1   50.0 %",
		"a/p/f.go:7\n\t- x < 1\n\t+ x < (1 + 1)\n", "66.7 %"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	if strings.Count(text, "survived: ") != 1 {
		t.Errorf("want one survivor in\n%s", text)
	}
}

func TestEquivalentsLeaveTheDraw(t *testing.T) {
	mutants, err := Candidates(tiny(t), "ledger")
	if err != nil {
		t.Fatal(err)
	}
	entry := Equivalent{File: "ledger/ledger.go", Before: "if l.pending > 1000 {",
		After: "if l.pending >= 1000 {", Proof: "none"}
	left := withoutEquivalents(mutants, []Equivalent{entry})
	if len(left) != len(mutants)-1 ||
		slices.ContainsFunc(left, func(m Mutant) bool { return entry.matches(&m) }) {
		t.Errorf("%d of %d mutants are left", len(left), len(mutants))
	}
}
