package mutate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// An Outcome is what the tests made of a mutant.
type Outcome string

// The outcomes.
const (
	Killed   Outcome = "killed"    // a test failed
	TimedOut Outcome = "timed out" // which counts as killed
	Survived Outcome = "survived"
	Unbuilt  Outcome = "unbuilt" // the code or its tests do not compile, so the mutant does not count
)

// A Target is a package whose tests run.
type Target struct {
	Folder string   // from the root of the module
	Flags  []string // of go test
}

// name identifies a target among those of a run.
func (t Target) name() string { return strings.Join(append([]string{t.Folder}, t.Flags...), " ") }

// A Result is a mutant with its outcome.
type Result struct {
	Mutant
	Outcome Outcome
	By      string // the target that killed the mutant
	Elapsed time.Duration
}

const (
	// limitLeast and limitFactor say how long tests may run: a mutant may be
	// slower than the original, and the machine slower than a minute ago.
	limitLeast  = 20 * time.Second
	limitFactor = 5
	// memoryKiB bounds the address space of tests, because a mutant may allocate
	// without end.
	memoryKiB = 6 << 20
)

// A Runner builds and tests the code of a module with mutants in it.
// Its methods may be called concurrently.
type Runner struct {
	Root    string // of the module
	Scratch string // a folder for mutated files

	mu     sync.Mutex
	files  int                      // number of folders made in Scratch
	limits map[string]time.Duration // by name of the target
}

// Measure runs the tests of a target without a mutant and sets the time that
// they may take with one. An error says that they fail.
func (r *Runner) Measure(t Target) error {
	r.mu.Lock()
	_, known := r.limits[t.name()]
	r.mu.Unlock()
	if known {
		return nil
	}
	began := time.Now()
	if outcome, text := r.test(t, "", 10*time.Minute); outcome != Survived {
		return fmt.Errorf("mutate: the tests of %s fail without a mutant (%s): repair them first\n%s",
			t.name(), outcome, text)
	}
	limit := limitLeast + limitFactor*time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limits == nil {
		r.limits = map[string]time.Duration{}
	}
	r.limits[t.name()] = limit
	return nil
}

// Compiles reports whether the package of a mutant compiles.
func (r *Runner) Compiles(m *Mutant) (bool, error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return false, err
	}
	return r.command("go", "build", "-overlay="+overlay, "./"+m.Folder).Run() == nil, nil
}

// Run tests a mutant with one target after the other, until one kills it. Each
// target must have been measured.
func (r *Runner) Run(m Mutant, targets []Target) (Result, error) {
	result := Result{Mutant: m, Outcome: Survived}
	overlay, err := r.overlay(&m)
	if err != nil {
		return result, err
	}
	began := time.Now()
	for _, t := range targets {
		r.mu.Lock()
		limit, known := r.limits[t.name()]
		r.mu.Unlock()
		if !known {
			return result, fmt.Errorf("mutate: %s has no limit: measure it first", t.name())
		}
		if outcome, _ := r.test(t, overlay, limit); outcome != Survived {
			result.Outcome, result.By = outcome, t.Folder
			break
		}
	}
	result.Elapsed = time.Since(began)
	return result, nil
}

// overlay writes the mutated file and the overlay that names it, whose path it
// returns.
func (r *Runner) overlay(m *Mutant) (string, error) {
	original, err := filepath.Abs(filepath.Join(r.Root, m.File))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	r.files++
	folder := filepath.Join(r.Scratch, fmt.Sprint(r.files))
	r.mu.Unlock()
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	mutated := filepath.Join(folder, filepath.Base(m.File))
	if err := os.WriteFile(mutated, m.apply(text), 0o644); err != nil {
		return "", err
	}
	table, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, table, 0o644)
}

// test runs the tests of a target and returns what they print.
func (r *Runner) test(t Target, overlay string, limit time.Duration) (Outcome, string) {
	// -vet=off: vet finds some mutants, but vet is not a test.
	args := []string{"go", "test", "-count=1", "-failfast", "-vet=off", "-timeout=" + limit.String()}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	args = append(args, t.Flags...)
	args = append(args, "./"+t.Folder)
	if r.usesRapid(t.Folder) {
		args = append(args, "-rapid.nofailfile", "-rapid.seed=1")
	}
	output, err := r.command(args...).CombinedOutput()
	text := string(output)
	switch {
	case err == nil:
		return Survived, text
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
		return Unbuilt, text
	case strings.Contains(text, "panic: test timed out after"):
		return TimedOut, text
	}
	return Killed, text
}

// command returns a command in the root of the module with bounded memory.
func (r *Runner) command(args ...string) *exec.Cmd {
	limited := fmt.Sprintf(`ulimit -v %d; exec "$@"`, memoryKiB)
	command := exec.Command("sh", append([]string{"-c", limited, "sh"}, args...)...)
	command.Dir = r.Root
	return command
}

// usesRapid reports whether the tests of a folder have the flags of rapid.
func (r *Runner) usesRapid(folder string) bool {
	tests, _ := filepath.Glob(filepath.Join(r.Root, folder, "*_test.go")) // a bad pattern cannot occur
	for _, name := range tests {
		if text, err := os.ReadFile(name); err == nil &&
			strings.Contains(string(text), `"pgregory.net/rapid"`) {
			return true
		}
	}
	return false
}
