package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/algo/quantity"
	"tandem/internal/cli"
	"tandem/sim/cost"
	"tandem/sim/device"
	"tandem/sim/model"
	"tandem/sim/param"
	"tandem/sim/preset"
	"tandem/sim/system"
)

const presetsUsage = `List, show and export the profiles that predictions are made of.

A profile describes a cluster, the system software of a cluster, a model, an
accelerator, a host or a wire. "show" prints every quantity of a profile with
its range and source; the names are those of --set. For an accelerator and a
wire, it also prints the port, which must be the same, and the wires that the
accelerator usually has. "export" prints the file itself. A file is used like
a built-in profile, by its path: a name with a slash, or one that ends in
.yaml.`

const presetsExamples = `  go run ./cmd/sim presets list
  go run ./cmd/sim presets show persia-paper
  go run ./cmd/sim presets show dgx-h100 --kind host
  go run ./cmd/sim presets export V100-SXM2-32GB > ./my-v100.yaml
  go run ./cmd/sim run --accelerator ./my-v100.yaml`

// profile is what presets tells of a profile.
type profile struct {
	summary    string // one line
	source     string // "" if only quantities have sources
	parameters param.Vector
	// fits has the settings that say which parts go together, by their keys in the file.
	fits map[string]string
}

// shelf holds the profiles of one kind.
type shelf struct {
	kind, flag string // flag is how a command uses the profiles
	library    *preset.Library
	load       func(name string) (profile, error)
}

// shelves returns the kinds of profiles, in the order of the list.
func shelves() []shelf {
	return []shelf{
		{"cluster", "--preset", cost.Clusters, clusterProfile},
		{"system", "--system", system.Systems, systemProfile},
		{"model", "--model", model.Models, modelProfile},
		{"accelerator", "--accelerator", device.Accelerators, acceleratorProfile},
		{"host", "server, profile in a cluster's file", device.Hosts, hostProfile},
		{"wire", "--inside; host-link, network in a cluster's file", device.Wires, wireProfile},
	}
}

func clusterProfile(name string) (profile, error) {
	c, err := job.LoadCluster(name)
	if err != nil {
		return profile{}, err
	}
	h, _, err := cost.Load(&c, "")
	if err != nil {
		return profile{}, err
	}
	text := fmt.Sprintf("%s, %d a server", c.Accelerator, c.AcceleratorsPerServer)
	if c.GPUs > 0 {
		text = fmt.Sprintf("%d × %s", c.GPUs, text)
	}
	if c.EmbeddingPSs.Count > 0 {
		text += fmt.Sprintf("; %d EW, %d PS hosts", c.EmbeddingWorkers.Count, c.EmbeddingPSs.Count)
	}
	return profile{text + "; " + c.System, c.Source, h.Parameters(), nil}, nil
}

func systemProfile(name string) (profile, error) {
	s, err := system.Load(name)
	if err != nil {
		return profile{}, err
	}
	text := "tables on embedding PSs"
	if s.Architecture == system.StepGraph {
		text = "tables on the accelerators"
	}
	return profile{text, s.Note, param.Collect("system", s), nil}, nil
}

func modelProfile(name string) (profile, error) {
	m, err := model.Load(name)
	if err != nil {
		return profile{}, err
	}
	tables, values, low, high := m.Tables(), 0.0, math.MaxInt, 0
	for _, t := range tables {
		values += t.Rows * float64(t.Dim)
		low, high = min(low, t.Dim), max(high, t.Dim)
	}
	rows := fmt.Sprint(low)
	if low < high {
		rows += fmt.Sprint(" to ", high)
	}
	text := fmt.Sprintf("%d tables, %s values in rows of %s; dense network %s", len(tables), count(values),
		rows, count(float64(m.Network().Parameters())))
	return profile{text, m.Source, param.Collect("model", m), nil}, nil
}

