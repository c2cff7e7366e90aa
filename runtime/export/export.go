// Package export writes a trained model in the formats of other programs: the dense network as ONNX, that of
// a module of PyTorch also as its text and state_dict, the embedding rows as Parquet or safetensors, and a
// Python program that predicts with both.
package export

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/runtime/checkpoint"
)

// Files of an export.
const (
	NetworkFile = "network.onnx"
	ModuleFile  = "network.py" // the text of a module of PyTorch
	StateFile   = "state_dict.pt"
	ColumnsFile = "columns.json"
	ProgramFile = "predict.py"
)

// Formats of the rows.
const (
	Parquet     = "parquet"
	Safetensors = "safetensors"
)

// RowsFile returns the name of the file of rows in a format, where all rows have one length.
func RowsFile(format string) string { return "rows." + format }

// DimFile returns the name of the file of the rows of some values, where slots differ in their dimension.
func DimFile(format string, dim int) string { return fmt.Sprintf("rows-dim-%d.%s", dim, format) }

// program predicts the rows of a CSV or Parquet file in Python.
//
//go:embed predict.py
var program []byte

// Module is a model.Engine of a module of PyTorch.
type Module interface {
	// WriteState writes the state_dict of trained parameters to a file, for torch.load.
	WriteState(values model.Values, file string) error
	// WriteONNX writes the network with trained parameters as ONNX, with the inputs and the output of a
	// built-in one: see encode. Scaling has the mean and the standard deviation of every number; units those
	// of every label of a model with squared loss. The error says in a line why PyTorch cannot.
	WriteONNX(values model.Values, scaling [][2]float64, units [][2]float32, file string) error
}

// Write verifies a model and writes it to a new folder, complete or not at all. It returns the names of the
// files, and a sentence for each that is left out. A machine runs a module of PyTorch, and nothing else.
// Without data of kind csv or parquet there is no predict.py: only Tandem knows the ids of the others.
//
// Errors name the folder, the format, or what of the model cannot be exported. Memory: the dense network
// twice, and for safetensors all rows.
func Write(folder string, m *checkpoint.Checkpoint, format string, machine backend.Backend) (files,
	leftOut []string, err error) {
	j, err := m.ParseJob()
	if err != nil {
		return nil, nil, err
	}
	if err := m.Verify(); err != nil {
		return nil, nil, err
	}
	rows, err := m.Rows()
	if err != nil {
		return nil, nil, err
	}
	contents, columns, err := describe(m, &j, machine)
	if err != nil {
		return nil, nil, fmt.Errorf("model %s: %w", m.Folder(), err)
	}
	writeRows, known := map[string]func(io.Writer, *checkpoint.RowReader, int) error{
		Parquet: writeParquet, Safetensors: writeTensors}[format]
	if !known {
		return nil, nil, fmt.Errorf("rows as %q: want %s or %s", format, Parquet, Safetensors)
	}
	dims := lengths(rows.Dims())
	for _, dim := range dims {
		name := RowsFile(format)
		if len(dims) > 1 {
			name = DimFile(format, dim)
		}
		contents = append(contents,
			content{name, written(func(w io.Writer) error { return writeRows(w, rows, dim) })})
	}
	contents = append(contents, content{ColumnsFile, written(columns.write)})
	if columns.Table != nil {
		contents = append(contents, content{ProgramFile, whole(program)})
	}
	return writeFolder(folder, contents)
}

// lengths returns the different numbers of values that rows have, in ascending order.
func lengths(dims []int) []int {
	dims = slices.Clone(dims)
	slices.Sort(dims)
	return slices.Compact(dims)
}

