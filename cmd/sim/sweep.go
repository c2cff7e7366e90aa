package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/internal/parallel"
	"tandem/sim/cost"
	"tandem/sim/predict"
	"tandem/sim/preset"
	"tandem/sim/sweep"
)

const sweepUsage = `Predict at every combination of values: sweep settings over ranges.

--over NAME=VALUES names an axis; several make a grid. A name is that of a flag
without its dashes, such as gpus, mode, network, accelerator or preset, or that
of a parameter of --set, such as embedding-ps.count. Values are separated by
commas: 25,100,400Gbps. Ranges of whole numbers are 2..60, 10..60+10 in steps of
ten, and 1..64*2 in doublings.

All points are simulated at the same points of what is not known. A combination
that does not fit or does not exist has a line that says so. Below the table are
the fastest and the cheapest point, and for every axis of numbers the smallest
value that is as fast as the fastest, but for 1 %.

--out FILE.csv writes a line for each point as soon as it is known. The same
command continues a file that is not complete, and repeats nothing. A complete
file has the same bytes on any number of cores, and however often the sweep was
stopped. --plot FILE.svg draws the throughput over the first axis of numbers,
and --report FILE.html has figures and the table.
` + common

const sweepExamples = `  go run ./cmd/sim sweep --preset persia-gcp --model criteo --system tandem \
      --over embedding-ps.count=1..64*2
  go run ./cmd/sim sweep --preset dgx-h100 --over gpus=8..128*2 \
      --over network=100,200,400Gbps --out network.csv --report network.html
  go run ./cmd/sim sweep --gpus 8 --over mode=sync,hybrid --over staleness=1,3,9`

// swept are the flags of a sweep that are not of a prediction.
type swept struct {
	over []string
	out  string
	plot string
}

// register declares the flags.
func (x *swept) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&x.over, "over", nil, "let a flag or parameter take several values, `NAME=VALUES` as "+
		"in gpus=8..64*2; see above; may be repeated")
	fs.StringVar(&x.out, "out", "", "write every point to this CSV `FILE`, or continue it")
	fs.StringVar(&x.plot, "plot", "", "draw the throughput of all points to this new SVG `FILE`")
}

// sweepFlags are the flags of a prediction that can be axes.
var sweepFlags = []string{"preset", "cluster", "file", "model", "system", "mode", "gpus", "batch-per-gpu",
	"global-batch", "staleness", "prefetch", "dense-ps", "network", "accelerator", "inside", "precision",
	"row-precision", "jitter", "seed", "faults", "slow", "retry", "dollars-per-gpu-hour", "steps"}

// grid is a sweep under way.
type grid struct {
	*program
	command *cobra.Command
	flags   *flags
	axes    []sweep.Axis
	file    *sweep.File
	notes   []string
	digest  string // of what all points depend on
}

func (p *program) sweepCommand() *cobra.Command {
	f := &flags{kind: sweeping}
	c := &cobra.Command{
		Use: "sweep", Short: "Predict at every combination of values",
		Long: sweepUsage, Example: sweepExamples, Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return advise(p.sweep(c, f)) },
	}
	f.register(c.Flags())
	return c
}

// sweep predicts all points that the file does not have yet, and reports all.
func (p *program) sweep(c *cobra.Command, f *flags) (err error) {
	once := *p
	once.probe = sync.OnceValues(p.probe) // this machine is the same at every point
	g := &grid{program: &once, command: c, flags: f}
	if err := g.readAxes(); err != nil {
		return err
	}
	if err := checkNewFile("--report", f.page); err != nil {
		return err
	}
	if err := checkNewFile("--plot", f.swept.plot); err != nil {
		return err
	}
	if f.samples == 0 {
		if f.samples, err = g.points(); err != nil {
			return err
		}
	}
	if err := g.setDigest(); err != nil {
		return err
	}
	if g.file, err = sweep.Open(f.swept.out, g.axes, g.inputs); err != nil {
		if errors.Is(err, sweep.ErrFile) {
			return &cli.Error{Err: fmt.Errorf("--out: %w", err), Hint: "name another file: one sweep never " +
				"overwrites another"}
		}
		return fmt.Errorf("--out: %w", err)
	}
	err = errors.Join(g.predict(), g.file.Close())
	if err != nil {
		return err
	}
	cli.PrintNotes(p.stderr, "sim", g.notes)
	return g.report(p.stdout)
}

