package damage

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// pageBytes is what a disk or a file system loses at a time.
const pageBytes = 4096

// file is a file of a folder.
type file struct {
	name string // within the folder
	data []byte
}

// files returns the files of a folder and of those in it.
func files(t testing.TB, folder string) (all []file) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		all = append(all, file{name, data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each damages one file of a folder at a time, for a number of times, calls try with what was done to which
// file, and puts the file back. A bit of it is flipped, its end is missing, a page of it is zero, or it has
// the content of another file of the folder or, unless other is "", of the file with its name in another
// folder.
func Each(t *testing.T, times int, folder, other string, try func(what, name string)) {
	t.Helper()
	draw := rand.New(rand.NewPCG(45, 4))
	here, there := files(t, folder), []file(nil)
	if other != "" {
		there = files(t, other)
	}
	for range times {
		var of file
		var what string
		var broken []byte
		for broken == nil || bytes.Equal(broken, of.data) {
			of = here[draw.IntN(len(here))]
			what, broken = damaged(draw, of, here, there)
		}
		path := filepath.Join(folder, of.name)
		put(t, path, broken)
		try(fmt.Sprintf("%s: %s", of.name, what), of.name)
		put(t, path, of.data)
	}
}

// damaged returns other content for a file, and what was done.
func damaged(draw *rand.Rand, of file, here, there []file) (what string, broken []byte) {
	size := len(of.data)
	if size == 0 {
		return "a byte more", []byte{1}
	}
	switch draw.IntN(8) {
	default: // a bit is the smallest damage
		at, bit := draw.IntN(size), draw.IntN(8)
		broken = bytes.Clone(of.data)
		broken[at] ^= 1 << bit
		return fmt.Sprintf("bit %d of byte %d of %d", bit, at, size), broken
	case 0:
		end := draw.IntN(size)
		return fmt.Sprintf("the first %d of %d bytes", end, size), of.data[:end]
	case 1:
		at := draw.IntN(size) / pageBytes * pageBytes
		broken = bytes.Clone(of.data)
		clear(broken[at:min(at+pageBytes, size)])
		return fmt.Sprintf("zeros from byte %d of %d on", at, size), broken
	case 2:
		with := here[draw.IntN(len(here))]
		return "the content of " + with.name, with.data
	case 3:
		for _, with := range there {
			if with.name == of.name {
				return "the content of another folder", with.data
			}
		}
		return "", nil
	}
}

// put writes a file in its place, so that all names of it have the damage.
func put(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
