package report

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tandem/internal/cli"
)

// Result is a finished report as its file of numbers has it.
type Result struct {
	Name        string          `json:"name"`
	Question    string          `json:"question"`
	Run         string          `json:"run"`
	Started     string          `json:"started"`
	Command     string          `json:"command"`
	WallSeconds float64         `json:"wall_s"`
	Environment cli.Environment `json:"environment"`
	Findings    []string        `json:"findings"`
	Quantities  []Quantity      `json:"quantities"`
	Headline    *Headline       `json:"headline"`
	// File is the name of the file, with slashes, from the root of the file system that it was found in.
	File string `json:"-"`
}

// Quick reports whether the run was the quick version of its experiment.
func (r *Result) Quick() bool { return slices.Contains(strings.Fields(r.Command), "--quick") }

// First returns the first finding, or "".
func (r *Result) First() string {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0]
}

// Quantity returns the quantity of a name, or false.
func (r *Result) Quantity(name string) (Quantity, bool) {
	at := slices.IndexFunc(r.Quantities, func(q Quantity) bool { return q.Name == name })
	if at < 0 {
		return Quantity{}, false
	}
	return r.Quantities[at], true
}

// resultDepth is how many folders below the root results are looked for: runs lie in results/RUN, and in
// results/ALL/NAME if one command has run several experiments.
const resultDepth = 2

// FindResults returns the results in a file system, the latest first. Other files are skipped,
// and so are folders whose names begin with a dot: they hold runs that are not finished.
func FindResults(fsys fs.FS) ([]*Result, error) {
	var found []*Result
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := strings.HasPrefix(entry.Name(), ".") && name != "."
			if hidden || strings.Count(name, "/") >= resultDepth {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".json" {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		r := &Result{File: name}
		if json.Unmarshal(text, r) == nil && r.Name != "" && r.Run != "" && r.Command != "" {
			found = append(found, r)
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b *Result) int { return strings.Compare(b.Started, a.Started) })
	return found, err
}
