// Package paper compares predictions of the simulator with figures of the paper on Persia.
//
// A Plan lists cases, which are predicted, and claims, which are figures of the paper, each with the cases
// whose throughputs it is about. The inputs of all cases are listed with their sources, and frozen by a hash
// before anything is compared. No input is taken from a figure that it is compared with; a claim that is such
// a source is marked and is no prediction.
package paper

import (
	"fmt"
	"strings"

	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// Plan is everything that is fixed before the first run.
type Plan struct {
	Samples int     `yaml:"samples"` // points of the box of unknown inputs behind an interval
	Seeds   int     `yaml:"seeds"`
	Seed    uint64  `yaml:"seed"`
	Steps   int     `yaml:"steps,omitempty"` // measured of a run; 0: as many as the simulator chooses
	Cases   []Case  `yaml:"cases"`
	Claims  []Claim `yaml:"claims"`
	// Totals are the cases whose inputs are ranked by total effects, and Causes are searches. Both take long.
	Totals []string `yaml:"totals,omitempty"`
	Causes []Cause  `yaml:"causes,omitempty"`
}

// Case is a job that is predicted.
type Case struct {
	Name   string `yaml:"name"`
	Choice Choice `yaml:"job"`
	// MiddleOnly means that only the middle of the box is simulated, with one seed.
	MiddleOnly bool `yaml:"middle-only,omitempty"`
	Steps      int  `yaml:"steps,omitempty"` // measured, instead of the plan's; 0: those
}

// NewPlan returns a plan without cases, with the seeds of the options. It has as many points as the simulator
// has by default or, in the quick version, fewer.
func NewPlan(o report.Options, quickSamples, steps int) *Plan {
	p := &Plan{Samples: predict.SamplesDefault, Seeds: o.Seeds, Seed: o.Seed, Steps: steps}
	if o.Quick {
		p.Samples = quickSamples
	}
	return p
}

// Predict adds a case, and returns it for changes before the next call.
func (p *Plan) Predict(name string, c Choice) *Case {
	p.Cases = append(p.Cases, Case{Name: name, Choice: c})
	return &p.Cases[len(p.Cases)-1]
}

// Choice is the part of a predict.Choice that cases vary.
type Choice struct {
	Preset string `yaml:"preset"`
	Model  string `yaml:"model"`
	System string `yaml:"system,omitempty"`
	Mode   string `yaml:"mode"`
	GPUs   int    `yaml:"gpus"`
	Rows   string `yaml:"rows,omitempty"` // precision in memory
	// Products is the precision of matrix products; empty: the model's.
	Products string            `yaml:"products,omitempty"`
	Set      map[string]string `yaml:"set,omitempty"`
}

// Job returns the job of a choice.
func (c *Choice) Job() (*predict.Job, error) {
	j, _, err := predict.New(predict.Choice{
		Preset: c.Preset, Model: c.Model, System: c.System, Mode: c.Mode, GPUs: c.GPUs, RowPrecision: c.Rows,
		Precision: c.Products, Set: c.Set,
	})
	return j, err
}

// Claim is a figure of the paper, with the cases that predict it.
type Claim struct {
	// Name is that of the prediction as a quantity of the report, as hybrid-over-sync-64; empty: it is none.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	What string `yaml:"what" json:"what"`
	// Of is the case whose throughput the claim is about, divided by that of Over unless that is empty.
	Of   string `yaml:"of,omitempty" json:"-"`
	Over string `yaml:"over,omitempty" json:"-"`
	// Spread are cases, of whose throughputs the claim is the largest divided by the smallest.
	Spread []string `yaml:"spread,omitempty" json:"-"`
	// PerGPU divides every throughput by the GPUs of its case.
	PerGPU bool   `yaml:"per-gpu,omitempty" json:"-"`
	Unit   Unit   `yaml:"unit" json:"unit"`
	Figure Figure `yaml:"paper" json:"paper"`
	// Null is what is expected without a simulator, such as linear scaling; 0: nothing.
	Null float64 `yaml:"null,omitempty" json:"null,omitempty"`
	// Input means that a parameter of the cases was inferred from the figure, so that it is no prediction.
	Input bool `yaml:"input,omitempty" json:"-"`
}

// Unit is the unit of a figure.
type Unit string

// The units.
const (
	Kilo Unit = "k samples/s"
	Mega Unit = "M samples/s"
	Fold Unit = "×"
	Part Unit = "of 1"
	One  Unit = "samples/s"
)

// text writes a number of the unit for a table of samples a second and ratios.
func (u Unit) text(number string) string {
	if u == Part {
		return number
	}
	return number + " " + strings.TrimSuffix(string(u), " samples/s")
}

// size returns how many samples a second, or times, the unit is.
func (u Unit) size() float64 {
	switch u {
	case Kilo:
		return 1e3
	case Mega:
		return 1e6
	}
	return 1
}

// Figure is a number of the paper, in the unit of its claim. Low and High are the ends of what its printed or
// digitised form allows.
type Figure struct {
	Value      float64 `yaml:"value" json:"value"`
	Low        float64 `yaml:"low" json:"low"`
	High       float64 `yaml:"high" json:"high"`
	Provenance string  `yaml:"provenance" json:"provenance"`
}

// Printed returns a number that the paper prints, rounded to a multiple of step.
func Printed(value, step float64) Figure {
	return Figure{value, value - step/2, value + step/2, "printed"}
}

// Digitised returns a number that is read from a figure, with the error of the reading.
func Digitised(value, within float64) Figure {
	return Figure{value, value - within, value + within, fmt.Sprintf("digitised ±%g", within)}
}

// DigitisedRatio returns the ratio of two numbers that are read from a figure, with the error of each
// reading.
func DigitisedRatio(a, b, within float64) Figure {
	return Figure{a / b, (a - within) / (b + within), (a + within) / (b - within),
		fmt.Sprintf("%g ÷ %g, digitised ±%g", a, b, within)}
}

// Over returns the figure divided by a number that is known.
func (f Figure) Over(n float64) Figure {
	return Figure{f.Value / n, f.Low / n, f.High / n, fmt.Sprintf("%s, ÷ %g", f.Provenance, n)}
}

// Cause asks how large each unknown parameter alone must be for a ratio to reach a target.
type Cause struct {
	What   string   `yaml:"what"`
	Of     string   `yaml:"of"`
	Over   string   `yaml:"over"`
	Target float64  `yaml:"target"`
	Names  []string `yaml:"names,omitempty"` // of parameters; empty: all that are unknown
}

// names returns the names of the parameters of a job among which the search looks.
func (c *Cause) names(j *predict.Job) []string {
	if len(c.Names) > 0 {
		return c.Names
	}
	var unknown []string
	for _, e := range j.Parameters() {
		if !e.Known() {
			unknown = append(unknown, e.Name)
		}
	}
	return unknown
}

// Verdict is the outcome of a comparison.
type Verdict string

// The verdicts.
const (
	Inside          Verdict = "inside"
	Outside         Verdict = "outside"
	NotIdentifiable Verdict = "not identifiable"
	IsInput         Verdict = "input, no prediction"
	NoInterval      Verdict = "no interval"
)

// WidthMost is the width, high end ÷ low end, above which an interval identifies nothing.
const WidthMost = 2.5

// Judge compares an interval with a figure; without an interval, low is 0 or NaN. An interval that misses the
// figure is outside, however wide it is. One that meets the figure is inside only if it is narrow enough for
// that to mean something.
func Judge(f Figure, low, high float64) Verdict {
	switch {
	case !(low > 0):
		return NoInterval
	case f.High < low || high < f.Low:
		return Outside
	case high/low > WidthMost:
		return NotIdentifiable
	}
	return Inside
}
