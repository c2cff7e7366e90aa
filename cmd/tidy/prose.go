package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// paragraphLinesMax is the length of a paragraph that a reader takes in at once.
	paragraphLinesMax = 6
	// parenthesesMax is the number of parentheses that a sentence may have: a second one interrupts a reader
	// who has just returned from the first.
	parenthesesMax = 1
)

// notProse are pages that checkProse leaves alone, and why.
var notProse = map[string]string{
	"docs/reference/job.md": "written by docs/reference from the comments of the code",
}

// checkProse finds paragraphs of Markdown that are too long, and sentences with too many parentheses. Tables
// and code are not prose.
func checkProse(f *file) []Violation {
	if path.Ext(f.path) != ".md" || inTestdata(f.path) || notProse[f.path] != "" {
		return nil
	}
	var found []Violation
	for _, p := range paragraphs(f.text) {
		if lines := strings.Count(p.text, "\n"); lines > paragraphLinesMax {
			found = append(found, Violation{f.path, p.line, "paragraph",
				fmt.Sprintf("%d lines, at most %d: make two of it, or a list", lines, paragraphLinesMax)})
		}
		for _, s := range sentences(p) {
			if begins := parentheses(s.text); len(begins) > parenthesesMax {
				excess := s.line + strings.Count(s.text[:begins[parenthesesMax]], "\n")
				found = append(found, Violation{f.path, excess, "parentheses",
					fmt.Sprintf("%d parentheses in a sentence, at most %d: make two sentences of it",
						len(begins), parenthesesMax)})
			}
		}
	}
	return found
}

// passage is a piece of prose and the line on which it begins.
type passage struct {
	line int
	text string // whole lines of a paragraph; of a sentence, what it has of them
}

var (
	// listItem matches the line that begins an item of a list.
	listItem = regexp.MustCompile(`^ *(?:[-*+]|\d+[.)]) `)
	// heading matches a heading.
	heading = regexp.MustCompile(`^#+ `)
)

// paragraphs returns the paragraphs of a text of Markdown, each item of a list as one of its own.
func paragraphs(markdown []byte) (all []passage) {
	var p passage
	end := func() {
		if p.text != "" {
			all = append(all, p)
		}
		p = passage{}
	}
	number, inBlock, inList := 0, false, false
	for line := range bytes.Lines(markdown) {
		number++
		text := strings.TrimRight(string(line), " \r\n")
		indent := len(text) - len(strings.TrimLeft(text, " "))
		switch {
		case fence.MatchString(text):
			end()
			inBlock = !inBlock
		case inBlock:
		case text == "", heading.MatchString(text), isTableRow(text):
			end()
		case p.text == "" && indentedCode(indent, inList):
		default:
			isItem := listItem.MatchString(text)
			if isItem {
				end()
			}
			if p.text == "" {
				p.line = number
				inList = isItem || inList && indent > 0
			}
			p.text += text + "\n"
		}
	}
	end()
	return all
}

// indentedCode reports whether a line behind an empty one is code by its indentation, of which the items of a
// list have some themselves.
func indentedCode(indent int, inList bool) bool {
	if inList {
		return indent >= 8
	}
	return indent >= 4
}

// codeSpan matches code within a paragraph.
var codeSpan = regexp.MustCompile("`[^`]*`")

// sentences returns the sentences of a paragraph, with code crossed out. A sentence ends behind a full stop,
// an exclamation mark or a question mark that is outside of parentheses, or the last in them.
func sentences(p passage) (all []passage) {
	text := codeSpan.ReplaceAllStringFunc(p.text, func(match string) string {
		return "x" + strings.Repeat("\n", strings.Count(match, "\n"))
	})
	start, depth, stopped := 0, 0, false
	for at, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(depth-1, 0)
		case r == '.' || r == '!' || r == '?':
			stopped = true
		case unicode.IsSpace(r) && stopped && depth == 0:
			all = append(all, passage{p.line + strings.Count(text[:start], "\n"), text[start:at]})
			start, stopped = at, false
		case !strings.ContainsRune(`*_"”’`, r):
			stopped = false
		}
	}
	return append(all, passage{p.line + strings.Count(text[:start], "\n"), text[start:]})
}

// remark matches what begins with a word in parentheses.
var remark = regexp.MustCompile(`\([^()]*?\p{L}{2}`)

// parentheses returns where the parentheses of a sentence begin. They begin a word and have a word in them:
// f(x), (1) and (1 + 2τ) belong to formulas, and (page.md) behind a bracket to a link.
func parentheses(sentence string) (begins []int) {
	for _, at := range remark.FindAllStringIndex(sentence, -1) {
		before, _ := utf8.DecodeLastRuneInString(sentence[:at[0]])
		if at[0] == 0 || unicode.IsSpace(before) || slices.Contains([]rune(`*_"“—–`), before) {
			begins = append(begins, at[0])
		}
	}
	return begins
}
