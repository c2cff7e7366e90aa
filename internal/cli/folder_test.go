package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, folder, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

// A folder has its final name only once it is finished.
func TestFolderAppearsWhenFinished(t *testing.T) {
	parent := t.TempDir()
	for _, target := range []string{"new", "empty", "deep/er"} {
		path := filepath.Join(parent, target)
		if target == "empty" {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		f, err := NewFolder(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, f.Path(), "a")
		if entries, _ := os.ReadDir(path); len(entries) != 0 {
			t.Errorf("%s: exists before it is finished", target)
		}
		if place, err := f.Finish(); err != nil || place != path {
			t.Errorf("%s: finished as %s, error %v", target, place, err)
		}
		if got := names(t, path); len(got) != 1 || got[0] != "a" {
			t.Errorf("%s: %v", target, got)
		}
		if _, err := NewFolder(path); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("%s again: %v, want ErrNotEmpty", target, err)
		}
	}
	if got := names(t, parent); len(got) != 3 {
		t.Errorf("left behind: %v", got)
	}
}

// An abandoned folder keeps its files under a new name; an empty one is removed.
func TestAbandonedFolder(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x")
	for _, want := range []string{"x-partial", "x-partial-2", "x-partial-3", ""} {
		f, err := NewFolder(target)
		if err != nil {
			t.Fatal(err)
		}
		if want != "" {
			write(t, f.Path(), "a")
		}
		kept, err := f.Abandon()
		if err != nil || kept != "" && filepath.Base(kept) != want || kept == "" && want != "" {
			t.Errorf("kept %q, error %v, want %q", kept, err, want)
		}
	}
	if got := names(t, filepath.Dir(target)); len(got) != 3 {
		t.Errorf("left behind: %v", got)
	}
}

// A folder that another run has filled in the meantime stays as it is.
func TestFinishDoesNotOverwrite(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x")
	f, err := NewFolder(target)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.Path(), "mine")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, target, "theirs")
	if _, err := f.Finish(); err == nil {
		t.Error("finished over the files of another run")
	}
	if got := names(t, target); len(got) != 1 || got[0] != "theirs" {
		t.Errorf("the other run's folder holds %v", got)
	}
}

// Runs that begin in the same second get different folders, whether or not the earlier run
// has finished.
func TestDefaultFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, want := range []string{"20260102-030405-x", "20260102-030405-x-2", "20260102-030405-x-3"} {
		target := DefaultFolder(now, "x")
		if target != filepath.Join("results", want) {
			t.Errorf("run %d: %s, want %s", i, target, want)
		}
		f, err := NewFolder(target)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := f.Finish(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := DefaultFolder(now, "y"); got != filepath.Join("results", "20260102-030405-y") {
		t.Errorf("another name: %s", got)
	}
}

// Errors name the folder as the user wrote it, and say what to do.
func TestFolderErrors(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "file")
	file := filepath.Join(folder, "file")
	for _, c := range []struct{ target, message, hint string }{
		{folder, folder + ": folder is not empty", "results are never overwritten: give --out a new folder"},
		{file, "cannot use " + file + " as a folder: ", "give --out a folder that can be written"},
		{filepath.Join(file, "x"), "cannot use " + filepath.Join(file, "x") + " as a folder: ",
			"give --out a folder that can be written"},
	} {
		_, err := NewFolder(c.target)
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.message) || e.Hint != c.hint || e.Usage {
			t.Errorf("%s: %#v, want %q and the hint %q", c.target, err, c.message, c.hint)
		}
	}
	// This is the error of a folder without permission, which a test that runs as root cannot
	// provoke.
	err := unusable("cannot create a folder in "+folder,
		&os.PathError{Op: "mkdir", Path: folder + "/.x-441304881", Err: os.ErrPermission})
	if got, want := err.Error(), "cannot create a folder in "+folder+": "+
		os.ErrPermission.Error(); got != want || !errors.Is(err, os.ErrPermission) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A folder that was abandoned, or that a killed process left behind, can be reopened and finished.
func TestReopenFolder(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x")
	for _, abandoned := range []bool{true, false} {
		first, err := NewFolder(target)
		if err != nil {
			t.Fatal(err)
		}
		write(t, first.Path(), "a")
		if abandoned {
			if _, err := first.Abandon(); err != nil {
				t.Fatal(err)
			}
		}
		for _, other := range []string{"x-partial-old", "x-partially", ".x-y-123", "xx-partial"} {
			if err := os.MkdirAll(filepath.Join(filepath.Dir(target), other), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		found := Unfinished(target)
		if len(found) != 1 {
			t.Fatalf("unfinished: %q", found)
		}
		again, err := ReopenFolder(found[0], target)
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := again.Abandon(); err != nil || kept != target+"-partial" {
			t.Errorf("abandoned again as %q, error %v", kept, err)
		}
		if again, err = ReopenFolder(Unfinished(target)[0], target); err != nil {
			t.Fatal(err)
		}
		if place, err := again.Finish(); err != nil || place != target || names(t, target)[0] != "a" {
			t.Errorf("finished as %q, error %v", place, err)
		}
		if _, err := ReopenFolder(target+"-partial", target); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("finished twice: %v", err)
		}
		if err := os.RemoveAll(target); err != nil {
			t.Fatal(err)
		}
	}
}

// Only one process at a time writes to a folder, and its lock is no part of the results.
func TestLock(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x")
	first, err := NewFolder(target)
	if err != nil {
		t.Fatal(err)
	}
	write(t, first.Path(), "a")
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	second, err := ReopenFolder(first.Path(), target)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Lock(); !errors.Is(err, ErrInUse) {
		t.Errorf("locked twice: %v", err)
	}
	kept, err := first.Abandon()
	if err != nil {
		t.Fatal(err)
	}
	third, err := ReopenFolder(kept, target)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Lock(); err != nil {
		t.Errorf("the lock of an abandoned folder stays: %v", err)
	}
	if place, err := third.Finish(); err != nil || len(names(t, place)) != 1 {
		t.Errorf("finished as %s with %v, error %v", place, names(t, place), err)
	}
}

// A folder is locked once, until it is unlocked; its lock is for the next one then.
func TestFolderIsLockedOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "there", "yet")
	for range 2 {
		unlock, err := LockFolder(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LockFolder(folder); !errors.Is(err, ErrInUse) {
			t.Errorf("locked twice: %v", err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}
}
