package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commit is that of the module's repository, with a mark for changed files, and of no other repository.
func TestCheckedOut(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	folder := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		command := exec.Command("git", args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull,
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	modules := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := checkedOut(folder, "m"); got != "unknown" {
		t.Errorf("without a repository: %q", got)
	}
	git("init", "-q")
	modules("module m\n\ngo 1.26\n")
	if got := checkedOut(folder, "m"); got != "unknown" {
		t.Errorf("without a commit: %q", got)
	}
	git("add", "go.mod")
	git("commit", "-q", "-m", "first")
	first := git("rev-parse", "HEAD")
	if got := checkedOut(folder, "m"); got != first {
		t.Errorf("%q, want %q", got, first)
	}
	if got := checkedOut(folder, "other"); got != "unknown" {
		t.Errorf("of another module: %q", got)
	}
	modules("module m\n")
	if got, want := checkedOut(folder, "m"), first+", with uncommitted changes"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
