package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tandem/algo/exec/backend"
	"tandem/internal/cli"
	"tandem/runtime/checkpoint"
	"tandem/runtime/export"
	"tandem/runtime/torch"
)

const exportUsage = `Write a model for other programs: to a new folder with

  network.onnx   the dense network (ONNX, opset 13; of a module that which torch
                 likes). Inputs: embeddings, pooled as columns.json says, and
                 numbers as in the data, NaN where one is missing. Output:
                 prediction, the probability of label 1 or, of a model with
                 squared loss, the number.
  rows.parquet   the embedding rows that have been trained, by sign; with
                 --rows safetensors: rows.safetensors. Where columns differ in
                 dimension: a file for each, such as rows-dim-8.parquet.
  columns.json   how the values of a record become signs and inputs.
  predict.py     a program that does all of that in Python, with onnxruntime
                 or PyTorch, for models of CSV and Parquet data.

A module of PyTorch has besides

  network.py     the text of its file, which is run.
  state_dict.pt  its parameters and buffers, for torch.load.

PyTorch writes its network.onnx, and needs the packages onnx and onnxscript for
that. A line says so if it cannot.`

func (p *program) exportCommand() *cobra.Command {
	out, rows := "", export.Parquet
	c := &cobra.Command{
		Use: "export MODEL --out FOLDER", Short: "Write a model as ONNX and Parquet", Long: exportUsage,
		Example: "  go run ./cmd/model export results/clicks/hybrid/model --out exported\n" +
			"  python exported/predict.py today.csv > predictions.csv",
		Args: models(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return cli.UsageError("for example --out exported", "no --out")
			}
			if formats := []string{export.Parquet, export.Safetensors}; !slices.Contains(formats, rows) {
				return cli.UsageError("", "--rows %s: want %s or %s", rows, formats[0], formats[1])
			}
			m, err := checkpoint.Open(args[0])
			if err != nil {
				return err
			}
			modules := torch.FromEnvironment(p.stderr)
			defer modules.Close()
			files, leftOut, err := export.Write(out, m, rows, backend.Backend{Torch: modules.SavedEngine})
			if err := errors.Join(err, m.Close()); err != nil {
				return err
			}
			for _, name := range files {
				fmt.Fprintln(p.stdout, filepath.Join(out, name))
			}
			for _, line := range leftOut {
				fmt.Fprintln(p.stderr, "model: "+line)
			}
			if !slices.Contains(files, export.ProgramFile) {
				fmt.Fprintf(p.stderr, "model: without %s, because the data are neither csv nor parquet\n",
					export.ProgramFile)
			}
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "write to this new `FOLDER`")
	c.Flags().StringVar(&rows, "rows", rows, "write the rows as `FORMAT` parquet or safetensors")
	return c
}
