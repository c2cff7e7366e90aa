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

const cacheUsage = `List or remove the cached columns of data files.

A file of at least 8 MiB is parsed once. Its columns are stored in the user's
cache folder and mapped into memory by later runs, as long as the file does not
change. In the data section of a job file, "cache: off" disables the cache, and
"cache: /folder" caches files of any size in that folder. Removed columns are
parsed again when they are needed.`

const cacheExamples = `  go run ./cmd/data cache
  go run ./cmd/data cache --clear`

func (p *program) cacheCommand() *cobra.Command {
	c := &cobra.Command{Use: "cache", Short: "List or remove the cached columns of data files",
		Long: cacheUsage, Example: cacheExamples}
	var folder string
	var clear bool
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return cli.UsageError("the command has flags only; see --help", "unexpected argument %q", args[0])
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
				fmt.Fprintf(p.stdout, "removed %d files (%.1f MiB) from %s\n", files, float64(bytes)/(1<<20),
					folder)
			}
			return err
		}
		return p.listCache(folder)
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&folder, "folder", "", "use this folder (default: the cache folder of the user)")
	c.Flags().BoolVar(&clear, "clear", false, "remove the cached columns")
	return c
}

func (p *program) listCache(folder string) error {
	all, err := cache.Folder(folder).List()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintf(p.stdout, "nothing is cached in %s\n", folder)
		return nil
	}
	table := cli.Table{Header: []string{"source", "rows", "MiB", "cached", "file in " + folder}, Words: 1}
	for _, info := range all {
		source, rows := info.Source, strconv.Itoa(info.Rows)
		if source == "" {
			source, rows = "(invalid)", "–"
		}
		table.Rows = append(table.Rows, []string{
			source, rows, fmt.Sprintf("%.1f", float64(info.Bytes)/(1<<20)),
			info.Modified.Format("2006-01-02 15:04"), filepath.Base(info.Path),
		})
	}
	return table.WriteText(p.stdout)
}
