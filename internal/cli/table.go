package cli

import (
	"cmp"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// Table is a table of text. Its headers name the units.
type Table struct {
	Caption string     `json:"caption"`
	Header  []string   `json:"header"`
	Rows    [][]string `json:"rows"` // each as long as Header
	// Words is the number of columns on the left that hold words. They are aligned left, the
	// other columns right.
	Words int `json:"words"`
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// noValue is what a cell without a value holds, besides nothing at all.
const noValue = "–"

// WriteText writes the table in a frame of box-drawing characters, without the columns that have no values.
// On a terminal that is too narrow it writes a table below another, each with the words on the left.
func (t Table) WriteText(w io.Writer) error {
	t = t.WithValues()
	columns, ok := terminalWidth(w)
	if !ok {
		return t.write(w)
	}
	for _, part := range t.split(columns) {
		if err := part.write(w); err != nil {
			return err
		}
	}
	return nil
}

// write writes the whole table.
func (t Table) write(w io.Writer) error {
	alignment := make([]tw.Align, len(t.Header))
	for i := range alignment {
		alignment[i] = tw.AlignRight
		if i < t.Words {
			alignment[i] = tw.AlignLeft
		}
	}
	table := tablewriter.NewTable(w,
		tablewriter.WithHeaderAutoFormat(tw.Off), // it would write "SAMPLES / S" for "samples/s"
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: alignment}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: alignment}),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
	)
	table.Header(t.Header)
	if err := table.Bulk(t.Rows); err != nil {
		return err
	}
	return table.Render()
}

// HasValues reports whether any row has a value in a column. Columns without one are not written.
func (t Table) HasValues(column int) bool {
	return len(t.Rows) == 0 || slices.ContainsFunc(t.Rows, func(row []string) bool {
		return row[column] != "" && row[column] != noValue
	})
}

// WithValues returns the table without the columns of numbers that have no values.
func (t Table) WithValues() Table {
	var kept []int
	for i := range t.Header {
		if i < t.Words || t.HasValues(i) {
			kept = append(kept, i)
		}
	}
	return t.only(kept)
}

// PageWidth is the width of text that is read everywhere.
const PageWidth = 80

// Fit cuts cells of some columns, those of the widest first, until the table is at most PageWidth wide
// without the columns that have no values. It leaves least characters of a cell, and headers.
func (t *Table) Fit(least int, columns ...int) {
	for {
		total := 1
		widths := t.widths()
		for i, width := range widths {
			if i < t.Words || t.HasValues(i) {
				total += width
			}
		}
		widest := slices.MaxFunc(columns, func(a, b int) int { return cmp.Compare(widths[a], widths[b]) })
		most := widths[widest] - border - 1
		if total <= PageWidth || most < max(least, utf8.RuneCountInString(t.Header[widest])) {
			return
		}
		for _, row := range t.Rows {
			row[widest] = Cut(row[widest], most)
		}
	}
}

// only returns the table with some of its columns, in ascending order.
func (t Table) only(kept []int) Table {
	choose := func(row []string) []string {
		chosen := make([]string, len(kept))
		for i, column := range kept {
			chosen[i] = row[column]
		}
		return chosen
	}
	part := Table{Caption: t.Caption, Header: choose(t.Header), Words: t.Words}
	for _, row := range t.Rows {
		part.Rows = append(part.Rows, choose(row))
	}
	return part
}

// Cut returns a text of at most a number of characters, the last of which stands for what is left out.
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// border is what a column takes beside its cells: a line and a space on either side.
const border = 3

// widths returns how wide the columns are, with a border each.
func (t Table) widths() []int {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+border)
		}
	}
	return widths
}

// split returns tables of at most a number of columns of text, each with the columns of words and as many
// others as fit, but at least one.
func (t Table) split(columns int) []Table {
	widths := t.widths()
	var words []int
	left := 1
	for i := range t.Words {
		words, left = append(words, i), left+widths[i]
	}
	var parts []Table
	kept, width := words, left
	for i := t.Words; i < len(t.Header); i++ {
		if width+widths[i] > columns && len(kept) > len(words) {
			parts = append(parts, t.only(kept))
			kept, width = words, left
		}
		kept, width = append(slices.Clone(kept), i), width+widths[i]
	}
	return append(parts, t.only(kept))
}
