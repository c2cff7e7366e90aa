package cli

import (
	"io"

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

// WriteText writes the table in a frame of box-drawing characters.
func (t Table) WriteText(w io.Writer) error {
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
