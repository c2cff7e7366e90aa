package main

import (
	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/internal/cli"
)

const layout = `Writes a new folder, whole or not at all:
  train.csv, test.csv  the label, the ids as hexadecimal numbers ("|" between
                       several), the numbers; with a header
  job.yaml             the data section of a job file that reads them
`

const generateUsage = `Generate the synthetic data set of a job file.

` + layout + `  test_probability.csv the probability that the label of each test row was drawn
                       with: the best that any model can predict

The same job gives the same rows. A job that names the rows directly (kind
synthetic) needs no files: this is for other programs.`

const generateExamples = `  go run ./cmd/data generate --file alike.yaml --out alike`

func (p *program) generateCommand() *cobra.Command {
	c := &cobra.Command{Use: "generate", Short: "Generate the synthetic data set of a job file", Long: generateUsage, Example: generateExamples}
	return p.writing(c, "job file, YAML, with data of kind synthetic", func(file string, j *job.Job) error {
		if j.Data.Kind != job.KindSynthetic {
			return cli.UsageError("other data are read, not generated: see convert", "%s: data of kind %s, want synthetic", file, j.Data.Kind)
		}
		return nil
	})
}

const convertUsage = `Write the data set of a job file as csv, as a run of the job would see it: split
in training and test rows, numbers standardised, negatives drawn.

` + layout + `
Readers keep a hash of each category, so the ids are those hashes: rows agree on
them as before, but the texts are gone. Reading the files hashes them again.`

const convertExamples = `  TANDEM_DATA=~/data go run ./cmd/data convert --file cmd/train/jobs/criteo.yaml --out criteo`

func (p *program) convertCommand() *cobra.Command {
	c := &cobra.Command{Use: "convert", Short: "Write the data set of a job file as csv", Long: convertUsage, Example: convertExamples}
	return p.writing(c, "job file, YAML", func(string, *job.Job) error { return nil })
}

// writing makes a command of one that writes the data of a job file that it may
// refuse.
func (p *program) writing(c *cobra.Command, fileUsage string, check func(file string, j *job.Job) error) *cobra.Command {
	f := &flags{}
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.UsageError("everything is a flag; see --help", "unexpected argument %q", args[0])
		}
		if f.job == "" || f.out == "" {
			return cli.UsageError("see --help", "--file and --out are needed")
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
		return p.writeFolder(data, f.out)
	}
	c.Flags().SortFlags = false
	c.Flags().StringVarP(&f.job, "file", "f", "", fileUsage)
	c.Flags().StringVar(&f.out, "out", "", "folder to write, new or empty")
	return c
}
