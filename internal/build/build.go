// Package build makes programs of this module with the Go command.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program writes the program of a package to a file, which it replaces. The arguments are those of go run: a
// package, with build flags before it if need be. Go keeps programs that it runs in its build cache, without
// debugging information and commit, but none that it only builds: so what has not changed takes a third of a
// second, with -trimpath in any copy of the source.
//
// The program is a link to the cache where that can be, so it must not be written to.
func Program(ctx context.Context, file string, arguments ...string) error {
	var made string
	var err error
	for range 2 { // what was not in the cache lay in a folder that is gone, and is in the cache now
		if made, err = cached(ctx, arguments); err != nil {
			break
		}
		if _, err = os.Stat(made); err == nil {
			break
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = errors.New("the Go command keeps no program in its cache: is it full, or -a in GOFLAGS?")
	case err == nil:
		err = put(made, file, os.Link)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("cannot build %s: %w", strings.Join(arguments, " "), err)
	}
	return err
}

// cached returns the file that go run runs.
func cached(ctx context.Context, arguments []string) (file string, err error) {
	// Go runs "go version FILE", which prints "FILE: go1.26.8", in place of the program.
	command := exec.CommandContext(ctx, "go", append([]string{"run", "-exec", "go version"}, arguments...)...)
	var wrong bytes.Buffer
	command.Stderr = &wrong
	text, err := command.Output()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(wrong.Bytes()))
	}
	line := strings.TrimSpace(string(text))
	end := strings.LastIndex(line, ": ")
	if end < 0 {
		return "", fmt.Errorf("go version printed %q in place of a file and its version", line)
	}
	return line[:end], nil
}

// put gives a file a second name by link or, where that cannot be, as in another file system, a copy.
func put(from, to string, link func(from, to string) error) error {
	if one, err := os.Stat(from); err == nil {
		if other, err := os.Stat(to); err == nil && os.SameFile(one, other) {
			return nil
		}
	}
	folder := filepath.Dir(to)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(folder, ".program-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	made := filepath.Join(temporary, filepath.Base(to))
	if link(from, made) != nil {
		if err := copyFile(from, made); err != nil {
			return err
		}
	}
	return os.Rename(made, to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
