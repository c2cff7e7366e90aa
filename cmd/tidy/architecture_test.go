package main

import (
	"slices"
	"strings"
	"testing"
)

// goodMap is a map that fits goodTree.
const goodMap = `# Architecture

A role is a state machine (algo/p/{role,pace}/*), see [terms](docs/terms.md) and https://docs/sim/x.

| folder | question |
|---|---|
| ` + "`algo/p/{role,pace}`, `algo/exec`" + ` | What? |
| ` + "`runtime/*`, `top`" + ` | How? |

| law | package | tests |
|---|---|---|
| it holds | ` + "`algo/p/{role,pace}`" + ` | ` + "`TestRole`, `TestPace`, `FuzzPace`" + ` |

| subject | package |
|---|---|
| roles | ` + "`algo/p/role`" + ` |

| module | for | why not our own |
|---|---|---|
| ` + "`a/b`, `c.org/d`" + ` | x | y |
| ` + "`honnef.co/go/tools`" + ` | x | y |
`

// goodTree is a tree that fits goodMap.
func goodTree() map[string]string {
	return map[string]string{
		mapFile:                               goodMap,
		"docs/terms.md":                       "# Terms\n",
		"doc.go":                              "package tandem\n",
		"algo/p/role/doc.go":                  "package role\n",
		"algo/p/role/role_test.go":            "package role\n\nfunc TestRole(*testing.T) {}\n",
		"algo/p/role/sub/sub.go":              "package sub\n",
		"algo/p/pace/pace.go":                 "package pace\n\nfunc TestNot() {}\n",
		"algo/p/pace/pace_test.go":            "package pace\n\nfunc TestPace() {}\n\nfunc FuzzPace() {}\n",
		"algo/p/internal/x/x.go":              "package x\n",
		"algo/p/roletest/roletest.go":         "package roletest\n",
		"algo/exec/exec.go":                   "package exec\n",
		"algo/exec/testdata/generated/gen.go": "package gen\n",
		"runtime/driver/driver.go":            "package driver\n",
		"top/top.go":                          "package top\n",
		"runtime/driver/deep/deep.go":         "package deep\n",
		"go.mod": "module tandem\n\ngo 1.26\n\n" +
			"require (\n\tgithub.com/a/b/v2 v2.1.0 // newest\n\tc.org/d v1.0.0\n)\n\n" +
			"require e.org/f v1.0.0 // indirect\n\ntool honnef.co/go/tools/cmd/staticcheck\n",
	}
}

// parseTree makes files of their texts, in the order of paths.
func parseTree(t *testing.T, texts map[string]string) (files []*file) {
	t.Helper()
	for name, text := range texts {
		parsed, err := parseFile(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parsed)
	}
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	return files
}

