package papers

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"tandem/experiments/fidelity/claims"
	"tandem/internal/cli"
	"tandem/internal/htmlreport"
)

// The title and the first sentence of the page.
const (
	title = "The papers' figures"
	lead  = "Every figure and table of the papers on Persia and Neo/ZionEX, as the papers draw them: ours " +
		"as columns and lines with bands for their intervals, the paper's values as diamonds."
)

// pageColumns is the width of pages in the repository.
const pageColumns = 110

// repeats is the command that writes the page in the repository.
const repeats = "go run ./experiments paper --page docs/paper.md"

// WriteFolder writes the page as paper.html, and its figures as PNG and SVG.
func (p *Page) WriteFolder(folder string) error {
	for _, e := range p.Exhibits {
		if e.Figure == nil {
			continue
		}
		picture, err := e.Figure.PNG()
		if err != nil {
			return fmt.Errorf("papers: figure %s: %w", e.Name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, e.Name+".png"), picture, 0o644); err != nil {
			return err
		}
	}
	if err := p.WriteFigures(folder); err != nil {
		return err
	}
	return p.WriteHTML(filepath.Join(folder, HTMLName))
}

// WriteHTML writes the page to a file that has its figures in it.
func (p *Page) WriteHTML(name string) error {
	page, err := p.html()
	if err != nil {
		return err
	}
	return page.WriteFile(name)
}

// HTMLName is the name of the page in a folder.
const HTMLName = "paper.html"

// WriteFigures writes the figures as SVG.
func (p *Page) WriteFigures(folder string) error {
	for _, e := range p.Exhibits {
		if e.Figure == nil {
			continue
		}
		drawing, err := e.Figure.SVG()
		if err != nil {
			return fmt.Errorf("papers: figure %s: %w", e.Name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, e.Name+".svg"), drawing, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// verdictTable has the claims of an exhibit, or all.
func verdictTable(list []claims.Row) cli.Table {
	t := cli.Table{Header: []string{"claim", "paper", "ours", "verdict"}, Words: 4}
	for i := range list {
		r := &list[i]
		published, ours := r.Texts()
		verdict := r.String()
		if r.Untestable != "" {
			verdict += ": " + r.Untestable
		}
		t.Add(r.System+": "+strings.TrimSuffix(r.Text, "."), published, ours, verdict)
	}
	return t
}

// html returns the page for a browser.
func (p *Page) html() (*htmlreport.Page, error) {
	page := &htmlreport.Page{Title: title, Lead: lead, Sections: []htmlreport.Section{{
		Title: "What is reproduced, and what is not", Text: []string{p.Counts},
		Tables: []cli.Table{verdictTable(p.Claims)}, Sentences: true,
	}}}
	for _, e := range p.Exhibits {
		s := htmlreport.Section{Title: e.Title, Text: []string{e.Theirs}, Notes: e.Notes,
			Sentences: true}
		if e.Figure != nil {
			drawing, err := e.Figure.SVG()
			if err != nil {
				return nil, fmt.Errorf("papers: figure %s: %w", e.Name, err)
			}
			s.Pictures = append(s.Pictures, htmlreport.Picture{Title: e.Figure.Title, Below: e.Says,
				URL: template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(drawing))})
		} else {
			s.Text = append(s.Text, e.Says)
		}
		if e.Claims != nil {
			s.Tables = append(s.Tables, verdictTable(e.Claims))
		}
		s.Tables = append(s.Tables, e.Tables...)
		page.Sections = append(page.Sections, s)
	}
	methods := htmlreport.Section{Title: "Methods in a page", Tables: []cli.Table{p.Methods.Runs}}
	for _, r := range p.Methods.Rules {
		methods.Text = append(methods.Text, r.Asks+" "+r.Says)
	}
	page.Sections = append(page.Sections, methods)
	return page, nil
}

// Markdown returns the page for the repository; figures is the path to the folder of figures from the page.
func (p *Page) Markdown(figures string) []byte {
	var b bytes.Buffer
	paragraph := func(text string) { fmt.Fprintf(&b, "\n%s\n", cli.WrapAt(text, "", 0, pageColumns)) }
	item := func(text string) { fmt.Fprintf(&b, "- %s\n", cli.WrapAt(text, "  ", 2, pageColumns)) }
	fmt.Fprintf(&b, "# %s\n\n<!-- %s writes this page -->\n", title, repeats)
	paragraph(lead)
	fmt.Fprintf(&b, "\n## What is reproduced, and what is not\n")
	paragraph(p.Counts)
	writeTable(&b, verdictTable(p.Claims))
	for _, e := range p.Exhibits {
		fmt.Fprintf(&b, "\n## %s\n", e.Title)
		paragraph(e.Theirs)
		if e.Figure != nil {
			fmt.Fprintf(&b, "\n![%s](%s/%s.svg)\n", e.Figure.Title, figures, e.Name)
		}
		paragraph("**" + e.Says + "**")
		if e.Claims != nil {
			writeTable(&b, verdictTable(e.Claims))
		}
		for _, t := range e.Tables {
			paragraph(t.Caption + ":")
			writeTable(&b, t)
		}
		fmt.Fprintln(&b)
		for _, note := range e.Notes {
			item(note)
		}
	}
	fmt.Fprintf(&b, "\n## Methods in a page\n\n")
	for _, r := range p.Methods.Rules {
		item("**" + r.Asks + "** " + r.Says)
	}
	paragraph(p.Methods.Runs.Caption + ":")
	writeTable(&b, p.Methods.Runs)
	paragraph("[Methods](methods.md) has every rule of the comparisons of AUC, [results](results.md) what " +
		"else was found, and the [simulator](cluster.md) what is known of its inputs.")
	return b.Bytes()
}

// writeTable writes a table in Markdown.
func writeTable(b *bytes.Buffer, t cli.Table) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	fmt.Fprintln(b)
	line(t.Header)
	rule := make([]string, len(t.Header))
	for i := range rule {
		if rule[i] = "--:"; i < t.Words {
			rule[i] = "---"
		}
	}
	line(rule)
	for _, row := range t.Rows {
		line(row)
	}
}

// Summary returns the page as text for a terminal of some columns: every exhibit with its sentence, and how
// many of its claims have each verdict.
func (p *Page) Summary(columns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", cli.WrapAt(p.Counts, "", 0, columns))
	for _, e := range p.Exhibits {
		fmt.Fprintf(&b, "\n%s\n  %s\n", e.Title, cli.WrapAt(e.Says, "  ", 2, columns))
		for i := range e.Claims {
			r := &e.Claims[i]
			text := fmt.Sprintf("%s %s.", r.Text, sentence(r.String()))
			fmt.Fprintf(&b, "  - %s\n", cli.WrapAt(text, "    ", 4, columns))
		}
	}
	return b.String()
}

// sentence returns a verdict with a capital.
func sentence(verdict string) string { return strings.ToUpper(verdict[:1]) + verdict[1:] }
