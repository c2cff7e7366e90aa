package cost

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/sim/device"
)

// A lookup touches the 64 B of a row's values, an update the 64 B of state as well.
func TestUpdatesTouchTheStateOfRows(t *testing.T) {
	j, c := job.Default(), job.PersiaCluster()
	h, err := Load(&c)
	if err != nil {
		t.Fatal(err)
	}
	w := Workload{RowDim: 16, RowBytes: 64, RowState: 64}
	p := NewPrices(h.Resolve(0), &j, &model.Layout{}, &w, true)
	read := p.PSHost.RowCost(device.Rows{Count: 1000, Bytes: 64}).Add(p.PSHost.CopyCost(64_000))
	if got := p.ReadRows(1000); got != read {
		t.Errorf("a lookup costs %+v, want %+v", got, read)
	}
	write := p.PSHost.RowCost(device.Rows{Count: 1000, Bytes: 128, Write: true})
	if got := p.Apply(1000); got != write {
		t.Errorf("an update costs %+v, want %+v", got, write)
	}
}
