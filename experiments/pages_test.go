package main

import (
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/algo/metric"
	"tandem/experiments/fidelity/claims"
	"tandem/experiments/internal/report"
)

// The table of the results page is the one that the stored results give.
func TestResultsPageHasTheTableOfClaims(t *testing.T) {
	const page = "../docs/results.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "results.md")
	if err := os.WriteFile(again, text, 0o644); err != nil {
		t.Fatal(err)
	}
	p := program{chapters: []report.Chapter{{Experiments: []*report.Experiment{claims.New(stored)}}},
		stdout: t.Output(), stderr: t.Output(), now: time.Now, stored: stored}
	if code := p.run(t.Context(), []string{"claims", "--page", again, "--out", t.TempDir()}); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	if now, err := os.ReadFile(again); err != nil || string(now) != string(text) {
		t.Errorf("run go run ./experiments claims --page docs/results.md, and read what has changed (%v)",
			err)
	}
}

// intervals returns all intervals in a JSON value.
func intervals(v any, list []metric.Interval) []metric.Interval {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			list = intervals(one, list)
		}
	case map[string]any:
		number := func(names ...string) (float64, bool) {
			for _, name := range names {
				if f, ok := v[name].(float64); ok {
					return f, true
				}
			}
			return 0, false
		}
		middle, ok := number("estimate", "Estimate", "middle", "median")
		low, atLow := number("low", "Low")
		high, atHigh := number("high", "High")
		if ok && atLow && atHigh {
			list = append(list, metric.Interval{Estimate: middle, Low: low, High: high})
		}
		for _, one := range v {
			list = intervals(one, list)
		}
	}
	return list
}

// printed reports whether a page may print a value as a text: with as many decimals, of either sign, in
// hundredths, units, thousands or millions.
func printed(text string, v float64) bool {
	want, err := strconv.ParseFloat(text, 64)
	_, decimals, _ := strings.Cut(text, ".")
	last := math.Pow(10, -float64(len(decimals)))
	for _, unit := range []float64{0.01, 1, 1e3, 1e6} {
		if err == nil && math.Abs(math.Abs(v)/unit-want) <= 0.501*last {
			return true
		}
	}
	return false
}

var (
	plusMinus = regexp.MustCompile(`(\d+\.\d+) ± (\d+\.\d+)`)
	between   = regexp.MustCompile(`(\d+\.\d+)(?: ×| [a-z /]+)? \((\d+(?:\.\d+)?) to (\d+(?:\.\d+)?)\)`)
)

// Every interval in the page of a chapter, as "0.0033 ± 0.0009" or "1.41 × (1.24 to 1.75)", is an interval of
// the stored result of its section.
func TestPagesOfChaptersHaveStoredIntervals(t *testing.T) {
	results, err := report.FindResults(stored)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]metric.Interval{}
	for _, r := range results {
		text, err := fs.ReadFile(stored, r.File)
		if err != nil {
			t.Fatal(err)
		}
		var document any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		known[r.Name] = intervals(document, known[r.Name])
	}
	checked := 0
	for _, c := range chapters() {
		page, err := os.ReadFile(filepath.Join(c.Name, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		for section := range strings.SplitSeq(string(page), "\n## ") {
			name, text, _ := strings.Cut(section, "\n")
			text = strings.Join(strings.Fields(text), " ")
			check := func(pattern *regexp.Regexp, of func(v metric.Interval) []float64) {
				for _, found := range pattern.FindAllStringSubmatch(text, -1) {
					checked++
					if !anyPrinted(found[1:], known[name], of) {
						t.Errorf("%s, %s: no stored interval is %s", c.Name, name, found[0])
					}
				}
			}
			check(plusMinus, func(v metric.Interval) []float64 {
				return []float64{v.Estimate, (v.High - v.Low) / 2}
			})
			check(between, func(v metric.Interval) []float64 { return []float64{v.Estimate, v.Low, v.High} })
		}
	}
	if checked < 80 {
		t.Errorf("only %d intervals were checked", checked)
	}
}

// anyPrinted reports whether any interval prints as some texts.
func anyPrinted(texts []string, list []metric.Interval, of func(v metric.Interval) []float64) bool {
	for _, v := range list {
		all := true
		for i, value := range of(v) {
			all = all && printed(texts[i], value)
		}
		if all {
			return true
		}
	}
	return false
}

// Every command in a page names an experiment that exists, and parts that it has.
func TestPagesNameExperiments(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "*/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	command := regexp.MustCompile(`go run \./experiments ([a-z-]+)(?: --part ([a-z-]+))?`)
	p, named := program{chapters: chapters()}, 0
	others := append(subcommands(), "batch-size") // the last is the example's
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range command.FindAllStringSubmatch(string(text), -1) {
			named++
			name, part := words[1], words[2]
			if strings.HasPrefix(name, "-") || slices.Contains(others, name) {
				continue
			}
			if _, err := p.find([]string{name}); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if whole, leaf := p.leaf(part); part != "" && (leaf == nil || whole.Name != name) {
				t.Errorf("%s: %s has no part %q", page, name, part)
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d commands were found", named)
	}
}
