package docs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/internal/cli/clitest"
)

// Every tutorial works as it is printed, for somebody who starts from a fresh tree.
func TestTutorials(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the commands again")
	}
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d tutorials found, %v", len(pages), err)
	}
	programs := clitest.Programs(t, commands...)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all := blocks(string(text))
		if !slices.ContainsFunc(all, func(b block) bool { return b.language == "sh" }) {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if slices.ContainsFunc(all, func(b block) bool { return b.language == "go" }) {
				follow(t, all, newSources(t))
			} else {
				follow(t, all, newPrograms(t, programs))
			}
		})
	}
}

// workplace is where a page is followed. Prepare makes it ready for what its next script, which it may
// change, runs.
type workplace struct {
	tree    string
	path    string // of commands
	prepare func(t *testing.T, script string) string
}

// commands are the programs that pages run. Pages without Go have them from one folder, because go run looks
// at all sources of a tree again for every command.
var commands = []string{"data", "model", "node", "sim", "train"}

// newPrograms returns a tree without sources, and programs that stand for go run.
func newPrograms(t *testing.T, programs string) *workplace {
	w := &workplace{tree: t.TempDir(), path: os.Getenv("PATH")}
	copyTree(t, "..", w.tree, func(name string) bool { return !isSource(name) })
	w.prepare = func(_ *testing.T, script string) string {
		for _, name := range commands {
			script = strings.ReplaceAll(script, "go run ./cmd/"+name+" ", filepath.Join(programs, name)+" ")
		}
		return script
	}
	return w
}

func isSource(name string) bool { return filepath.Ext(name) == ".go" || filepath.Ext(name) == ".s" }

// newSources returns a tree with all sources. A command there stands for go run and go test: it builds in
// this repository, with the sources of the tree in the place of its own, and runs the programs in the tree.
// So Go's build cache has all packages that the page does not change: one in another folder would be another
// package.
func newSources(t *testing.T) *workplace {
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	command, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	w, beside := &workplace{tree: t.TempDir()}, t.TempDir()
	copyTree(t, repository, w.tree, func(string) bool { return true })
	overlay, inTree := filepath.Join(beside, "overlay.json"), filepath.Join(beside, "in-tree")
	for name, script := range map[string]string{
		"in-tree": fmt.Sprintf("cd \"%s${PWD#%s}\" && exec \"$@\"\n", w.tree, repository),
		// Results of tests are not kept: the files that they depend on would be looked up in the repository.
		"go": fmt.Sprintf("command=$1\nshift\ncase $command in\ntest) set -- -count=1 \"$@\" ;;\n"+
			"run) ;;\n*) exec '%s' $command \"$@\" ;;\nesac\n"+
			"exec '%[1]s' -C '%s' $command -overlay='%s' -exec='%s' \"$@\"\n",
			command, repository, overlay, inTree),
	} {
		if err := os.WriteFile(filepath.Join(beside, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.path = beside + string(filepath.ListSeparator) + os.Getenv("PATH")
	w.prepare = func(t *testing.T, script string) string {
		writeOverlay(t, overlay, repository, w.tree)
		return script
	}
	return w
}

// writeOverlay writes a file for go build -overlay: the sources of a tree in the place of those of a
// repository.
func writeOverlay(t *testing.T, file, repository, tree string) {
	t.Helper()
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	err := filepath.WalkDir(tree, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !isSource(name) {
			return err
		}
		relative, err := filepath.Rel(tree, name)
		overlay.Replace[filepath.Join(repository, relative)] = name
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copyTree copies the files of the repository that a page may need.
func copyTree(t *testing.T, from, to string, needed func(name string) bool) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if relative != "." && (strings.HasPrefix(entry.Name(), ".") || relative == "results") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, relative), 0o755)
		}
		if !needed(name) {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, relative), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// follow does what the fenced blocks of a page say: a block below a line with nothing
// but a path is that file, sh is run, and of output each line must occur, in order,
// in what the block before has printed.
func follow(t *testing.T, page []block, w *workplace) {
	var printed string
	for _, b := range page {
		switch {
		case b.path != "":
			file := filepath.Join(w.tree, filepath.FromSlash(b.path))
			if err := os.WriteFile(file, []byte(b.body), 0o644); err != nil {
				t.Fatal(err)
			}
		case b.language == "sh":
			printed = run(t, w.prepare(t, b.body), w)
		case b.language == "output":
			expect(t, b.body, printed)
		}
	}
}

func run(t *testing.T, script string, w *workplace) string {
	t.Helper()
	command := exec.Command("sh", "-ec", script)
	command.Dir = w.tree
	// What a tutorial reads lies beside it, wherever the reader keeps other data.
	command.Env = append(os.Environ(), "PATH="+w.path, "TANDEM_DATA=")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s%v\n%s", script, err, out)
	}
	return string(out)
}

// expect reports a line that is not printed after the lines before it; "…" stands for
// any others.
func expect(t *testing.T, lines, printed string) {
	t.Helper()
	rest := printed
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "…"))
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("%q is missing, or out of order, in:\n%s", line, printed)
		}
		rest = after
	}
}

// block is a fenced block of Markdown. Its path is that of the file that it shows, if
// the line above it has one.
type block struct{ language, path, body string }

// caption matches a line with nothing but a path.
var caption = regexp.MustCompile("^`([^` ]+)`:$")

func blocks(text string) []block {
	var all []block
	var inside *block
	path := ""
	for line := range strings.Lines(text) {
		line, _ := strings.CutSuffix(line, "\n")
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && inside == nil:
			inside = &block{language: language, path: path}
			path = ""
		case fence:
			all = append(all, *inside)
			inside = nil
		case inside != nil:
			inside.body += line + "\n"
		case caption.MatchString(line):
			path = caption.FindStringSubmatch(line)[1]
		case line != "":
			path = ""
		}
	}
	return all
}
