package cost

import (
	"fmt"

	"tandem/algo/unit"
)

// RowClass describes the rows of one table of every PS: those of the slots whose rows are alike.
type RowClass struct {
	Dim      int        // values of a row
	Bytes    unit.Bytes // of the values of a row on a PS
	State    unit.Bytes // of its optimizer state
	Named    float64    // rows that the ids of a sample name, each as often as it is named
	Distinct func(samples int) float64
	Rows     float64 // of all tables of the class; 0: not known
	Created  float64 // by the training: see Workload.Created
}

func (c *RowClass) validate() error {
	if c.Dim < 1 || c.Bytes < 1 || c.State < 0 || !(c.Rows >= 0) || !(c.Named >= 0) || !(c.Created >= 0) {
		return fmt.Errorf("cost: workload: %v rows of %d values in %v with %v of state, %v named by a "+
			"sample, %v created; want at least 0, 1, 1 B, 0 B, 0, 0", c.Rows, c.Dim, c.Bytes, c.State,
			c.Named, c.Created)
	}
	return nil
}

// classes returns the classes of the rows, which is one where rows are alike.
func (w *Workload) classes() []RowClass {
	if len(w.Classes) > 0 {
		return w.Classes
	}
	return []RowClass{{Dim: w.RowDim, Bytes: w.RowBytes, State: w.RowState, Named: w.RowsNamed(),
		Distinct: w.Distinct, Rows: w.Rows, Created: w.Created}}
}

// rowBytes returns the memory that a row takes in the mean over all rows, with a number of bytes besides its
// values and its state.
func (w *Workload) rowBytes(besides unit.Bytes) float64 {
	if len(w.Classes) == 0 || w.Rows == 0 {
		c := w.classes()[0]
		return float64(c.Bytes + c.State + besides)
	}
	return w.BytesOfRows(besides) / w.Rows
}

// BytesOfRows returns the memory of all rows, each with a number of bytes besides its values and its state.
func (w *Workload) BytesOfRows(besides unit.Bytes) (sum float64) {
	for _, c := range w.classes() {
		sum += c.Rows * float64(c.Bytes+c.State+besides)
	}
	return sum
}

// namedDim returns the values of a row in the mean over the rows that ids name.
func (w *Workload) namedDim() float64 { return dimOf(w.named()) }

// named returns the classes with their shares of the rows that ids name.
func (w *Workload) named() (classes []batchClass) {
	if len(w.Classes) == 0 {
		return w.alike(0)
	}
	for _, c := range w.Classes {
		classes = append(classes, batchClass{RowClass: c, share: c.Named})
	}
	return shared(classes)
}

// shared divides shares by their sum.
func shared(classes []batchClass) []batchClass {
	all := 0.0
	for _, c := range classes {
		all += c.share
	}
	for i := range classes {
		if all > 0 {
			classes[i].share /= all
		}
	}
	return classes
}

// batchClass is what a batch has of the rows of a class.
type batchClass struct {
	RowClass
	share float64 // of the distinct rows
	fresh float64 // the share of these rows that a lookup creates, averaged over the training
}

// alike returns the only class of rows that are alike.
func (w *Workload) alike(fresh float64) []batchClass {
	return []batchClass{{RowClass: w.classes()[0], share: 1, fresh: fresh}}
}

// batchClasses returns what a batch has of every class. Hot rows are taken to be of all classes alike.
func (w *Workload) batchClasses(s *BatchSize) (classes []batchClass) {
	if len(w.Classes) == 0 {
		return w.alike(s.NewRows)
	}
	for _, c := range w.Classes {
		distinct := c.Distinct(int(s.Samples))
		classes = append(classes, batchClass{c, distinct,
			newShare(c.Created, w.Trained/float64(s.Samples), distinct)})
	}
	return shared(classes)
}

// dimOf returns the values of a row in the mean over classes, by their shares.
func dimOf(classes []batchClass) (dim float64) {
	for _, c := range classes {
		dim += c.share * float64(c.Dim)
	}
	return dim
}
