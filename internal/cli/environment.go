package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
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
	CPUs      int    `json:"cpus"` // GOMAXPROCS
	// Commit is the commit of the program's source; the version and the sum of its module if it was built
	// from a downloaded one; else "unknown".
	Commit string `json:"commit"`
	// Modules is a digest of the versions and sums of all modules that the program is built from, and Program
	// the SHA-256 of its file: equal programs are the same code, also with uncommitted changes. Both are
	// "unknown" where they cannot be read.
	Modules string `json:"modules"`
	Program string `json:"program"`
}

// CurrentEnvironment describes this process. It reads the file of the program, which takes some 30 ms.
func CurrentEnvironment() Environment {
	return Environment{
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Commit: Commit(), Modules: modules(), Program: programDigest(),
	}
}

// unknown stands for what a build does not say about itself.
const unknown = "unknown"

// modules returns a digest of the modules of the build.
var modules = sync.OnceValue(func() string {
	build, ok := debug.ReadBuildInfo()
	if !ok || len(build.Deps) == 0 {
		return unknown
	}
	digest := sha256.New()
	for _, m := range build.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		fmt.Fprintln(digest, m.Path, m.Version, m.Sum)
	}
	return "sha256:" + hex.EncodeToString(digest.Sum(nil))
})

// programDigest returns the digest of the file of this program.
var programDigest = sync.OnceValue(func() string {
	name, err := os.Executable()
	if err != nil {
		return unknown
	}
	file, err := os.Open(name)
	if err != nil {
		return unknown
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return unknown
	}
	return "sha256:" + hex.EncodeToString(digest.Sum(nil))
})

// uncommitted follows a commit whose files were changed.
const uncommitted = ", with uncommitted changes"

// Commit returns the commit of this program: the one in the build, or that of the working folder or of the
// folder of its source for a program that "go run" builds, which records none.
func Commit() string { return commit() }

var commit = sync.OnceValue(func() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
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
	if found := checkedOut(".", build.Main.Path); found != unknown {
		return found
	}
	if _, source, _, ok := runtime.Caller(0); ok && justBuilt() {
		if found := checkedOut(filepath.Dir(source), build.Main.Path); found != unknown {
			return found
		}
	}
	if build.Main.Sum != "" { // downloaded by its version
		return build.Main.Path + " " + build.Main.Version + " " + build.Main.Sum
	}
	return unknown
})

// justBuilt reports whether "go run" or "go test" has built this program to run it at once, so that its
// source is still the one that it was built from.
func justBuilt() bool {
	name, err := os.Executable()
	return err == nil && strings.Contains(filepath.ToSlash(name), "/go-build")
}

// checkedOut returns the commit of the module in whose tree a folder lies, or "unknown" if there is no such
// module, no repository or no git.
func checkedOut(folder, module string) string {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", folder}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return unknown
	}
	description, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(description), "module "+module+"\n") {
		return unknown
	}
	revision, err := git("rev-parse", "HEAD")
	if err != nil {
		return unknown
	}
	if status, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || status != "" {
		return revision + uncommitted
	}
	return revision
}
