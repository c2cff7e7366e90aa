package main

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	// mapFile is the map of the tree. It has what no package can say alone.
	mapFile = "ARCHITECTURE.md"
	// mapLinesMax is what an expert reads in ten minutes.
	mapLinesMax = 250
)

// The tables of the map, by the headers of their columns.
const (
	treeTable     = "folder | question"
	lawsTable     = "law | package | tests"
	subjectsTable = "subject | package"
	modulesTable  = "module | for | why not our own"
)

// checkArchitecture finds where the map and the tree differ.
func checkArchitecture(files []*file) []Violation {
	i := slices.IndexFunc(files, func(f *file) bool { return f.path == mapFile })
	if i < 0 {
		return []Violation{{mapFile, 1, "map", "there is no map: say where things are, and why"}}
	}
	m, t := parseMap(files[i]), indexTree(files)
	var found []Violation
	if lines := bytes.Count(files[i].text, []byte("\n")); lines > mapLinesMax {
		found = append(found, Violation{mapFile, mapLinesMax + 1, "map-length",
			fmt.Sprintf("%d lines, at most %d: what explains one package goes into its doc.go", lines,
				mapLinesMax)})
	}
	for _, header := range []string{treeTable, lawsTable, subjectsTable, modulesTable} {
		if len(m.tables[header]) == 0 {
			found = append(found, Violation{mapFile, 1, "map", fmt.Sprintf("no table | %s |", header)})
		}
	}
	return slices.Concat(found, checkNames(m, t), checkCoverage(m, t), checkSubjects(m, t), checkLaws(m, t),
		checkModules(m, files))
}

// An architecture is the content of the map.
type architecture struct {
	lines  []string
	tables map[string][]row // by header, without the header
}

// A row is a row of a table in Markdown.
type row struct {
	line  int // in the file, from 1
	cells []string
}

// parseMap reads the tables of the map.
func parseMap(f *file) *architecture {
	m := &architecture{lines: strings.Split(string(f.text), "\n"), tables: map[string][]row{}}
	header := ""
	for i, line := range m.lines {
		if !strings.HasPrefix(line, "|") {
			header = ""
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case header == "":
			header = strings.Join(cells, " | ")
		case !strings.HasPrefix(line, "|---"):
			m.tables[header] = append(m.tables[header], row{i + 1, cells})
		}
	}
	return m
}

// names returns the code in a cell of a row, with braces expanded. A row may lack the cell.
func (r row) names(cell int) (all []string) {
	if cell >= len(r.cells) {
		return nil
	}
	for _, span := range code.FindAllString(r.cells[cell], -1) {
		all = append(all, expand(strings.Trim(span, "`"))...)
	}
	return all
}

// expand returns the names that a pattern like a/{b,c} stands for.
func expand(pattern string) (all []string) {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	choices, after, _ := strings.Cut(rest, "}")
	for choice := range strings.SplitSeq(choices, ",") {
		all = append(all, expand(before+choice+after)...)
	}
	return all
}

// A tree is what the map is compared with.
type tree struct {
	paths    map[string]bool            // of all files and folders
	bases    map[string]bool            // the last elements of paths
	packages map[string]bool            // the folders with Go, without the root
	tests    map[string]map[string]bool // the names of the tests of each folder
}

// indexTree collects paths, packages and tests.
func indexTree(files []*file) *tree {
	t := &tree{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}}
	for _, f := range files {
		for name := f.path; name != "."; name = path.Dir(name) {
			t.paths[name], t.bases[path.Base(name)] = true, true
		}
		if f.syntax == nil || f.directory() == "." {
			continue
		}
		t.packages[f.directory()] = true
		if f.test() {
			t.addTests(f)
		}
	}
	return t
}

// pathInText matches a path of the repository in text, as the second group.
var pathInText = regexp.MustCompile(`(^|[^\w./-])((?:algo|cmd|datasets|docs|experiments|internal|notebooks|` +
	`runtime|sim)/(?:[\w./*-]|\{[\w,/-]+\})+)`)

// goFile matches the name of a Go file alone, as code.
var goFile = regexp.MustCompile("`\\w+\\.go`")

// checkNames finds paths and Go files in the map that do not exist.
func checkNames(m *architecture, t *tree) []Violation {
	var found []Violation
	for i, line := range m.lines {
		for _, name := range goFile.FindAllString(line, -1) {
			if name = strings.Trim(name, "`"); !t.bases[name] {
				found = append(found, Violation{mapFile, i + 1, "map-name", "there is no file " + name})
			}
		}
		for _, match := range pathInText.FindAllStringSubmatch(line, -1) {
			for _, name := range expand(strings.TrimRight(match[2], ".-")) {
				if !t.paths[strings.TrimSuffix(name, "/*")] {
					found = append(found, Violation{mapFile, i + 1, "map-name", name + " does not exist"})
				}
			}
		}
	}
	return found
}

// checkCoverage finds packages that no row of the tree stands for, and rows without a package.
func checkCoverage(m *architecture, t *tree) []Violation {
	listed := map[string]bool{}
	var found []Violation
	for _, r := range m.tables[treeTable] {
		for _, name := range r.names(0) {
			listed[name] = true
			below, star := strings.CutSuffix(name, "/*")
			if star && !hasPackageBelow(t, below) || !star && !t.packages[name] {
				found = append(found, Violation{mapFile, r.line, "map-tree", name + " is no package"})
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(t.packages)) {
		if !covered(folder, listed) {
			found = append(found, Violation{folder, 1, "map-tree", fmt.Sprintf(
				"the tree of %s has no row for this package: add it, with its question", mapFile)})
		}
	}
	return found
}

// hasPackageBelow reports whether a folder has a package below it.
func hasPackageBelow(t *tree, folder string) bool {
	for name := range t.packages {
		if name != folder && within(name, folder) {
			return true
		}
	}
	return false
}

// covered reports whether a row stands for a folder. A row stands for its folder and for those below, until
// one of these has a row of its own. Then each folder beside that one needs a row, except internal packages
// and those that only tests use.
func covered(folder string, listed map[string]bool) bool {
	for ; folder != "."; folder = path.Dir(folder) {
		parent, base := path.Dir(folder), path.Base(folder)
		if listed[folder] || listed[parent+"/*"] {
			return true
		}
		if parent == "." || !hasChild(parent, listed) {
			continue
		}
		return base == "internal" || strings.HasSuffix(base, "test")
	}
	return false
}

// hasChild reports whether a folder has a child among the names.
func hasChild(folder string, names map[string]bool) bool {
	for name := range names {
		if path.Dir(name) == folder {
			return true
		}
	}
	return false
}

// checkSubjects finds packages that explain a subject of the map elsewhere than in their doc.go.
func checkSubjects(m *architecture, t *tree) []Violation {
	var found []Violation
	for _, r := range m.tables[subjectsTable] {
		names := r.names(1)
		if len(names) == 0 {
			found = append(found, Violation{mapFile, r.line, "map-doc", "no package explains this subject"})
		}
		for _, name := range names {
			if !t.paths[name+"/doc.go"] {
				found = append(found, Violation{mapFile, r.line, "map-doc",
					fmt.Sprintf("%s has no doc.go that explains this subject", name)})
			}
		}
	}
	return found
}