// readAxes reads --over, and tries every value once, with the first of the other axes, so that a wrong one is
// refused before anything is simulated.
func (g *grid) readAxes() error {
	if len(g.flags.swept.over) == 0 {
		return cli.UsageError("such as --over gpus=8..64*2", "--over: want at least one axis")
	}
	for _, text := range g.flags.swept.over {
		a, err := sweep.ParseAxis(text)
		if err != nil {
			return overError(err)
		}
		if a.Name == "modes" {
			a.Name = "mode"
		}
		g.axes = append(g.axes, a)
	}
	if _, err := sweep.Grid(g.axes); err != nil {
		return overError(err)
	}
	if err := g.checkNames(); err != nil {
		return err
	}
	first := make([]string, len(g.axes))
	for i, a := range g.axes {
		first[i] = a.Values[0]
	}
	var refused error
	possible := 0
	for i, a := range g.axes {
		for k, value := range a.Values {
			if i > 0 && k == 0 {
				continue // is the first point
			}
			at := slices.Clone(first)
			at[i] = value
			s, err := g.side(at)
			switch {
			case err == nil:
				possible++
				g.addNotes(s)
			case isRefusal(err):
				refused = cmp.Or(refused, err)
			default:
				return err
			}
		}
	}
	if possible == 0 {
		return refused
	}
	return nil
}

func overError(err error) error {
	const hint = "write it as gpus=8..64*2, or network=25,100Gbps; see go run ./cmd/sim sweep --help"
	return cli.UsageError(hint, "--over: %w", err)
}

// checkNames refuses an axis that is neither a flag nor a parameter.
func (g *grid) checkNames() error {
	var parameters []string
	for _, a := range g.axes {
		if slices.Contains(sweepFlags, a.Name) {
			if g.command.Flags().Changed(a.Name) {
				return cli.UsageError("leave one of them out", "--over: %s is a flag of its own, too", a.Name)
			}
			continue
		}
		if parameters == nil {
			s, err := g.side(nil)
			if err != nil {
				return err
			}
			j := s.question(s.modes[0], s.gpus[0])
			parameters = append(j.Parameters().Names(), "hot.share", "hot.most", "hot.every")
		}
		if slices.Contains(parameters, a.Name) {
			continue
		}
		text := fmt.Sprintf("--over: %q is neither a flag nor a parameter", a.Name)
		if near := job.Nearest(a.Name, slices.Concat(sweepFlags, parameters)); near != "" {
			text += fmt.Sprintf("; the nearest is %q", near)
		}
		return cli.UsageError("flags are "+strings.Join(sweepFlags, ", ")+"; sim run --parameters lists the "+
			"parameters", "%s", text)
	}
	return nil
}

// words returns the flags of a point. Without values, they are those of the first point, as far as its axes
// are flags.
func (g *grid) words(values []string) (words []string) {
	for i, a := range g.axes {
		isFlag := slices.Contains(sweepFlags, a.Name)
		switch {
		case values == nil && isFlag:
			words = append(words, "--"+a.Name+"="+a.Values[0])
		case values == nil:
		case isFlag:
			words = append(words, "--"+a.Name+"="+values[i])
		default:
			words = append(words, "--set="+a.Name+"="+values[i])
		}
	}
	return words
}

// side reads the request of a point.
func (g *grid) side(values []string) (*side, error) {
	return g.newSide(g.command, sweeping, g.pointName(values), g.words(values))
}

// pointName names a point in errors, as "gpus=8, mode=sync".
func (g *grid) pointName(values []string) string {
	var words []string
	for i, value := range values {
		words = append(words, g.axes[i].Name+"="+value)
	}
	return cmp.Or(strings.Join(words, ", "), "sweep")
}

// addNotes collects notes, each once.
func (g *grid) addNotes(s *side) {
	for _, note := range s.notes {
		if !slices.Contains(g.notes, note) {
			g.notes = append(g.notes, note)
		}
	}
}

// isRefusal reports whether an error is about a combination that cannot be, rather than about a wrong value.
func isRefusal(err error) bool {
	return predict.DoesNotFit(err) || errors.Is(err, cost.ErrIncompatible) ||
		errors.Is(err, predict.ErrChoice)
}

// setDigest sets the digest of the program, of the flags, of the files that they name, and of the files that
// these name.
func (g *grid) setDigest() error {
	h := sha256.New()
	fmt.Fprintln(h, cli.Version(), g.flags.samples)
	var err error
	seen := map[string]bool{}
	g.command.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed || slices.Contains([]string{"over", "out", "plot", "report", "json"}, f.Name) {
			return
		}
		fmt.Fprintln(h, f.Name, f.Value)
		err = cmp.Or(err, addFile(h, f.Value.String(), seen))
	})
	g.digest = string(h.Sum(nil))
	return err
}

// profileMost is the size of a file up to which it may be a job or a profile. Larger ones are data.
const profileMost = 1 << 20

