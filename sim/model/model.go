package model

import (
	"embed"
	"errors"
	"fmt"
	"math"
	"slices"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/param"
	"tandem/sim/preset"
)

// Model is the profile of one model.
type Model struct {
	Name   string `yaml:"name"`
	Source string `yaml:"source"` // of all plain numbers
	Date   string `yaml:"date"`
	Note   string `yaml:"note"`

	Groups []Group `yaml:"tables"`
	// Parameters is the number of values of all rows. If it is given, the rows of all tables are scaled to
	// it.
	Parameters Number `yaml:"parameters"`
	// Count, Dim, IDs and Exponent are the number of tables, values of a row, ids of a sample and exponent of
	// the popularity, for groups that do not say them.
	Count    Number `yaml:"count"`
	Dim      Number `yaml:"dim"`
	IDs      Number `yaml:"ids"`
	Exponent Number `yaml:"exponent"`

	Numeric int   `yaml:"numeric"` // numeric features of a sample
	Labels  int   `yaml:"labels"`  // … and labels; absent: 1
	Dense   Dense `yaml:"dense"`
	// Layers, unless it is nil, is the network of a job file, in place of Dense.
	Layers *Network `yaml:"-"`

	Precisions Precisions `yaml:"precisions"`
	Optimizers Optimizers `yaml:"optimizers"`
	Batch      Batch      `yaml:"batch"`
	// Prefilled means that all rows are in memory from the start, as in a run that follows a long one.
	Prefilled bool `yaml:"prefilled"`
}

// Group is a number of equal tables.
type Group struct {
	Name  string  `yaml:"name"`
	Count int     `yaml:"count"` // absent: the model's, or else 1
	Rows  float64 `yaml:"rows"`
	Dim   int     `yaml:"dim"` // absent: the model's
	IDs   float64 `yaml:"ids"` // of a sample, on average; absent: the model's, or else 1
	// Derived means that all ids of a sample but the first are a fixed random choice that depends on the
	// first alone.
	Derived bool `yaml:"derived"`
	// Sequence means that the rows of a sample are not summed but passed on one by one.
	Sequence   bool       `yaml:"sequence"`
	Popularity Popularity `yaml:"popularity"`
}

// Precisions are number formats, which a job can replace.
type Precisions struct {
	Compute     Compute `yaml:"compute"`     // of matrix products
	Rows        Format  `yaml:"rows"`        // of embedding rows in memory
	Activations Format  `yaml:"activations"` // of the dense network
	Wire        Format  `yaml:"wire"`        // of pooled embeddings and their gradients
	Gradients   Format  `yaml:"gradients"`   // of the dense network's all-reduce
}

// Compute is the format in which matrix units multiply.
type Compute string

// The formats of matrix products.
const (
	FP32 Compute = "fp32"
	TF32 Compute = "tf32"
	Half Compute = "half"
)

// Device returns the precision of a kernel.
func (c Compute) Device() device.Precision {
	switch c {
	case TF32:
		return device.TF32
	case Half:
		return device.Half
	}
	return device.FP32
}

// Format is a format of values in memory and on wires.
type Format string

// The formats of values.
const (
	Float32  Format = "fp32"
	Float16  Format = "fp16"
	BFloat16 Format = "bf16"
)

// Bytes returns the size of a value.
func (f Format) Bytes() unit.Bytes {
	if f == Float32 {
		return 4
	}
	return 2
}

// Optimizers are the optimizers of rows and of the dense network.
type Optimizers struct {
	Rows  Optimizer `yaml:"rows"`
	Dense Optimizer `yaml:"dense"`
}

// Optimizer is an optimizer, by the state that it holds.
type Optimizer string

// The optimizers.
const (
	SGD            Optimizer = "sgd"             // no state
	Momentum       Optimizer = "momentum"        // a value for each value
	Adagrad        Optimizer = "adagrad"         // a value for each value
	RowWiseAdagrad Optimizer = "rowwise-adagrad" // a value for each row
	Adam           Optimizer = "adam"            // two values for each value
)

// State returns the bytes of fp32 state for a row of some values.
func (o Optimizer) State(values int) unit.Bytes {
	switch o {
	case Momentum, Adagrad:
		return 4 * unit.Bytes(values)
	case RowWiseAdagrad:
		return 4
	case Adam:
		return 8 * unit.Bytes(values)
	}
	return 0
}

