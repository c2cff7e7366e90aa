package report

import (
	"bytes"
	_ "embed" // for index.html
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/internal/cli"
)

//go:embed index.html
var indexText string

// IndexName is the name of the page that WriteIndex writes.
const IndexName = "index.html"

// indexLine is a report in the index.
type indexLine struct {
	Name, Question, Run, Started, Command string
	Environment                           cli.Environment
	Findings                              []string
	Link                                  string // to the page of the report, from the index
}

// First returns the first finding, or "".
func (l indexLine) First() string {
	if len(l.Findings) == 0 {
		return ""
	}
	return l.Findings[0]
}

// WriteIndex writes index.html to a folder, a page with a line for every report in it and in its folders,
// the latest first. It returns the name of the page.
func WriteIndex(folder string) (string, error) {
	lines, err := findReports(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &cli.Error{
			Err: fmt.Errorf("%s: there is no such folder", folder), Hint: "name a folder with results",
		}
	}
	if err != nil {
		return "", err
	}
	if lines == nil {
		return "", &cli.Error{
			Err:  fmt.Errorf("%s: there is no report", folder),
			Hint: "name a folder with results",
		}
	}
	parsed, err := template.New("index").Parse(indexText)
	if err != nil {
		return "", err
	}
	var page bytes.Buffer
	if err := parsed.Execute(&page, lines); err != nil {
		return "", err
	}
	name := filepath.Join(folder, IndexName)
	return name, os.WriteFile(name, page.Bytes(), 0o644)
}

// findReports returns the finished reports up to two levels below a folder.
func findReports(folder string) ([]indexLine, error) {
	var lines []indexLine
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && relative != "."
		if entry.IsDir() && (hidden || strings.Count(relative, string(filepath.Separator)) >= 2) {
			return fs.SkipDir
		}
		if entry.Name() != "report.html" {
			return nil
		}
		if line, ok := readReport(filepath.Dir(path)); ok {
			line.Link = filepath.ToSlash(relative)
			lines = append(lines, line)
		}
		return nil
	})
	slices.SortStableFunc(lines, func(a, b indexLine) int { return strings.Compare(b.Started, a.Started) })
	return lines, err
}

// readReport reads the numbers of a report: the JSON file with the name that it contains.
func readReport(folder string) (line indexLine, ok bool) {
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return line, false
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		line = indexLine{}
		if json.Unmarshal(text, &line) == nil && line.Name+".json" == filepath.Base(name) {
			return line, true
		}
	}
	return line, false
}
