package main

import (
	"github.com/spf13/cobra"

	"tandem/internal/cli"
	"tandem/internal/persia"
)

const importUsage = `Translate the configurations of a Persia job, global_config.yml and
embedding_config.yml, to a job file, which is printed.

Comments name the lines of what is translated. What has no place in a job file
is listed at its end, with a sentence for each. Persia's rows, labels,
network and optimizers are in its Python programs: comments say where they go.`

// importPersia returns the command that translates configurations of Persia.
func (p *program) importPersia() *cobra.Command {
	return &cobra.Command{
		Use: "import-persia CONFIG…", Short: "Translate configurations of Persia to a job file",
		Long: importUsage, Example: "  go run ./cmd/train import-persia embedding_config.yml > job.yaml",
		RunE: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return cli.UsageError("name embedding_config.yml, and global_config.yml",
					"import-persia: no configuration")
			}
			text, err := persia.Translate(files)
			if err == nil {
				_, err = p.stdout.Write(text)
			}
			return err
		},
	}
}
