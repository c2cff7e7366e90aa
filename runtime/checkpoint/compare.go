package checkpoint

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"tandem/algo/numeric/table"
	"tandem/runtime/checkpoint/safetensors"
)

// Row is a row of a model. Its slices alias the file.
type Row struct {
	Updates   uint32
	Read      bool // since eviction last examined the row
	Embedding []byte
	State     []byte // float32 values
}

// batches returns the rows of all owners, some thousands at a time, in the order of their creation, with the
// number of their description in Rows.ByOwner. The columns hold until the next ones.
func (c *Checkpoint) batches() iter.Seq2[int, *table.Columns] {
	return func(yield func(int, *table.Columns) bool) {
		for owner, f := range c.files {
			for b := range f.batches() {
				if !yield(owner, b) {
					return
				}
			}
		}
	}
}

// row returns the row of a sign, if there is one.
func (r *RowReader) row(sign uint64) (row Row, ok bool) {
	f, at := r.find(sign)
	if at < 0 {
		return row, false
	}
	b, i := f.locate(at)
	return rowOf(b, i), true
}

// rowOf returns a row of a batch.
func rowOf(b *table.Columns, i int) Row {
	n := len(b.Signs)
	embedding, state := len(b.Embeddings)/n, len(b.States)/n
	return Row{Updates: b.Updates[i], Read: b.Read[i] == 1,
		Embedding: b.Embeddings[i*embedding:][:embedding], State: b.States[i*state:][:state]}
}

// values decodes the embedding of the row of a sign.
func (r *RowReader) values(sign uint64, row Row) []float32 {
	place := r.place(sign)
	values := make([]float32, r.lengths[place])
	r.widen(place, values, row.Embedding)
	return values
}

// Difference is what distinguishes two models.
type Difference struct {
	// Schema is the first difference of the schemas, "" if there is none.
	Schema string `json:"schema,omitempty"`
	// Tensors are those that differ or that only one of the models has.
	Tensors []TensorDifference `json:"tensors"`
	Rows    RowsDifference     `json:"rows"`
}

// None reports whether both models are the same, bit for bit.
func (d *Difference) None() bool {
	r := d.Rows
	return d.Schema == "" && len(d.Tensors) == 0 && r.Format == "" &&
		r.OnlyFirst+r.OnlySecond+r.Embeddings+r.States+r.Updates == 0
}

// TensorDifference is a tensor that differs.
type TensorDifference struct {
	Name string `json:"name"`
	// Reason says why the values cannot be compared, "" if they can.
	Reason  string  `json:"reason,omitempty"`
	Values  int     `json:"values"`
	Differ  int     `json:"differ"`
	First   int     `json:"first"`   // the first value that differs
	At      int     `json:"at"`      // the value of the largest difference
	Largest float64 `json:"largest"` // absolute difference
}

// RowsDifference counts the rows that differ.
type RowsDifference struct {
	// Format says why rows cannot be compared, "" if they can.
	Format     string `json:"format,omitempty"`
	Common     int    `json:"common"`      // rows of both models
	OnlyFirst  int    `json:"only_first"`  // rows of the first model alone
	OnlySecond int    `json:"only_second"` // rows of the second model alone
	Embeddings int    `json:"embeddings"`  // common rows whose embeddings differ
	States     int    `json:"states"`      // common rows whose optimizer states differ
	Updates    int    `json:"updates"`     // common rows with other numbers of updates
	// First is the sign of the first row whose embedding differs, in the order of the first model.
	First   uint64  `json:"first,omitempty"`
	Sign    uint64  `json:"sign,omitempty"` // of the row with the largest difference
	Largest float64 `json:"largest"`        // absolute difference of an embedding value
}

// Compare returns what distinguishes two models, which it verifies.
func Compare(a, b *Checkpoint) (*Difference, error) {
	for _, c := range []*Checkpoint{a, b} {
		if err := c.Verify(); err != nil {
			return nil, err
		}
	}
	models := sides{"the first model", "the second", "the second"}
	d := &Difference{Schema: a.Schema.difference(&b.Schema, models),
		Tensors: compareTensors(a.tensor, b.tensor)}
	first, err := a.Rows()
	if err != nil {
		return nil, err
	}
	second, err := b.Rows()
	if err != nil {
		return nil, err
	}
	if d.Rows.Format, err = formatDifference(a, b); err == nil && d.Rows.Format == "" {
		d.Rows.compare(a, first, second)
	}
	return d, err
}

