package main

import (
	"fmt"
	"regexp"
	"strings"
)

// majorVersion matches the end of the path of a module from its second version on.
var majorVersion = regexp.MustCompile(`/v\d+$`)

// checkModules finds dependencies of go.mod that the map does not justify, and justifications of others. What
// only dependencies depend on needs none.
func checkModules(m *architecture, files []*file) []Violation {
	justified, required := map[string]bool{}, map[string]bool{}
	for _, r := range m.tables[modulesTable] {
		for _, name := range r.names(0) {
			justified[name] = true
		}
	}
	var found []Violation
	for _, f := range files {
		if f.path != "go.mod" {
			continue
		}
		for i, line := range strings.Split(string(f.text), "\n") {
			name := directModule(line)
			if name == "" {
				continue
			}
			required[name] = true
			if !justified[name] {
				found = append(found, Violation{f.path, i + 1, "module", fmt.Sprintf(
					"the table of modules of %s lacks %s: say what it is for, and why not our own", mapFile,
					name)})
			}
		}
	}
	for _, r := range m.tables[modulesTable] {
		for _, name := range r.names(0) {
			if !required[name] {
				found = append(found, Violation{mapFile, r.line, "module",
					name + " is no direct dependency of go.mod"})
			}
		}
	}
	return found
}

// directModule returns the name of the module that a line of go.mod requires directly or runs as a tool,
// without github.com and version, or "".
func directModule(line string) string {
	statement, comment, _ := strings.Cut(line, "//")
	fields := strings.Fields(statement)
	if len(fields) > 0 && fields[0] == "require" {
		fields = fields[1:]
	}
	switch {
	case strings.TrimSpace(comment) == "indirect":
		return ""
	case len(fields) == 2 && fields[0] == "tool":
		name, _, _ := strings.Cut(fields[1], "/cmd/")
		return strings.TrimPrefix(name, "github.com/")
	case len(fields) == 2 && strings.HasPrefix(fields[1], "v"):
		return majorVersion.ReplaceAllString(strings.TrimPrefix(fields[0], "github.com/"), "")
	}
	return ""
}
