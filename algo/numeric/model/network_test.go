package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/algo/unit"
)

func TestPassRemembersNothingOfTheGroupBefore(t *testing.T) {
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		r := rand.New(rand.NewPCG(11, 12))
		params := values(r, l.Params)
		_, running := engine.Init(1)
		first, second := group(r, l, 5), group(r, l, 4)
		used, fresh := engine.NewPass(5), engine.NewPass(5)
		used.Forward(params, running, first, true)
		backward(used, l, params)

		logits, loss := used.Forward(params, running, second, true)
		freshLogits, freshLoss := fresh.Forward(params, running, second, true)
		if !slices.Equal(logits, freshLogits) || loss != freshLoss {
			t.Errorf("%s: a used pass gives %v and %v, a fresh one %v and %v", n.name, logits, loss,
				freshLogits, freshLoss)
		}
		if !slices.Equal(backward(used, l, params), backward(fresh, l, params)) {
			t.Errorf("%s: gradients depend on the group before", n.name)
		}
		if !slices.Equal(used.EmbeddingGrad(), fresh.EmbeddingGrad()) {
			t.Errorf("%s: embedding gradients depend on the group before", n.name)
		}
	}
}

func TestCostAddsUpTheParts(t *testing.T) {
	for _, tt := range []struct {
		kind    string
		flops   unit.FLOPs
		values  int // read and written
		kernels int
		buckets int
	}{
		// 8 slots and 5 numbers are 13 vectors of 16 = 208 values. Linear part 8+2·5,
		// scaling 5·16, pairs 3·208+2·16, two sums of two; 2·(208·256 + 256·128 + 128).
		// Values: 8+5+1; 8·16+5+208; 208+16+1; 3; 208+256+512, 256+128+256, 128+1; 3.
		// Kernels: linear, vectors, pairs, sum, 3 products, 2 relus, sum, loss.
		{DeepFM, 18 + 80 + 656 + 2 + 172288, 14 + 341 + 225 + 3 + 1745 + 3, 11, 5},
		// 133 features. 3 cross layers of 2·133² and 2·133 of the gate; 2·(133·256 +
		// 256·128 + 128). Values: the join 2·133; a cross layer 2·133 and 4·133;
		// 133+256+512, 256+128+256, 128+1. Kernels: join, 3 of 2, 3 products, 2
		// relus, loss.
		{DCNv2, 3*(35378+266) + 133888, 266 + 3*798 + 1670, 13, 6},
	} {
		l := mustNew(t, kind(tt.kind), adultIncome(kind(tt.kind).Dim())).Layout()
		want := Cost{tt.flops, 2 * tt.flops, unit.Bytes(4 * tt.values), tt.kernels}
		if l.Cost != want || len(l.Buckets) != tt.buckets {
			t.Errorf("%s: cost %+v in %d buckets, want %+v in %d", tt.kind, l.Cost, len(l.Buckets), want,
				tt.buckets)
		}
	}
}
