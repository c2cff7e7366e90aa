package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write makes a module whose program prints a text.
func write(t *testing.T, folder, text string) {
	t.Helper()
	for name, content := range map[string]string{
		"go.mod":  "module m\n",
		"main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(" + text + ") }\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A program does what its source says now; the file of the one before is replaced.
func TestProgramFollowsItsSource(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	file := filepath.Join(folder, "a", "program")
	run := time.Now().UnixNano() // so that no earlier run has left the programs in Go's cache
	for _, name := range []string{"one", "one", "two", "one"} {
		want := fmt.Sprint(name, " of run ", run)
		write(t, folder, `"`+want+`"`)
		if err := Program(t.Context(), file, "."); err != nil {
			t.Fatal(err)
		}
		if printed, err := exec.Command(file).Output(); err != nil || string(printed) != want {
			t.Errorf("%q, error %v, want %q", printed, err, want)
		}
	}
	if names, err := os.ReadDir(filepath.Dir(file)); err != nil || len(names) != 1 {
		t.Errorf("left beside the program: %v, error %v", names, err)
	}
	write(t, folder, "one")
	err := Program(t.Context(), file, ".")
	if err == nil || !strings.Contains(err.Error(), "undefined: one") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Program(ctx, file, "."); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Where there can be no link, as in another file system, a copy does.
func TestCopy(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.WriteFile(from, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	noLink := func(string, string) error { return errors.ErrUnsupported }
	for _, way := range []func(string, string) error{os.Link, noLink} {
		if err := put(from, to, way); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(to)
		if err != nil || string(text) != "#!/bin/sh\n" {
			t.Errorf("%q, error %v", text, err)
		}
		if info, err := os.Stat(to); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%v, error %v", info, err)
		}
		if err := os.Remove(to); err != nil {
			t.Fatal(err)
		}
	}
	if err := put(filepath.Join(t.TempDir(), "none"), to, os.Link); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
