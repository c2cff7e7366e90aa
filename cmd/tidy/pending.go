package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pendingList names the folders in which the rules of pendingRules do not hold yet, one a
// line, each with the folders below it; "." stands for the files of the root alone.
const pendingList = "cmd/tidy/pending.txt"

// pendingRules are the rules that pending folders may still break.
var pendingRules = []string{"columns", "word", "generated"}

// readPending reads the pending folders of the repository at root.
func readPending(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, pendingList))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var folders []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && line != "-" {
			folders = append(folders, line)
		}
	}
	return folders, err
}

// withoutPending returns the violations without those that pending folders may have.
func withoutPending(violations []Violation, pending []string) []Violation {
	return slices.DeleteFunc(violations, func(v Violation) bool {
		return slices.Contains(pendingRules, v.Rule) &&
			slices.ContainsFunc(pending, func(folder string) bool {
				return folder == "." && path.Dir(v.File) == "." || within(v.File, folder)
			})
	})
}
