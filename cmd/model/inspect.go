package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
)

const inspectUsage = `Describe a model: how it was trained, its network, rows, files and columns, and
the head of its job.

The sizes of all files and the checksums of all but the rows are checked;
verify checks the rows too. With --json the manifest is printed.`

// headLines is the number of lines of the job that inspect prints.
const headLines = 12

func (p *program) inspectCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "inspect MODEL", Short: "Describe a model", Long: inspectUsage,
		Example: "  go run ./cmd/model inspect results/clicks/hybrid/model\n  go run ./cmd/model inspect " +
			"results/clicks/hybrid/model --json",
		Args: models(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := checkpoint.Open(args[0])
			if err != nil {
				return err
			}
			defer m.Close()
			if asJSON {
				return writeJSON(p.stdout, m.Manifest)
			}
			j, err := m.ParseJob()
			if err != nil {
				return err
			}
			return describe(p.stdout, m, &j)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the manifest as one JSON object instead of text")
	return c
}

// describe prints what a model is.
func describe(w io.Writer, c *checkpoint.Checkpoint, j *job.Job) error {
	m := &c.Manifest
	rows, bytes := totals(m)
	var values []string
	for _, d := range m.Rows.ByDim() {
		state := "no optimizer state"
		if d.StateValues > 0 {
			state = fmt.Sprintf("%d of optimizer state", d.StateValues)
		}
		values = append(values, fmt.Sprintf("%d values (%s) and %s each", d.Dim, d.Precision, state))
	}
	line := func(key, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(w, "%-11s %s\n", key, cli.WrapAt(text, strings.Repeat(" ", 12), 12, 80))
	}
	line("job", "%s, mode %s, seed %d", j.Name, m.Mode, m.Seed)
	line("trained", "%d steps, %d samples, on %d ranks", m.Step, m.Samples, j.Roles.Ranks)
	line("written", "%s by commit %s", m.Written.Format(time.RFC3339), m.Commit)
	line("network", "%s of %d parameters, held by %s", j.Model.Kind, m.Dense.Parameters,
		holders(m.Dense.Parts))
	hot := ""
	if m.Rows.Hot != nil {
		hot = fmt.Sprintf("; %d of them %s", m.Rows.Hot.Rows, ranksHave(j, "were on the GPUs of the ranks",
			"are hot, on every rank"))
	}
	line("rows", "%d of %s%s", rows, strings.Join(values, ", or "), hot)
	line("files", "%v in %d files", bytes, len(m.Files)+1)
	line("ids", "%s", strings.Join(slotNames(m.Schema.Slots), ", "))
	if len(m.Schema.Numbers) > 0 {
		line("numbers", "%s", strings.Join(m.Schema.Numbers, ", "))
	}
	line("labels", "%s\n", strings.Join(m.Schema.Labels, ", "))
	if err := serverTable(m, j).WriteText(w); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(c.Job)), "\n")
	fmt.Fprintf(w, "\n%s, the first %d of %d lines:\n", checkpoint.JobFile, min(headLines, len(lines)),
		len(lines))
	for _, text := range lines[:min(headLines, len(lines))] {
		if _, err := fmt.Fprintf(w, "  %s\n", text); err != nil {
			return err
		}
	}
	return nil
}

// holders says which roles held the network.
func holders(parts []checkpoint.Part) string {
	if len(parts) == 1 {
		return "one " + parts[0].Role
	}
	return fmt.Sprintf("%d roles (%s)", len(parts), parts[0].Role)
}

// slotNames returns the names of id columns, with what is special about them.
func slotNames(slots []checkpoint.Slot) (names []string) {
	for _, s := range slots {
		name := s.Name
		if s.Pooling == "raw" {
			name += fmt.Sprintf(" (the first %d)", s.FixedSize)
		}
		if s.Class > 0 {
			name += fmt.Sprintf(" (class %d)", s.Class)
		}
		if s.Group != "" {
			name += fmt.Sprintf(" (rows of %s)", s.Group)
		}
		switch {
		case s.SqrtScaling:
			name += " (sum ÷ √n)"
		case s.Mean:
			name += " (mean)"
		case s.Pooling == "max":
			name += " (maximum)"
		}
		if s.HashStackRounds > 0 {
			name += fmt.Sprintf(" (hash-stack of %d × %d rows)", s.HashStackRounds, s.HashStackRows)
		}
		names = append(names, name)
	}
	return names
}

// ranksHave returns what to say of rows that the ranks of a job had: on its GPUs, or as hot rows. No job has
// both.
func ranksHave(j *job.Job, onGPUs, hot string) string {
	if j.HasRowsOnGPU() {
		return onGPUs
	}
	return hot
}

// serverTable returns the rows of each embedding PS, and those of the ranks, if they had some.
func serverTable(m *checkpoint.Manifest, j *job.Job) cli.Table {
	t := cli.Table{Header: []string{"embedding PS", "rows", "size", "updates", "evicted", "refused"}}
	dims, largest := m.Rows.ByDim(), int64(0)
	sizes := map[string]int64{}
	for _, f := range m.Files {
		sizes[f.Name] = f.Bytes
	}
	for i := range m.Rows.ByOwner() {
		largest = max(largest, sizes[m.Rows.RowsFile(i)])
	}
	for i, s := range m.Rows.ByOwner() {
		name := fmt.Sprint(i / len(dims))
		if i == len(m.Rows.Servers) {
			name = ranksHave(j, "ranks (GPUs)", "ranks (hot)")
		} else if len(dims) > 1 {
			dim := dims[i%len(dims)]
			name += fmt.Sprintf(", rows of %d", dim.Dim)
			if dim.Class > 0 {
				name += fmt.Sprintf(" (class %d)", dim.Class)
			}
		}
		t.Rows = append(t.Rows, []string{name, fmt.Sprint(s.Rows), sizeIn(sizes[m.Rows.RowsFile(i)], largest),
			fmt.Sprint(s.Applied), fmt.Sprint(s.Evicted), fmt.Sprint(s.Refused)})
	}
	return t
}

// sizeIn returns a number of bytes in the unit of the largest of a column, so that they can be compared.
func sizeIn(bytes, largest int64) string {
	scale, names := 1.0, []string{"kB", "MB", "GB", "TB"}
	name := "B"
	for i := 0; i < len(names) && float64(largest) >= 1000*scale; i++ {
		scale, name = 1000*scale, names[i]
	}
	if scale == 1 {
		return fmt.Sprintf("%dB", bytes)
	}
	return fmt.Sprintf("%.2f%s", float64(bytes)/scale, name)
}
