package process

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"tandem/internal/build"
)

// nodePackage is the program that is one process of a run.
const nodePackage = "tandem/cmd/node"

// FindNode returns the path of the program node: beside this program, else on PATH, else built by the Go
// command into the user's cache. Building works only inside Tandem's source, and takes a third of a second
// if nothing has changed.
func FindNode(ctx context.Context) (string, error) {
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
	return buildNode(ctx, name)
}

// isNode reports whether a program is Tandem's node. Other programs have that name too, such as a JavaScript
// engine.
func isNode(path string) bool {
	info, err := buildinfo.ReadFile(path)
	return err == nil && info.Path == nodePackage
}

// buildNode builds the program with the Go command, which reuses its cache. Every copy of the source has its
// own place for the result.
func buildNode(ctx context.Context, name string) (string, error) {
	source, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", nodePackage).Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("the program %s is neither beside this one nor on PATH, and cannot be "+
			"built here: "+
			"run inside Tandem's source, or put the result of `go build %s` beside this program", name,
			nodePackage)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("process: no cache folder for the program node: %w", err)
	}
	target := filepath.Join(cache, "tandem", fmt.Sprintf("%x", sha256.Sum256(source))[:16], name)
	if err := build.Program(ctx, target, nodePackage); err != nil {
		return "", fmt.Errorf("process: %w", err)
	}
	return target, nil
}
