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
	if got := p.ReadRows(1000, 1); got.Memory != read {
		t.Errorf("a lookup uses the memory for %v, want %v", got.Memory, read)
	}
	write := p.PSHost.RowTraffic(device.Rows{Count: 1000, Bytes: 128, Write: true})
	if got := p.Apply(1000, 1); got.Memory != write {
		t.Errorf("an update uses the memory for %v, want %v", got.Memory, write)
	}
}

// A training of 10,000 samples over two epochs that creates 600 rows, in batches of 100 samples with 30
// distinct rows each, has 200 batches with 6,000 rows, of which a tenth are new. Half of a batch has as many
// rows in twice as many batches here, and so half of the share. Without a known end no row is new.
func TestNewRowsCostTheirCreation(t *testing.T) {
	j, c := job.Default(), job.PersiaCluster()
	c.System = "tandem"
	h, _, err := Load(&c, "")
	if err != nil {
		t.Fatal(err)
	}
	layout := &model.Layout{Params: 1, Cost: model.Cost{Kernels: 1, ForwardFLOPs: 1, BackwardFLOPs: 2,
		ActivationBytes: 8}}
	for _, x := range []struct {
		created, trained float64
		samples          int32
		share            float64
	}{{600, 20_000, 100, 0.1}, {600, 20_000, 50, 0.05}, {0, 0, 100, 0}, {1e6, 20_000, 100, 1}} {
		w := Workload{RowDim: 16, RowBytes: 64, RowState: 64, Created: x.created, Trained: x.trained,
			Distinct: func(int) float64 { return 30 }}
		p := NewPrices(h.Resolve(), &j, layout, &w, true)
		create := &p.System.EmbeddingPS.Create
		each := float64(create.RowTime.Mid) + 16*float64(create.ValueTime.Mid)
		got, want := p.CreateRows(1000, x.samples), 1000*x.share*each/p.PSHost.CoreSpeed
		if d := float64(got.Core) - want; d < 0 || d > 1 || got.Memory != 0 || each < 100 {
			t.Errorf("%+v: 1000 rows cost %v more, want %v ns", x, got.Core, want)
		}
	}
	for _, w := range []Workload{{Created: -1}, {Created: 1}, {Created: 1, Trained: -1}} {
		w.Distinct, w.RowDim, w.RowBytes = func(int) float64 { return 1 }, 1, 1
		if w.Validate() == nil {
			t.Errorf("%v rows of %v samples are accepted", w.Created, w.Trained)
		}
	}
}
