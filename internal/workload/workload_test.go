package workload

import (
	"math"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/shard"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/parallel"
	"tandem/sim/cost"
)

type jobOf struct {
	Data     job.Data
	Training job.Job
}

// What follows from the law of generated data is what counting finds in them.
func TestExpectedAgreesWithCounted(t *testing.T) {
	j := jobOf{Data: job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 40_000, TestRows: 10, Numeric: 3,
		Columns: []job.SyntheticColumn{
			{Name: "user", Cardinality: 100_000, Exponent: 1.1}, {Cardinality: 20, Exponent: 0.5},
			{Name: "tags", Cardinality: 5000, Exponent: 0.8, IDsPerRow: 2.5},
		},
	}, Slots: []job.SlotSetting{
		{Slot: "user", Group: "hashed", HashStack: batch.HashStack{Rounds: 2, Rows: 1000}},
		{Slot: "tags", Group: "hashed", HashStack: batch.HashStack{Rounds: 2, Rows: 1000}},
	}}, Training: job.Default()}
	j.Training.Training.Epochs = 2
	expected, expectedLayout, err := Simulated(&j.Data, &j.Training, "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	counted, countedLayout, err := Counted(data, &j.Training)
	if err != nil {
		t.Fatal(err)
	}
	// 1 + 1 + 2.5 ids; 2 + 1 + 5 rows.
	if expected.Occurrences != 4.5 || math.Abs(counted.Occurrences-4.5) > 0.02 ||
		expected.RowOccurrences != 8 || math.Abs(counted.RowOccurrences-8) > 0.04 ||
		expected.RowDim != 16 || expected.RowBytes != 64 || expected.RowState != counted.RowState {
		t.Errorf("expected %+v, counted %+v", expected, counted)
	}
	// Two epochs of 40,000 samples create as many rows as one has; counts of rows deviate by less than √n.
	for _, w := range []cost.Workload{expected, counted} {
		if w.Trained != 80_000 || math.Abs(w.Created-counted.Rows) > 4*math.Sqrt(counted.Rows) {
			t.Errorf("%v samples create %.0f rows, want 80000 and %.0f", w.Trained, w.Created, counted.Rows)
		}
	}
	narrow := j.Training
	narrow.Rows.Precision = "bf16" // of 16 values; state stays fp32
	if w, _, err := Counted(data, &narrow); err != nil || w.RowBytes != 32 || w.RowState != counted.RowState {
		t.Errorf("rows of bf16: %v and %v of state, error %v", w.RowBytes, w.RowState, err)
	}
	if expectedLayout.Params != countedLayout.Params {
		t.Errorf("%d and %d parameters", expectedLayout.Params, countedLayout.Params)
	}
	for _, samples := range []int{64, 1024, 5000} {
		// The mean of 8 windows of s samples deviates by less than √(d/8).
		e, c := expected.Distinct(samples), counted.Distinct(samples)
		if math.Abs(e-c) > 4*math.Sqrt(e/windowsMax) {
			t.Errorf("%d samples: expected %.1f distinct rows, counted %.1f", samples, e, c)
		}
	}
}

