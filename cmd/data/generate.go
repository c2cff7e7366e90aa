package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/internal/cli"
)

const layout = `The result is a new folder, complete or absent:
  train.csv, test.csv   with a header; the label, the ids as hexadecimal numbers
                        (several ids of a row are separated by "|", weights
                        stand behind them, as 6bf7:0.5), the numbers
  job.yaml              the data section of a job file that reads them
`

const generateUsage = `Generate the synthetic data set of a job file.

` + layout + `  test_probability.csv  the probability of label 1 of each test row: the best
                        prediction that any model can make

The same job gives the same rows. The files are for other programs: a job with
data of kind synthetic generates its rows itself.

The section "synthetic" can name a preset that resembles public data, as
{preset: criteo, seed: 1, train-rows: 100000, test-rows: 10000}. Presets:
`

const generateExamples = `  go run ./cmd/data generate --file alike.yaml --out alike`

func (p *program) generateCommand() *cobra.Command {
	c := &cobra.Command{Use: "generate", Short: "Generate the synthetic data set of a job file",
		Long: generateUsage + strings.Join(job.SyntheticPresets(), ", ") + ".", Example: generateExamples}
	return p.writing(c, "generate the data of this job file (kind synthetic)",
		func(file string, j *job.Job) error {
			if j.Data.Kind != job.KindSynthetic {
				return cli.UsageError("use convert for data of other kinds",
					"%s: data of kind %s, want synthetic", file, j.Data.Kind)
			}
			return nil
		})
}

const convertUsage = `Write the data set of a job file as CSV, as a run of the job reads it: split
into training rows and test rows, with standardised numbers and drawn negatives.

` + layout + `
The ids are hashes of the categories, not their texts, because that is all that
readers keep. Reading the files hashes the ids again.`

const convertExamples = `  go run ./cmd/data convert --file cmd/train/jobs/criteo.yaml --out criteo`

func (p *program) convertCommand() *cobra.Command {
	c := &cobra.Command{Use: "convert", Short: "Write the data set of a job file as CSV", Long: convertUsage,
		Example: convertExamples}
	return p.writing(c, "write the data of this job file (YAML)", func(string, *job.Job) error { return nil })
}

// writing completes a command that writes the data of a job file. Check can refuse the job.
func (p *program) writing(c *cobra.Command, fileUsage string,
	check func(file string, j *job.Job) error) *cobra.Command {
	f := &flags{}
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.UsageError("the command has flags only; see --help", "unexpected argument %q", args[0])
		}
		if f.job == "" || f.out == "" {
			return cli.UsageError("see --help", "--file and --out are required")
		}
		j, err := job.Load(f.job)
		if err != nil {
			return err
		}
		if err := check(f.job, &j); err != nil {
			return err
		}
		data, err := datasets.Open(j.Data, job.DataFolder(p.dataDir, f.job))
		if err != nil {
			return err
		}
		cli.PrintNotes(p.stderr, "data", data.Notes)
		return p.writeFolder(data, j.Data, f.out)
	}
	c.Flags().SortFlags = false
	c.Flags().StringVarP(&f.job, "file", "f", "", fileUsage)
	c.Flags().StringVar(&f.out, "out", "", "write to this folder, which must be new or empty")
	return c
}