func acceleratorProfile(name string) (profile, error) {
	a, err := device.LoadAccelerator(name)
	if err != nil {
		return profile{}, err
	}
	text := fmt.Sprintf("%v at %s; %v in fp32, %v in half", a.Memory.Mid, middle(&a.MemoryBandwidth),
		a.PeakFP32.Mid, a.PeakHalf.Mid)
	fits := map[string]string{"port": cmp.Or(a.Port, "none"), "inside": cmp.Or(a.Inside, "none"),
		"host-link": cmp.Or(a.HostLink, "none")}
	return profile{text, "", param.Collect("accelerator", a), fits}, nil
}

func hostProfile(name string) (profile, error) {
	h, err := device.LoadHost(name)
	if err != nil {
		return profile{}, err
	}
	text := fmt.Sprintf("%d cores, %v at %s, network %s", h.Cores.Mid, h.Memory.Mid, middle(&h.Bandwidth),
		middle(&h.Network))
	return profile{text, "", param.Collect("", h), nil}, nil
}

func wireProfile(name string) (profile, error) {
	w, err := device.LoadWire(name)
	if err != nil {
		return profile{}, err
	}
	text := fmt.Sprintf("%s, of which %s reached; latency %s", middle(&w.Bandwidth), middle(&w.Share),
		middle(&w.Latency))
	return profile{text, "", param.Collect("", w), map[string]string{"port": cmp.Or(w.Port, "any")}}, nil
}

// middle writes the middle of a quantity.
func middle(q quantity.Parameter) string {
	_, mid, _ := q.Span()
	return q.Text(mid)
}

// count writes a large number, as 540 M or 100 T.
func count(x float64) string {
	for _, s := range []struct {
		of   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= s.of {
			return strconv.FormatFloat(x/s.of, 'g', 3, 64) + " " + s.name
		}
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// presetsCommand returns the command presets.
func (p *program) presetsCommand() *cobra.Command {
	c := &cobra.Command{Use: "presets", Short: "List, show and export profiles", Long: presetsUsage,
		Example: presetsExamples, Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			return cli.UsageError("see go run ./cmd/sim presets --help",
				"presets: no command; want list, show or export")
		}}
	list := &cobra.Command{Use: "list", Short: "List all profiles by kind", Args: cli.NoArguments}
	asJSON := list.Flags().Bool("json", false, "print one JSON array instead of text")
	list.RunE = func(*cobra.Command, []string) error { return advise(listPresets(p.stdout, *asJSON)) }
	c.AddCommand(list)
	for _, x := range []struct {
		use, short string
		run        func(io.Writer, shelf, string, bool) error
		json       bool
	}{
		{"show NAME", "Show the quantities of a profile, with ranges and sources", showPreset, true},
		{"export NAME", "Print the file of a profile", exportPreset, false},
	} {
		sub := &cobra.Command{Use: x.use, Short: x.short, Args: oneProfile}
		kind := sub.Flags().String("kind", "",
			"look for this `KIND` only: "+strings.Join(kindNames(), ", "))
		asJSON := new(bool)
		if x.json {
			asJSON = sub.Flags().Bool("json", false, "print one JSON object instead of text")
		}
		sub.RunE = func(_ *cobra.Command, args []string) error {
			s, others, err := findPreset(args[0], *kind)
			if err != nil {
				return advise(err)
			}
			if len(others) > 0 {
				cli.PrintNotes(p.stderr, "sim", []string{fmt.Sprintf(
					"%s is also the name of a %s; --kind chooses", args[0], strings.Join(others, ", "))})
			}
			var text bytes.Buffer
			if err := x.run(&text, s, args[0], *asJSON); err != nil {
				return advise(err)
			}
			_, err = p.stdout.Write(text.Bytes())
			return err
		}
		c.AddCommand(sub)
	}
	return c
}

// oneProfile refuses anything but one argument.
func oneProfile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.UsageError("sim presets list has the names", "presets %s: %d arguments; want one name",
			c.Name(), len(args))
	}
	return nil
}

func kindNames() (names []string) {
	for _, s := range shelves() {
		names = append(names, s.kind)
	}
	return names
}

