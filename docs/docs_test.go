package docs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
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
	tree := newTree(t)
	copyTree(t, "..", tree)
	for _, page := range pages {
		t.Run(page, func(t *testing.T) { follow(t, page, tree) })
	}
}

// newTree returns an empty folder for a tree. It has the same place in every run, unless another run is using
// it, because Go's cache knows what is built by its place.
func newTree(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	tree := filepath.Join(cache, "tandem", "tutorials")
	inUse := tree + ".in-use"
	const left = 10 * time.Minute // a run that was killed leaves the mark
	if info, err := os.Stat(inUse); err == nil && time.Since(info.ModTime()) > left {
		_ = os.Remove(inUse)
	}
	if os.MkdirAll(filepath.Dir(tree), 0o755) != nil || os.Mkdir(inUse, 0o755) != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := errors.Join(os.RemoveAll(tree), os.Remove(inUse)); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(os.RemoveAll(tree), os.MkdirAll(tree, 0o755)); err != nil {
		t.Fatal(err)
	}
	return tree
}

// copyTree copies the repository's sources.
func copyTree(t *testing.T, from, to string) {
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
func follow(t *testing.T, page, tree string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var printed string
	for _, b := range blocks(string(text)) {
		switch {
		case b.path != "":
			file := filepath.Join(tree, filepath.FromSlash(b.path))
			if err := os.WriteFile(file, []byte(b.body), 0o644); err != nil {
				t.Fatal(err)
			}
		case b.language == "sh":
			printed = run(t, b.body, tree)
		case b.language == "output":
			expect(t, b.body, printed)
		}
	}
}

func run(t *testing.T, script, tree string) string {
	t.Helper()
	command := exec.Command("sh", "-ec", script)
	command.Dir = tree
	// What a tutorial reads lies beside it, wherever the reader keeps other data.
	command.Env = append(os.Environ(), "TANDEM_DATA=")
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
