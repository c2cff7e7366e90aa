package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
	"tandem/experiments/papers"
)

// storedPage returns the page of the papers' figures from results.
func storedPage(t *testing.T, results fs.FS) *papers.Page {
	t.Helper()
	p := &program{stored: results}
	page, err := papers.New(papers.Input{Stored: results, Redraw: p.redrawAlone})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// The page in the repository, and every figure on it, is what the stored results give.
func TestPageOfThePapersFollowsFromStoredResults(t *testing.T) {
	page := storedPage(t, stored)
	const name, again = "../docs/paper.md", "run go run ./experiments paper --page docs/paper.md"
	text, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(text, page.Markdown("../experiments/papers")) {
		t.Errorf("%s: %s, and read what has changed (%v)", name, again, err)
	}
	folder := t.TempDir()
	if err := page.WriteFigures(folder); err != nil {
		t.Fatal(err)
	}
	drawn, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob("papers/*.svg")
	if err != nil || len(kept) != len(drawn) || len(kept) < 9 {
		t.Errorf("%d figures are kept, %d drawn (%v)", len(kept), len(drawn), err)
	}
	for _, name := range drawn {
		now, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(filepath.Join("papers", filepath.Base(name)))
		if err != nil || !bytes.Equal(now, before) {
			t.Errorf("%s has changed: %s (%v)", filepath.Base(name), again, err)
		}
	}
}

// Every claim stands below exactly one figure or table, and every exhibit shows and says something.
func TestEveryClaimIsOnThePageOnce(t *testing.T) {
	page := storedPage(t, stored)
	times := map[string]int{}
	for _, e := range page.Exhibits {
		for i := range e.Claims {
			times[e.Claims[i].ID]++
		}
		if e.Says == "" || e.Figure == nil && e.Tables == nil {
			t.Errorf("%s shows or says nothing", e.Name)
		}
	}
	for i := range page.Claims {
		if id := page.Claims[i].ID; times[id] != 1 {
			t.Errorf("claim %s is on the page %d times", id, times[id])
		}
	}
}

// The simulated models have as many sparse parameters as the paper's.
func TestModelsOnThePageHaveThePapersRows(t *testing.T) {
	for _, e := range storedPage(t, stored).Exhibits {
		if e.Name != "models" {
			continue
		}
		for _, row := range e.Tables[0].Rows {
			if row[3] != row[4] {
				t.Errorf("%s: %s sparse parameters, %s in the paper", row[0], row[4], row[3])
			}
		}
		return
	}
	t.Error("there is no table of models")
}

// Every result that a part of the page names is among those that the page lists and paper --run makes.
func TestThePageListsItsResults(t *testing.T) {
	for _, e := range storedPage(t, stored).Exhibits {
		for _, note := range e.Notes {
			made := regexp.MustCompile(`run [0-9a-f]{8} of ([a-z-]+)`)
			for _, made := range made.FindAllStringSubmatch(note, -1) {
				if !slices.Contains(papers.Experiments(), made[1]) {
					t.Errorf("%s: %s is not among the experiments of the page", e.Name, made[1])
				}
			}
		}
	}
}

// A figure changes when a stored number of it does, and no other figure does.
func TestFiguresOfThePageChangeWithStoredNumbers(t *testing.T) {
	before := storedPage(t, stored)
	for _, x := range []struct {
		file    string
		change  func(text string) string
		changes []string // exhibits
	}{
		{"persia/scalability/full.json", changed("Criteo, Persia, 8 GPUs"),
			[]string{"throughput", "auc-by-time"}},
		{"persia/kwai/full.json", changed("hybrid, 64 GPUs"), []string{"kwai"}},
		{"persia/capacity/full.json", changed("100 T, hybrid"), []string{"capacity"}},
		{"neo/neo/full.json", changed("Neo on ZionEX"), []string{"neo-cpus"}},
	} {
		text, err := fs.ReadFile(stored, x.file)
		if err != nil {
			t.Fatal(err)
		}
		other := x.change(string(text))
		if other == string(text) {
			t.Fatalf("%s: nothing was changed", x.file)
		}
		after := storedPage(t, overlaid(t, x.file, other))
		wanted := strings.Join(x.changes, " ")
		var got []string
		for i, e := range after.Exhibits {
			if picture(t, e) != picture(t, before.Exhibits[i]) {
				got = append(got, e.Name)
			}
		}
		if strings.Join(got, " ") != wanted {
			t.Errorf("%s: the figures %v have changed, want %s", x.file, got, wanted)
		}
	}
}

// changed returns a function that doubles the throughput of a case.
func changed(name string) func(text string) string {
	return func(text string) string {
		before, after, _ := strings.Cut(text, `"name": "`+name+`",`)
		at := strings.Index(after, `"middle": `) + len(`"middle": `)
		return before + `"name": "` + name + `",` + after[:at] + "2" + after[at:]
	}
}

// overlaid returns the stored results with another text in one file.
func overlaid(t *testing.T, file, text string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	names, err := fs.Glob(stored, "*/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(stored, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &fstest.MapFile{Data: data}
	}
	if !json.Valid([]byte(text)) {
		t.Fatalf("%s is no JSON any more", file)
	}
	all[file] = &fstest.MapFile{Data: []byte(text)}
	return all
}

// picture returns the figure of an exhibit, or "".
func picture(t *testing.T, e *papers.Exhibit) string {
	t.Helper()
	if e.Figure == nil {
		return ""
	}
	drawing, err := e.Figure.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return string(drawing)
}

// The page leaves the flags of the program's own experiments alone: a stored result has others.
func TestPageLeavesFlagsAlone(t *testing.T) {
	p := &program{chapters: chapters(), own: map[*report.Experiment]*pflag.FlagSet{}, stored: stored}
	storedBefore := p.own
	if _, err := papers.New(papers.Input{Stored: stored, Redraw: p.redrawAlone}); err != nil {
		t.Fatal(err)
	}
	if len(storedBefore) != 0 {
		t.Errorf("%d experiments got the flags of stored results", len(storedBefore))
	}
}