// Batch is the default batch size in samples: of one accelerator, or of all together.
type Batch struct {
	PerGPU int `yaml:"per-gpu"`
	Global int `yaml:"global"`
}

//go:embed profiles
var profiles embed.FS

// Models are the built-in profiles.
var Models = &preset.Library{Kind: "model", Files: profiles, Folder: "profiles"}

// Load returns the model of a name or file.
func Load(name string) (*Model, error) {
	m := new(Model)
	return m, Models.Load(name, m)
}

// Validate reports the first fault of the profile. It gives plain numbers the source of the profile.
func (m *Model) Validate() error {
	if m.Name == "" {
		return errors.New("no name; name it after its file")
	}
	if err := quantity.ValidateOrigin(quantity.Default, m.Source, m.Date); err != nil {
		return err
	}
	for _, n := range []*Number{&m.Parameters, &m.Count, &m.Dim, &m.IDs, &m.Exponent, &m.Dense.Parameters,
		&m.Dense.Layers, &m.Dense.Taper} {
		if n.Given() && n.Source == "" && n.Date == "" {
			n.Source, n.Date = m.Source, m.Date
		}
	}
	if err := param.Validate(m); err != nil {
		return err
	}
	if m.Labels == 0 {
		m.Labels = 1
	}
	if err := m.validateTables(); err != nil {
		return err
	}
	if err := m.Dense.validate(m.Labels); err != nil {
		return fmt.Errorf("dense: %w", err)
	}
	if m.Dense.Interaction == Dot {
		for _, t := range m.Tables() {
			if len(m.Dense.Bottom) == 0 || t.Dim != m.Dense.Bottom[len(m.Dense.Bottom)-1] {
				return fmt.Errorf("dense: inner products of rows of %d values (table %s) with the output of "+
					"bottom; give bottom a last layer of this width", t.Dim, t.Name)
			}
		}
	}
	return m.validateFormats()
}

func (m *Model) validateTables() error {
	if len(m.Groups) == 0 {
		return errors.New("no tables; list at least one")
	}
	if _, high := m.Exponent.Range(); high > exponentMax {
		return fmt.Errorf("exponent: high = %v; want at most %v", high, exponentMax)
	}
	for i, g := range m.Groups {
		at := fmt.Sprintf("tables[%d] %s", i, g.Name)
		switch {
		case !(g.Rows >= 1) || g.Rows > rowsMax:
			return fmt.Errorf("%s: rows = %v; want 1 to %v", at, g.Rows, float64(rowsMax))
		case g.Count < 0 || g.Dim < 0 || !(g.IDs >= 0):
			return fmt.Errorf("%s: count, dim, ids = %d, %d, %v; want 0 or more", at, g.Count, g.Dim, g.IDs)
		case g.Dim == 0 && !(m.Dim.of(0) >= 1):
			return fmt.Errorf("%s: no dim, and none of the model; give one", at)
		case g.Popularity.Exponent == nil && len(g.Popularity.Pieces) == 0 && !m.Exponent.Given():
			return fmt.Errorf("%s: no exponent of popularity, and none of the model; give one", at)
		}
		if err := g.Popularity.Validate(); err != nil {
			return fmt.Errorf("%s: popularity: %w", at, err)
		}
	}
	return nil
}

// rowsMax is the largest number of rows of a table: float64 counts exactly up to it.
const rowsMax = 1 << 53

