package docs

import (
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// configuration is that of the site.
const configuration = "mkdocs.yml"

// navigation returns the pages in the navigation of the site, relative to the root of the tree.
func navigation(t *testing.T) (pages []string) {
	t.Helper()
	text, err := os.ReadFile(configuration)
	if err != nil {
		t.Fatal(err)
	}
	var site struct {
		Nav yaml.Node `yaml:"nav"`
	}
	if err := yaml.Unmarshal(text, &site); err != nil {
		t.Fatal(err)
	}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		switch n.Kind {
		case yaml.SequenceNode:
			for _, item := range n.Content {
				walk(item)
			}
		case yaml.MappingNode: // one title with its page or section
			walk(n.Content[1])
		case yaml.ScalarNode:
			pages = append(pages, n.Value)
		}
	}
	walk(&site.Nav)
	return pages
}

// markdown returns the pages of the tree, relative to its root.
func markdown(t *testing.T) (pages []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && name != ".."
		if entry.IsDir() && (hidden || entry.Name() == "testdata" || name == filepath.Join("..", "results")) {
			return fs.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			page, err := filepath.Rel("..", name)
			pages = append(pages, filepath.ToSlash(page))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// The navigation of the site has every page of the tree once, and no other. The index links to every page of
// this folder.
func TestNavigation(t *testing.T) {
	pages, all := navigation(t), markdown(t)
	if len(all) < 15 {
		t.Fatalf("%d pages found", len(all))
	}
	seen := map[string]bool{}
	for _, page := range pages {
		if seen[page] {
			t.Errorf("%s has %s twice", configuration, page)
		}
		seen[page] = true
		if !slices.Contains(all, page) {
			t.Errorf("%s has %s, which does not exist", configuration, page)
		}
	}
	index, err := os.ReadFile("index.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range all {
		if !seen[page] {
			t.Errorf("%s lacks %s", configuration, page)
		}
		name, ours := strings.CutPrefix(page, "docs/")
		if ours && name != "index.md" && !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("index.md has no link to %s", name)
		}
	}
}

var (
	headings    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	headingLink = regexp.MustCompile(`\]\(([^)#\s]*)#([^)\s]+)\)`)
)

// anchors returns the names that links can give to the headings of a page.
func anchors(t *testing.T, page string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range headings.FindAllStringSubmatch(string(text), -1) {
		name := punctuation.ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(strings.TrimSpace(name), " ", "-"))
	}
	return names
}

// A link to a heading leads to one, on a git host and on the site. No heading begins with a digit: the script
// of the site's theme stops at such a name.
func TestHeadings(t *testing.T) {
	checked := 0
	for _, page := range markdown(t) {
		for _, name := range anchors(t, page) {
			if name != "" && name[0] >= '0' && name[0] <= '9' {
				t.Errorf("%s: the heading %q begins with a digit", page, name)
			}
		}
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range headingLink.FindAllStringSubmatch(string(text), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if strings.Contains(m[1], "://") || filepath.Ext(target) != ".md" {
				continue
			}
			checked++
			if !slices.Contains(anchors(t, target), m[2]) {
				t.Errorf("%s links to %s#%s, a heading that does not exist", page, m[1], m[2])
			}
		}
	}
	if checked < 5 {
		t.Errorf("%d links to headings found", checked)
	}
}

// The site builds without a warning.
func TestSite(t *testing.T) {
	python := cmp.Or(os.Getenv("TANDEM_PYTHON"), "python3")
	if printed, err := exec.Command(python, "-c", "import mkdocs, pygments").CombinedOutput(); err != nil {
		t.Skipf("set TANDEM_PYTHON to an interpreter with mkdocs and pygments: %v\n%s", err, printed)
	}
	folder := t.TempDir()
	build := exec.Command(python, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file",
		configuration, "--site-dir", folder)
	if printed, err := build.CombinedOutput(); err != nil || len(printed) > 0 {
		t.Fatalf("mkdocs: %v\n%s", err, printed)
	}
	for _, page := range navigation(t) {
		page = strings.TrimSuffix(page, ".md") + ".html"
		if page == "README.html" || strings.HasSuffix(page, "/README.html") {
			page = strings.TrimSuffix(page, "README.html") + "index.html"
		}
		if _, err := os.Stat(filepath.Join(folder, page)); err != nil {
			t.Error(err)
		}
	}
}
