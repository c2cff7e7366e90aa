package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/event"
	"tandem/algo/rng"
)

// rows are the samples of a data set in memory, cut into batches in order.
type rows struct {
	schema batch.Schema
	all    *batch.Batch
	size   int
}

func (r *rows) Schema() *batch.Schema { return &r.schema }
func (r *rows) Steps() int            { return (r.all.Samples-1)/r.size + 1 }
func (r *rows) Samples(step int) int  { return min(r.size, r.all.Samples-step*r.size) }
func (r *rows) Read(step int) (*batch.Batch, error) {
	return batch.Slice(r.all, step*r.size, step*r.size+r.Samples(step)), nil
}

// newRows draws samples of three slots, one of them multi-valued, one raw, and
// two numeric features. The label depends on the first slot and a feature.
func newRows(samples, size, dim int, seed uint64) *rows {
	r := &rows{size: size, schema: batch.Schema{
		Slots: []batch.Slot{
			{Name: "user", Dim: dim}, {Name: "tags", Dim: dim},
			{Name: "history", Dim: dim, Pooling: batch.Raw, FixedSize: 2},
		},
		Dense: []string{"age", "price"}, Labels: []string{"click"}, PrefixBits: 8,
	}}
	draw := rng.New(seed, "rows")
	b := &batch.Batch{Samples: samples, Slots: make([]batch.Jagged, 3)}
	for s := range b.Slots {
		b.Slots[s].Offsets = []int32{0}
	}
	for range samples {
		user := uint64(draw.IntN(50))
		counts := [3]int{1, draw.IntN(4), draw.IntN(4)}
		for s, n := range counts {
			for range n {
				id := user
				if s > 0 {
					id = uint64(draw.IntN(20))
				}
				b.Slots[s].IDs = append(b.Slots[s].IDs, id)
			}
			b.Slots[s].Offsets = append(b.Slots[s].Offsets, int32(len(b.Slots[s].IDs)))
		}
		x := draw.NormFloat64()
		b.Dense = append(b.Dense, float32(x), float32(draw.NormFloat64()))
		label := float32(0)
		if x+float64(user%5)-2+draw.NormFloat64() > 0 {
			label = 1
		}
		b.Labels = append(b.Labels, label)
	}
	r.all = b
	return r
}

func small(mode string, ranks int) job.Job {
	t := job.Default()
	t.Training.Mode, t.Roles.Ranks, t.Training.GlobalBatch, t.Training.Prefetch = mode, ranks, 64, 4
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 4, Top: []int{16, 8},
		Activation: model.ReLU, BatchNorm: true}
	t.Rows.Optimizer, t.Model.Optimizer.Rate = opt.DefaultRow(), 0.01
	return t
}

