package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"tandem/algo/protocol/pace"
	"tandem/internal/cli"
)

const pageHead = `# Every key of a job file

This page is written by ` + "`go run ./docs/reference`" + ` from the code: keys and defaults from the types of
` + "`algo/job`" + `, meanings from their comments, ranges from the checks. A test compares it with the code.
[Job files](../../cmd/train/jobs/README.md) shows one with comments, and explains what needs more than a line.

For completion and checks in an editor, put this line at the top of a job file, with the path to
[job.schema.json](job.schema.json):

` + "```yaml" + `
# yaml-language-server: $schema=docs/reference/job.schema.json
` + "```" + `

A key that is left out has its default; where none is given, the key is empty or 0. ` + "`[]`" + ` stands for
every item of a list.
`

// pageOf returns the page: a table for each section.
func pageOf(sections []*key) []byte {
	var b bytes.Buffer
	b.WriteString(pageHead)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n", s.path, wrapped(sentence(s.meaning)))
		if len(s.children) == 0 {
			continue
		}
		b.WriteString("\n| key | value | default | range | meaning |\n|---|---|---|---|---|\n")
		rows := s.children
		if s.kind == list {
			rows = rows[0].children
		}
		for _, k := range rows {
			writeRow(&b, k, s.path+".")
		}
		if s.path == "training" {
			writeModeSettings(&b)
		}
	}
	return b.Bytes()
}

// writeModeSettings writes a table of the settings that each mode declares.
func writeModeSettings(b *bytes.Buffer) {
	b.WriteString("\n### `mode-settings`\n\nSettings of single modes. N is the number of ranks.\n\n" +
		"| mode | setting | default | range | meaning |\n|---|---|---|---|---|\n")
	for _, mode := range pace.Modes() {
		for _, s := range pace.SettingsOf(mode) {
			fmt.Fprintf(b, "| `%s` | `%s` | %v | %v to %v | %s |\n", mode, s.Name, s.Default, s.Min, s.Max,
				cell(s.Doc))
		}
	}
}

// writeRow writes a key and those below it.
func writeRow(b *bytes.Buffer, k *key, prefix string) {
	value, initial := string(k.kind), ""
	children := k.children
	if k.kind == list {
		element := k.children[0]
		value, children = "list", nil
		if element.kind == mapping {
			children = element.children
		} else {
			value = "list of " + plural(element.kind)
			if k.allowed == "" {
				k.allowed = element.allowed
			}
		}
	}
	if k.kind == formed {
		value = "text"
	}
	if k.initial != "" {
		initial = "`" + k.initial + "`"
	}
	allowed := k.allowed
	if allowed == "" {
		allowed = k.form
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", strings.TrimPrefix(k.path, prefix), value, initial,
		cell(allowed), cell(k.meaning))
	for _, child := range children {
		writeRow(b, child, prefix)
	}
}

// plural writes what a list holds.
func plural(k kind) string {
	switch k {
	case text, formed:
		return "texts"
	case yesOrNo:
		return "true or false"
	}
	return string(k) + "s"
}

// cell writes a text as a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", " ")
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	letters := []rune(text)
	return string(append([]rune{unicode.ToUpper(letters[0])}, letters[1:]...))
}

// wrapped breaks a paragraph into lines.
func wrapped(text string) string { return cli.WrapAt(text, "", 0, 110) }
