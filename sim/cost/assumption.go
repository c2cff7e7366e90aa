package cost

import (
	"fmt"

	"tandem/algo/quantity"
	"tandem/sim/param"
)

// Assumption is a quantity on which a prediction rests, as text with its unit.
type Assumption struct {
	Name   string        `json:"name"`
	Low    string        `json:"low"`
	Mid    string        `json:"mid"`
	High   string        `json:"high"`
	Kind   quantity.Kind `json:"kind"`
	Source string        `json:"source"`
}

// Assumptions returns all quantities on which a prediction for the hardware with a number of dense PSs rests.
func (h *Hardware) Assumptions(dense int) (list []Assumption) {
	list = Assume(h.Parameters())
	if dense > 0 && !h.Colocated() {
		n := fmt.Sprint(dense, " hosts")
		list = append(list, Assumption{"dense-ps.count", n, n, n, quantity.Default,
			"a modelling choice: each dense PS has a host of its own, like those of the PSs and beside them"})
	}
	return list
}

// Assume returns parameters as text.
func Assume(v param.Vector) (list []Assumption) {
	for _, e := range v {
		low, mid, high := e.Span()
		kind, source, _ := e.Origin()
		list = append(list, Assumption{e.Name, e.Text(low), e.Text(mid), e.Text(high), kind, source})
	}
	return list
}
