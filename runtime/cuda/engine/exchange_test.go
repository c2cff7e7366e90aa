package engine

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/runtime/cuda/softgpu"
)

// Ranks that come to a meeting get what all have told, time after time, and none waits once it is given up.
func TestMeeting(t *testing.T) {
	const ranks, times = 4, 100
	m := newMeeting(ranks)
	var running sync.WaitGroup
	for rank := range ranks {
		running.Go(func() {
			for n := range times {
				told, err := m.join(rank, []int{n, rank})
				want := [][]int{{n, 0}, {n, 1}, {n, 2}, {n, 3}}
				if err != nil || !slices.EqualFunc(told, want, slices.Equal) {
					t.Errorf("rank %d: %v, %v; want %v", rank, told, err, want)
				}
			}
			if rank == 0 {
				m.giveUp()
				m.giveUp()
			} else if _, err := m.join(rank, nil); err == nil {
				t.Errorf("rank %d: no error without rank 0", rank)
			}
		})
	}
	running.Wait()
}

// What other work must not meet waits for all of it, and other work never waits for it.
func TestTurns(t *testing.T) {
	turns, first := newTurns(), true
	end := turns.begin()
	done := make(chan struct{})
	go turns.between(func() {
		if first {
			t.Error("memory is freed while an exchange is under way")
		}
		close(done)
	})
	inner := turns.begin()
	inner()
	turns.mutex.Lock()
	first = false
	turns.mutex.Unlock()
	end()
	<-done
}

// However many rows a batch may name, the places of their values have 32 bits: a rank that is asked for more
// than there are places says so.
func TestPlacesOfAskedRows(t *testing.T) {
	c := &model.RowsConfig{Dim: 128, Optimizer: opt.DefaultRow(), Capacity: 1, Schema: &batch.Schema{}}
	for range 26 {
		c.Schema.Slots = append(c.Schema.Slots, batch.Slot{Dim: c.Dim, HashStack: batch.HashStack{Rounds: 2,
			Rows: 5}})
	}
	for _, samples := range []int{1 << 18, 1 << 20} {
		of := &model.ReplicaConfig{Ranks: 4, Groups: 1, Rows: c}
		rows := newRows(new(replica), &memory{measuring: true}, of, samples, 0, 0)
		if places := rows.exchange.block * 4 * c.Dim; places < math.MaxInt32/2 || places > math.MaxInt32 ||
			rows.batch.room*c.Dim > math.MaxInt32 {
			t.Errorf("%d samples: %d places of asked rows, and %d rows", samples, places, rows.batch.room)
		}
	}
}

// The memory for batches that a prediction counts is what a replica takes, to within a part in a hundred.
func TestBatchBytesAreThoseOfAReplica(t *testing.T) {
	for _, dim := range []int{1, 16, 100} {
		for _, ranks := range []int{1, 2, 8} {
			c := &model.RowsConfig{Dim: dim, Optimizer: opt.DefaultRow(), Capacity: 1000,
				Schema: &batch.Schema{Slots: make([]batch.Slot, 26)}}
			const samples, groups = 1024, 8
			m := &memory{measuring: true}
			of := &model.ReplicaConfig{Ranks: ranks, Groups: groups, Rows: c}
			rows := newRows(new(replica), m, of, samples, 0, 0)
			got := float64(m.bytes) - float64(c.RowBytes())*1000
			want := float64(c.BatchBytes(rows.batch.room, groups*samples*26, ranks))
			if math.Abs(got-want) > want/100+64<<10 {
				t.Errorf("%d values, %d ranks: %.0f bytes, want %.0f", dim, ranks, got, want)
			}
		}
	}
}

// More rows are asked for than there was room for: there is room, or an error that says what to change.
func TestRoomForAskedRows(t *testing.T) {
	c := model.RowsConfig{Dim: 3, Optimizer: opt.DefaultRow(), Schema: rowsSchema(3), Capacity: 10}
	r, err := rowsReplica(t, 0, c, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{device: r.device.Device}
	defer m.free()
	x := newExchange(r.rows, m, 0, 2, 10)
	if err := x.growAsked(1000); err != nil || x.block != 1250 {
		t.Errorf("room for %d rows: %v", x.block, err)
	}
	const text = "a rank asks cuda:0 for 400000000 rows in a step; at most 357913941 of 3 values: lower "
	if err := x.growAsked(400_000_000); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v; want %s", err, text)
	}
	softgpu.Set(t, "TANDEM_SOFTGPU_MEMORY", "1")
	if err := x.growAsked(2000); err == nil || !strings.Contains(err.Error(), "lower rows.capacity") {
		t.Errorf("error without memory: %v", err)
	}
}

// twoRanks returns ranks on two GPUs that have rows together.
func twoRanks(t *testing.T, c *model.RowsConfig) (ranks *trainer, rows []model.DeviceRows) {
	t.Helper()
	j := job.Default()
	j.Model.Device, j.Roles.Ranks = job.Device{CUDA: true, Ordinals: []int{0, 1}}, 2
	softgpu.Open(t, 2)
	g, err := Open(softgpu.Libraries(t), &j)
	if err != nil {
		t.Fatal(err)
	}
	e, err := model.New(model.Spec{Kind: model.FeedForward, EmbeddingDim: c.Dim, Top: []int{5},
		Activation: model.ReLU}, c.Schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	optimizer := opt.DefaultDense()
	params, running := e.Init(3)
	made, err := g.Trainer(e)
	if err != nil {
		t.Fatal(err)
	}
	ranks = made.(*trainer)
	for rank := range 2 {
		r, err := ranks.NewReplica(model.ReplicaConfig{Rank: rank, Ranks: 2, Groups: 1, SamplesMax: 4,
			Initial: model.Values{Params: params, Running: running}, Optimizer: &optimizer, Rows: c})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r.(model.RowHolder).Rows())
	}
	if err := ranks.JoinRows(); err != nil {
		t.Fatal(err)
	}
	return ranks, rows
}

// A rank that fails while the ranks update their rows ends the update with its error, and later steps, too.
func TestOneRankFailsInAnUpdate(t *testing.T) {
	c := model.RowsConfig{Dim: 3, Optimizer: opt.DefaultRow(), Schema: rowsSchema(3), Capacity: 1000}
	trainer, rows := twoRanks(t, &c)
	step := func() error {
		failed := make([]error, 2)
		var running sync.WaitGroup
		for rank, of := range rows {
			part := drawPart(rand.New(rand.NewPCG(1, uint64(rank))), c.Schema, []int{0, 4}, 50)
			running.Go(func() { failed[rank] = of.Forward(&part, part.Slots, nil, nil, 0.1, 8) })
		}
		running.Wait()
		return errors.Join(failed...)
	}
	if err := step(); err != nil {
		t.Fatal(err)
	}
	planted := errors.New("planted")
	trainer.replicas[1].err = planted
	if err := trainer.UpdateRows(); !errors.Is(err, planted) {
		t.Errorf("update: %v, want %v", err, planted)
	}
	trainer.replicas[1].err = nil
	if err := step(); err == nil || !strings.Contains(err.Error(), "given up") {
		t.Errorf("step after a failed update: %v", err)
	}
	err := trainer.replicas[0].rows.exchange.rehearse()
	if err == nil || !strings.Contains(err.Error(), "cannot exchange rows") ||
		!strings.Contains(err.Error(), "lower rows.capacity") {
		t.Errorf("rehearsal: %v", err)
	}
}
