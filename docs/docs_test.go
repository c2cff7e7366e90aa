package docs

import (
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
			tree := t.TempDir()
			copyTree(t, "..", tree)
			if slices.ContainsFunc(all, func(b block) bool { return b.language == "go" }) {
				follow(t, all, tree, "")
			} else {
				follow(t, all, tree, programs)
			}
		})
	}
}

// commands are the programs that pages run. Pages without Go have them from one folder, because go run looks
// at all sources of a tree again for every command.
var commands = []string{"data", "model", "node", "sim", "train"}

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
// in what the block before has printed. If there is a folder of programs, they stand for go run.
func follow(t *testing.T, page []block, tree, programs string) {
	var printed string
	for _, b := range page {
		switch {
		case b.path != "":
			file := filepath.Join(tree, filepath.FromSlash(b.path))
			if err := os.WriteFile(file, []byte(b.body), 0o644); err != nil {
				t.Fatal(err)
			}
		case b.language == "sh":
			script := b.body
			if programs != "" {
				for _, name := range commands {
					script = strings.ReplaceAll(script, "go run ./cmd/"+name+" ",
						filepath.Join(programs, name)+" ")
				}
			}
			printed = run(t, script, tree)
		case b.language == "output":
			expect(t, b.body, printed)
		}
	}
}

func run(t *testing.T, script, tree string) string {
	t.Helper()
	command := exec.Command("sh", "-ec", script)
	command.Dir = tree
	command.Env = append(os.Environ(),
		// What a tutorial reads lies beside it, wherever the reader keeps other data.
		"TANDEM_DATA=",
		// With the places of the trees in what is built, every tree would build all packages again.
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath")
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
