package phase

import (
	"cmp"
	"math"
	"slices"

	"tandem/algo/metric"
	"tandem/algo/numeric/opt"
)

// region is what was measured around a place of the diagram.
type region string

// The regions.
const (
	safe      region = "safe"              // all cells around the place lose less than the margin
	loss      region = "loss"              // a cell around the place loses more than the margin
	unclear   region = "unclear"           // neither: an interval is too wide
	outside   region = "outside"           // beyond the longest delay or the most frequent id
	empty     region = "no ids"            // in the training rows
	notTested region = "no such optimizer" // of rows
)

// margin is the AUC that counts as a loss.
const margin = metric.EquivalenceMargin

// region returns what a cell shows. It loses only if the loss is there with and without the lag control, and
// is safe only if nothing is lost even without it.
func (c *cell) region() region {
	loses := func(v metric.Interval) bool { return v.Estimate > margin && v.Low > 0 }
	switch {
	case loses(c.Loss) && (c.BeyondLag == nil || loses(*c.BeyondLag)):
		return loss
	case c.Loss.High < margin:
		return safe
	}
	return unclear
}

// place is where a table lies, with the cells around it.
type place struct {
	Region region `json:"region"`
	// Worst is the largest mean loss of the cells around it.
	Worst float64 `json:"worst_loss"`
	// Rarer says that the id is rarer than any that was measured. The rarest stands for it.
	Rarer bool `json:"rarer_than_measured"`
}

// diagram is the measured cells by place.
type diagram struct {
	cells  []cell
	alphas []float64
	taus   []int
}

func newDiagram(cells []cell) *diagram {
	d := &diagram{cells: cells}
	for _, c := range cells {
		d.alphas, d.taus = append(d.alphas, c.Alpha), append(d.taus, c.Tau)
	}
	slices.Sort(d.alphas)
	slices.Sort(d.taus)
	d.alphas, d.taus = slices.Compact(d.alphas), slices.Compact(d.taus)
	return d
}

// at returns a cell, or nil.
func (d *diagram) at(kind string, multiple, alpha float64, tau int) *cell {
	i := slices.IndexFunc(d.cells, func(c cell) bool {
		return c.Optimizer == kind && c.Multiple == multiple && c.Alpha == alpha && c.Tau == tau
	})
	if i < 0 {
		return nil
	}
	return &d.cells[i]
}

// find places a table whose most frequent id is in a share of the rows and whose reads are late by a number
// of steps. A place between cells has the worst region of its neighbours.
func (d *diagram) find(kind string, multiple, top, late float64) place {
	if kind == opt.RowwiseAdagrad {
		kind = opt.Adagrad // its rate has the same course
	}
	p := place{Rarer: top < d.alphas[0]}
	if late == 0 {
		p.Region = safe
		return p
	}
	taus := make([]float64, len(d.taus))
	for i, tau := range d.taus {
		taus[i] = float64(tau)
	}
	alphas, delays := around(d.alphas, top), around(taus, late)
	if alphas == nil || delays == nil {
		p.Region = outside
		return p
	}
	p.Worst = math.Inf(-1)
	for _, alpha := range alphas {
		for _, tau := range delays {
			c := d.at(kind, multiple, alpha, int(tau))
			if c == nil {
				return place{Region: notTested}
			}
			p.add(c)
		}
	}
	return p
}

// add counts a neighbouring cell.
func (p *place) add(c *cell) {
	order := []region{safe, unclear, loss}
	r := c.region()
	if p.Region == "" || slices.Index(order, r) > slices.Index(order, p.Region) {
		p.Region = r
	}
	p.Worst = max(p.Worst, c.judged().Estimate)
}

// around returns the values next to v, one if v is among them or below all, and none if v is above all.
func around[T cmp.Ordered](values []T, v T) []T {
	at, ok := slices.BinarySearch(values, v)
	switch {
	case at == len(values):
		return nil
	case ok || at == 0:
		return values[at : at+1]
	}
	return values[at-1 : at+1]
}
