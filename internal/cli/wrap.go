package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Columns is the greatest width of text on a terminal, and the width at which Wrap breaks comments in files.
// Tables may be wider.
const Columns = 110

// Paragraph writes text, wrapped at TextColumns(w). Lines after the first begin with indent.
func Paragraph(w io.Writer, text, indent string) {
	fmt.Fprintln(w, WrapAt(text, indent, 0, TextColumns(w)))
}

// wrapMessage wraps a message, but not one with a command, which is copied from a terminal: a line that the
// terminal itself breaks is still one line.
func wrapMessage(text string, columns int) string {
	if strings.Contains(text, "go run ") {
		return text
	}
	return WrapAt(text, "  ", 0, columns)
}

// Wrap breaks a line of text at spaces, so that no line is wider than Columns unless a word
// is. The lines after the first begin with indent.
func Wrap(text, indent string) string { return WrapAt(text, indent, 0, Columns) }

// WrapAt is Wrap for text that begins at a column, counted from 0, of lines that have a number of columns; 0
// wraps nothing.
func WrapAt(text, indent string, start, columns int) string {
	if columns == 0 {
		return text
	}
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		switch width := utf8.RuneCountInString(word); {
		case i == 0:
			column = start + width
		case column+1+width > columns:
			b.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent) + width
		default:
			b.WriteString(" ")
			column += 1 + width
		}
		b.WriteString(word)
	}
	return b.String()
}
