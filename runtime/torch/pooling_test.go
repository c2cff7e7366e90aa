package torch

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/rng"
	"tandem/internal/pythontest"
)

// bags is what the program below reads: a table, the ids of bags and where they begin, and the gradients of
// the pooled vectors.
type bags struct {
	Mode    string      `json:"mode"`
	Table   [][]float32 `json:"table"`
	IDs     []uint64    `json:"ids"`
	Offsets []int32     `json:"offsets"`
	Grads   [][]float32 `json:"grads"`
	Weights []float32   `json:"weights"` // of the ids; null: none
}

// embeddingBag prints what nn.EmbeddingBag pools, and the gradient of its table.
const embeddingBag = `
import json, sys, torch
b = json.load(sys.stdin)
table = torch.tensor(b["table"], dtype=torch.float32)
bag = torch.nn.EmbeddingBag.from_pretrained(table, freeze=False, mode=b["mode"])
weights = None if b["weights"] is None else torch.tensor(b["weights"], dtype=torch.float32)
out = bag(torch.tensor(b["ids"], dtype=torch.int64), torch.tensor(b["offsets"][:-1]), weights)
out.backward(torch.tensor(b["grads"], dtype=torch.float32))
json.dump({"pooled": out.tolist(), "grads": bag.weight.grad.tolist()}, sys.stdout)
`

// Maxima and their gradients are those of nn.EmbeddingBag, also where several ids have the largest value, and
// without an id.
func TestMaximaAreThoseOfEmbeddingBag(t *testing.T) {
	compareBags(t, bags{Mode: "max"}, batch.Slot{Pooling: batch.Max}, 0)
}

// Sums with weights and their gradients are those of nn.EmbeddingBag with per_sample_weights, which adds in
// another order.
func TestWeightedSumsAreThoseOfEmbeddingBag(t *testing.T) {
	in := bags{Mode: "sum"}
	draw := rng.New(4, "weights")
	for range 3 * bagSamples {
		in.Weights = append(in.Weights, float32(draw.NormFloat64()))
	}
	compareBags(t, in, batch.Slot{Weighted: true}, 1e-6)
}

// bagSamples is the number of bags that are compared, of up to three ids each.
const bagSamples = 40

// compareBags compares what a slot pools, within a tolerance, and its gradients, with nn.EmbeddingBag.
func compareBags(t *testing.T, in bags, slot batch.Slot, tolerance float64) {
	python := pythontest.Torch(t)
	const dim, ids, samples = 3, 12, bagSamples
	draw := rng.New(3, "bags")
	in.Offsets = []int32{0}
	for range ids {
		row := make([]float32, dim)
		for j := range row { // few values, so that some tie
			row[j] = float32(draw.IntN(4)) - 2
		}
		in.Table = append(in.Table, row)
	}
	var grads []float32
	for range samples {
		for range draw.IntN(4) {
			in.IDs = append(in.IDs, draw.Uint64N(ids))
		}
		in.Offsets = append(in.Offsets, int32(len(in.IDs)))
		own := make([]float32, dim)
		for j := range own {
			own[j] = float32(draw.NormFloat64())
		}
		in.Grads, grads = append(in.Grads, own), append(grads, own...)
	}
	if in.Weights != nil {
		in.Weights = in.Weights[:len(in.IDs)]
	}
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Pooled, Grads [][]float32 }
	if err := json.Unmarshal(python.Run(t, bytes.NewReader(input), "-c", embeddingBag), &want); err != nil {
		t.Fatal(err)
	}

	slot.Name, slot.Dim = "tags", dim
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{slot}}
	part := batch.Part{Batch: &batch.Batch{Samples: samples,
		Slots: []batch.Jagged{{Offsets: in.Offsets, IDs: in.IDs, Weights: in.Weights}}},
		Bounds: []int{0, samples}}
	routed := route.Route(schema, part, shard.Rows(1))
	var rows []float32
	number := map[uint64]int{} // of an id in routed.Signs
	for at, sign := range routed.Signs {
		for id := range uint64(ids) {
			if schema.Signer(0).Sign(id, 0) == sign {
				rows, number[id] = append(rows, in.Table[id]...), at
			}
		}
	}
	pooled, winners := make([]float32, samples*dim), make([]int32, samples*schema.Winners())
	routed.PoolOn(nil, pooled, winners, schema, rows, dim)
	sums := make([]float32, len(rows))
	routed.MergeOn(nil, sums, schema, grads, winners, dim)
	for i, own := range want.Pooled {
		for j, value := range own {
			if math.Abs(float64(pooled[i*dim+j]-value)) > tolerance {
				t.Fatalf("sample %d, value %d: %v, PyTorch has %v", i, j, pooled[i*dim+j], value)
			}
		}
	}
	for id, own := range want.Grads {
		at, named := number[uint64(id)]
		for j, value := range own {
			got := float32(0)
			if named {
				got = sums[at*dim+j]
			}
			if math.Abs(float64(got-value)) > 1e-5 { // sums of some 10 numbers of size 1
				t.Errorf("gradient of id %d, value %d: %v, PyTorch has %v", id, j, got, value)
			}
		}
	}
}
