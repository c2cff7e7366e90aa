package engine

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/softgpu"
)

// rowsSchema has every form of a slot, of rows of dim values.
func rowsSchema(dim int) *batch.Schema {
	stack := batch.HashStack{Rounds: 2, Rows: 5}
	return &batch.Schema{PrefixBits: 8, Dense: []string{"age"}, Labels: []string{"click"},
		Slots: []batch.Slot{
			{Name: "user", Dim: dim, Group: "people"}, {Name: "tags", Dim: dim, Scale: batch.SqrtScaled},
			{Name: "history", Dim: dim, Pooling: batch.Raw, FixedSize: 2},
			{Name: "friends", Dim: dim, Group: "people"},
			{Name: "words", Dim: dim, HashStack: stack, Scale: batch.Mean},
			{Name: "past", Dim: dim, Pooling: batch.Raw, FixedSize: 1, HashStack: stack, Scale: batch.Mean},
		}}
}

// drawPart draws a part whose ids repeat within bags, between slots of a group and between groups.
func drawPart(r *rand.Rand, schema *batch.Schema, bounds []int, ids uint64) batch.Part {
	samples := bounds[len(bounds)-1]
	b := &batch.Batch{Samples: samples, Slots: make([]batch.Jagged, len(schema.Slots))}
	for s := range b.Slots {
		slot := &b.Slots[s]
		slot.Offsets = []int32{0}
		for range samples {
			for range r.IntN(4) {
				slot.IDs = append(slot.IDs, r.Uint64N(ids))
			}
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
	}
	for range samples {
		b.Dense = append(b.Dense, float32(r.NormFloat64()))
		b.Labels = append(b.Labels, float32(r.IntN(2)))
	}
	return batch.Part{Batch: b, Bounds: bounds}
}

// rowsReplica returns a replica with rows on a software GPU.
func rowsReplica(t *testing.T, on int, c model.RowsConfig, groups, samplesMax int) (*replica, error) {
	t.Helper()
	softgpu.Open(t, on+1)
	j := job.Default()
	j.Model.Device, j.Roles.Ranks = job.Device{CUDA: true, Ordinals: []int{on}}, 1
	g, err := Open(softgpu.Libraries(t), &j)
	if err != nil {
		t.Fatal(err)
	}
	e, err := model.New(model.Spec{Kind: model.FeedForward, EmbeddingDim: c.Dim, Top: []int{5},
		Activation: model.ReLU}, c.Schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := g.Trainer(e)
	if err != nil {
		t.Fatal(err)
	}
	optimizer := opt.DefaultDense()
	params, running := e.Init(3)
	r, err := trainer.NewReplica(model.ReplicaConfig{Ranks: 1,
		Initial:   model.Values{Params: params, Running: running},
		Optimizer: &optimizer, Groups: groups, SamplesMax: samplesMax, Summed: true, Rows: &c})
	if err != nil {
		return nil, err
	}
	return r.(*replica), nil
}

// hostRows are the same rows on the host.
type hostRows struct {
	*table.Table
	schema *batch.Schema
}

func newHostRows(t *testing.T, c model.RowsConfig) *hostRows {
	t.Helper()
	rule, err := opt.NewRow(c.Optimizer)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := table.New(table.Config{Dim: c.Dim, Optimizer: rule, Seed: c.Seed, InitBound: c.InitBound},
		table.Heap{})
	if err != nil {
		t.Fatal(err)
	}
	return &hostRows{rows, c.Schema}
}

// pool is the forward pass of the rows.
func (h *hostRows) pool(t *testing.T, part batch.Part) (*route.Routed, []float32) {
	t.Helper()
	routed := route.Route(h.schema, part, shard.Rows(1))
	values := make([]float32, len(routed.Signs)*h.Dim())
	if err := h.LookupStep(0, routed.Signs, values, nil); err != nil {
		t.Fatal(err)
	}
	pooled := make([]float32, part.Samples*h.schema.EmbeddingWidth())
	routed.Pool(pooled, h.schema, values, h.Dim())
	return routed, pooled
}

// update is their backward pass.
func (h *hostRows) update(routed *route.Routed, grads []float32, rate float32) {
	sums := make([]float32, len(routed.Signs)*h.Dim())
	routed.Merge(sums, h.schema, grads, h.Dim())
	c := route.Combine([]route.Put{{Samples: routed.Samples(), Signs: routed.Signs, Sums: sums}},
		routed.Samples(), h.Dim(), false)
	defer c.Release()
	h.ApplyFrom(c.Signs, c.Gradients, rate, nil)
}

// columnsOf returns n rows as columns.
func columnsOf(n, dim, states int) *table.Columns {
	return &table.Columns{Signs: make([]uint64, n), Updates: make([]uint32, n), Read: make([]uint8, n),
		Embeddings: make([]byte, 4*n*dim), States: make([]byte, 4*n*states)}
}

// bySign returns all bits of each row.
func bySign(c *table.Columns) map[uint64]string {
	all, n := map[uint64]string{}, len(c.Signs)
	for i, sign := range c.Signs {
		all[sign] = fmt.Sprint(c.Updates[i], c.Read[i],
			c.Embeddings[i*len(c.Embeddings)/n:(i+1)*len(c.Embeddings)/n],
			c.States[i*len(c.States)/n:(i+1)*len(c.States)/n])
	}
	return all
}

// deviceColumns returns all rows of the device.
func deviceColumns(t *testing.T, d *rows) *table.Columns {
	t.Helper()
	n, err := d.Len()
	if err != nil {
		t.Fatal(err)
	}
	c := columnsOf(n, d.config.Dim, d.states)
	if err := d.CopyRows(0, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// rowOptimizers has every optimizer of rows on a GPU, in both orders.
func rowOptimizers() (all []opt.RowSpec) {
	for _, kind := range []string{opt.SGD, opt.Adagrad, opt.RowwiseAdagrad, opt.Adam} {
		for _, order := range []opt.Order{opt.Before, opt.After} {
			o := opt.DefaultRow()
			o.Kind, o.Order, o.Rate, o.WeightBound = kind, order, 0.1, 0.05
			if order == opt.After {
				o.WeightBound = 0
			}
			all = append(all, o)
		}
	}
	return all
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y)
	})
}

// The rows of a GPU have the bits of the host's: pooled, and after every update by the same gradients, with
// their states, counts and marks, for every form of a slot and any groups, some of them empty.
func TestRowsOnTheDeviceAreThoseOfTheHost(t *testing.T) {
	for i, optimizer := range rowOptimizers() {
		c := model.RowsConfig{Dim: []int{3, 20}[i%2], Optimizer: optimizer, Seed: 7, InitBound: 0.01,
			Capacity: 400}
		c.Schema = rowsSchema(c.Dim)
		device, err := rowsReplica(t, 0, c, 4, 40)
		if err != nil {
			t.Fatal(err)
		}
		host, r := newHostRows(t, c), rand.New(rand.NewPCG(1, uint64(i)))
		small, large, sparse := []int{0, 3, 6, 8, 10}, []int{0, 40, 79, 119, 159}, []int{0, 3, 3, 8, 8}
		for step, bounds := range [][]int{small, small, large, small, sparse, large, small, large} {
			part, rate := drawPart(r, c.Schema, bounds, 30), float32(0.1)/float32(step+1)
			routed, want := host.pool(t, part)
			if err := device.Rows().Forward(&part, part.Slots, nil, nil, rate, part.Samples); err != nil {
				t.Fatal(err)
			}
			if got, _ := device.downloadPooled(); !sameBits(got, want) {
				t.Fatalf("%s, step %d: other pooled embeddings than on the host", optimizer.Kind, step)
			}
			if _, notFinite, err := device.Backward(func(int32) {}); err != nil || notFinite != "" {
				t.Fatal(notFinite, err)
			}
			_, grads := device.downloadPooled()
			host.update(routed, grads, rate)
			rows := columnsOf(host.Len(), c.Dim, c.Optimizer.StateSize(c.Dim))
			host.CopyRows(0, rows)
			got, want2 := bySign(deviceColumns(t, device.rows)), bySign(rows)
			if len(got) != len(want2) {
				t.Fatalf("%s, step %d: %d rows, want %d", optimizer.Kind, step, len(got), len(want2))
			}
			for sign, row := range want2 {
				if got[sign] != row {
					t.Fatalf("%s of %d values, step %d: row %#x is %s, want %s", optimizer.Kind, c.Dim, step,
						sign, got[sign], row)
				}
			}
		}
		if n, err := device.rows.Applied(); err != nil || n != host.Outcomes().Applied {
			t.Errorf("%d gradients applied, want %d; %v", n, host.Outcomes().Applied, err)
		}
		runtime.KeepAlive(device) // whose memory the rows are in
	}
}

// Rows that are added have all their bits, in their order, and are found.
func TestRowsAreAddedWithAllTheirBits(t *testing.T) {
	c := model.RowsConfig{Dim: 3, Optimizer: opt.DefaultRow(), Seed: 7, Capacity: 100, Schema: rowsSchema(3)}
	device, err := rowsReplica(t, 0, c, 1, 40)
	if err != nil {
		t.Fatal(err)
	}
	r, want := rand.New(rand.NewPCG(1, 2)), columnsOf(30, 3, 3)
	values := make([]float32, 30*3)
	for i := range want.Signs {
		want.Signs[i] = c.Schema.Signer(1).Sign(uint64(30-i), 0)
		want.Updates[i], want.Read[i] = uint32(i), uint8(i%2)
	}
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	copy(want.Embeddings, cuda.Bytes(values))
	copy(want.States, cuda.Bytes(values[1:]))
	if err := device.rows.AddRows(want); err != nil {
		t.Fatal(err)
	}
	if got := deviceColumns(t, device.rows); !reflect.DeepEqual(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	read := make([]float32, 31*3) // the first row has no update, and the last sign no row
	err = device.rows.ReadTrained(append(want.Signs, 1), read)
	runtime.KeepAlive(device)
	if err != nil {
		t.Fatal(err)
	}
	copy(values, []float32{0, 0, 0})
	if !sameBits(read, append(values, 0, 0, 0)) {
		t.Errorf("read %v, want %v", read, values)
	}
}

// However streams, blocks and threads run, rows have the same bits in the same order.
func TestRowsDoNotDependOnTime(t *testing.T) {
	var want *table.Columns
	for _, seed := range []string{"0", "1", "2"} {
		softgpu.Set(t, "TANDEM_SOFTGPU_SEED", seed)
		c := model.RowsConfig{Dim: 3, Optimizer: opt.DefaultRow(), Seed: 7, InitBound: 0.01, Capacity: 4000}
		c.Schema = rowsSchema(c.Dim)
		device, err := rowsReplica(t, 0, c, 4, 40)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 3 {
			part := drawPart(r, c.Schema, []int{0, 40, 79, 119, 159}, 2000)
			if err := device.Rows().Forward(&part, part.Slots, nil, nil, 0.1, part.Samples); err != nil {
				t.Fatal(err)
			}
			if _, _, err := device.Backward(func(int32) {}); err != nil {
				t.Fatal(err)
			}
		}
		got := deviceColumns(t, device.rows)
		runtime.KeepAlive(device)
		if want == nil {
			want = got
		}
		if !slices.Equal(got.Signs, want.Signs) || !bytes.Equal(got.Embeddings, want.Embeddings) ||
			!bytes.Equal(got.States, want.States) || !slices.Equal(got.Updates, want.Updates) {
			t.Errorf("seed %s: other rows", seed)
		}
	}
}

// Rows that do not fit are an error that says how many would: these do, and a hundredth more do not. A limit
// of memory is one of rows.
func TestRoomForRows(t *testing.T) {
	const unused = 7 // by other tests, whose replicas take memory until they are collected
	softgpu.Set(t, "TANDEM_SOFTGPU_MEMORY", "50331648")
	c := model.RowsConfig{Dim: 3, Optimizer: opt.DefaultRow(), Schema: rowsSchema(3), Capacity: 10_000_000}
	_, err := rowsReplica(t, unused, c, 2, 4)
	if err == nil {
		t.Fatal("no error")
	}
	const text = "10000000 rows of 60B (3 values, 3 of optimizer state, 36 bytes of sign, count and index) " +
		"take 0.6GB, and "
	var fit int
	_, hint, _ := strings.Cut(err.Error(), "; rows.capacity = ")
	_, scanned := fmt.Sscanf(hint, "%d would fit", &fit)
	if scanned != nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("%v, want %s", err, text)
	}
	c.Capacity = fit + fit/100
	if _, err := rowsReplica(t, unused, c, 2, 4); err == nil {
		t.Errorf("%d rows fit", c.Capacity)
	}
	c.Memory = unit.Bytes(60 * fit)
	r, err := rowsReplica(t, unused, c, 2, 4)
	if err != nil || r.rows.config.Capacity != fit {
		t.Errorf("%d rows do not fit: %v", fit, err)
	}
	c.Memory, c.Optimizer.Kind = 0, opt.FTRL
	_, err = rowsReplica(t, unused, c, 2, 4)
	if err == nil || !strings.Contains(err.Error(), "no optimizer ftrl") {
		t.Errorf("ftrl: %v", err)
	}
}
