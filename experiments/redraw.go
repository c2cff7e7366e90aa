package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// redrawCommand returns the command that makes a report again from stored numbers.
func (p *program) redrawCommand() *cobra.Command {
	var out string
	redraw := &cobra.Command{
		Use:   "redraw FILE",
		Short: "make the report and the figures again from a file of numbers",
		Long: `redraw makes the tables, figures and findings of an earlier run again from its
NAME.json, without a training, and writes them to a new folder.`,
		Example: "  go run ./experiments redraw experiments/persia/gantt/full.json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("name the NAME.json of a run", "redraw takes one file, got %d",
					len(args))
			}
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			again, err := p.redraw(text)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if out == "" {
				out = cli.DefaultFolder(p.now(), again.Name)
			}
			folder, err := cli.NewFolder(out)
			if err != nil {
				return err
			}
			if err := again.WriteFolder(folder.Path()); err != nil {
				folder.Discard()
				return err
			}
			place, err := folder.Finish()
			if err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "experiments: the report is %s\n", filepath.Join(place, "report.html"))
			return nil
		},
	}
	redraw.Flags().StringVar(&out, "out", "", "write to this folder, empty or new (default "+
		"results/<time>-<name>)")
	return redraw
}

// redraw makes the report of a run again from the text of its NAME.json, with the flags of its command.
func (p *program) redraw(text []byte) (*report.Report, error) {
	var r struct {
		report.Result
		Engine     string          `json:"engine"`
		EngineRate float64         `json:"engine_gflops"`
		Data       json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	_, e := p.leaf(r.Name)
	if e == nil || r.Data == nil {
		return nil, errors.New("not the numbers of an experiment")
	}
	if e.Redraw == nil {
		return nil, fmt.Errorf("the report of %s does not follow from its numbers alone", r.Name)
	}
	o := report.Options{}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.BoolVar(&o.Quick, "quick", false, "")
	flags.IntVar(&o.Seeds, "seeds", report.SeedsWanted, "")
	flags.Uint64Var(&o.Seed, "seed", 1, "")
	flags.StringVar(&o.DataFolder, "data-folder", p.dataFolder, "")
	flags.StringSlice("part", nil, "")
	p.addOwnFlags(flags, e)
	if err := flags.Parse(p.again(&r.Result)[1:]); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Command, err)
	}
	again, err := e.Redraw(o, r.Data)
	if err != nil {
		return nil, err
	}
	again.Name, again.Run, again.Question, again.Command = r.Name, r.Run, e.Question, r.Command
	again.Engine, again.EngineRate = r.Engine, r.EngineRate
	again.Started, err = time.Parse(report.StartedLayout, r.Started)
	again.Wall = time.Duration(r.WallSeconds * float64(time.Second))
	return again, err
}
