package validation

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"tandem/algo/job"
	"tandem/sim/device"
	"tandem/sim/model"
	"tandem/sim/preset"
)

// The sets of steps.
const (
	Fit  = "fit"  // prices may be fitted to it
	Test = "test" // it judges predictions, and no price may depend on it
)

// The parts of the rule that put a step into its set; see the package comment.
const (
	Known      = "known"
	BySoftware = "software"
	ByModel    = "model"
	ByRow      = "row"
)

// What a published time includes besides the step itself.
const (
	Synthetic = "synthetic" // generated batches that wait in memory
	Pipeline  = "pipeline"  // the input pipeline of a training, beside the steps
)

// Step is one published training step.
type Step struct {
	ID       string `csv:"id"`     // unique, in words
	Source   string `csv:"source"` // the page, log or file, at a commit where there is one
	Software string `csv:"software"`
	Version  string `csv:"version"` // or date of the software
	Model    string `csv:"model"`   // a built-in profile, or a file of the folder models
	// Accelerator, Host, Inside and Network are profiles of package device.
	Accelerator string `csv:"accelerator"`
	GPUs        int    `csv:"gpus"`       // that trained
	Servers     int    `csv:"servers"`    // that they were in
	PerServer   int    `csv:"per_server"` // accelerators of a server, used or not
	// Preset is the built-in cluster that has what the row does not say.
	Preset string `csv:"preset"`
	Host   string `csv:"host"`
	Inside string `csv:"inside"` // wire between accelerators of a server
	// Network is the wire between servers; empty if one server has all tables.
	Network string `csv:"network"`
	// Mode is the mode of a system with parameter servers; empty if the accelerators have the tables.
	Mode  string `csv:"mode"`
	Batch int    `csv:"batch"` // global, in samples
	// Compute to Gradients replace the precisions of the model.
	Compute     model.Compute `csv:"compute"`
	Rows        model.Format  `csv:"rows"`
	Activations model.Format  `csv:"activations"`
	Wire        model.Format  `csv:"wire"`
	Gradients   model.Format  `csv:"gradients"`
	Includes    string        `csv:"includes"`  // Synthetic or Pipeline
	Published   float64       `csv:"published"` // the figure of the source, in Unit
	Unit        string        `csv:"unit"`      // "ms", "ms/N steps" or "samples/s"
	StepMS      float64       `csv:"step_ms"`   // milliseconds of a step, rounded to 4 digits
	Set         string        `csv:"set"`       // Fit or Test
	Reason      string        `csv:"reason"`    // the part of the rule that decided
	Assumptions string        `csv:"assumptions"`
}

//go:embed steps.csv models
var files embed.FS

// Models are the models of steps that are not built into package model.
var Models = &preset.Library{Kind: "model of a published step", Files: files, Folder: "models"}

// LoadModel returns the model of the step, with the precisions of the step.
func (s *Step) LoadModel() (*model.Model, error) {
	m := new(model.Model)
	err := Models.Load(s.Model, m)
	if errors.Is(err, preset.ErrUnknown) {
		m, err = model.Load(s.Model)
	}
	if err != nil {
		return nil, err
	}
	m.Precisions = model.Precisions{Compute: s.Compute, Rows: s.Rows, Activations: s.Activations,
		Wire: s.Wire, Gradients: s.Gradients}
	return m, m.Validate()
}

// Steps returns all steps in the order of the file. It checks every column, and the rule that divides the
// steps. An error names the line.
func Steps() ([]Step, error) {
	text, err := files.ReadFile("steps.csv")
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// parse reads the text of a list.
func parse(text []byte) ([]Step, error) {
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("steps.csv: %w", err)
	}
	t := reflect.TypeFor[Step]()
	var names []string
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("csv"))
	}
	if len(lines) == 0 || strings.Join(lines[0], ",") != strings.Join(names, ",") {
		return nil, fmt.Errorf("steps.csv: the first line is not %s", strings.Join(names, ","))
	}
	var steps []Step
	ids, found := make(map[string]bool), make(profiles)
	for i, line := range lines[1:] {
		var s Step
		err := s.read(line, names)
		if err == nil {
			err = s.validate(found)
		}
		if err == nil && ids[s.ID] {
			err = errors.New("id: there are two of it")
		}
		if err != nil {
			return nil, fmt.Errorf("steps.csv line %d (%s): %w", i+2, s.ID, err)
		}
		ids[s.ID] = true
		steps = append(steps, s)
	}
	return steps, checkRule(steps)
}

