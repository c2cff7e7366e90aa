// Package htmlreport writes a report as one HTML page with its figures, tables and styles in it: nothing is
// loaded from elsewhere and no script runs. It follows the reader's choice of a light or dark page.
package htmlreport

import (
	_ "embed" // for page.html and style.css
	"html/template"
	"io"
	"os"

	"tandem/internal/cli"
)

// Page is a report.
type Page struct {
	Title    string
	Lead     string // one sentence below the title
	Sections []Section
}

// Section is a part of a page with a heading. Its parts appear in the order of the fields.
type Section struct {
	Title string
	Text  []string // paragraphs
	// Legend names the lines that all charts of the section share, in the order of their series.
	Legend []string
	Charts []Chart
	Gantts []Gantt
	// Pictures are figures that another package has drawn.
	Pictures []Picture
	Ranked   []Ranked
	Tables   []cli.Table
	// Sentences says that the words in tables are sentences, which wrap.
	Sentences bool
	Notes     []string // a list
	Code      string   // text as it is, such as settings
}

// Picture is a drawing with a sentence below it.
type Picture struct {
	Title string // for readers who do not see it
	URL   template.URL
	Below string
}

//go:embed page.html
var pageText string

//go:embed style.css
var style string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"words":  func(t cli.Table, column int) bool { return column < t.Words },
	"series": seriesClass,
	"svg":    func(c Chart) template.HTML { return c.SVG() },
	"gantt":  func(g Gantt) template.HTML { return g.SVG() },
	"ranked": func(r Ranked) template.HTML { return r.SVG() },
	"style":  func() template.CSS { return template.CSS(style) },
}).Parse(pageText))

// WriteFile writes the page to a file.
func (p *Page) WriteFile(name string) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := p.Write(out); err != nil {
		return err
	}
	return out.Close()
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	shown := *p
	shown.Sections = nil
	for _, s := range p.Sections {
		figures := len(s.Charts) + len(s.Ranked) + len(s.Gantts) + len(s.Pictures)
		if figures+len(s.Text)+len(s.Tables)+len(s.Notes)+len(s.Code) > 0 {
			tables := s.Tables
			s.Tables = nil
			for _, t := range tables {
				s.Tables = append(s.Tables, t.WithValues())
			}
			shown.Sections = append(shown.Sections, s)
		}
	}
	return page.Execute(w, &shown)
}
