// Command licenses writes licenses.md: which licences the modules have that go.mod requires, for programs,
// tests and tools alike. Run it in the root of the repository after a change of go.mod:
//
//	go run ./docs/licenses
//
// A licence is known by a sentence that its text must have. A file with the texts of several licences has
// them all, as where a module contains code of others; the files themselves say which holds for what.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/internal/cli"
)

func main() { os.Exit(run(".", os.Args[1:], os.Stderr)) }

// page is the name of the file that is written.
const page = "docs/licenses/licenses.md"

// run writes the page below the root of the repository, and returns the exit code.
func run(root string, args []string, stderr io.Writer) int {
	if len(args) > 0 {
		return cli.PrintError(stderr, "licenses",
			cli.UsageError("go run ./docs/licenses writes the page", "unexpected argument %q", args[0]))
	}
	modules, err := required(root)
	if err == nil {
		modules, err = located(root, modules)
	}
	var text []byte
	if err == nil {
		text, err = generate(modules)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, page), text, 0o644)
	}
	if err != nil {
		return cli.PrintError(stderr, "licenses", err)
	}
	return 0
}

// module is a module that go.mod requires.
type module struct {
	Path string
	Dir  string // "" if it is not on this machine
}

// required returns the modules that go.mod requires, ascending. It needs nothing but go.mod.
func required(root string) ([]module, error) {
	out, err := goCommand(root, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var file struct{ Require []module }
	err = json.Unmarshal(out, &file)
	slices.SortFunc(file.Require, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return file.Require, err
}

// located returns modules with their folders. It may need the network.
func located(root string, modules []module) (all []module, err error) {
	args := []string{"list", "-m", "-json"}
	for _, m := range modules {
		args = append(args, m.Path)
	}
	out, err := goCommand(root, args...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var m module
		if err := decoder.Decode(&m); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
}

// goCommand returns what a go command prints.
func goCommand(root string, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	c.Dir = root
	out, err := c.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		err = fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(failed.Stderr))
	}
	return out, err
}

// files matches the names of the files with licences.
var files = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-.].*)?$`)

// licenses have a sentence of each licence that a module may have, by its SPDX identifier. Spaces match any.
var licenses = []struct {
	name     string
	sentence *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License,? Version 2\.0`)},
	{"BSD-2-Clause or BSD-3-Clause",
		regexp.MustCompile(`Redistribution and use in source and binary forms`)},
	{"CC-BY-4.0", regexp.MustCompile(`Creative Commons Attribution 4\.0 International`)},
	{"CC0-1.0", regexp.MustCompile(`CC0 1\.0 Universal`)},
	{"FTL or GPL-2.0", regexp.MustCompile(`The FreeType License, .* The GNU General Public License`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge`)},
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? Version 2\.0`)},
	{"OFL-1.1", regexp.MustCompile(`SIL OPEN FONT LICENSE Version 1\.1`)},
	{"Unlicense", regexp.MustCompile(`free and unencumbered software released into the public domain`)},
}

// licensesOf returns the licences of a module, and the names of the files that have them.
func licensesOf(m module) (names, from []string, err error) {
	if m.Dir == "" {
		return nil, nil, fmt.Errorf("module %s is not on this machine: run go mod download", m.Path)
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, nil, err
	}
	var text strings.Builder
	for _, e := range entries {
		if e.IsDir() || !files.MatchString(e.Name()) {
			continue
		}
		one, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		text.WriteString(strings.Join(strings.Fields(string(one)), " "))
		from = append(from, e.Name())
	}
	for _, l := range licenses {
		if l.sentence.MatchString(text.String()) {
			names = append(names, l.name)
		}
	}
	if len(names) == 0 {
		err = fmt.Errorf("module %s has no licence that is known here: %q in %s", m.Path, from, m.Dir)
	}
	return names, from, err
}

// generate returns the page.
func generate(modules []module) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Licences of modules\n\nWritten by `go run ./docs/licenses`. The %d modules that "+
		"go.mod requires, for programs, tests and tools, and\n"+
		"the licences whose texts they have. Where there are "+
		"several, the files say what each holds for.\n\n| module | licences | files |\n|---|---|---|\n",
		len(modules))
	for _, m := range modules {
		names, from, err := licensesOf(m)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s%s | %s |\n", rowStart(m), strings.Join(names, ", "), strings.Join(from, ", "))
	}
	return b.Bytes(), nil
}

// rowStart returns the first cell of the row of a module.
func rowStart(m module) string { return "| `" + m.Path + "` | " }