// read sets the fields from the cells of a line.
func (s *Step) read(cells, names []string) error {
	for i, cell := range cells {
		if strings.TrimSpace(cell) != cell {
			return fmt.Errorf("%s = %q has spaces at an end", names[i], cell)
		}
		switch field := reflect.ValueOf(s).Elem().Field(i); field.Kind() {
		case reflect.String:
			field.SetString(cell)
		case reflect.Int:
			n, err := strconv.Atoi(cell)
			if err != nil || n < 1 {
				return fmt.Errorf("%s = %q; want a whole number above 0", names[i], cell)
			}
			field.SetInt(int64(n))
		case reflect.Float64:
			x, err := strconv.ParseFloat(cell, 64)
			if err != nil || !(x > 0) {
				return fmt.Errorf("%s = %q; want a number above 0", names[i], cell)
			}
			field.SetFloat(x)
		}
	}
	return nil
}

// validate reports the first column with a value that it cannot have.
func (s *Step) validate(found profiles) error {
	for _, c := range []struct{ name, value string }{
		{"id", s.ID}, {"software", s.Software}, {"version", s.Version},
	} {
		if c.value == "" {
			return fmt.Errorf("%s is empty", c.name)
		}
	}
	switch {
	case !strings.HasPrefix(s.Source, "https://"):
		return fmt.Errorf("source = %q; want an https address", s.Source)
	case s.Servers != (s.GPUs+s.PerServer-1)/s.PerServer:
		return fmt.Errorf("servers = %d; want %d GPUs ÷ %d a server, rounded up", s.Servers, s.GPUs,
			s.PerServer)
	case (s.Servers > 1 || s.Mode != "") != (s.Network != ""):
		return fmt.Errorf("network = %q with %d servers and mode %q; want one where servers talk", s.Network,
			s.Servers, s.Mode)
	case s.Batch%s.GPUs != 0:
		return fmt.Errorf("batch = %d; want a multiple of %d GPUs", s.Batch, s.GPUs)
	case s.Includes != Synthetic && s.Includes != Pipeline:
		return fmt.Errorf("includes = %q; want %s or %s", s.Includes, Synthetic, Pipeline)
	case s.Set != Fit && s.Set != Test:
		return fmt.Errorf("set = %q; want %s or %s", s.Set, Fit, Test)
	}
	if err := s.validateTime(); err != nil {
		return err
	}
	return s.validateProfiles(found)
}

// validateTime checks that the step time follows from the published figure.
func (s *Step) validateTime() error {
	var want float64
	count, isCount := strings.CutPrefix(s.Unit, "ms/")
	count, hasSteps := strings.CutSuffix(count, " steps")
	switch n, err := strconv.Atoi(count); {
	case s.Unit == "ms":
		want = s.Published
	case s.Unit == "samples/s":
		want = 1000 * float64(s.Batch) / s.Published
	case isCount && hasSteps && err == nil && n > 0:
		want = s.Published / float64(n)
	default:
		return fmt.Errorf("unit = %q; want ms, ms/N steps or samples/s", s.Unit)
	}
	if got := strconv.FormatFloat(want, 'g', 4, 64); got != strconv.FormatFloat(s.StepMS, 'g', 4, 64) {
		return fmt.Errorf("step_ms = %v; want %s, from %v %s", s.StepMS, got, s.Published, s.Unit)
	}
	return nil
}

// profiles are the names of profiles that were found, each with what has it.
type profiles map[string]bool

// load calls a function that loads the profile of a name, unless the profile was found before.
func (p profiles) load(what, name string, f func() error) error {
	if p[what+" "+name] {
		return nil
	}
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p[what+" "+name] = true
	return nil
}

// validateProfiles checks that everything that the step names exists.
func (s *Step) validateProfiles(found profiles) error {
	formats := fmt.Sprint(s.Compute, s.Rows, s.Activations, s.Wire, s.Gradients)
	checks := []error{
		found.load("model", s.Model+formats, func() error { _, err := s.LoadModel(); return err }),
		found.load("accelerator", s.Accelerator, func() error {
			_, err := device.LoadAccelerator(s.Accelerator)
			return err
		}),
		found.load("host", s.Host, func() error { _, err := device.LoadHost(s.Host); return err }),
		found.load("inside", s.Inside, func() error { _, err := device.LoadWire(s.Inside); return err }),
		found.load("preset", s.Preset, func() error { _, err := job.LoadCluster(s.Preset); return err }),
	}
	if s.Network != "" {
		checks = append(checks, found.load("network", s.Network, func() error {
			_, err := device.LoadWire(s.Network)
			return err
		}))
	}
	return errors.Join(checks...)
}