func mustRun(t *testing.T, training job.Job, r *rows) *Result {
	t.Helper()
	result, err := Run(t.Context(), training, r, r.all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Sync training equals sequential training bit for bit, for any number of ranks, EWs and PSs, every overlap,
// both merges and both scales, also if the last batch is short.
func TestSyncEqualsSequentialBitForBit(t *testing.T) {
	r := newRows(64*12+9, 64, 4, 1)
	for _, merge := range []string{job.MergeStep, job.MergeRank} {
		for _, scale := range []string{job.ScaleGlobal, job.ScaleRank} {
			for _, ranks := range []int{1, 2, 4, 8} {
				for i, overlap := range []string{"none", "ids", "ids+ds"} {
					reference := small(job.Sequential, ranks)
					if merge == job.MergeStep && scale == job.ScaleGlobal {
						reference.Roles.Ranks = 1
					}
					training := small(job.Sync, ranks)
					training.Training.Overlap, training.Roles.EmbeddingWorkers,
						training.Roles.EmbeddingPSs = overlap, 1+i, 3-i
					reference.Training.Merge, reference.Training.Scale, training.Training.Merge,
						training.Training.Scale = merge, scale, merge, scale
					t.Run(fmt.Sprintf("merge=%s scale=%s N=%d %s", merge, scale, ranks, overlap),
						func(t *testing.T) {
							want, got := mustRun(t, reference, r), mustRun(t, training, r)
							if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest ||
								got.Rows != want.Rows {
								t.Errorf("dense %x, rows %x (%d); sequential has %x, %x (%d)",
									got.DenseDigest, got.RowsDigest, got.Rows,
									want.DenseDigest, want.RowsDigest, want.Rows)
							}
							if got.Staleness.Own.Max() != 0 || got.Staleness.Cross.Max() != 0 ||
								got.Staleness.Own.Count() == 0 {
								t.Errorf("staleness own %v, cross %v", got.Staleness.Own.Summary(),
									got.Staleness.Cross.Summary())
							}
						})
				}
			}
		}
	}
}

// For SGD, scale: rank is scale: global with N times the rate of rows, bit for bit: N and the batch are
// powers of two, so the factors are exact. Other optimizers divide by the size of past gradients.
func TestScaleByRankIsNTimesTheRateOfSGD(t *testing.T) {
	r := newRows(64*12, 64, 4, 1)
	for _, merge := range []string{job.MergeStep, job.MergeRank} {
		for kind, same := range map[string]bool{opt.SGD: true, opt.Adagrad: false} {
			byRank := small(job.Sequential, 4)
			byRank.Training.Merge, byRank.Rows.Optimizer.Kind = merge, kind
			global := byRank
			byRank.Training.Scale = job.ScaleRank
			global.Training.Scale = job.ScaleGlobal
			global.Rows.Optimizer.Rate *= 4
			a, b := mustRun(t, byRank, r), mustRun(t, global, r)
			if (a.RowsDigest == b.RowsDigest && a.DenseDigest == b.DenseDigest) != same {
				t.Errorf("merge %s, %s: rows %x and %x, dense %x and %x", merge, kind, a.RowsDigest,
					b.RowsDigest, a.DenseDigest, b.DenseDigest)
			}
		}
	}
}

// Rows that are never admitted are zeros in every step, so nothing in hybrid mode can be stale: its network
// equals that of sequential training bit for bit, for any number of ranks, also if ranks have no samples of
// the short last batch.
func TestNetworkOfAnyRanksIsSequential(t *testing.T) {
	r := newRows(64*6+5, 64, 4, 11)
	for _, ranks := range []int{1, 2, 3, 5, 6, 24, 64} {
		reference, training := small(job.Sequential, ranks), small(job.Hybrid, ranks)
		reference.Rows.Admission, training.Rows.Admission = 1e-300, 1e-300
		reference.Training.Groups, training.Training.Groups = 32, 32 // 3 and 5 ranks leave some out
		want, got := mustRun(t, reference, r), mustRun(t, training, r)
		if got.DenseDigest != want.DenseDigest || got.Rows != 0 {
			t.Errorf("%d ranks: network %x, sequential's %x; %d rows", ranks, got.DenseDigest,
				want.DenseDigest, got.Rows)
		}
	}
}

// asynchronous are the modes whose embeddings may be stale, with all that they
// may overlap.
var asynchronous = map[string][]string{
	job.Hybrid: {"none", "ds"}, job.AsyncPS: {"none", "pull"}, job.SSP: {"none", "pull"},
	job.AsyncAverage: {"none"},
}

// Asynchronous training keeps its bounds on staleness and learns.
func TestAsynchronousModesKeepTheirBounds(t *testing.T) {
	r := newRows(64*40, 64, 4, 2)
	for mode, overlaps := range asynchronous {
		for _, overlap := range overlaps {
			for ranks, staleness := range map[int]int{3: 1, 4: 0, 5: 0, 6: 3, 8: 1} {
				if testing.Short() && ranks != 3 && ranks != 4 {
					continue
				}
				t.Run(fmt.Sprintf("%s %s N=%d τ=%d", mode, overlap, ranks, staleness), func(t *testing.T) {
					training := small(mode, ranks)
					training.Training.Groups = 16 // 3 and 5 ranks leave some out
					training.Training.Staleness, training.Training.Overlap,
						training.Roles.DensePSs = &staleness, overlap, 2
					training.Training.ModeSettings = map[string]int{"slack": staleness}
					training = training.InMode(mode)
					got := mustRun(t, training, r)
					rule, err := training.Rule()
					if err != nil {
						t.Fatal(err)
					}
					bounds, s := rule.Bounds(ranks), got.Staleness
					if s.Own.Max() > bounds.Own || s.Cross.Max() > bounds.Cross ||
						s.Inflight.Max() > bounds.Inflight || s.Dense.Max() > bounds.Dense {
						t.Errorf("own %d, cross %d, inflight %d, dense %d; promised %+v",
							s.Own.Max(), s.Cross.Max(), s.Inflight.Max(), s.Dense.Max(), bounds)
					}
					if pushed := rule.Dense().DensePSs; pushed != (s.Dense.Count() == uint64(2*ranks*40)) {
						t.Errorf("%d pushes are counted", s.Dense.Count())
					}
					if got.AUC < 0.7 {
						t.Errorf("AUC %.3f on its own training rows", got.AUC)
					}
				})
			}
		}
	}
}

// τ = 0 with one rank is deterministic: every mode is sequential training with one optimizer step per put,
// for any number of dense PSs.
func TestOneRankWithoutStalenessIsSequential(t *testing.T) {
	r := newRows(64*10+9, 64, 4, 3)
	none := 0
	reference := small(job.Sequential, 1)
	reference.Model.Optimizer.ClipNorm, reference.Model.Optimizer.Schedule = 0.5, opt.Schedule{WarmUp: 5}
	want := mustRun(t, reference, r)
	for mode := range asynchronous {
		training := small(mode, 1)
		training.Model.Optimizer = reference.Model.Optimizer
		training.Training.Staleness, training.Training.Overlap, training.Training.ModeSettings = &none,
			"none", map[string]int{"every": 3}
		training = training.InMode(mode)
		for training.Roles.DensePSs = range 4 {
			training.Roles.DensePSs++
			got := mustRun(t, training, r)
			// The digest of one holder is that of the whole; those of several are folded.
			if got.AUC != want.AUC || got.LogLoss != want.LogLoss || got.RowsDigest != want.RowsDigest {
				t.Errorf("%s, %d dense PSs: AUC %v, log loss %v; sequential has %v, %v", mode,
					training.Roles.DensePSs, got.AUC, got.LogLoss, want.AUC, want.LogLoss)
			}
			if training.Roles.DensePSs == 1 && got.DenseDigest != want.DenseDigest {
				t.Errorf("%s: dense parameters differ", mode)
			}
		}
	}
}

// The model of async-average is the mean of the replicas, and the replicas are equal to it, because the last
// round comes after the last step.
func TestReplicasMeetInTheirMean(t *testing.T) {
	r := newRows(64*10, 64, 4, 3)
	for _, every := range []int{1, 3, 100} {
		training := small(job.AsyncAverage, 4)
		training.Training.ModeSettings = map[string]int{"every": every}
		rounds := map[int32]int{}
		count := func(e event.Record) {
			if e.Kind == event.Averaged {
				rounds[e.Rank]++
			}
		}
		if _, err := Run(t.Context(), training, r, r.all, Options{Observer: observer(count)}); err != nil {
			t.Fatal(err)
		}
		want := (10 + every - 1) / every
		for rank := range int32(4) {
			if rounds[rank] != want {
				t.Errorf("every %d steps: rank %d averages %d times, want %d", every, rank, rounds[rank],
					want)
			}
		}
	}
}

type observer func(event.Record)

func (o observer) Observe(e event.Record) { o(e) }

// failing is a source whose steps cannot be read from some step on.
type failing struct {
	*rows
	from int
}

var errDisk = errors.New("disk on fire")

func (f failing) Read(step int) (*batch.Batch, error) {
	if step >= f.from {
		return nil, errDisk
	}
	return f.rows.Read(step)
}

// A batch that cannot be read stops every role, and the error names the batch.
func TestUnreadableBatchStopsTheRun(t *testing.T) {
	for _, mode := range job.Modes() {
		r := failing{newRows(640, 64, 4, 4), 3}
		_, err := Run(t.Context(), small(mode, 2), r, r.all, Options{})
		if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "step 3") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// A gradient that is not finite stops the run with advice.
func TestNonFiniteGradientStopsTheRun(t *testing.T) {
	for _, mode := range job.Modes() {
		r := newRows(640, 64, 4, 5)
		for i := 2 * 64; i < 2*128; i++ { // both features of all of step 1, whichever ranks count
			r.all.Dense[i] = float32(math.Inf(1))
		}
		_, err := Run(t.Context(), small(mode, 2), r, r.all, Options{})
		if err == nil || !strings.Contains(err.Error(), "step 1") ||
			!strings.Contains(err.Error(), "lower the learning rate") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// Test rows of one label are refused before any training.
func TestOneLabelIsRefused(t *testing.T) {
	r := newRows(640, 64, 4, 9)
	test := batch.Slice(r.all, 0, 1)
	_, err := Run(t.Context(), small(job.Sync, 2), r, test,
		Options{Progress: func(int, int) { t.Error("trained") }})
	if !errors.Is(err, errOneClass) {
		t.Error(err)
	}
}

// nothing is a recorder that must not be called.
type nothing struct{ Recorder }

// Sequential training refuses to be recorded, before any training.
func TestSequentialIsNotRecorded(t *testing.T) {
	r := newRows(640, 64, 4, 9)
	if _, err := Run(t.Context(), small(job.Sequential, 1), r, r.all,
		Options{Recorder: nothing{}}); !errors.Is(err, errNoRoles) {
		t.Error(err)
	}
}

// A full PS stops the run, and the error says what to do.
func TestFullServerStopsTheRun(t *testing.T) {
	training := small(job.Hybrid, 2)
	training.Rows.Capacity = 5
	r := newRows(640, 64, 4, 6)
	if _, err := Run(t.Context(), training, r, r.all, Options{}); !errors.Is(err, table.ErrFull) {
		t.Error(err)
	}
}

// Ending the context stops every goroutine, at any time: a synctest bubble does not end while one is left.
func TestCancelIsClean(t *testing.T) {
	r := newRows(64*200, 64, 4, 7)
	for _, mode := range job.Modes() {
		for _, after := range []int{1, 7, 50} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				_, err := Run(ctx, small(mode, 4), r, r.all, Options{Progress: func(done, _ int) {
					if done >= after {
						cancel()
					}
				}})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", mode, err)
				}
			})
		}
	}
}

// The updates that a row gradient has missed are bounded by the puts that can come between its read and
// itself. In sync mode these are only the earlier ranks of a step that is not merged. In hybrid mode, between
// read and put of rank r's step k: of r's own, up to τ earlier and τ later ones that are outstanding with it;
// of each other rank, up to 2τ+1 earlier steps (the bound on cross) and the steps k … k+τ, whose dense
// synchronisation needs r to have read for them while k was outstanding.
func TestMissedUpdates(t *testing.T) {
	r := newRows(64*20, 64, 4, 8)
	two := 2
	hybrid, merged, byRank := small(job.Hybrid, 4), small(job.Sync, 4), small(job.Sync, 4)
	hybrid.Training.Staleness, byRank.Training.Merge = &two, job.MergeRank
	for _, c := range []struct {
		name     string
		training job.Job
		most     int
		some     bool
	}{{"sync merge:step", merged, 0, false}, {"sync merge:rank", byRank, 3, true}, {"hybrid", hybrid,
		2*two + 3*(3*two+2), true}} {
		missed := mustRun(t, c.training, r).MissedUpdates
		if missed.Count() == 0 || missed.Max() > c.most || (missed.Max() > 0) != c.some {
			t.Errorf("%s: %+v, want at most %d", c.name, missed.Summary(), c.most)
		}
	}
}

// Of all that happens in hybrid, only the order of reads and updates of rows decides the result: sequential
// training in this order computes the same bits and misses the same updates.
func TestHybridIsSequentialInItsOrder(t *testing.T) {
	r := newRows(64*20+7, 64, 4, 8)
	two := 2
	hybrid, q := small(job.Hybrid, 4), small(job.Sequential, 4)
	hybrid.Training.Staleness, hybrid.Training.Merge, q.Training.Merge = &two, job.MergeRank, job.MergeRank
	recorder := reference.NewOrderRecorder(4, hybrid.Roles.EmbeddingPSs)
	want, err := Run(t.Context(), hybrid, r, r.all, Options{Observer: recorder})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(t.Context(), q, r, r.all, Options{Order: recorder.Order()})
	if err != nil {
		t.Fatal(err)
	}
	if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest || got.AUC != want.AUC {
		t.Errorf("digests %x, %x, AUC %v; hybrid has %x, %x, %v", got.DenseDigest, got.RowsDigest, got.AUC,
			want.DenseDigest, want.RowsDigest, want.AUC)
	}
	if g, w := got.MissedUpdates, want.MissedUpdates; w.Max() == 0 || !reflect.DeepEqual(g, w) {
		t.Errorf("missed updates %+v; hybrid has %+v", g.Summary(), w.Summary())
	}
	if _, err := Run(t.Context(), hybrid, r, r.all, Options{Order: recorder.Order()}); !errors.Is(err,
		errOwnOrder) {
		t.Errorf("hybrid in an order: error %v", err)
	}
}

// A delay is staleness without roles: one rank's reads are as stale as in hybrid mode with that τ, and the
// same in every run. Training still learns.
func TestDelayedTraining(t *testing.T) {
	r := newRows(64*40, 64, 4, 10)
	plain := mustRun(t, small(job.Sequential, 1), r)
	if plain.Staleness.Own.Count() != 0 {
		t.Errorf("staleness of sequential training: %+v", plain.Staleness.Own.Summary())
	}
	training := small(job.Sequential, 1)
	training.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: 3}
	training.Training.EvaluateEvery.Steps = 20
	first, second := mustRun(t, training, r), mustRun(t, training, r)
	if first.RowsDigest != second.RowsDigest || first.DenseDigest != second.DenseDigest ||
		first.RowsDigest == plain.RowsDigest {
		t.Error("two delayed runs differ, or are as without delay")
	}
	own := first.Staleness.Own
	if own.Max() != 3 || own.Quantile(0.1) != 3 || own.Count() != 40 || first.MissedUpdates.Max() == 0 {
		t.Errorf("own %+v, missed %+v", own.Summary(), first.MissedUpdates.Summary())
	}
	if first.AUC < 0.7 || len(first.Curve) != 2 {
		t.Errorf("AUC %.3f, %d points", first.AUC, len(first.Curve))
	}
	training.Training.Delay = delay.Spec{Kind: delay.Traced, File: "x"}
	if _, err := Run(t.Context(), training, r, r.all, Options{}); !errors.Is(err, delay.ErrNotLoaded) {
		t.Error(err)
	}
}
