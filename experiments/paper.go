package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tandem/experiments/fidelity/claims"
	"tandem/experiments/internal/report"
	"tandem/experiments/papers"
	"tandem/internal/cli"
)

// againName is the name of the page of the papers' figures with the numbers of the same command.
const againName = "again.html"

// figuresFolder is where the figures of the page in the repository are, from its root.
const figuresFolder = "experiments/papers"

const paperHelp = `paper writes one page with the figures and tables of the papers on Persia and
Neo/ZionEX, in the form that the papers have: ours as columns and lines with
bands for their intervals, the paper's values as diamonds, a sentence and the
verdicts below each. It takes seconds, because it reads stored results.

With --run it runs all experiments behind the page first, and again.html is the
page with their numbers. The full versions take hours, those of --quick minutes.`

// paperCommand returns the command that writes the page of the papers' figures.
func (p *program) paperCommand() *cobra.Command {
	var (
		s             settings
		run           bool
		results, page string
	)
	c := &cobra.Command{
		Use:   "paper",
		Short: "write a page with the papers' figures from stored results",
		Long:  paperHelp,
		Example: "  go run ./experiments paper\n  go run ./experiments paper --results results\n" +
			"  go run ./experiments paper --run --out results/papers",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			changed := cmd.Flags().Changed
			switch {
			case changed("resume"):
				return cli.UsageError("write "+invocation+" --resume "+s.resume, "paper --resume: "+
					"an interrupted command is resumed without a name")
			case run && (results != "" || page != ""):
				return cli.UsageError("leave out --run", "--results and --page read what was run before")
			case run:
				return p.runPaper(cmd.Context(), papers.Experiments(), s)
			}
			if err := refuseTraining("paper without --run", changed); err != nil {
				return err
			}
			return p.paper(results, page, s)
		},
	}
	p.addFlags(c, &s)
	c.Flags().BoolVar(&run, "run", false, "run the experiments behind the page first")
	c.Flags().StringVar(&results, "results", "", "take the numbers from the results in this folder, and "+
		"only the rest from this repository")
	c.Flags().StringVar(&page, "page", "", "write the page as Markdown to this file, too, and its figures "+
		"to "+figuresFolder)
	return c
}

// paper writes the page from the results in a folder and stored ones, and says what is on it.
func (p *program) paper(results, markdown string, s settings) error {
	made, err := p.page(papers.Input{Stored: p.stored, Folder: results, Redraw: p.redrawAlone})
	if err != nil {
		return err
	}
	if markdown != "" {
		if err := made.WriteFigures(figuresFolder); err != nil {
			return err
		}
		if err := os.WriteFile(markdown, made.Markdown("../"+figuresFolder), 0o644); err != nil {
			return err
		}
	}
	target := s.out
	if target == "" {
		target = cli.DefaultFolder(p.now(), "paper")
	}
	folder, err := cli.NewFolder(target)
	if err != nil {
		return err
	}
	if err := made.WriteFolder(folder.Path()); err != nil {
		folder.Discard()
		return err
	}
	place, err := folder.Finish()
	if err != nil {
		return err
	}
	if err := p.printPage(made, s); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "experiments: the page is %s\n", filepath.Join(place, papers.HTMLName))
	return nil
}

// printPage writes what is on a page to stdout.
func (p *program) printPage(made *papers.Page, s settings) error {
	if !s.json {
		_, err := fmt.Fprint(p.stdout, made.Summary(cli.TextColumns(p.stdout)))
		return err
	}
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(made)
}

// runPaper writes the page from stored results, runs experiments, and writes the page with their numbers.
func (p *program) runPaper(ctx context.Context, names []string, s settings) error {
	var chosen []*report.Experiment
	for _, name := range names {
		_, e := p.leaf(name)
		if e == nil {
			return p.unknown(name)
		}
		chosen = append(chosen, e)
	}
	s.paper = true
	return p.runChosen(ctx, chosen, true, s)
}

// showStored writes the page from stored results to the folder of a command that goes on to run experiments.
func (p *program) showStored(folder string, s settings) error {
	made, err := p.page(papers.Input{Stored: p.stored, Redraw: p.redrawAlone})
	if err != nil {
		return err
	}
	if err := made.WriteHTML(filepath.Join(folder, papers.HTMLName)); err != nil {
		return err
	}
	if !s.json { // stdout then has the numbers of the runs
		if err := p.printPage(made, s); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.stderr, "experiments: the page of stored results is %s\n",
		filepath.Join(folder, papers.HTMLName))
	if s.quick {
		text, err := p.fullTimes()
		if err != nil {
			return err
		}
		fmt.Fprintf(p.stderr, "experiments: %s\n", text)
	}
	return nil
}

// fullTimes says what the full versions of the experiments behind the page have taken.
func (p *program) fullTimes() (string, error) {
	found, err := claims.Find(p.stored, "", nil)
	if err != nil {
		return "", err
	}
	var all time.Duration
	var others []string
	for _, name := range papers.Experiments() {
		from, ok := found[name]
		if !ok || from.Quick() {
			others = append(others, name)
			continue
		}
		all += time.Duration(from.WallSeconds * float64(time.Second))
	}
	text := fmt.Sprintf("the full versions, %s paper --run, take %.1f h", invocation, all.Hours())
	if others != nil {
		text += fmt.Sprintf(" and the times of %s, of which no full run is stored",
			strings.Join(others, ", "))
	}
	return text, nil
}

// redrawAlone makes a report again as redraw does, with experiments of its own: those of the program keep the
// flags of its command line.
func (p *program) redrawAlone(text []byte) (*report.Report, error) {
	alone := program{chapters: chapters(), stored: p.stored, dataFolder: p.dataFolder,
		own: map[*report.Experiment]*pflag.FlagSet{}}
	return alone.redraw(text)
}
