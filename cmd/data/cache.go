package main

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"tandem/datasets"
	"tandem/datasets/cache"
	"tandem/internal/cli"
)

const cacheUsage = `List the columns that are kept of files that were read, or remove them.

A file of 8 MiB or more is parsed once; its columns are kept in the user's cache
folder and mapped into memory from then on, as long as the file is the same.
In a job file, "cache: off" below data keeps none, "cache: /folder" keeps those
of files of any size there. Removing them costs nothing but parsing again.`

const cacheExamples = `  go run ./cmd/data cache
  go run ./cmd/data cache --clear`

func (p *program) cacheCommand() *cobra.Command {
	c := &cobra.Command{Use: "cache", Short: "List or remove the columns kept of files", Long: cacheUsage, Example: cacheExamples}
	var folder string
	var clear bool
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.UsageError("everything is a flag; see --help", "unexpected argument %q", args[0])
		}
		if folder == "" {
			var err error
			if folder, err = datasets.CacheFolder(); err != nil {
				return &cli.Error{Err: err, Hint: "name one with --folder"}
			}
		}
		if clear {
			files, bytes, err := cache.Folder(folder).Clear()
			if err == nil {
				fmt.Fprintf(p.stdout, "removed from %s: %d, of %.1f MiB in all\n", folder, files, float64(bytes)/(1<<20))
			}
			return err
		}
		return p.listCache(folder)
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&folder, "folder", "", "folder of the columns (default: that of jobs that name none)")
	c.Flags().BoolVar(&clear, "clear", false, "remove them")
	return c
}

func (p *program) listCache(folder string) error {
	all, err := cache.Folder(folder).List()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintf(p.stdout, "nothing is kept in %s\n", folder)
		return nil
	}
	table := cli.Table{Header: []string{"read from", "rows", "MiB", "kept since", "in " + folder}, Words: 1}
	for _, info := range all {
		source, rows := info.Source, strconv.Itoa(info.Rows)
		if source == "" {
			source, rows = "(of no use)", "–"
		}
		table.Rows = append(table.Rows, []string{
			source, rows, fmt.Sprintf("%.1f", float64(info.Bytes)/(1<<20)), info.Modified.Format("2006-01-02 15:04"), filepath.Base(info.Path),
		})
	}
	return table.WriteText(p.stdout)
}