// formatDifference says why the rows of two models cannot be compared: "" if those of every slot have the
// same values and states. Which slots share a table does not matter.
func formatDifference(a, b *Checkpoint) (string, error) {
	one, err := a.Schema.Batch()
	if err != nil {
		return "", err
	}
	other, err := b.Schema.Batch()
	if err != nil {
		return "", err
	}
	x, y := a.Manifest.Rows, b.Manifest.Rows
	if len(one.Slots) != len(other.Slots) || len(one.Slots) == 0 {
		if !slices.Equal(x.ByDim(), y.ByDim()) {
			return fmt.Sprintf("rows of %s, and of %s", x.text(), y.text()), nil
		}
		if !one.Dims().Equal(other.Dims()) {
			return "the same kinds of rows in other slots", nil
		}
		return "", nil
	}
	mixed := len(x.ByDim()) > 1 || len(y.ByDim()) > 1
	for s, slot := range one.Slots {
		// Rows meet by their signs, which begin with the number of a feature group.
		if mixed && one.Signer(s).Prefix() != other.Signer(s).Prefix() {
			return "the same kinds of rows in other slots", nil
		}
		first, second := x.ByDim()[one.PlaceOf(s)], y.ByDim()[other.PlaceOf(s)]
		if first.Class = second.Class; first != second {
			return fmt.Sprintf("rows of %s in slot %s, and of %s", first.text(), slot.Name,
				second.text()), nil
		}
	}
	return "", nil
}

// text describes the values of rows of one kind.
func (d DimRows) text() string {
	return fmt.Sprintf("%d %s and %d state values", d.Dim, d.Precision, d.StateValues)
}

// text describes the values of rows.
func (r *Rows) text() string {
	var all []string
	for _, d := range r.ByDim() {
		all = append(all, d.text())
	}
	return strings.Join(all, ", or ")
}

// compare compares the rows of a model with those of another.
func (d *RowsDifference) compare(a *Checkpoint, first, second *RowReader) {
	for _, b := range a.batches() {
		for i, sign := range b.Signs {
			one := rowOf(b, i)
			other, ok := second.row(sign)
			if !ok {
				d.OnlyFirst++
				continue
			}
			d.Common++
			if one.Updates != other.Updates {
				d.Updates++
			}
			if !bytes.Equal(one.State, other.State) {
				d.States++
			}
			if bytes.Equal(one.Embedding, other.Embedding) {
				continue
			}
			if d.Embeddings++; d.Embeddings == 1 {
				d.First, d.Sign = sign, sign
			}
			_, largest := largestOf(first.values(sign, one), second.values(sign, other))
			if largest > d.Largest {
				d.Sign, d.Largest = sign, largest
			}
		}
	}
	d.OnlySecond = second.Len() - d.Common
}

// largestOf returns the place and the size of the largest difference.
func largestOf(a, b []float32) (at int, largest float64) {
	for i := range a {
		if d := math.Abs(float64(a[i]) - float64(b[i])); d > largest {
			at, largest = i, d
		}
	}
	return at, largest
}

// compareTensors compares the tensors of two files, in the order of the first.
func compareTensors(a, b *safetensors.File) []TensorDifference {
	all := []TensorDifference{}
	for i := range a.Tensors {
		x := &a.Tensors[i]
		y, err := b.Tensor(x.Name)
		one := TensorDifference{Name: x.Name}
		switch {
		case err != nil:
			one.Reason = "only in the first model"
		case x.Type != y.Type || !slices.Equal(x.Shape, y.Shape):
			one.Reason = fmt.Sprintf("%s %v and %s %v", x.Type, x.Shape, y.Type, y.Shape)
		case bytes.Equal(x.Data, y.Data):
			continue
		default:
			one.compare(x, y)
		}
		all = append(all, one)
	}
	for i := range b.Tensors {
		if _, err := a.Tensor(b.Tensors[i].Name); err != nil {
			all = append(all, TensorDifference{Name: b.Tensors[i].Name, Reason: "only in the second model"})
		}
	}
	return all
}

// compare compares the values of two tensors of one type and shape.
func (d *TensorDifference) compare(x, y *safetensors.Tensor) {
	size := x.Type.Size()
	d.Values, d.First = len(x.Data)/size, -1
	for i := range d.Values {
		if !bytes.Equal(x.Data[i*size:][:size], y.Data[i*size:][:size]) {
			if d.Differ++; d.First < 0 {
				d.First = i
			}
		}
	}
	a, err := x.Floats()
	b, failed := y.Floats()
	if err == nil && failed == nil {
		d.At, d.Largest = largestOf(a, b)
	}
}
