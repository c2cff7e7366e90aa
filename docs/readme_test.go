package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tandem/algo/job"
)

// The job file that the README starts a newcomer with is complete.
func TestJobFileOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, b := range blocks(string(text)) {
		if b.language != "yaml" {
			continue
		}
		found++
		if _, err := job.Parse([]byte(b.body), "clicks.yaml"); err != nil {
			t.Error(err)
		}
	}
	if found == 0 {
		t.Error("README.md shows no job file")
	}
}

// link matches a link of Markdown and captures its target, without the heading within the page.
var link = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)

// Every link within the repository leads to a file.
func TestLinks(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("..", func(page string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(page) != ".md" {
			return err
		}
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 20 {
		t.Errorf("%d links found", checked)
	}
}
