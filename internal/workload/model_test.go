package workload

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/datasets"
	simmodel "tandem/sim/model"
)

// modelJob is a job on generated data with columns of several kinds.
func modelJob() *job.Job {
	j := job.Default()
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 60_000, TestRows: 10, Numeric: 3,
		Columns: []job.SyntheticColumn{
			{Name: "user", Cardinality: 20_000, Exponent: 1.1}, {Name: "sex", Cardinality: 2},
			{Name: "tags", Cardinality: 500, Exponent: 0.8, IDsPerRow: 2.5},
			{Name: "hashed", Cardinality: 3000, Exponent: 1},
			{Name: "kept", Cardinality: 300, Exponent: 1, IDsPerRow: 4},
		},
	}, Slots: []job.SlotSetting{
		{Slot: "hashed", HashStack: batch.HashStack{Rounds: 2, Rows: 1000}}, {Slot: "kept", Raw: 3},
	}}
	j.Training.GlobalBatch, j.Roles.Ranks = 4096, 8
	return &j
}

// The model of generated data has a table for every column, with the rows, the ids and the distinct rows that
// the workload of the same data has. The model of the same rows, read from memory, agrees with it.
func TestModelOfAJobHasItsTables(t *testing.T) {
	j := modelJob()
	m, err := Model(j, "")
	if err != nil {
		t.Fatal(err)
	}
	w, layout, err := Simulated(&j.Data, j, "")
	if err != nil {
		t.Fatal(err)
	}
	tables := m.Tables()
	rows, ids := []float64{20_000, 2, 500, 2000, 300}, []float64{1, 1, 2.5, 2, 3}
	all := 0.0
	for i, table := range tables {
		if table.Rows != rows[i] || table.IDs != ids[i] || table.Dim != 16 || table.Sequence != (i == 4) {
			t.Errorf("%+v; want %v rows and %v ids", table, rows[i], ids[i])
		}
		all += table.Distinct(4096)
	}
	if ratio := all / w.Distinct(4096); len(tables) != 5 || math.Abs(ratio-1) > 0.02 {
		t.Errorf("%d tables, %.3f of the distinct rows", len(tables), ratio)
	}
	if got := m.Network().Parameters(); got != layout.Params || m.Numeric != 3 || m.GlobalBatch(8) != 4096 {
		t.Errorf("%d parameters, want %d; %d numbers, batch %d", got, layout.Params, m.Numeric,
			m.GlobalBatch(8))
	}
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, slot := range data.Train.Slots {
		c := countedColumn(slot.IDs, data.Train.Samples)
		if slot := data.Schema.Slots[i]; slot.HashStack.Rounds > 0 || slot.Pooling == batch.Raw {
			continue
		}
		f := simmodel.Table{Rows: c.rows, IDs: c.ids}
		if f.Rows > rows[i] || f.Rows < 0.3*rows[i] || math.Abs(f.IDs-ids[i]) > 0.05 {
			t.Errorf("%s: counted %v rows and %v ids, want %v and %v", tables[i].Name, f.Rows, f.IDs, rows[i],
				ids[i])
		}
		for _, most := range []float64{1, 5, 100} {
			want := tables[i].Frequencies.Share(most)
			if got := c.share(most); math.Abs(got-want) > 0.02 {
				t.Errorf("%s: the first %v ids have %.3f of all, want %.3f", tables[i].Name, most, got, want)
			}
		}
	}
}

// Columns that share their rows have the rows of the group together, and a job's formats are those of its
// model.
func TestModelOfAJobHasItsGroupsAndFormats(t *testing.T) {
	j := modelJob()
	stack := batch.HashStack{Rounds: 2, Rows: 1000}
	j.Data.Slots = []job.SlotSetting{{Slot: "user", Group: "all", HashStack: stack},
		{Slot: "tags", Group: "all", HashStack: stack}}
	j.Rows.Optimizer, j.Rows.Precision = opt.DefaultRow(), "bf16"
	j.Rows.Optimizer.Kind, j.Model.Precision = opt.FTRL, job.BF16
	m, err := Model(j, "")
	if err != nil {
		t.Fatal(err)
	}
	tables := m.Tables()
	if tables[0].Rows+tables[2].Rows != 2000 {
		t.Errorf("%v and %v rows of 2000", tables[0].Rows, tables[2].Rows)
	}
	if p := m.Precisions; p.Compute != simmodel.Half || p.Rows != simmodel.BFloat16 ||
		p.Wire != simmodel.Float32 || m.Optimizers.Rows.State(16) != 128 {
		t.Errorf("%+v, %v of state", p, m.Optimizers.Rows.State(16))
	}
}

// Tables on accelerators are priced with sums and one kind of rows: a job that has others is refused.
func TestModelOfAJobRefusesMaximaAndKindsOfRows(t *testing.T) {
	for want, setting := range map[string]job.SlotSetting{
		"slot tags takes a maximum":         {Slot: "tags", Pooling: job.PoolMax},
		"slot tags has settings of its own": {Slot: "tags", Optimizer: &opt.RowSpec{Kind: opt.SGD, Rate: 1}},
	} {
		j := modelJob()
		j.Data.Slots = []job.SlotSetting{setting}
		if _, err := Model(j, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Columns that share rows without a hash-stack keep them apart: no id of generated data is in two of them. So
// the tables have as many rows as the workload of the same data.
func TestModelOfAGroupWithoutHashStackHasAllItsRows(t *testing.T) {
	j := modelJob()
	j.Data.Slots = []job.SlotSetting{{Slot: "user", Group: "all"}, {Slot: "tags", Group: "all"}}
	m, err := Model(j, "")
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := Simulated(&j.Data, j, "")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0.0
	for _, table := range m.Tables() {
		rows += table.Rows
	}
	if rows != w.Rows {
		t.Errorf("%v rows; the workload has %v", rows, w.Rows)
	}
}
