package phase

import (
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

// judged returns the loss that counts: the smaller one of the whole loss and that beyond the lag control,
// where there is one.
func (c *cell) judged() metric.Interval {
	if c.BeyondLag != nil && c.BeyondLag.Estimate < c.Loss.Estimate {
		return *c.BeyondLag
	}
	return c.Loss
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
	cells        []cell
	alphas, taus []float64 // ascending
}

// newDiagram returns a diagram of all cells at the α and τ of those at some multiples of the tuned rate.
func newDiagram(cells []cell, at func(multiple float64) bool) *diagram {
	d := &diagram{cells: cells}
	for _, c := range cells {
		if at(c.Multiple) {
			d.alphas, d.taus = append(d.alphas, c.Alpha), append(d.taus, float64(c.Tau))
		}
	}
	slices.Sort(d.alphas)
	slices.Sort(d.taus)
	d.alphas, d.taus = slices.Compact(d.alphas), slices.Compact(d.taus)
	return d
}

// diagram returns the diagram at the tuned rates, and otherRates that of the α and τ that have cells at all
// rates.
func (r *result) diagram() *diagram {
	return newDiagram(r.Cells, func(multiple float64) bool { return multiple == tuned })
}

func (r *result) otherRates() *diagram {
	return newDiagram(r.Cells, func(multiple float64) bool { return multiple != tuned })
}

// at returns a cell, or nil.
func (d *diagram) at(kind string, multiple, alpha, tau float64) *cell {
	i := slices.IndexFunc(d.cells, func(c cell) bool {
		return c.Optimizer == kind && c.Multiple == multiple && c.Alpha == alpha && float64(c.Tau) == tau
	})
	if i < 0 {
		return nil
	}
	return &d.cells[i]
}

// measuredKind returns the optimizer whose cells stand for one of rows.
func measuredKind(kind string) string {
	if kind == opt.RowwiseAdagrad {
		return opt.Adagrad // its rate has the same course
	}
	return kind
}

// find places a table whose most frequent id is in a share of the rows and whose reads are late by a number
// of steps. A place between cells has the worst region of its neighbours at the tuned rate.
func (d *diagram) find(kind string, top, late float64) place {
	p := place{Region: safe, Rarer: top < d.alphas[0]}
	if late == 0 {
		return p
	}
	alphas, taus := around(d.alphas, top), around(d.taus, late)
	if alphas == nil || taus == nil {
		p.Region = outside
		return p
	}
	p.Worst = math.Inf(-1)
	order := []region{safe, unclear, loss}
	for _, alpha := range alphas {
		for _, tau := range taus {
			c := d.at(measuredKind(kind), tuned, alpha, tau)
			if c == nil {
				return place{Region: notTested}
			}
			if one := c.region(); slices.Index(order, one) > slices.Index(order, p.Region) {
				p.Region = one
			}
			p.Worst = max(p.Worst, c.judged().Estimate)
		}
	}
	return p
}

// around returns the values next to v, one if v is among them or below all, and none if v is above all.
func around(values []float64, v float64) []float64 {
	at, ok := slices.BinarySearch(values, v)
	switch {
	case at == len(values):
		return nil
	case ok || at == 0:
		return values[at : at+1]
	}
	return values[at-1 : at+1]
}
