package report

import (
	"bytes"
	_ "embed" // for index.html
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"

	"tandem/internal/cli"
)

//go:embed index.html
var indexText string

// IndexName is the name of the page that WriteIndex writes.
const IndexName = "index.html"

// Headline is the part of a report with which the index over all reports opens: a table, a figure, or both.
type Headline struct {
	Table  *cli.Table `json:"table,omitempty"`
	Figure string     `json:"figure,omitempty"` // its Name
}

// indexLine is a report in the index.
type indexLine struct {
	*Result
	Link    string // to the page of the report, from the index
	Picture string // to the figure of its headline, or empty
}

// WriteIndex writes index.html to a folder: headlines, and a line for every report in it and in its folders,
// the latest first.
func WriteIndex(folder string) error {
	results, err := FindResults(os.DirFS(folder))
	if err != nil {
		return err
	}
	lines := indexLines(folder, results)
	parsed, err := template.New("index").Funcs(pageFunctions).Parse(indexText)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	content := struct{ Headlines, Lines []indexLine }{headlines(lines), lines}
	if err := parsed.Execute(&page, content); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, IndexName), page.Bytes(), 0o644)
}

// indexLines returns the lines of the results that have a page.
func indexLines(folder string, results []*Result) []indexLine {
	var lines []indexLine
	for _, r := range results {
		line := indexLine{Result: r, Link: path.Join(path.Dir(r.File), "report.html")}
		if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(line.Link))); err != nil {
			continue
		}
		if r.Headline != nil && r.Headline.Figure != "" {
			line.Picture = path.Join(path.Dir(r.File), r.Headline.Figure+".svg")
		}
		lines = append(lines, line)
	}
	return lines
}

// headlines returns the latest line with a headline of every experiment, those with tables first.
func headlines(lines []indexLine) []indexLine {
	var found []indexLine
	for _, l := range lines {
		same := func(other indexLine) bool { return other.Name == l.Name }
		if l.Headline != nil && !slices.ContainsFunc(found, same) {
			found = append(found, l)
		}
	}
	slices.SortStableFunc(found, func(a, b indexLine) int {
		rank := map[bool]int{true: 1}
		return rank[a.Headline.Table == nil] - rank[b.Headline.Table == nil]
	})
	return found
}
