package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Environment describes the machine and the build of a run.
type Environment struct {
	GoVersion string `json:"go"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPUs      int    `json:"cpus"`   // GOMAXPROCS
	Commit    string `json:"commit"` // "unknown" without version control
}

// CurrentEnvironment describes this process.
func CurrentEnvironment() Environment {
	return Environment{
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Commit: commit(),
	}
}

// uncommitted follows a commit whose files were changed.
const uncommitted = ", with uncommitted changes"

// commit returns the commit of this program: the one in the build, or that of the working folder for a
// program that "go run" builds, which records none.
var commit = sync.OnceValue(func() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, changed := "", ""
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			revision = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				changed = uncommitted
			}
		}
	}
	if revision != "" {
		return revision + changed
	}
	return checkedOut(".", build.Main.Path)
})

// checkedOut returns the commit of the module in whose tree a folder lies, or "unknown" if there is no such
// module, no repository or no git.
func checkedOut(folder, module string) string {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", folder}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return "unknown"
	}
	description, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(description), "module "+module+"\n") {
		return "unknown"
	}
	revision, err := git("rev-parse", "HEAD")
	if err != nil {
		return "unknown"
	}
	if status, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || status != "" {
		return revision + uncommitted
	}
	return revision
}
