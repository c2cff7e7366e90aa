package blas_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
	"tandem/runtime/blas"
	"tandem/runtime/train"
)

// engines returns all implementations that this machine has, each with a pool and without.
func engines(t *testing.T) map[string][2]gemm.Products {
	t.Helper()
	all := map[string][2]gemm.Products{blas.BuiltIn: {gemm.NewProducts(nil), gemm.NewProducts(pool(3))}}
	for _, name := range blas.Names() {
		alone, _, err := blas.Open(name, nil)
		if err != nil {
			t.Logf("not here: %v", err)
			continue
		}
		together, _, err := blas.Open(name, pool(3))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = [2]gemm.Products{alone, together}
	}
	return all
}

// A pool claims to have this size and runs every task on a goroutine of its own.
type pool int

func (p pool) Size() int { return int(p) }

func (p pool) ForEach(tasks int, task func(index int)) {
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() { task(i) })
	}
	all.Wait()
}

// clicks are samples of two ids and two numbers, whose label follows from an id
// and a number.
type clicks struct {
	schema batch.Schema
	all    *batch.Batch
}

const globalBatch = 512

func newClicks(samples int) *clicks {
	c := &clicks{schema: batch.Schema{
		Slots: []batch.Slot{{Name: "user", Dim: 8}, {Name: "item", Dim: 8}}, Dense: []string{"age", "price"},
		Labels: []string{"click"}, PrefixBits: 8,
	}}
	draw := rng.New(7, "clicks")
	c.all = &batch.Batch{Samples: samples, Slots: []batch.Jagged{{Offsets: []int32{0}},
		{Offsets: []int32{0}}}}
	for i := range samples {
		user, item, x := uint64(draw.IntN(50)), uint64(draw.IntN(20)), draw.NormFloat64()
		for s, id := range []uint64{user, item} {
			c.all.Slots[s].IDs = append(c.all.Slots[s].IDs, id)
			c.all.Slots[s].Offsets = append(c.all.Slots[s].Offsets, int32(i+1))
		}
		c.all.Dense = append(c.all.Dense, float32(x), float32(draw.NormFloat64()))
		label := float32(0)
		if x+float64(user%5)-2+draw.NormFloat64() > 0 {
			label = 1
		}
		c.all.Labels = append(c.all.Labels, label)
	}
	return c
}

func (c *clicks) Schema() *batch.Schema { return &c.schema }
func (c *clicks) Steps() int            { return (c.all.Samples-1)/globalBatch + 1 }
func (c *clicks) Samples(step int) int {
	return min(globalBatch, c.all.Samples-step*globalBatch)
}
func (c *clicks) Read(step int) (*batch.Batch, error) {
	return batch.Slice(c.all, step*globalBatch, step*globalBatch+c.Samples(step)), nil
}

func training(mode string, ranks int, precision string) job.Job {
	t := job.Default()
	t.Training.Mode, t.Roles.Ranks, t.Training.GlobalBatch, t.Model.Precision = mode, ranks, globalBatch,
		precision
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 8, Top: []int{300, 130},
		Activation: model.ReLU}
	t.Training.EvaluateEvery = job.Every{Steps: 3}
	t.Model.Optimizer.Rate, t.Rows.Optimizer.Rate = 0.01, 0.1
	return t
}

// The invariants hold with every implementation, in fp32 and in bf16: sync has the bits of
// sequential training for every number of ranks, with and without a shared pool,
// evaluations during training included; and the network learns. The last batch is odd, and
// groups are of unequal size.
func TestInvariantsHoldOnEveryImplementation(t *testing.T) {
	rows := newClicks(4*globalBatch + 77)
	auc := map[string]float64{}
	for name, products := range engines(t) {
		for _, precision := range []string{job.FP32, job.BF16} {
			t.Run(name+"/"+precision, func(t *testing.T) {
				var want *train.Result
				for _, arm := range []struct {
					mode  string
					ranks int
					on    gemm.Products
				}{{job.Sequential, 1, products[0]}, {job.Sequential, 1, products[1]},
					{job.Sync, 4, products[0]}, {job.Sync, 8, products[1]}} {
					got, err := train.Run(t.Context(), training(arm.mode, arm.ranks, precision), rows,
						rows.all, train.Options{Backend: backend.Backend{Products: arm.on}})
					if err != nil {
						t.Fatal(err)
					}
					if want == nil {
						want = got
						continue
					}
					if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest ||
						curve(got) != curve(want) {
						t.Errorf("%s on %d ranks: dense %x, rows %x, %s; sequential has %x, %x, %s",
							arm.mode, arm.ranks,
							got.DenseDigest, got.RowsDigest, curve(got), want.DenseDigest, want.RowsDigest,
							curve(want))
					}
				}
				auc[t.Name()] = want.AUC
			})
		}
	}
	least, most := 1.0, 0.0
	for _, a := range auc {
		least, most = min(least, a), max(most, a)
	}
	// Five steps take the model to 0.69; one that learned nothing
	// has 0.5. Rounding to bf16 moves weights by 2⁻⁹ of themselves at the most; the order of
	// sums moves them by 2⁻²⁰ or so. Neither changes what is learned.
	if math.IsNaN(least) || least < 0.65 || most-least > 0.005 {
		t.Errorf("AUC from %.4f to %.4f: %v", least, most, auc)
	}
}

func curve(r *train.Result) (text string) {
	for _, p := range r.Curve {
		text += fmt.Sprint(p.Step, " ", p.AUC, " ", p.LogLoss, "; ")
	}
	return text
}