// findPreset returns the shelf of a profile, and the kinds of others of the same name. A user's file is of
// the kind that can read it.
func findPreset(name, kind string) (found shelf, others []string, err error) {
	if kind != "" && !slices.Contains(kindNames(), kind) {
		return found, nil, unknown("--kind", kind, kindNames())
	}
	var all []string
	for _, s := range shelves() {
		if kind != "" && s.kind != kind {
			continue
		}
		all = append(all, s.library.Names()...)
		if preset.IsFile(name) {
			_, failed := s.load(name)
			if failed != nil {
				if kind != "" || errors.Is(failed, fs.ErrNotExist) {
					return found, nil, failed
				}
				continue
			}
		} else if !slices.Contains(s.library.Names(), name) {
			continue
		}
		if found.kind == "" {
			found = s
		} else {
			others = append(others, s.kind)
		}
	}
	switch {
	case found.kind != "":
		return found, others, nil
	case preset.IsFile(name):
		return found, nil, cli.UsageError("--kind says what is wrong with it as a profile of one kind",
			"%s is not a profile of any kind", name)
	}
	slices.Sort(all)
	return found, nil, unknown("presets", name, slices.Compact(all))
}

func listPresets(w io.Writer, asJSON bool) error {
	type item struct {
		Kind    string `json:"kind"`
		Name    string `json:"name"`
		Summary string `json:"summary"`
	}
	items := []item{}
	var text strings.Builder
	for i, s := range shelves() {
		width := 0
		for _, name := range s.library.Names() {
			width = max(width, len(name))
		}
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "%ss (%s)\n", s.kind, s.flag)
		for _, name := range s.library.Names() {
			p, err := s.load(name)
			if err != nil {
				return err
			}
			items = append(items, item{s.kind, name, p.summary})
			fmt.Fprintf(&text, "  %-*s  %s\n", width, name, p.summary)
		}
	}
	if asJSON {
		return printJSON(w, items)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func showPreset(w io.Writer, s shelf, name string, asJSON bool) error {
	p, err := s.load(name)
	if err != nil {
		return err
	}
	list := cost.Assume(p.parameters)
	if asJSON {
		return printJSON(w, struct {
			Kind       string            `json:"kind"`
			Name       string            `json:"name"`
			Summary    string            `json:"summary"`
			Source     string            `json:"source"`
			Fits       map[string]string `json:"fits,omitempty"`
			Parameters []cost.Assumption `json:"parameters"`
		}{s.kind, name, p.summary, p.source, p.fits, list})
	}
	fmt.Fprintf(w, "%s %s: %s\n", s.kind, name, p.summary)
	if p.source != "" {
		cli.Paragraph(w, "Source: "+p.source, "  ")
	}
	for _, key := range slices.Sorted(maps.Keys(p.fits)) {
		fmt.Fprintf(w, "%s: %s\n", key, p.fits[key])
	}
	fmt.Fprintln(w)
	return writeParameters(w, list)
}

func exportPreset(w io.Writer, s shelf, name string, _ bool) error {
	text, err := s.library.Text(name)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// writeParameters prints quantities with their ranges, kinds and sources.
func writeParameters(w io.Writer, list []cost.Assumption) error {
	widths := [3]int{len("quantity"), len("middle"), len("range")}
	span := func(a cost.Assumption) string {
		if a.Low == a.High {
			return ""
		}
		return a.Low + " to " + a.High
	}
	for _, a := range list {
		for i, text := range []string{a.Name, a.Mid, span(a)} {
			widths[i] = max(widths[i], len([]rune(text)))
		}
	}
	line := func(name, mid, span, kind, source string) {
		fmt.Fprintf(w, "%-*s  %*s  %-*s  %-10s  %s\n", widths[0], name, widths[1], mid, widths[2], span, kind,
			source)
	}
	line("quantity", "middle", "range", "kind", "source")
	var sources []string
	for _, a := range list {
		number := slices.Index(sources, a.Source) + 1
		if number == 0 {
			sources = append(sources, a.Source)
			number = len(sources)
		}
		line(a.Name, a.Mid, span(a), string(a.Kind), fmt.Sprintf("[%d]", number))
	}
	for i, source := range sources {
		cli.Paragraph(w, fmt.Sprintf("  [%d] %s", i+1, source), "      ")
	}
	return nil
}

// printJSON prints a value as indented JSON.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
