package main

import (
	"strings"
	"testing"
)

func TestParagraphs(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("Words.\n", n) }
	run(t, checkProse, []snippet{
		{"as long as may be", "a.md", lines(6), nil},
		{"too long", "a.md", "# Page\n\n" + lines(7), []string{"3: paragraph"}},
		{"too long at the end of the file", "a.md", strings.TrimSuffix(lines(7), "\n"),
			[]string{"1: paragraph"}},
		{"line ends of another system", "a.md", strings.ReplaceAll(lines(6), "\n", "\r\n") + "\r\n" +
			lines(6), nil},
		{"an empty line ends it", "a.md", lines(6) + "\n" + lines(6), nil},
		{"spaces are an empty line", "a.md", lines(6) + "   \n" + lines(6), nil},
		{"a heading ends it", "a.md", lines(6) + "## Next\n" + lines(6), nil},
		{"a table ends it", "a.md", lines(6) + "| a |\n|---|\n" + strings.Repeat("| b |\n", 9) + lines(6),
			nil},
		{"output ends it", "a.md", lines(3) + "```\n" + lines(9) + "```\n" + lines(3), nil},
		{"behind output", "a.md", "```sh\n" + lines(9) + "```\n" + lines(7), []string{"12: paragraph"}},
		{"code by indentation", "a.md", "Words:\n\n" + strings.Repeat("    code\n", 9), nil},
		{"an indented line of a paragraph", "a.md", lines(3) + strings.Repeat("    words\n", 4),
			[]string{"1: paragraph"}},
		{"items of a list", "a.md", strings.Repeat("- Words.\n  Words.\n", 9), nil},
		{"an item too long", "a.md", "- Words.\n1. " + lines(1) + strings.Repeat("   Words.\n", 6) +
			"2. Words.\n", []string{"2: paragraph"}},
		{"a second paragraph of an item", "a.md", "1. Words.\n\n" + strings.Repeat("    Words.\n", 7),
			[]string{"3: paragraph"}},
		{"a third paragraph of an item", "a.md", "1. Words.\n\n    Words.\n\n" +
			strings.Repeat("    Words.\n", 7), []string{"5: paragraph"}},
		{"code of an item", "a.md", "- Words:\n\n" + strings.Repeat("        code\n", 9), nil},
		{"code behind a list", "a.md", "- Words.\n\nWords.\n\n" + strings.Repeat("    code\n", 9), nil},
		{"testdata", "p/testdata/a.md", lines(7), nil},
		{"a generated page", "docs/reference/job.md", lines(7), nil},
		{"a page of that name elsewhere", "docs/job.md", lines(7), []string{"1: paragraph"}},
		{"not a page", "a.txt", lines(7), nil},
	})
}

func TestParentheses(t *testing.T) {
	run(t, checkProse, []snippet{
		{"one in each sentence", "a.md", "One (here). Two (here)! Three (here)? Four (here).\n", nil},
		{"two", "a.md", "One (here) and (there).\n", []string{"1: parentheses"}},
		{"where the second begins", "a.md", "Words.\n\nFirst. One (here)\nand\nthen (there).\n",
			[]string{"5: parentheses"}},
		{"where the second begins on a later line", "a.md", "First\nline. One (here)\nand (there). Third.\n",
			[]string{"3: parentheses"}},
		{"at the end, without a full stop", "a.md", "First\nline. One (here)\nand (there)\n",
			[]string{"3: parentheses"}},
		{"behind code of several lines", "a.md", "One (here) `a\nb` and\n(there).\n",
			[]string{"3: parentheses"}},
		{"one within the other", "a.md", "One (here (or there)).\n", []string{"1: parentheses"}},
		{"no end of a sentence", "a.md", "One (here): f.go; 0.5 of it (there).\n",
			[]string{"1: parentheses"}},
		{"sentences in parentheses", "a.md", "One (here). (Two. Or *three.*) And four (there).\n", nil},
		{"sentences within parentheses", "a.md", "One (here. There) and (there).\n",
			[]string{"1: parentheses"}},
		{"emphasis at the end", "a.md", "**One (here).** Two (there).\n", nil},
		{"emphasis before", "a.md", "*(One)* and **(two)**.\n", []string{"1: parentheses"}},
		{"a dash before", "a.md", "Here—(one)—and (two).\n", []string{"1: parentheses"}},
		{"an empty line ends a sentence", "a.md", "One (here)\n\nand (there)\n", nil},
		{"items of a list", "a.md", "- one (here)\n- two (there)\n", nil},
		{"a list of two in an item", "a.md", "- one (here)\n- two (there),\n  three (there)\n",
			[]string{"3: parentheses"}},
		{"a never ending one", "a.md", "One (here. Two (there).\n", []string{"1: parentheses"}},
		{"one that never began", "a.md", "One) here. Two (there). Three (there).\n", nil},
		{"formulas", "a.md", "By (1) and (2), F(x) is f(mean of x) + (1 + 2τ) for (a) (as said).\n", nil},
		{"formulas beside two", "a.md", "By (1), F(x) is (for example) 2 (as said).\n",
			[]string{"1: parentheses"}},
		{"code", "a.md", "One `a (here) b` and `c\n(there) d` (here).\n", nil},
		{"a full stop in code", "a.md", "One (here) `a. b` two (there).\n", []string{"1: parentheses"}},
		{"links", "a.md", "[One](a/page.md), [two](#here) and [three](https://example.org/) (there).\n", nil},
		{"beside links", "a.md", "([One](a/page.md)) and\n([two](b.md)).\n", []string{"2: parentheses"}},
		{"other letters", "a.md", "Öl (für) ihn (öl).\n", []string{"1: parentheses"}},
		{"tables", "a.md", "| one (here) | two (there) |\n", nil},
		{"output", "a.md", "```\none (here) two (there)\n```\n", nil},
		{"code by indentation", "a.md", "    one (here) two (there)\n", nil},
		{"headings", "a.md", "# One (here) and (there)\n", nil},
		{"testdata", "testdata/a.md", "One (here) and (there).\n", nil},
	})
}

// A page that is left alone exists, and has its reason.
func TestPagesLeftAlone(t *testing.T) {
	for name, reason := range notProse {
		if _, err := readFile("../../"+name, name); err != nil || reason == "" {
			t.Errorf("%s, %q: %v", name, reason, err)
		}
	}
}