func (m *Model) validateFormats() error {
	if c := m.Precisions.Compute; c != FP32 && c != TF32 && c != Half {
		return fmt.Errorf("precisions.compute = %q; want %s, %s or %s", c, FP32, TF32, Half)
	}
	for _, f := range []struct {
		name   string
		format Format
	}{
		{"rows", m.Precisions.Rows}, {"activations", m.Precisions.Activations}, {"wire", m.Precisions.Wire},
		{"gradients", m.Precisions.Gradients},
	} {
		if f.format != Float32 && f.format != Float16 && f.format != BFloat16 {
			return fmt.Errorf("precisions.%s = %q; want %s, %s or %s", f.name, f.format, Float32, Float16,
				BFloat16)
		}
	}
	known := []Optimizer{SGD, Momentum, Adagrad, RowWiseAdagrad, Adam}
	if o := m.Optimizers.Rows; !slices.Contains(known, o) {
		return fmt.Errorf("optimizers.rows = %q; want one of %v", o, known)
	}
	if o := m.Optimizers.Dense; !slices.Contains(known, o) || o == RowWiseAdagrad {
		return fmt.Errorf("optimizers.dense = %q; want one of %v but %s", o, known, RowWiseAdagrad)
	}
	if m.Numeric < 0 || m.Labels < 1 {
		return fmt.Errorf("numeric, labels = %d, %d; want at least 0, 1", m.Numeric, m.Labels)
	}
	if m.Batch.PerGPU < 0 || m.Batch.Global < 0 || (m.Batch.PerGPU > 0) == (m.Batch.Global > 0) {
		return fmt.Errorf("batch: per-gpu, global = %d, %d; want one of them above 0", m.Batch.PerGPU,
			m.Batch.Global)
	}
	return nil
}

// GlobalBatch returns the default batch of a number of accelerators.
func (m *Model) GlobalBatch(accelerators int) int {
	if m.Batch.Global > 0 {
		return m.Batch.Global
	}
	return m.Batch.PerGPU * accelerators
}

// Table is one table of a model.
type Table struct {
	Name        string
	Rows        float64
	Dim         int
	IDs         float64 // of a sample
	Derived     bool    // see Group
	Sequence    bool
	Frequencies Frequencies
}

// Distinct returns the expected number of distinct rows that a number of samples use.
func (t *Table) Distinct(samples float64) float64 {
	if !t.Derived || t.IDs <= 1 {
		return t.Frequencies.Distinct(samples * t.IDs)
	}
	// Each distinct first id has IDs rows at random.
	first := t.Frequencies.Distinct(samples)
	return first + (t.Rows-first)*-math.Expm1(-(t.IDs-1)*first/t.Rows)
}

// Values returns the number of values that the dense network gets from the table for one sample.
func (t *Table) Values() float64 {
	if t.Sequence {
		return t.IDs * float64(t.Dim)
	}
	return float64(t.Dim)
}

// RowBytes returns the memory of a row with the state of its optimizer.
func (t *Table) RowBytes(f Format, o Optimizer) unit.Bytes {
	return f.Bytes()*unit.Bytes(t.Dim) + o.State(t.Dim)
}

// Tables returns all tables at the middle of all ranges, or at the values that the quantities were set to.
func (m *Model) Tables() []Table {
	var tables []Table
	listed := 0.0
	for _, g := range m.Groups {
		t := Table{Name: g.Name, Rows: math.Round(g.Rows), Dim: g.Dim, IDs: g.IDs, Derived: g.Derived,
			Sequence: g.Sequence}
		if t.Dim == 0 {
			t.Dim = max(1, int(math.Round(m.Dim.of(1))))
		}
		if t.IDs == 0 {
			t.IDs = m.IDs.of(1)
		}
		count := g.Count
		if count == 0 {
			count = max(1, int(math.Round(m.Count.of(1))))
		}
		listed += float64(count) * t.Rows * float64(t.Dim)
		for i := range count {
			if count > 1 {
				t.Name = fmt.Sprintf("%s%d", g.Name, i+1)
			}
			tables = append(tables, t)
		}
	}
	if m.Parameters.Given() {
		for i := range tables {
			tables[i].Rows = max(1, math.Round(tables[i].Rows*m.Parameters.of(0)/listed))
		}
	}
	i := 0
	for _, g := range m.Groups {
		count := g.Count
		if count == 0 {
			count = max(1, int(math.Round(m.Count.of(1))))
		}
		f := g.Popularity.frequencies(tables[i].Rows, m.Exponent.of(0))
		for range count {
			tables[i].Frequencies = f
			i++
		}
	}
	return tables
}

// Network returns the dense network at the middle of all ranges.
func (m *Model) Network() *Network {
	if m.Layers != nil {
		return m.Layers
	}
	tables := m.Tables()
	width, vectors := 0.0, 0.0
	for _, t := range tables {
		width += t.Values()
		vectors += t.Values() / float64(t.Dim)
	}
	return m.Dense.network(m.Numeric, m.Labels, int(math.Round(vectors)), int(math.Round(width)),
		tables[0].Dim)
}
