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
	h, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	w := Workload{RowDim: 16, RowBytes: 64, RowState: 64}
	p := NewPrices(h.Resolve(), &j, &model.Layout{}, &w, true)
	read := p.PSHost.RowTraffic(device.Rows{Count: 1000, Bytes: 64})
	if got := p.ReadRows(1000); got.Memory != read {
		t.Errorf("a lookup uses the memory for %v, want %v", got.Memory, read)
	}
	write := p.PSHost.RowTraffic(device.Rows{Count: 1000, Bytes: 128, Write: true})
	if got := p.Apply(1000); got.Memory != write {
		t.Errorf("an update uses the memory for %v, want %v", got.Memory, write)
	}
}