// describe returns the files of the network, and the columns that its inputs are made of.
func describe(m *checkpoint.Checkpoint, j *job.Job, machine backend.Backend) (network []content,
	columns *columns, err error) {
	schema, err := m.Schema.Batch()
	if err != nil {
		return nil, nil, err
	}
	values, err := m.Dense()
	if err != nil {
		return nil, nil, err
	}
	columns = newColumns(j, &schema, m.Scaling)
	if j.Model.Kind == model.Torch {
		engine, err := backend.NewEngine(j, &schema, machine)
		if err == nil {
			err = m.CheckLayout(engine.Layout())
		}
		if err != nil {
			return nil, nil, err
		}
		columns.Module = newModule(j, m.Scaling)
		return []content{
			{ModuleFile, whole([]byte(j.Model.Source))},
			{StateFile, func(path string) error { return engine.(Module).WriteState(values, path) }},
			{NetworkFile, func(path string) error {
				m := columns.Module
				if err := engine.(Module).WriteONNX(values, m.Scaling, m.Units, path); err != nil {
					return &leftOutError{fmt.Sprintf("PyTorch cannot write the module as ONNX: %v", err)}
				}
				return nil
			}},
		}, columns, nil
	}
	graph, err := model.NewGraph(j.Model.Spec, &schema, values)
	if err != nil {
		return nil, nil, err
	}
	text, err := encode(graph, &schema, m.Scaling)
	return []content{{NetworkFile, whole(text)}}, columns, err
}

// columns says how the values of a record become the inputs of the network.
type columns struct {
	PrefixBits int      `json:"prefix_bits"`
	Slots      []slot   `json:"slots"`
	Numbers    []string `json:"numbers"`
	Labels     []string `json:"labels"`
	Means      []mean   `json:"means,omitempty"` // numbers behind those of the file
	Table      *table   `json:"table,omitempty"`
	Module     *module  `json:"module,omitempty"`
}

// mean is a number that follows from the ids of a slot: the mean of those of its ids, of which others have 0.
type mean struct {
	Slot   string         `json:"slot"`
	Values batch.IDValues `json:"values"`
}

// module is how network.py becomes a network: its constructor, the mean and the standard deviation of every
// number, and of a model with squared loss those of every label.
type module struct {
	Class     string         `json:"class"`
	Arguments map[string]any `json:"arguments"`
	Scaling   [][2]float64   `json:"scaling"`
	Units     [][2]float32   `json:"units,omitempty"`
}

func newModule(j *job.Job, scaling []batch.Scaling) *module {
	m := &module{Class: j.Model.Class, Arguments: map[string]any{}, Scaling: [][2]float64{}}
	maps.Copy(m.Arguments, j.Model.Arguments)
	for _, s := range scaling {
		m.Scaling = append(m.Scaling, [2]float64{s.Mean, s.Std})
	}
	for _, u := range model.NewLoss(j.Model.Spec).Units() {
		m.Units = append(m.Units, [2]float32{u.Center, u.Scale})
	}
	return m
}

// slot is an id column.
type slot struct {
	Name string `json:"name"`
	Dim  int    `json:"dim"` // values of a row
	// Prefix is the sign of the row of id 0, without a hash-stack.
	Prefix    uint64 `json:"prefix"`
	Separator string `json:"separator"`
	Whole     bool   `json:"whole"` // 17.0 is the id 17
	// Weights is the column of the weights of the ids, and WeightSeparator stands between an id and its
	// weight. Both empty: the ids have none.
	Weights         string `json:"weights"`
	WeightSeparator string `json:"weight_separator"`
	FixedSize       int    `json:"fixed_size"` // 0: the rows of a sample are added
	SqrtScaling     bool   `json:"sqrt_scaling"`
	Mean            bool   `json:"mean"`
	Max             bool   `json:"max"`
	HashStackRounds int    `json:"hash_stack_rounds"`
	HashStackRows   int    `json:"hash_stack_rows"`
	// Derived are the columns that a derived slot combines; empty: the slot is a column of the file.
	Derived []derived `json:"derived,omitempty"`
}

// derived is a column of a derived slot: a slot or, with edges, a numeric column.
type derived struct {
	Column string    `json:"column"`
	Edges  []float64 `json:"edges,omitempty"`
}

// table is how a file is read.
type table struct {
	Format    job.DataKind `json:"format"` // csv or parquet
	Delimiter string       `json:"delimiter"`
	Comment   string       `json:"comment"`
	Columns   []string     `json:"columns"` // empty: the first line names them
	Missing   []string     `json:"missing"`
	// Names of columns whose numbers have a decimal comma, or commas between thousands.
	DecimalComma []string `json:"decimal_comma"`
	Thousands    []string `json:"thousands"`
	// EmptyNumber is what an empty numeric field stands for.
	EmptyNumber *float64 `json:"empty_number"`
}

