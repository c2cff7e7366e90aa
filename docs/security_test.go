package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each claim of the page about security names tests that exist in its packages.
func TestClaimsOfSecurityHaveTests(t *testing.T) {
	text, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted, claims := regexp.MustCompile("`([^`]+)`"), 0
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.Contains(cells[2], "`Test") {
			continue
		}
		claims++
		code := ""
		for _, folder := range quoted.FindAllStringSubmatch(cells[1], -1) {
			files, err := filepath.Glob(filepath.Join("..", folder[1], "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s has no tests: %v", folder[1], err)
			}
			for _, file := range files {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				code += string(content)
			}
		}
		for _, test := range quoted.FindAllStringSubmatch(cells[2], -1) {
			if !strings.Contains(code, "\nfunc "+test[1]+"(") {
				t.Errorf("%s has no %s", cells[1], test[1])
			}
		}
	}
	if claims < 15 {
		t.Errorf("%d claims have tests", claims)
	}
}
