package report

import (
	"bytes"
	_ "embed" // for page.html
	"encoding/base64"
	"html/template"
	"time"

	"tandem/internal/cli"
)

//go:embed page.html
var pageText string

// pageFunctions are the functions of the pages' templates.
var pageFunctions = template.FuncMap{
	"words": func(t cli.Table, column int) bool { return column < t.Words },
}

// page returns the report as one HTML page. pictures are the PNGs of the figures, in their order; the page
// contains them.
func (r *Report) page(settings []byte, pictures [][]byte) ([]byte, error) {
	type picture struct {
		Title string
		URL   template.URL
	}
	content := struct {
		*Report
		Date        string
		Took        time.Duration
		Environment cli.Environment
		SettingsYML string
		Pictures    []picture
	}{
		Report: r, Date: r.date(), Took: r.Wall.Round(time.Second),
		Environment: cli.CurrentEnvironment(), SettingsYML: string(settings),
	}
	for i, figure := range r.Figures {
		url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(pictures[i])
		content.Pictures = append(content.Pictures, picture{figure.Title, template.URL(url)})
	}
	parsed, err := template.New("page").Funcs(pageFunctions).Parse(pageText)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = parsed.Execute(&page, content)
	return page.Bytes(), err
}
