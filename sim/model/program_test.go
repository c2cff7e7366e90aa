package model

import (
	"fmt"
	"math"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
)

// networkOf returns the network of a spec, for 5 slots and 13 numbers, and the engine that computes it.
func networkOf(t *testing.T, spec model.Spec) (*Network, model.Engine) {
	t.Helper()
	schema := &batch.Schema{PrefixBits: batch.MaxPrefixBits, Labels: []string{"click"}}
	for i := range 13 {
		schema.Dense = append(schema.Dense, fmt.Sprint("x", i))
	}
	for i := range 5 {
		schema.Slots = append(schema.Slots, batch.Slot{Name: fmt.Sprint("C", i), Dim: spec.Dim()})
	}
	engine, err := model.New(spec, schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	program, ok := model.NewProgram(engine)
	if !ok {
		t.Fatal("not a built-in network")
	}
	return NewNetwork(program), engine
}

// Every kind of network has the parameters of its engine, and the products that it multiplies.
func TestNetworkOfAProgramIsThatOfItsEngine(t *testing.T) {
	for _, kind := range model.Kinds() {
		for _, change := range []func(*model.Spec){
			func(*model.Spec) {},
			func(s *model.Spec) { s.BatchNorm, s.Rank = true, 8 },
			func(s *model.Spec) { s.Structure = model.Parallel },
			func(s *model.Spec) {
				s.SparseTower, s.DenseTower = &model.Tower{Layers: []int{32}}, &model.Tower{Layers: []int{8}}
			},
		} {
			spec := model.Default()
			spec.Kind = kind
			change(&spec)
			n, engine := networkOf(t, spec)
			want := engine.Layout()
			if n.Parameters() != want.Params {
				t.Errorf("%s: %d parameters, the engine has %d", kind, n.Parameters(), want.Params)
			}
			// The engine multiplies each pair of vectors once, and counts adding in sums and gates.
			flops := float64(n.ForwardFLOPs())
			if v := float64(n.Pairs.Vectors); v > 0 {
				flops -= float64(n.Pairs.ForwardFLOPs()) - v*(v-1)*float64(n.Pairs.Dim)
			}
			if ratio := flops / float64(want.Cost.ForwardFLOPs); math.Abs(ratio-1) > 0.03 &&
				kind != model.LogisticRegression && kind != model.FactorizationMachine {
				t.Errorf("%s: %.3f of the engine's FLOPs", kind, ratio)
			}
			// Backward has two products for each of forward, but for those that numeric features enter.
			backward := 2 * n.ForwardFLOPs()
			for _, p := range n.Products() {
				if p.In == 13 {
					backward -= p.ForwardFLOPs()
				}
			}
			if got := n.BackwardFLOPs(); got != backward {
				t.Errorf("%s: %v FLOPs in backward, want %v", kind, got, backward)
			}
		}
	}
}

// Layers over numeric features alone come before those that need embeddings. The first of them has no
// gradient of its input, and each of the others needs that of its input for the layers before.
func TestNetworkOfAProgramTellsBottomFromTop(t *testing.T) {
	spec := model.Default()
	spec.Kind = model.DLRM
	n, _ := networkOf(t, spec)
	if len(n.Bottom) != 2 || n.Bottom[0].In != 13 || n.Bottom[0].Out != 64 || n.Bottom[1].Out != 16 {
		t.Fatalf("bottom %+v", n.Bottom)
	}
	for i, want := range []unit.FLOPs{2 * 13 * 64, 2 * 2 * 64 * 16} {
		if got := n.Bottom[i].BackwardFLOPs(); got != want {
			t.Errorf("%s: %v in backward, want %v", n.Bottom[i].Name, got, want)
		}
	}
	if len(n.Top) != 3 || n.Top[0].First || n.Top[2].Activated || n.Pairs != (Pairs{6, 16}) {
		t.Errorf("top %+v, pairs %+v", n.Top, n.Pairs)
	}
}
