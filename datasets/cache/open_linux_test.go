package cache

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// openFiles returns how many files the process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Files are closed once they are written, mapped or identified, also where that fails, and leave nothing
// beside what is stored.
func TestFilesOfTheCacheAreClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close files, too
	key := sourceKey(t, "x")
	folder := Folder(t.TempDir())
	before := openFiles(t)
	for range 3 {
		if err := folder.Store(key, someRows(10)); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.Load(key); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.List(); err != nil {
			t.Fatal(err)
		}
		if _, err := Identify(key.Sources[0].Path); err != nil {
			t.Fatal(err)
		}
	}
	path := folder.path(key)
	for _, text := range []string{"", "no cache"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.Load(key); err == nil {
			t.Errorf("%q is loaded", text)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o777); err != nil { // nothing can be renamed to it
		t.Fatal(err)
	}
	if err := folder.Store(key, someRows(1)); err == nil {
		t.Error("a file has taken the place of a folder")
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open before, and %d after", before, after)
	}
	if left, err := filepath.Glob(filepath.Join(string(folder), "*")); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}
