package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/internal/cli"
)

// The index opens with headlines, tables before figures, of the latest report of each experiment; then it
// lists all reports.
func TestIndexOpensWithHeadlines(t *testing.T) {
	folder := t.TempDir()
	write := func(name, run string, day int, h *Headline) {
		t.Helper()
		r := &Report{
			Name: name, Run: run, Question: "Why " + name + "?", Command: "go run ./experiments " + name,
			Settings: struct{}{}, Started: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), Headline: h,
		}
		into := filepath.Join(folder, run)
		if err := os.Mkdir(into, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteFolder(into); err != nil {
			t.Fatal(err)
		}
	}
	table := func(caption string) *Headline {
		return &Headline{Table: &cli.Table{Caption: caption, Header: []string{"claim"},
			Rows: [][]string{{"x"}}}}
	}
	write("claims", "01", 1, table("old verdicts"))
	write("claims", "02", 2, table("new verdicts"))
	write("phase", "03", 3, &Headline{Figure: "diagram"})
	write("kwai", "04", 4, nil)
	if err := WriteIndex(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, IndexName))
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, want := range []string{"new verdicts", `src="03/diagram.svg"`, "All reports", "Why kwai?"} {
		next := strings.Index(string(text), want)
		if next <= at {
			t.Errorf("%q is at %d, after what begins at %d", want, next, at)
		}
		at = next
	}
	if strings.Contains(string(text), "old verdicts") {
		t.Error("the index opens with an old report as well")
	}
}
