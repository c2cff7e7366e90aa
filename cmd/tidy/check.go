package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Violation is one place where a rule is broken.
type Violation struct {
	File string // from the root of the repository, with slashes
	Line int    // from 1
	Rule string // short name
	Do   string // what is wrong and what to do
}

// String returns the violation as compilers print theirs.
func (v Violation) String() string { return fmt.Sprintf("%s:%d: %s: %s", v.File, v.Line, v.Rule, v.Do) }

// check applies every rule to the repository at root and returns the
// violations in the order of files and lines. Given folders, it returns the
// violations in these and below alone.
func check(root string, folders ...string) ([]Violation, error) {
	files, err := readTree(root)
	if err != nil {
		return nil, err
	}
	packages, err := listPackages(root)
	if err != nil {
		return nil, err
	}
	violations := append(checkPackageDocs(files), checkArchitecture(files)...)
	for _, f := range files {
		violations = append(violations, checkFile(f)...)
	}
	violations = append(violations, checkLayers(packages, files)...)
	violations = append(violations, checkMapOrder(packages, files)...)
	if len(folders) > 0 {
		violations = slices.DeleteFunc(violations, func(v Violation) bool {
			return !slices.ContainsFunc(folders,
				func(folder string) bool { return folder == "." || within(v.File, folder) })
		})
	}
	slices.SortStableFunc(violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return violations, nil
}

// checkFile applies the rules that look at one file alone.
func checkFile(f *file) []Violation {
	return slices.Concat(checkSize(f), checkText(f), checkFunctionLength(f), checkDocs(f),
		checkBanned(f), checkModeNames(f), checkColumns(f), checkWords(f), checkProse(f), checkGenerated(f))
}

// within reports whether a slash-separated path is dir or lies below it.
func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}

// inTestdata reports whether a path is within a testdata folder, whose files
// are data and not ours to style.
func inTestdata(name string) bool {
	return within(name, "testdata") || strings.Contains(name, "/testdata/")
}

// pure reports whether a file belongs to the layers that must not depend on the
// world around them. Tests may.
func pure(f *file) bool {
	return f.syntax != nil && !f.test() && (within(f.path, "algo") || within(f.path, "sim"))
}

// directory returns the folder of a file, "." for the root.
func (f *file) directory() string { return path.Dir(f.path) }
