package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	tree := t.TempDir()
	copyTree(t, "..", tree)
	for _, page := range pages {
		t.Run(page, func(t *testing.T) { follow(t, page, tree) })
	}
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

// follow does what the fenced blocks of a page say: a block with a path behind its
// language is a file, sh is run, and of output each line must occur, in order, in
// what the block before has printed.
func follow(t *testing.T, page, tree string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var printed string
	for _, b := range blocks(string(text)) {
		language, path, _ := strings.Cut(b.title, " ")
		switch {
		case path != "":
			if err := os.WriteFile(filepath.Join(tree, filepath.FromSlash(path)), []byte(b.body),
				0o644); err != nil {
				t.Fatal(err)
			}
		case language == "sh":
			printed = run(t, b.body, tree)
		case language == "output":
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

func expect(t *testing.T, lines, printed string) {
	t.Helper()
	rest := printed
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("%q is missing, or out of order, in:\n%s", line, printed)
		}
		rest = after
	}
}

// block is a fenced block of Markdown.
type block struct{ title, body string }

func blocks(text string) []block {
	var all []block
	var inside *block
	for line := range strings.Lines(text) {
		title, fence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case fence && inside == nil:
			inside = &block{title: title}
		case fence:
			all = append(all, *inside)
			inside = nil
		case inside != nil:
			inside.body += line
		}
	}
	return all
}
