package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/inference"
)

const predictUsage = `Predict the rows of a file with a model: the probability of label 1
or, if the model learned numbers, the number.

FILE is of the kind of the training data: CSV with a header, plain, gzip or
zstd, or Parquet. It has the id columns and the numeric columns of the training
data, in any order; further columns, such as a label, are not read. Ids that
the training has not seen are allowed; a line names the columns where most are.

The result has a row for every row, in the order of FILE, and the column
prediction; further labels of the model are prediction_2 and so on. It is a CSV,
or a Parquet file if --out ends in .parquet. A row that cannot be read is an
error, and then no file is written.

A module of PyTorch is run in Python (TANDEM_PYTHON, or python3): trust its text.
With TANDEM_ONNXRUNTIME, which names a libonnxruntime.so, its ONNX is computed
instead, without Python and without its text.`

func (p *program) predictCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use: "predict MODEL FILE", Short: "Predict the rows of a file", Long: predictUsage,
		Example: "  go run ./cmd/model predict results/clicks/hybrid/model today.csv \\\n" +
			"    --out predictions.csv",
		Args: modelAndFile,
		RunE: func(_ *cobra.Command, args []string) error {
			return p.withModel(args[0], func(m *inference.Model) error {
				if out != "" {
					return p.predictTo(out, m, args[1])
				}
				_, err := p.predict(newCSV(p.stdout, len(m.Labels())), m, args[1])
				return err
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "write to this `FILE`, which must not exist (default: print)")
	return c
}

// modelAndFile demands the arguments MODEL and FILE.
func modelAndFile(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return cli.UsageError("see --help", "%d arguments, want 2: the folder of a model, and a file",
			len(args))
	}
	return nil
}

// predictTo writes the predictions of a file to another one, complete or not at all.
func (p *program) predictTo(out string, m *inference.Model, path string) error {
	rows := 0
	err := writeWhole(out, func(file io.Writer) (err error) {
		var results results = newCSV(file, len(m.Labels()))
		if filepath.Ext(out) == ".parquet" {
			results = newParquet(file, len(m.Labels()))
		}
		rows, err = p.predict(results, m, path)
		return err
	})
	if err == nil {
		fmt.Fprintf(p.stderr, "model: %d predictions are in %s\n", rows, out)
	}
	return err
}

// checkOut returns an error if a file to be written exists, or its folder does not.
func checkOut(out string) error {
	if out == "" {
		return nil
	}
	if _, err := os.Stat(out); err == nil {
		return &cli.Error{Err: fmt.Errorf("%s exists", out), Hint: "remove it, or choose another --out"}
	}
	if _, err := os.Stat(filepath.Dir(out)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s: make it first", filepath.Dir(out))
	}
	return nil
}

// writeWhole writes a new file, complete or not at all.
func writeWhole(out string, write func(io.Writer) error) error {
	if err := checkOut(out); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(out), ".tandem-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // no longer there if all went well
	if err := errors.Join(write(file), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), out)
}

// predict writes the predictions of a file, and returns the number of rows. It reports progress to a person.
func (p *program) predict(out results, m *inference.Model, path string) (rows int, err error) {
	bar := newBar(p.stderr, p.terminal)
	var known knownIDs
	var predicted, written error // kept apart, as an error of ReadFeatures names the file that is read
	err = datasets.ReadFeatures(m.Data(), m.Scaling(), path, func(b *batch.Batch, share float64) error {
		var probabilities []float32
		if probabilities, predicted = m.Predict(b); predicted != nil {
			return predicted
		}
		known.add(m, b)
		rows += b.Samples
		bar.show(rows, share)
		written = out.add(probabilities)
		return written
	})
	bar.close()
	if err == nil {
		written = out.finish()
	}
	if predicted != nil {
		return 0, predicted
	}
	if written != nil {
		return 0, fmt.Errorf("cannot write the predictions: %w", written)
	}
	if err == nil {
		known.warn(p.stderr, m.HasEveryID())
	}
	return rows, err
}

// knownIDs counts ids, and those without a row in the model, by slot.
type knownIDs struct {
	slots        []string
	ids, unknown []int
}

// add counts the ids of rows.
func (k *knownIDs) add(m *inference.Model, rows *batch.Batch) {
	slots, ids, unknown := m.Unknown(rows)
	if k.slots == nil {
		k.slots, k.ids, k.unknown = slots, make([]int, len(slots)), make([]int, len(slots))
	}
	for i := range slots {
		k.ids[i] += ids[i]
		k.unknown[i] += unknown[i]
	}
}

// unknownMost is the share of unknown ids of a column above which a warning is given: most rows are then
// predicted without the column.
const unknownMost = 0.5

// warn writes a line with the columns most of whose ids are unknown, if there are any. complete says that all
// ids of the training have rows, so that others must be new or written in another way.
func (k *knownIDs) warn(out io.Writer, complete bool) {
	var shares []string
	for i, slot := range k.slots {
		if share := float64(k.unknown[i]) / float64(max(k.ids[i], 1)); share > unknownMost {
			shares = append(shares, fmt.Sprintf("%.0f %% of %s", 100*share, slot))
		}
	}
	if shares != nil {
		advice := ""
		if complete {
			advice = "; if the training had them, write them as there (007 is not 7)"
		}
		fmt.Fprintf(out, "model: most ids have no trained row: %s%s\n", strings.Join(shares, ", "), advice)
	}
}

// bar shows how far a file has been read: a bar on a terminal, elsewhere a line every ten seconds.
type bar struct {
	out      io.Writer
	terminal bool
	onScreen *cli.Progress
	begun    time.Time
	written  time.Time // the last line
}

const lineEvery = 10 * time.Second

func newBar(out io.Writer, terminal bool) *bar {
	now := time.Now()
	return &bar{out: out, terminal: terminal, onScreen: cli.NewProgress(out, terminal), begun: now,
		written: now}
}

func (b *bar) show(rows int, share float64) {
	what := fmt.Sprintf("%d rows, %.3g rows/s", rows, float64(rows)/time.Since(b.begun).Seconds())
	const total = 1000
	b.onScreen.Show(int(share*total), total, what)
	if b.terminal || time.Since(b.written) < lineEvery {
		return
	}
	b.written = time.Now()
	left := ""
	if share > 0 {
		passed := time.Since(b.begun)
		left = fmt.Sprintf(", %.0f %%, %s", 100*share,
			cli.TimeLeft(time.Duration(float64(passed)/share)-passed))
	}
	fmt.Fprintf(b.out, "model: %s%s\n", what, left)
}

func (b *bar) close() { b.onScreen.Close() }