// Each case changes one file of a tree that fits its map, or removes it, and breaks one rule.
func TestArchitecture(t *testing.T) {
	const (
		removed = "(removed)"
		noRow   = ":1: map-tree: the tree of " + mapFile + " has no row for this package: add it, with its " +
			"question"
		noReason = ": say what it is for, and why not our own"
	)
	edit := func(old, new string) string {
		if strings.Count(goodMap, old) != 1 {
			t.Fatalf("%q is not once in the map", old)
		}
		return strings.Replace(goodMap, old, new, 1)
	}
	for _, c := range []struct {
		name, path, text string
		want             string // the violations; "" if there are none
	}{
		{"all is well", "docs/more.md", "", ""},
		{"no map", mapFile, removed, mapFile + ":1: map: there is no map: say where things are, and why"},
		{"as long as may be", mapFile, goodMap + strings.Repeat("\n", 250-strings.Count(goodMap, "\n")), ""},
		{"too long", mapFile, goodMap + strings.Repeat("\n", 251-strings.Count(goodMap, "\n")),
			mapFile + ":251: map-length: 251 lines, at most 250: what explains one package goes into " +
				"its doc.go"},
		{"no laws", mapFile, edit("| law |", "| rule |"),
			mapFile + ":1: map: no table | law | package | tests |"},
		{"no subjects", mapFile, edit("| subject |", "| what |"),
			mapFile + ":1: map: no table | subject | package |"},

		{"a package that is in no row", "algo/p/msg/msg.go", "package msg\n", "algo/p/msg" + noRow},
		{"a new layer", "network/network.go", "package network\n", "network" + noRow},
		{"an internal package of no row", "internal/y/y.go", "package y\n", "internal/y" + noRow},
		{"a package of tests alone", "algo/p/msg/msg_test.go", "package msg\n", "algo/p/msg" + noRow},
		{"a package below a row", "algo/p/role/more/more.go", "package more\n", ""},
		{"a package that only tests use", "algo/p/pacetest/p.go", "package pacetest\n", ""},
		{"a row without a package",
			"algo/exec/exec.go", removed, mapFile + ":7: map-tree: algo/exec is no package"},
		{"a row without packages below", mapFile, edit("`runtime/*`", "`runtime/*`, `docs/*`, `algo/exec/*`"),
			mapFile + ":8: map-tree: docs/* is no package, " +
				mapFile + ":8: map-tree: algo/exec/* is no package"},

		{"a file that is gone", "docs/terms.md", removed,
			mapFile + ":3: map-name: docs/terms.md does not exist"},
		{"a name in a picture", mapFile, goodMap + "```\n  cmd/{train,sim} │\n```\n", mapFile +
			":23: map-name: cmd/train does not exist, " + mapFile + ":23: map-name: cmd/sim does not exist"},

		{"a file by its name alone", mapFile, goodMap + "`pace.go` and `rule.go`\n",
			mapFile + ":22: map-name: there is no file rule.go"},

		{"a subject without doc.go", mapFile, edit("| roles | `algo/p/role` |", "| paces | `algo/p/pace` |"),
			mapFile + ":16: map-doc: algo/p/pace has no doc.go that explains this subject"},
		{"a subject without package", mapFile, edit("| roles | `algo/p/role` |", "| roles | |"),
			mapFile + ":16: map-doc: no package explains this subject"},

		{"a test that is gone", "algo/p/pace/pace_test.go", "package pace\n\nfunc FuzzPace() {}\n",
			mapFile + ":12: law: TestPace is no test of these packages"},
		{"a test of another package", mapFile, edit("| `algo/p/{role,pace}` |", "| `algo/p/pace` |"),
			mapFile + ":12: law: TestRole is no test of these packages"},
		{"a method of that name", "algo/p/role/role_test.go", "package role\n\nfunc (t) TestRole() {}\n",
			mapFile + ":12: law: TestRole is no test of these packages, " + mapFile +
				":12: law: algo/p/role has none of the tests"},
		{"a function outside of tests", mapFile, edit("`TestPace`,", "`TestPace`, `TestNot`,"),
			mapFile + ":12: law: TestNot is no test of these packages"},
		{"a package without a test of the law", mapFile, edit("`TestRole`, ", ""),
			mapFile + ":12: law: algo/p/role has none of the tests"},
		{"a law without a test", mapFile, edit("`TestRole`, `TestPace`, `FuzzPace`", "soon"),
			mapFile + ":12: law: a law without a test is a wish: name the package and the test that " +
				"would fail"},

		{"a law without a package", mapFile, edit("| `algo/p/{role,pace}` |", "| |"),
			mapFile + ":12: law: a law without a test is a wish: name the package and the test that " +
				"would fail"},

		{"a dependency without a reason", mapFile, edit("`a/b`, ", ""),
			"go.mod:6: module: the table of modules of " + mapFile + " lacks a/b" + noReason},
		{"a reason without a dependency", mapFile, edit("`a/b`, ", "`a/b`, `e.org/f`, "),
			mapFile + ":20: module: e.org/f is no direct dependency of go.mod"},
		{"a tool without a reason", mapFile, edit("| `honnef.co/go/tools` | x | y |\n", ""),
			"go.mod:12: module: the table of modules of " + mapFile +
				" lacks honnef.co/go/tools" + noReason},
	} {
		t.Run(c.name, func(t *testing.T) {
			texts := goodTree()
			texts[c.path] = c.text
			if c.text == removed {
				delete(texts, c.path)
			}
			var found []string
			for _, v := range checkArchitecture(parseTree(t, texts)) {
				found = append(found, v.String())
			}
			if got := strings.Join(found, ", "); got != c.want {
				t.Errorf("found\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A pattern stands for every choice of each of its braces.
func TestExpand(t *testing.T) {
	for pattern, want := range map[string]string{
		"a/b":         "a/b",
		"a/{b,c/d}/e": "a/b/e a/c/d/e",
		"{a,b}/{c,d}": "a/c a/d b/c b/d",
		"a/*":         "a/*",
	} {
		if got := strings.Join(expand(pattern), " "); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}
