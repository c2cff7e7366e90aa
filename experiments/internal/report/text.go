package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"tandem/experiments/internal/judge"
	"tandem/internal/cli"
)

// WriteText writes a report as text for people: question, tables, findings, notes. Sentences are wrapped at
// the width of the terminal.
func (r *Report) WriteText(w io.Writer) error {
	columns, out := cli.TextColumns(w), bufio.NewWriter(w)
	fmt.Fprintln(out, cli.WrapAt(r.Name+": "+r.Question, "", 0, columns))
	for _, table := range r.Tables {
		if err := writeTable(out, table, columns); err != nil {
			return err
		}
	}
	writeList(out, "Findings", r.Findings, columns)
	writeList(out, "Notes", r.Notes, columns)
	return out.Flush()
}

// WriteSummary writes what a reader of several reports needs of this one: question, headline, findings.
func (r *Report) WriteSummary(w io.Writer) error {
	columns, out := cli.TextColumns(w), bufio.NewWriter(w)
	fmt.Fprintf(out, "\n%s\n", cli.WrapAt(r.Name+": "+r.Question, "", 0, columns))
	if r.Headline != nil && r.Headline.Table != nil {
		if err := writeTable(out, *r.Headline.Table, columns); err != nil {
			return err
		}
	}
	writeList(out, "Findings", r.Findings, columns)
	return out.Flush()
}

// writeTable writes a table below its caption.
func writeTable(w io.Writer, table cli.Table, columns int) error {
	fmt.Fprintf(w, "\n%s\n", cli.WrapAt(table.Caption, "", 0, columns))
	return table.WriteText(w)
}

func writeList(w io.Writer, title string, items []string, columns int) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	const bullet, indent = "  - ", "    "
	for _, item := range items {
		fmt.Fprintln(w, bullet+cli.WrapAt(item, indent, len(indent), columns))
	}
}

// WriteJSON writes a report as JSON for programs: everything except tables and figures, whose numbers are in
// the data.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Name        string              `json:"name"`
		Run         string              `json:"run"`
		Question    string              `json:"question"`
		Command     string              `json:"command"`
		Environment cli.Environment     `json:"environment"`
		Engine      string              `json:"engine"`
		EngineRate  float64             `json:"engine_gflops"`
		Started     string              `json:"started"`
		WallSeconds float64             `json:"wall_s"`
		Findings    []string            `json:"findings"`
		Notes       []string            `json:"notes"`
		Comparisons []*judge.Comparison `json:"comparisons,omitempty"`
		Quantities  []Quantity          `json:"quantities,omitempty"`
		Headline    *Headline           `json:"headline,omitempty"`
		Data        any                 `json:"data"`
	}{
		r.Name, r.Run, r.Question, r.Command, cli.CurrentEnvironment(), r.Engine, r.EngineRate,
		r.date(), r.Wall.Seconds(), r.Findings, r.Notes, r.Comparisons, r.Quantities,
		r.Headline, r.Data,
	})
}

// StartedLayout is the form of the start of an experiment, to the second, with the time zone.
const StartedLayout = "2006-01-02 15:04:05 MST"

func (r *Report) date() string { return r.Started.Format(StartedLayout) }
