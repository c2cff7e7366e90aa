package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// pkg is a package as the go command lists it.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	Export     string   // file of export data; "" if the package does not compile
	GoFiles    []string // of this platform, without tests
	Imports    []string // direct
	Deps       []string // direct and indirect
	Standard   bool
}

// module is the path of this repository's module.
const module = "tandem"

// local returns the folder of one of our packages; ok reports whether it is ours.
func local(importPath string) (folder string, ok bool) {
	return strings.CutPrefix(importPath, module+"/")
}

// listPackages returns all packages of the repository and what they depend on.
// Packages that do not compile are listed too, so that their other faults show.
func listPackages(root string) ([]pkg, error) {
	command := exec.Command("go", "list", "-e", "-export", "-deps",
		"-json=ImportPath,Name,Dir,Export,GoFiles,Imports,Deps,Standard", "./...")
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var packages []pkg
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}
