package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/inference"
)

const predictUsage = `Predict the rows of a CSV file with a model: the probability of label 1.

FILE is plain text, gzip or zstd. It has a header with the id columns and the
numeric columns of the training data, in any order; further columns, such as a
label, are not read. Ids that the training has not seen are allowed.

The result is a CSV with a line for every row, in the order of FILE, and the
column prediction; further labels of the model are prediction_2 and so on.
A row that cannot be read is an error, and then no file is written.`

func (p *program) predictCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use: "predict MODEL FILE", Short: "Predict the rows of a file", Long: predictUsage,
		Example: "  go run ./cmd/model predict results/clicks/hybrid/model today.csv --out predictions.csv",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.UsageError("see --help", "%d arguments, want 2: the folder of a model, and a file",
					len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := inference.Open(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				_, err = predict(p.stdout, m, args[1])
			} else {
				err = p.predictTo(out, m, args[1])
			}
			return errors.Join(err, m.Close())
		},
	}
	c.Flags().StringVar(&out, "out", "", "write to this `FILE`, which must not exist (default: print)")
	return c
}

// predictTo writes the predictions of a file to another one, complete or not at all.
func (p *program) predictTo(out string, m *inference.Model, path string) error {
	if _, err := os.Stat(out); err == nil {
		return &cli.Error{Err: fmt.Errorf("%s exists", out), Hint: "remove it, or choose another --out"}
	}
	file, err := os.CreateTemp(filepath.Dir(out), ".predictions-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // no longer there if all went well
	rows, err := predict(file, m, path)
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), out); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "model: %d predictions are in %s\n", rows, out)
	return nil
}

// predict writes the predictions of a file, and returns the number of rows.
func predict(out io.Writer, m *inference.Model, path string) (rows int, err error) {
	w, labels := bufio.NewWriter(out), len(m.Labels())
	w.WriteString("prediction") // w returns its first error from every later call
	for label := 2; label <= labels; label++ {
		fmt.Fprintf(w, ",prediction_%d", label)
	}
	w.WriteString("\n")
	var line []byte
	err = datasets.ReadFeatures(m.Data(), m.Scaling(), path, func(b *batch.Batch) error {
		probabilities, err := m.Predict(b)
		if err != nil {
			return err
		}
		for at := 0; at < len(probabilities); at += labels {
			line = line[:0]
			for label, probability := range probabilities[at : at+labels] {
				if label > 0 {
					line = append(line, ',')
				}
				line = strconv.AppendFloat(line, float64(probability), 'g', -1, 32)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
			rows++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return rows, w.Flush()
}
