package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
)

const diffUsage = `Compare two models: the tensors of the dense network with their optimizer
states, and the rows by sign, for any numbers of embedding PSs and hot rows.

Values are compared bit for bit; for those that differ, the first one and the
largest absolute difference are printed. Exit status 1 says that the models
differ.`

// errDiffer says that models differ.
var errDiffer = errors.New("the models differ")

func (p *program) diffCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use: "diff MODEL MODEL", Short: "Compare two models", Long: diffUsage,
		Example: "  go run ./cmd/model diff results/clicks/sync/model results/clicks/hybrid/model",
		Args:    models(2),
		RunE: func(_ *cobra.Command, args []string) error {
			first, err := checkpoint.Open(args[0])
			if err != nil {
				return err
			}
			defer first.Close()
			second, err := checkpoint.Open(args[1])
			if err != nil {
				return err
			}
			defer second.Close()
			d, err := checkpoint.Compare(first, second)
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(p.stdout, d)
			} else {
				err = writeDifference(p.stdout, first, second, d)
			}
			if err == nil && !d.None() {
				err = errDiffer
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object instead of text")
	return c
}

// writeDifference prints what distinguishes two models.
func writeDifference(w io.Writer, a, b *checkpoint.Checkpoint, d *checkpoint.Difference) error {
	for i, c := range []*checkpoint.Checkpoint{a, b} {
		m, hot := &c.Manifest, ""
		if m.Rows.Hot != nil {
			j, err := c.ParseJob()
			if err != nil {
				return err
			}
			hot = fmt.Sprintf(", %s: %d", ranksHave(&j, "rows on GPUs", "hot rows"), m.Rows.Hot.Rows)
		}
		fmt.Fprintf(w, "%-6s  %s, %d steps, seed %d, embedding PSs: %d%s\n", []string{"first", "second"}[i],
			m.Mode, m.Step, m.Seed, m.Rows.PSs(), hot)
	}
	if d.None() {
		_, err := fmt.Fprintf(w, "equal bit for bit: the dense network and %d rows\n", d.Rows.Common)
		return err
	}
	if d.Schema != "" {
		fmt.Fprintf(w, "the schemas differ: %s\n", d.Schema)
	}
	if err := writeTensors(w, d.Tensors); err != nil {
		return err
	}
	r := &d.Rows
	if r.Format != "" {
		_, err := fmt.Fprintf(w, "rows cannot be compared: %s\n", r.Format)
		return err
	}
	fmt.Fprintf(w, "rows: %d in both models, %d only in the first, %d only in the second\n", r.Common,
		r.OnlyFirst, r.OnlySecond)
	fmt.Fprintf(w, "of the rows in both, %d have another embedding, %d another optimizer state and\n  %d "+
		"another number of updates\n", r.Embeddings, r.States, r.Updates)
	if r.Embeddings > 0 {
		_, err := fmt.Fprintf(w, "first row that differs: %#x; largest difference: %.2g in row %#x\n",
			r.First, r.Largest, r.Sign)
		return err
	}
	return nil
}

// writeTensors prints the tensors that differ.
func writeTensors(w io.Writer, tensors []checkpoint.TensorDifference) error {
	t := cli.Table{Header: []string{"tensor", "values", "differ", "first", "largest"}, Words: 1}
	for _, one := range tensors {
		if one.Reason != "" {
			fmt.Fprintf(w, "tensor %s: %s\n", one.Name, one.Reason)
			continue
		}
		t.Rows = append(t.Rows, []string{one.Name, fmt.Sprint(one.Values), fmt.Sprint(one.Differ),
			fmt.Sprint(one.First), fmt.Sprintf("%.2g at %d", one.Largest, one.At)})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t.WriteText(w)
}
