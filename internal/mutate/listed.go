package mutate

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A Listed is a mutant with a name: a mistake that the tests must find for ever.
type Listed struct {
	Name string
	File string // from the root of the module
	Old  string // occurs in the file exactly once
	New  string
}

// Mutant returns the mutant. An error says that the old text is not in the file
// exactly once.
func (l Listed) Mutant(root string) (Mutant, error) {
	text, err := os.ReadFile(filepath.Join(root, l.File))
	if err != nil {
		return Mutant{}, fmt.Errorf("mutate: listed mutant %q: %w", l.Name, err)
	}
	if n := strings.Count(string(text), l.Old); n != 1 {
		return Mutant{}, fmt.Errorf("mutate: listed mutant %q: its old text occurs %d times in %s, want once: adapt the entry to the code",
			l.Name, n, l.File)
	}
	start := strings.Index(string(text), l.Old)
	folder := path.Dir(l.File)
	return Mutant{
		ID: path.Base(folder) + "/listed/" + strings.ReplaceAll(l.Name, " ", "-"), Folder: folder, File: l.File,
		Line: 1 + strings.Count(string(text[:start]), "\n"), Operator: "listed", Before: l.Old, After: l.New,
		start: start, end: start + len(l.Old), replacement: l.New,
	}, nil
}

// AllListed are the listed mutants.
func AllListed() []Listed {
	return []Listed{}
}