func newColumns(j *job.Job, schema *batch.Schema, scaling []batch.Scaling) *columns {
	own := len(schema.Dense) - len(j.Data.Means)
	c := &columns{PrefixBits: schema.PrefixBits, Slots: []slot{},
		Numbers: append([]string{}, schema.Dense[:own]...), Labels: schema.Labels}
	for i, name := range j.Data.Means {
		c.Means = append(c.Means, mean{name, scaling[own+i].Values})
	}
	for i, s := range schema.Slots {
		own := slot{Name: s.Name, Dim: s.Dim, Prefix: schema.Signer(i).Prefix(),
			SqrtScaling: s.Scale == batch.SqrtScaled, Mean: s.Scale == batch.Mean,
			Max:             s.Pooling == batch.Max,
			HashStackRounds: s.HashStack.Rounds, HashStackRows: s.HashStack.Rows}
		if s.Pooling == batch.Raw {
			own.FixedSize = s.FixedSize
		}
		c.Slots = append(c.Slots, own)
	}
	t := j.Data.Table()
	if t == nil {
		return c
	}
	for i := range t.Slots {
		c.Slots[i].Separator, c.Slots[i].Whole = t.Slots[i].Separator, t.Slots[i].Whole
		c.Slots[i].Weights, c.Slots[i].WeightSeparator = t.Slots[i].Weights, t.Slots[i].WeightSeparator
	}
	for i, from := range j.Data.Derived {
		for _, column := range from.Columns {
			own := &c.Slots[len(t.Slots)+i]
			own.Derived = append(own.Derived, derived(column))
		}
	}
	c.Table = &table{Format: j.Data.Format(), Delimiter: string(t.FieldDelimiter()), Comment: t.Comment,
		Columns: append([]string{}, t.Columns...), Missing: append([]string{}, t.Missing...),
		DecimalComma: append([]string{}, t.DecimalComma...), Thousands: append([]string{}, t.Thousands...),
		EmptyNumber: t.EmptyNumeric}
	return c
}

func (c *columns) write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c)
}

// content is a file that will be written.
type content struct {
	name  string
	write func(path string) error
}

// leftOutError says why a file is left out of an export.
type leftOutError struct{ why string }

func (e *leftOutError) Error() string { return e.why }

// whole returns how a file is written whose content is at hand.
func whole(data []byte) func(path string) error {
	return func(path string) error { return os.WriteFile(path, data, 0o644) }
}

// written returns how a file is written by a function.
func written(write func(io.Writer) error) func(path string) error {
	return func(path string) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		err = write(w)
		if err == nil {
			err = w.Flush()
		}
		return errors.Join(err, f.Close())
	}
}

// writeFolder writes files to a new folder, complete or not at all. It returns the names of the files, and a
// sentence for each that is left out.
func writeFolder(folder string, contents []content) (files, leftOut []string, err error) {
	if _, err := os.Lstat(folder); err == nil {
		return nil, nil, fmt.Errorf("%s exists: remove it, or choose another folder", folder)
	}
	parent := filepath.Dir(filepath.Clean(folder))
	working, err := os.MkdirTemp(parent, "."+filepath.Base(folder)+"-writing-")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no folder %s: make it first", parent)
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(working)) }() // not there if all went well
	for _, c := range contents {
		path := filepath.Join(working, c.name)
		err := c.write(path)
		if out := (*leftOutError)(nil); errors.As(err, &out) {
			leftOut = append(leftOut, fmt.Sprintf("without %s: %v", c.name, out))
			if err := os.RemoveAll(path); err != nil { // what there was before
				return nil, nil, err
			}
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		files = append(files, c.name)
	}
	if err := os.Chmod(working, 0o755); err != nil {
		return nil, nil, err
	}
	return files, leftOut, os.Rename(working, folder)
}
