package claims

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"

	"tandem/internal/cli"
)

// The marks around the table in a page.
const (
	pageBegin = "<!-- go run ./experiments claims --page docs/results.md writes this table -->\n"
	pageEnd   = "<!-- end of the table -->\n"
)

// writePage replaces what a page has between its marks by the table of the claims.
func writePage(name string, judged []Row) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, begun := bytes.Cut(text, []byte(pageBegin))
	_, after, ended := bytes.Cut(rest, []byte(pageEnd))
	if !begun || !ended {
		return &cli.Error{Err: fmt.Errorf("%s: the page has no marks for the table", name),
			Hint: "put these two lines where the table belongs: " + strings.TrimSpace(pageBegin) + " and " +
				strings.TrimSpace(pageEnd)}
	}
	page := string(before) + pageBegin + pageTable(judged) + pageEnd + string(after)
	return os.WriteFile(name, []byte(page), 0o644)
}

// pageTable returns the claims as a table in Markdown, with a sentence that counts the verdicts.
func pageTable(judged []Row) string {
	var t strings.Builder
	fmt.Fprintf(&t, "\n| claim | paper | ours | verdict | more |\n|---|---|---|---|---|\n")
	for i := range judged {
		r := &judged[i]
		published, ours := r.Texts()
		more := "–"
		if chapter := path.Dir(path.Dir(r.File)); r.File != "" {
			more = fmt.Sprintf("[%s](../experiments/%s/README.md#%s)", r.Experiment, chapter, r.Experiment)
		}
		fmt.Fprintf(&t, "| %s: %s | %s | %s | %s | %s |\n", r.System, strings.TrimSuffix(r.Text, "."),
			published, ours, r.judgement.String(), more)
	}
	fmt.Fprintf(&t, "\n%s\n\n", cli.WrapAt(findings(judged)[0], "", 0, pageColumns))
	return t.String()
}

// Texts returns the published number and ours, for a page; – stands for none.
func (r *Row) Texts() (published, ours string) {
	published, ours = "–", "–"
	if r.Published != nil {
		published = r.Published.oneLine()
	}
	if r.Ours != nil {
		p := r.Published
		ours = fmt.Sprintf("%s (%s to %s)", p.text(r.Ours.Estimate), p.digits(r.Ours.Low),
			p.digits(r.Ours.High))
		if r.Version == quick {
			ours += ", quick run"
		}
	}
	return published, ours
}

// pageColumns is the width of the pages.
const pageColumns = 110
