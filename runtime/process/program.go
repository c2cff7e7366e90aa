package process

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// nodePackage is the program that plays one role.
const nodePackage = "tandem/cmd/node"

// FindNode returns the path of the program node: beside this program, else on
// PATH, else built into the user's cache by the Go command, which needs to be
// run within Tandem's source for it and takes a second once it is built.
func FindNode() (string, error) {
	name := "node"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), name)
		if isNode(beside) {
			return beside, nil
		}
	}
	if found, err := exec.LookPath(name); err == nil && isNode(found) {
		return found, nil
	}
	return buildNode(name)
}

// isNode tells Tandem's node from others: a JavaScript engine has the same name.
func isNode(path string) bool {
	info, err := buildinfo.ReadFile(path)
	return err == nil && info.Path == nodePackage
}

// buildNode has the Go command build the program, of which only what has changed
// is made anew. Every copy of the source has a place of its own in the cache.
func buildNode(name string) (string, error) {
	source, err := exec.Command("go", "list", "-f", "{{.Dir}}", nodePackage).Output()
	if err != nil {
		return "", fmt.Errorf("there is no Tandem program %s beside this one or on PATH, and it cannot be built here: "+
			"run in Tandem's source, or put what `go build %s` makes beside this program", name, nodePackage)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the program node: %w", err)
	}
	target := filepath.Join(cache, "tandem", fmt.Sprintf("%x", sha256.Sum256(source))[:16], name)
	if text, err := exec.Command("go", "build", "-o", target, nodePackage).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w: %s", nodePackage, err, strings.TrimSpace(string(text)))
	}
	return target, nil
}
