package reread

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Files that change are read again. What they said before stays while one is absent, or they cannot be used;
// that is logged once. Nothing is read twice in a second.
func TestLatest(t *testing.T) { synctest.Test(t, testLatest) }

func testLatest(t *testing.T) {
	folder := t.TempDir()
	paths := []string{filepath.Join(folder, "a"), filepath.Join(folder, "b")}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	parse := func(contents [][]byte) (string, error) {
		if string(contents[1]) == "bad" {
			return "", errors.New("it is bad")
		}
		return string(contents[0]) + string(contents[1]), nil
	}
	log := func(line string) { lines = append(lines, line) }
	if _, err := Open(paths, parse, log); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	write(paths[0], "1")
	write(paths[1], "bad")
	if _, err := Open(paths, parse, log); err == nil {
		t.Error("files that cannot be used are opened")
	}
	write(paths[1], "2")
	f, err := Open(paths, parse, log)
	if err != nil {
		t.Fatal(err)
	}
	want := func(want string) {
		t.Helper()
		if got := f.Latest(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	want("12")
	write(paths[1], "bad")
	for range 3 {
		time.Sleep(every)
		want("12")
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "a has changed and cannot be used: it is bad") {
		t.Errorf("logged: %q", lines)
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(every)
	want("12")
	write(paths[0], "3")
	write(paths[1], "4")
	time.Sleep(every - 1)
	want("12")
	time.Sleep(time.Nanosecond)
	want("34")
}
