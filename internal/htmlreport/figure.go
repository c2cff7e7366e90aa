package htmlreport

import (
	"fmt"
	"html/template"
	"os"
	"regexp"
	"strings"
)

// WriteFigure writes a figure as an SVG file of its own, on a light page, with the names of its series below.
// Svg is what Chart.SVG or Gantt.SVG returns.
func WriteFigure(name, title string, svg template.HTML, legend []string) error {
	text := string(svg)
	m := viewBox.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("htmlreport: %s: there is nothing to show", title)
	}
	var width, height float64
	if _, err := fmt.Sscan(m[1], &width, &height); err != nil {
		return err
	}
	const head, line = 26.0, 18.0
	all := height + head + line*float64(len(legend))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g">`,
		width, all, width, all)
	fmt.Fprintf(&b, "\n<style>%s</style>\n", lightStyle())
	fmt.Fprintf(&b, `<rect class="page" width="%g" height="%g"/>`+"\n", width, all)
	fmt.Fprintf(&b, `<text class="title" x="8" y="18">%s</text>`+"\n", template.HTMLEscapeString(title))
	fmt.Fprintf(&b, `<svg y="%g" width="%g" height="%g" %s`+"\n", head, width, height,
		strings.TrimPrefix(text, "<svg "))
	for i, name := range legend {
		y := head + height + line*float64(i) + 6
		fmt.Fprintf(&b, `<g class="%s"><polyline points="8,%g 28,%g"/></g>`, seriesClass(i), y, y)
		fmt.Fprintf(&b, `<text class="tick" x="34" y="%g">%s</text>`+"\n", y+4,
			template.HTMLEscapeString(name))
	}
	b.WriteString("</svg>\n")
	return os.WriteFile(name, []byte(b.String()), 0o644)
}

var (
	viewBox = regexp.MustCompile(`^<svg viewBox="0 0 ([0-9.]+ [0-9.]+)"`)
	colour  = regexp.MustCompile(`(--\w+): (#\w+)`)
	// figureRule matches a line of the style sheet about parts of figures.
	figureRule = regexp.MustCompile(`^(svg text|svg \.|\.)`)
	variable   = regexp.MustCompile(`var\((--\w+)\)`)
)

// lightStyle returns the styles of figures with the colours of a light page written out, since not every
// program that shows SVG knows variables.
func lightStyle() string {
	light, _, _ := strings.Cut(style, "@media")
	colours := map[string]string{}
	for _, m := range colour.FindAllStringSubmatch(light, -1) {
		colours[m[1]] = m[2]
	}
	var kept []string
	for line := range strings.Lines(style) {
		if figureRule.MatchString(line) {
			kept = append(kept, line)
		}
	}
	kept = append(kept, ".page { fill: var(--page); }\n",
		"svg .title { font-size: 15px; font-weight: 600; fill: var(--text); }\n")
	return variable.ReplaceAllStringFunc(strings.Join(kept, ""), func(use string) string {
		return colours[variable.FindStringSubmatch(use)[1]]
	})
}
