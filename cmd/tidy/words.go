package main

import (
	"bytes"
	_ "embed" // the list of words
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

//go:embed words.txt
var wordList string

// A word is a banned word or phrase, and what to write instead.
type word struct {
	pattern *regexp.Regexp
	instead string
}

// words are the entries of words.txt. Words of one entry may stand on different lines of
// a text.
var words = parseWords(wordList)

// parseWords reads a list of words.
func parseWords(list string) []word {
	var all []word
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		pattern, instead, _ := strings.Cut(line, " | ")
		pattern = strings.ReplaceAll(strings.TrimSpace(pattern), " ", `\s+`)
		all = append(all, word{regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`), strings.TrimSpace(instead)})
	}
	return all
}

// checkWords finds banned words in comments and strings of Go and in the prose of
// Markdown.
func checkWords(f *file) []Violation {
	if inTestdata(f.path) || generated(f) {
		return nil
	}
	if path.Ext(f.path) == ".md" {
		return findWords(f, prose(f.text), 1)
	}
	if f.syntax == nil {
		return nil
	}
	var found []Violation
	for _, group := range f.syntax.Comments {
		var text strings.Builder
		for _, comment := range group.List {
			text.WriteString(strings.TrimPrefix(comment.Text, "//") + "\n")
		}
		found = append(found, findWords(f, text.String(), f.line(group.Pos()))...)
	}
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		if _, isImport := node.(*ast.ImportSpec); isImport {
			return false // other people spell their packages
		}
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			found = append(found, findWords(f, literal.Value, f.line(literal.Pos()))...)
		}
		return true
	})
	return found
}

// findWords finds banned words in a text that begins on a line of a file.
func findWords(f *file, text string, line int) []Violation {
	var found []Violation
	for _, w := range words {
		for _, at := range w.pattern.FindAllStringIndex(text, -1) {
			match := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
			found = append(found, Violation{f.path, line + strings.Count(text[:at[0]], "\n"), "word",
				fmt.Sprintf("%q: write %s", match, w.instead)})
		}
	}
	return found
}

// code matches code within a line of Markdown.
var code = regexp.MustCompile("`[^`\n]*`")

// prose returns a text of Markdown with its code blanked and its lines kept.
func prose(markdown []byte) string {
	var kept strings.Builder
	inBlock := false
	for line := range bytes.Lines(markdown) {
		switch {
		case fence.Match(line):
			inBlock = !inBlock
			kept.WriteString("\n")
		case inBlock:
			kept.WriteString("\n")
		default:
			kept.Write(code.ReplaceAll(line, []byte("``")))
		}
	}
	return kept.String()
}