// Generated data give the simulator the sizes of compressed ids and signs that a
// run of the same job finds in its first batches.
func TestPackedSizesOfGeneratedRows(t *testing.T) {
	j := jobOf{Data: job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 40_000, TestRows: 10,
		Columns: []job.SyntheticColumn{{Cardinality: 100_000, Exponent: 1.1}, {Cardinality: 20}},
	}}, Training: job.Default()}
	j.Training.Wire.Index = job.IndexCompressed
	expected, _, err := Simulated(&j.Data, &j.Training, "")
	if err != nil {
		t.Fatal(err)
	}
	source, data := mustOpen(t, &j)
	p, err := exec.New(j.Training, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	store := exec.NewStore()
	read, err := p.Execute(msg.Address{}, store, role.Work{Kind: role.Read, Rank: event.NoRank},
		role.Operands{Makes: []role.Handle{{Kind: role.GlobalBatch}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	samples := int(read.Samples[0])
	var ids, signs float64
	for rank := range int32(j.Training.Roles.Ranks) {
		ids += float64(read.IDBytes[rank])
		m := msg.Message{Kind: msg.IDFeatures, Rank: rank}
		ids, routed := role.Handle{Kind: role.BatchIDs, Rank: rank},
			role.Handle{Kind: role.RoutedIDs, Rank: rank}
		p.Keep(store, m, ids, p.Payload(store, m, role.Handle{Kind: role.GlobalBatch}), nil)
		split, err := p.Execute(msg.Address{}, store, role.Work{Kind: role.Split, Rank: rank},
			role.Operands{Reads: []role.Handle{ids}, Makes: []role.Handle{routed}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, bytes := range split.SignBytes {
			signs += float64(bytes)
		}
	}
	n := float64(j.Training.Roles.Ranks)
	if got := expected.Packed.IDs(samples); got != ids/n {
		t.Errorf("%v bytes of ids, a run sends %v", got, ids/n)
	}
	if got, want := expected.Packed.Signs(samples, shard.Rows(2)), signs/n/2; got != want {
		t.Errorf("%v bytes of signs to a PS, a run sends %v", got, want)
	}
	// Twice the rows that there are: twice their ids.
	if got, want := packedSizes(source.Schema(), data.Train, nil).IDs(80_000),
		2*packedSizes(source.Schema(), data.Train, nil).IDs(40_000); got != want {
		t.Errorf("ids of more rows than there are take %v bytes, want %v", got, want)
	}
}

// Rows of slots that differ in dimension are counted by their tables, also where slots share rows, and a
// lookup, a put and the embeddings of a rank have the bytes that a run of the job finds in its first batch.
func TestRowsOfDimensionsBySlot(t *testing.T) {
	j := job.Default()
	j.Model.Kind, j.Training.Epochs, j.Roles.Ranks, j.Training.Shuffle = model.FeedForward, 2, 1, false
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 40_000, TestRows: 10, Numeric: 3,
		Columns: []job.SyntheticColumn{
			{Name: "user", Cardinality: 100_000, Exponent: 1.1}, {Name: "hour", Cardinality: 24},
			{Name: "tags", Cardinality: 5000, Exponent: 0.8, IDsPerRow: 2.5},
			{Name: "friend", Cardinality: 1000, Exponent: 1.1},
		},
	}, Slots: []job.SlotSetting{{Slot: "user", Dim: 64, Group: "people"},
		{Slot: "hour", Dim: 4, Precision: "bf16",
			Optimizer: &opt.RowSpec{Kind: opt.Adam, Rate: 1, Epsilon: 1}},
		{Slot: "tags", HashStack: batch.HashStack{Rounds: 2, Rows: 1000}},
		{Slot: "friend", Dim: 64, Group: "people", Pooling: job.PoolMax}}}
	expected, layout, err := Simulated(&j.Data, &j, "")
	if err != nil {
		t.Fatal(err)
	}
	source, data := mustOpen(t, &jobOf{j.Data, j})
	counted, _, err := Counted(data, &j)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		dim          int
		named        float64 // by a sample: user and friend, hour, two for each of 2.5 tags
		bytes, state unit.Bytes
	}{{64, 2, 256, 256}, {4, 1, 8, 36}, {16, 5, 64, 64}}
	for name, w := range map[string]cost.Workload{"expected": expected, "counted": counted} {
		if err := w.Validate(); err != nil || len(w.Classes) != len(want) || w.Winners != 64 {
			t.Fatalf("%s: %d classes, %d maxima, error %v", name, len(w.Classes), w.Winners, err)
		}
		rows, created, distinct := 0.0, 0.0, 0.0
		for i, c := range w.Classes {
			if c.Dim != want[i].dim || math.Abs(c.Named-want[i].named) > 0.03 ||
				c.Bytes != want[i].bytes || c.State != want[i].state {
				t.Errorf("%s: %+v, want %+v", name, c, want[i])
			}
			rows, created, distinct = rows+c.Rows, created+c.Created, distinct+c.Distinct(1024)
			// The mean of 8 windows deviates by less than √(d/8).
			e := expected.Classes[i].Distinct(1024)
			if math.Abs(c.Distinct(1024)-e) > 4*math.Sqrt(e/windowsMax) {
				t.Errorf("%s: %.1f distinct rows of %d values, want %.1f", name, c.Distinct(1024), c.Dim, e)
			}
		}
		if math.Abs(rows-w.Rows) > 1e-6 || math.Abs(created-w.Created) > 1e-6 ||
			math.Abs(distinct-w.Distinct(1024)) > 1e-6 {
			t.Errorf("%s: %v, %v and %v rows in classes, %v, %v and %v in all", name, rows, created, distinct,
				w.Rows, w.Created, w.Distinct(1024))
		}
	}
	compareFirstBatch(t, &j, source, expected, layout)
}

// compareFirstBatch compares the expected bytes of a batch with those of the first batch of a run of one
// rank.
func compareFirstBatch(t *testing.T, j *job.Job, source batch.Source, w cost.Workload, layout *model.Layout) {
	t.Helper()
	p, err := exec.New(*j, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	store := exec.NewStore()
	execute := func(work role.Work, o role.Operands) role.Result {
		result, err := p.Execute(msg.Address{}, store, work, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	dealt := role.Handle{Kind: role.GlobalBatch}
	execute(role.Work{Kind: role.Read, Rank: event.NoRank}, role.Operands{Makes: []role.Handle{dealt}})
	ids, routed := role.Handle{Kind: role.BatchIDs}, role.Handle{Kind: role.RoutedIDs}
	m := msg.Message{Kind: msg.IDFeatures}
	p.Keep(store, m, ids, p.Payload(store, m, dealt), nil)
	split := execute(role.Work{Kind: role.Split},
		role.Operands{Reads: []role.Handle{ids}, Makes: []role.Handle{routed}})
	hardware, _, err := cost.Load(new(job.PersiaCluster()), "")
	if err != nil {
		t.Fatal(err)
	}
	b := cost.NewPrices(hardware.Resolve(), j, layout, &w, false).Batch(int32(j.Training.GlobalBatch))
	var got, real unit.Bytes
	for ps := range b.Routed.ValueBytes {
		got += b.Routed.ValueBytes[ps]
	}
	for ps := range split.ValueBytes {
		real += split.ValueBytes[ps]
	}
	// Some 2,700 distinct rows deviate by less than their root, 2 %.
	if math.Abs(float64(got)/float64(real)-1) > 0.05 {
		t.Errorf("%v of rows, a run has %v", got, real)
	}
	if want := unit.Bytes((4*(64+4+16+64) + 64) * j.Training.GlobalBatch); b.EmbeddingBytes != want {
		t.Errorf("%v of embeddings, want %v", b.EmbeddingBytes, want)
	}
}

// mustOpen returns the training rows of a job in their order.
func mustOpen(t *testing.T, j *jobOf) (batch.Source, *datasets.Dataset) {
	t.Helper()
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	training := j.Training
	training.Training.Shuffle = false
	source, err := datasets.TrainingSource(data, &training)
	if err != nil {
		t.Fatal(err)
	}
	return source, data
}

// Equal ids in two slots are two rows, so a sample has as many rows as slots; more
// samples than there are count as all of them.
func TestDistinctCountsSigns(t *testing.T) {
	j := jobOf{Data: job.Data{Kind: job.KindAdultIncome}, Training: job.Default()}
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := Counted(data, &j.Training)
	if err != nil {
		t.Fatal(err)
	}
	if w.Occurrences != float64(len(data.Schema.Slots)) {
		t.Errorf("%v ids a sample, %d slots of one id each", w.Occurrences, len(data.Schema.Slots))
	}
	if one := w.Distinct(1); one != w.Occurrences {
		t.Errorf("a sample has %v distinct rows, want %v", one, w.Occurrences)
	}
	if all, more := w.Distinct(data.Train.Samples), w.Distinct(10*data.Train.Samples); all != more ||
		w.Rows != all {
		t.Errorf("all samples have %v rows, ten times as many %v, the table %v", all, more, w.Rows)
	}
}

// Points of a prediction are simulated at the same time and share one workload.
func TestFunctionsMayBeCalledConcurrently(t *testing.T) {
	j := job.Default()
	j.Wire.Index = job.IndexCompressed
	data := job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		TrainRows: 512, TestRows: 1, Columns: []job.SyntheticColumn{{Cardinality: 1000, Exponent: 1}},
	}}
	w, _, err := Simulated(&data, &j, "")
	if err != nil {
		t.Fatal(err)
	}
	parallel.ForEach(8, 64, func(i int) {
		w.Distinct(1 + i)
		w.Packed.IDs(1 + i)
	})
}