// addFile adds a file to a digest, and the files that it names if it is a job or a profile; seen has those
// that are in it already. Data count by their size. The name of a built-in profile, or another text, is none.
func addFile(h io.Writer, name string, seen map[string]bool) error {
	if !preset.IsFile(name) || seen[name] {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a rate such as 3GB/s
	}
	seen[name] = true
	if info.Size() > profileMost {
		_, err = fmt.Fprintln(h, info.Size())
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if _, err := h.Write(text); err != nil {
		return err
	}
	var document yaml.Node
	if yaml.Unmarshal(text, &document) != nil {
		return nil // data, or a file whose loader says what is wrong
	}
	return addNamed(h, &document, seen)
}

// addNamed adds the files that a part of a YAML document names.
func addNamed(h io.Writer, part *yaml.Node, seen map[string]bool) error {
	if part.Kind == yaml.ScalarNode {
		return addFile(h, part.Value, seen)
	}
	for _, inner := range part.Content {
		if err := addNamed(h, inner, seen); err != nil {
			return err
		}
	}
	return nil
}

// inputs returns the digest of a point.
func (g *grid) inputs(values []string) string {
	h := sha256.New()
	fmt.Fprint(h, g.digest)
	seen := map[string]bool{}
	for i, a := range g.axes {
		fmt.Fprintln(h, a.Name, values[i])
		if addFile(h, values[i], seen) != nil {
			return "" // the prediction reports it
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
}

// predict predicts the points that are left, some at once.
func (g *grid) predict() error {
	progress := cli.NewProgress(g.stderr, g.terminal)
	defer progress.Close()
	left := g.file.Left()
	all := len(left) + len(g.file.Rows())
	if have := all - len(left); have > 0 {
		note := fmt.Sprintf("%s has %d of %d points already", g.flags.swept.out, have, all)
		cli.PrintNotes(g.stderr, "sim", []string{note})
	}
	workers := 1 // of a point
	if len(left) > 0 {
		workers = max(1, parallel.Cores()/len(left))
	}
	var mu sync.Mutex
	var failed error
	parallel.ForEach(parallel.Cores(), len(left), func(i int) {
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop {
			return
		}
		row, err := g.row(left[i], workers)
		if err == nil {
			err = g.file.Append(row)
		}
		mu.Lock()
		defer mu.Unlock()
		failed = cmp.Or(failed, err)
		progress.Show(len(g.file.Rows()), all, "points")
	})
	return failed
}

// points returns how many points of what is not known can be simulated at every point of the grid in some
// seconds, if all of its points take as long as one in the middle. It depends on the command alone.
func (g *grid) points() (int, error) {
	all, err := sweep.Grid(g.axes)
	if err != nil {
		return 0, overError(err)
	}
	for i := range all {
		events, err := g.eventsAt(all[(len(all)/2+i)%len(all)])
		switch {
		case err == nil:
			return pairedPoints(pairedEvents, int64(len(all))*events), nil
		case !isRefusal(err):
			return 0, err
		}
	}
	return pairedLeast, nil
}

// eventsAt returns the events of one simulation of a point.
func (g *grid) eventsAt(values []string) (int64, error) {
	s, err := g.side(values)
	if err != nil {
		return 0, err
	}
	return simulatedEvents(context.Background(), s.question(s.modes[0], s.gpus[0]), s.predictions())
}

// row predicts a point.
func (g *grid) row(values []string, workers int) (*sweep.Row, error) {
	row := &sweep.Row{Values: values, Inputs: g.inputs(values)}
	s, err := g.side(values)
	if err == nil {
		var p *predict.Prediction
		j := s.question(s.modes[0], s.gpus[0])
		o := s.predictions()
		o.Samples, o.Workers = g.flags.samples, workers
		if p, err = predict.Run(context.Background(), j, o); err == nil {
			row.Throughput, row.StepMillis = p.Mid.Throughput, *ms(p.Mid.StepTime)
			if p.Interval != nil {
				row.Low, row.High = p.Interval.Low, p.Interval.High
			}
			if price, _ := s.dollarsPerHour(j); price != nil {
				row.PerHour, row.PerGiga = *price, *price/3600/p.Mid.Throughput*1e9
			}
			if len(p.Mid.Bottlenecks) > 0 {
				row.Bound, row.BoundShare = p.Mid.Bottlenecks[0].Resource, p.Mid.Bottlenecks[0].Share
			}
			return row, nil
		}
	}
	if !isRefusal(err) {
		return nil, err
	}
	row.Refusal = strings.TrimPrefix(err.Error(), g.pointName(values)+": ")
	return row, nil
}

// best returns the places of the fastest and of the cheapest row; −1 if there is none, or no price.
func best(rows []sweep.Row) (fastest, cheapest int) {
	fastest, cheapest = -1, -1
	most, least := 0.0, math.Inf(1)
	for i, r := range rows {
		if r.Throughput > most {
			most, fastest = r.Throughput, i
		}
		if r.PerGiga > 0 && r.PerGiga < least {
			least, cheapest = r.PerGiga, i
		}
	}
	return fastest, cheapest
}
