package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// columnsMax is the width of a line that two windows side by side show whole.
	columnsMax = 110
	// tabColumns is the width of a tab, wherever the tab stands.
	tabColumns = 4
)

// link matches an address, which cannot be broken.
var link = regexp.MustCompile(`https?://\S+`)

// checkColumns finds lines of code and prose that are too long. Generated files and
// testdata may have any width, and so may addresses; in Markdown also tables, and code
// blocks without a language or in "text", which hold tables and output.
func checkColumns(f *file) []Violation {
	extension := path.Ext(f.path)
	known := slices.Contains([]string{".go", ".s", ".py", ".md"}, extension)
	if !known || inTestdata(f.path) || generated(f) {
		return nil
	}
	var found []Violation
	verbatim := verbatimLines(f)
	number := 0
	for line := range bytes.Lines(f.text) {
		number++
		text := strings.TrimRight(string(line), "\r\n")
		if verbatim[number] || extension == ".md" && isTableRow(text) {
			continue
		}
		if columns := width(text); columns > columnsMax &&
			width(link.ReplaceAllString(text, "")) > columnsMax {
			found = append(found, Violation{f.path, number, "columns",
				fmt.Sprintf("%d columns, at most %d: break the line", columns, columnsMax)})
		}
	}
	return found
}

// width returns the columns that a line takes.
func width(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}

// isTableRow reports whether a line of Markdown belongs to a table.
func isTableRow(line string) bool {
	line = strings.TrimLeft(line, " ")
	first, _ := utf8.DecodeRuneInString(line)
	return first == '|' || first >= 0x2500 && first <= 0x257f // box-drawing characters
}

// fence matches the line that begins a code block of Markdown, and the block's language.
var fence = regexp.MustCompile("^ *```+ *([^\\s`]*)")

// verbatimLines returns the numbers of the lines of a Markdown file that are in code
// blocks which hold no code.
func verbatimLines(f *file) map[int]bool {
	lines := map[int]bool{}
	if path.Ext(f.path) != ".md" {
		return lines
	}
	number, inBlock, verbatim := 0, false, false
	for line := range bytes.Lines(f.text) {
		number++
		if m := fence.FindSubmatch(line); m != nil {
			inBlock, verbatim = !inBlock, len(m[1]) == 0 || string(m[1]) == "text"
			continue
		}
		lines[number] = inBlock && verbatim
	}
	return lines
}
