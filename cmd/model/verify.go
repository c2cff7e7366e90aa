package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tandem/algo/exec/backend"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
	"tandem/runtime/checkpoint"
)

const verifyUsage = `Check every byte of a model: the size and the checksum of each file, the
structure of its tables and tensors, that each row is there once, hot or on the
embedding PS that owns it, and that the dense network is the one of the job. No
text in the model is run, so of a module of PyTorch the tensors are not compared
with the job.

The first problem is an error that names the file.`

func (p *program) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify MODEL", Short: "Check every byte of a model", Long: verifyUsage,
		Example: "  go run ./cmd/model verify results/clicks/hybrid/model", Args: models(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := checkpoint.Open(args[0])
			if err != nil {
				return err
			}
			if err := errors.Join(verify(c), c.Close()); err != nil {
				return err
			}
			rows, bytes := totals(&c.Manifest)
			_, err = fmt.Fprintf(p.stdout,
				"%s: %d files, %v, %d rows: complete, and every checksum is right\n", args[0],
				len(c.Files)+1, bytes, rows)
			return err
		},
	}
}

// verify checks a model.
func verify(c *checkpoint.Checkpoint) error {
	if err := c.Verify(); err != nil {
		return err
	}
	j, err := c.ParseJob()
	if err != nil {
		return err
	}
	if j.Model.Kind == model.Torch { // its tensors are those that its text makes
		_, err = c.Dense()
		return err
	}
	schema, err := c.Schema.Batch()
	if err != nil {
		return err
	}
	engine, err := backend.NewEngine(&j, &schema, backend.Backend{})
	if err != nil {
		return fmt.Errorf("model %s: %s: %w", c.Folder(), checkpoint.JobFile, err)
	}
	if err := c.CheckLayout(engine.Layout()); err != nil {
		return fmt.Errorf("model %s: %s: %w", c.Folder(), checkpoint.DenseFile, err)
	}
	return nil
}

// totals returns the rows and the bytes of a model, without its manifest.
func totals(m *checkpoint.Manifest) (rows int, bytes unit.Bytes) {
	for _, s := range m.Rows.ByOwner() {
		rows += s.Rows
	}
	for _, f := range m.Files {
		bytes += unit.Bytes(f.Bytes)
	}
	return rows, bytes
}
