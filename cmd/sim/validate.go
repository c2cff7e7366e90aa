package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tandem/internal/cli"
	"tandem/sim/validation"
)

const validateUsage = `Predict published training steps, and show how good the predictions are.

The list has steps of other systems with their source: go doc ./sim/validation.
A step is marked fit or test by a rule that was fixed before any prediction.
Prices may be fitted to steps marked fit. Steps marked test only judge.

The errors of a group are medians of the factor between predicted and published,
less 1. Inside counts published times in the interval, and width is its median,
high ÷ low. Three null models stand beside it:
  roofline  products at peak, rows at memory bandwidth, or pooled rows on the
            wire: the longest, without a simulator
  scaled    the roofline times the one factor that fits the other steps of the
            same software that are marked fit
  scaling   perfect scaling from the published step on the fewest GPUs

Trends count pairs of steps that differ in one setting: whether the step becomes
longer or shorter. --rows shows every step.`

const validateExamples = `  go run ./cmd/sim validate
  go run ./cmd/sim validate --software hugectr --rows
  go run ./cmd/sim validate --json`

// judgedSamplesMost is the largest number of points behind the interval of a judged step.
const judgedSamplesMost = 4096

// validateFlags are the flags of validate.
type validateFlags struct {
	set, software string
	samples       int
	rows, json    bool
}

func (p *program) validateCommand() *cobra.Command {
	f := &validateFlags{}
	c := &cobra.Command{
		Use: "validate", Short: "Predict published steps, and show how good the predictions are",
		Long: validateUsage, Example: validateExamples, Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return p.validate(c, f) },
	}
	fs := c.Flags()
	fs.StringVar(&f.set, "set", validation.Test, "judge steps that are marked test, fit or all")
	fs.StringVar(&f.software, "software", "", "judge steps of this software alone")
	fs.IntVar(&f.samples, "samples", validation.SamplesDefault, "simulate this many points of what is not "+
		"known;\nan eighth of them for systems with embedding PSs")
	fs.BoolVar(&f.rows, "rows", false, "show every step")
	fs.BoolVar(&f.json, "json", false, "write JSON to stdout instead of tables")
	return c
}

// validationRecord is a step in the JSON of validate.
type validationRecord struct {
	ID        string  `json:"id"`
	Software  string  `json:"software"`
	System    string  `json:"system"`
	Set       string  `json:"set"`
	Published float64 `json:"published_ms"`
	Predicted float64 `json:"predicted_ms"`
	Low       float64 `json:"low_ms"`
	High      float64 `json:"high_ms"`
	Roofline  float64 `json:"roofline_ms"`
}

func (p *program) validate(c *cobra.Command, f *validateFlags) error {
	sets := []string{validation.Test, validation.Fit, "all"}
	if !slices.Contains(sets, f.set) {
		return cli.UsageError("", "--set %q; want test, fit or all", f.set)
	}
	if f.samples < 2 || f.samples > judgedSamplesMost {
		return cli.UsageError("", "--samples %d; want 2 to %d", f.samples, judgedSamplesMost)
	}
	steps, err := validation.Steps()
	if err != nil {
		return err
	}
	var known []string
	for i := range steps {
		if name := steps[i].Software; !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	if f.software != "" {
		if !slices.Contains(known, f.software) {
			return cli.UsageError("", "--software %q; want one of %s", f.software, strings.Join(known, ", "))
		}
		steps = slices.DeleteFunc(steps, func(s validation.Step) bool { return s.Software != f.software })
	}
	progress := cli.NewProgress(p.stderr, p.terminal)
	all, err := validation.Judge(c.Context(), steps, validation.Options{Samples: f.samples,
		RoleSamples: max(2, f.samples/8),
		Done:        func(done, all int) { progress.Show(done, all, "published steps") }})
	progress.Close()
	if err != nil {
		return err
	}
	judged := slices.DeleteFunc(slices.Clone(all), func(j validation.Judged) bool {
		return f.set != "all" && j.Set != f.set
	})
	if len(judged) == 0 {
		return cli.UsageError("choose --set all, or another --software", "%s has no steps that are marked %s",
			f.software, f.set)
	}
	if f.json {
		return printJSON(p.stdout, validationRecords(judged))
	}
	if f.rows {
		if err := writeJudged(p.stdout, judged); err != nil {
			return err
		}
	}
	if err := writeScores(p.stdout, judged, all); err != nil {
		return err
	}
	writeTrends(p.stdout, "more servers", validation.Servers(all))
	writeTrends(p.stdout, "half precision", validation.Precision(all))
	return nil
}

func validationRecords(judged []validation.Judged) (records []validationRecord) {
	for i := range judged {
		j := &judged[i]
		records = append(records, validationRecord{j.ID, j.Software, j.List, j.Set, j.StepMS, j.Predicted,
			j.Low, j.High, j.Roofline})
	}
	return records
}

// writeJudged writes a row for each step.
func writeJudged(w io.Writer, judged []validation.Judged) error {
	t := cli.Table{Header: []string{"step", "set", "published ms", "predicted ms", "interval"}, Words: 2}
	for i := range judged {
		j := &judged[i]
		mark := ""
		if !j.Inside() {
			mark = " out"
		}
		t.Add(j.ID, j.Set, digits(j.StepMS), digits(j.Predicted), digits(j.Low)+" to "+digits(j.High)+mark)
	}
	return t.WriteText(w)
}

// writeScores writes a row for each software, in one server and in several, and one for all.
func writeScores(w io.Writer, judged, all []validation.Judged) error {
	t := cli.Table{Header: []string{"software", "servers", "steps", "error %", "inside", "width", "roofline",
		"scaled", "scaling"}, Words: 2}
	add := func(name, servers string, some []validation.Judged) {
		s := validation.Rate(some, all)
		t.Add(name, servers, strconv.Itoa(s.Steps), percent(s.Error), fmt.Sprintf("%d/%d", s.Inside, s.Steps),
			digits(s.Width), percent(s.Roofline), percent(s.Scaled), percent(s.Scaling))
	}
	type group struct{ software, servers string }
	groups := map[group][]validation.Judged{}
	var order []group
	for _, j := range judged {
		g := group{j.Software, "one"}
		if j.Servers > 1 {
			g.servers = "several"
		}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], j)
	}
	slices.SortStableFunc(order, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.software, b.software), cmp.Compare(a.servers, b.servers))
	})
	for _, g := range order {
		add(g.software, g.servers, groups[g])
	}
	if len(order) > 1 {
		add("all", "", judged)
	}
	return t.WriteText(w)
}

// percent writes a part in percent, a dash for none.
func percent(part float64) string {
	if math.IsNaN(part) {
		return "–"
	}
	return fmt.Sprintf("%.0f", 100*part)
}

// writeTrends writes how many trends have the right sign, and names the others.
func writeTrends(w io.Writer, what string, trends []validation.Trend) {
	if len(trends) == 0 {
		return
	}
	right := 0
	var wrong []string
	for i := range trends {
		if t := &trends[i]; t.Right() {
			right++
		} else {
			wrong = append(wrong, fmt.Sprintf("%s to %s (published × %s, predicted × %s)", t.From.ID, t.To.ID,
				digits(t.Published), digits(t.Predicted)))
		}
	}
	text := fmt.Sprintf("Sign of %s: right in %d of %d.", what, right, len(trends))
	if len(wrong) > 0 {
		text += " Wrong: " + strings.Join(wrong, "; ") + "."
	}
	cli.Paragraph(w, text, "  ")
}
