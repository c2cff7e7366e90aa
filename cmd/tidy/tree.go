package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// file is one file of the repository.
type file struct {
	path   string // from the root, with slashes
	size   int64
	text   []byte // nil if the file is too large or not text
	set    *token.FileSet
	syntax *ast.File // nil unless this is Go
}

// line returns the line of a position in the file.
func (f *file) line(at token.Pos) int { return f.set.Position(at).Line }

// test reports whether the file holds Go tests.
func (f *file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// readTree reads the files of the repository, without folders whose name
// begins with a dot, and without results, where runs write.
func readTree(root string) ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if relative != "." && strings.HasPrefix(entry.Name(), ".") || relative == "results" {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || relative == ".git" { // a file in a second work tree
			return nil
		}
		f, err := readFile(name, filepath.ToSlash(relative))
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// readFile reads one file unless it is too large to be looked into.
func readFile(name, relative string) (*file, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > fileBytesMax {
		return &file{path: relative, size: info.Size()}, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseFile(relative, text)
}

// parseFile makes a file of a path and its content.
func parseFile(relative string, text []byte) (*file, error) {
	f := &file{path: relative, size: int64(len(text))}
	if utf8.Valid(text) && !bytes.ContainsRune(text, 0) {
		f.text = text
	}
	// The go command does not compile what lies in testdata, nor do we read it.
	if !strings.HasSuffix(relative, ".go") || inTestdata(relative) {
		return f, nil
	}
	f.set = token.NewFileSet()
	syntax, err := parser.ParseFile(f.set, relative, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	f.syntax = syntax
	return f, nil
}
