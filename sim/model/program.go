package model

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/model"
)

// NewNetwork returns the network of a program, such as that of a job file. A layer is a product. The linear
// part and the factors of numeric features are products too, as they have a matrix of parameters. All other
// parts read and write values. Only numeric features have no gradient.
func NewNetwork(p *model.Program) *Network {
	n := &Network{}
	ofRows := make([]bool, len(p.Widths)) // values that depend on embeddings
	ofRows[model.PooledValue] = true
	depends := func(inputs []int, output int) (yes bool) {
		for _, v := range inputs {
			yes = yes || ofRows[v]
		}
		ofRows[output] = yes
		return yes
	}
	product := func(top bool, l Product) {
		switch {
		case l.In == 0:
		case top:
			n.Top = append(n.Top, l)
		default:
			n.Bottom = append(n.Bottom, l)
		}
	}
	other := func(name string, read, written int) {
		n.Others = append(n.Others, Other{name, read + written})
	}
	numbers := p.Widths[model.NumbersValue]
	for i, part := range p.Parts {
		switch x := part.(type) {
		case model.LayerPart:
			top := depends(x.Inputs, x.Output)
			if len(x.Inputs) > 1 {
				n.Joined += x.In
			}
			l := layer(i, &x)
			if x.Norm {
				other(l.Name+" norm", x.Out, x.Out)
			}
			l.First = !slices.ContainsFunc(x.Inputs, func(v int) bool { return v != model.NumbersValue })
			product(top, l)
		case model.JoinPart:
			depends(x.Inputs, x.Output)
			n.Joined += p.Widths[x.Output]
		case model.SumPart:
			depends(x.Inputs, x.Output)
			other("sum", len(x.Inputs), 1)
		case model.GatePart:
			depends([]int{x.X, x.Y, x.Z}, x.Output)
			other("gate", 3*p.Widths[x.Output], p.Widths[x.Output])
		case model.InteractionPart:
			depends([]int{x.Input}, x.Output)
			n.Pairs = Pairs{x.Count, x.Dim}
			n.Out = p.Widths[x.Output]
		case model.LinearPart:
			ofRows[x.Output] = true
			product(false, Product{Name: "linear", In: numbers, Out: x.Heads, Bias: x.Heads, First: true})
			other("weights of ids", x.Heads*len(x.Rows), x.Heads)
		case model.FactorsPart:
			ofRows[x.Output] = true
			product(false, Product{Name: "factors", In: numbers, Out: x.Dim, First: true})
			other("vectors", x.Dim*len(x.Rows)+numbers, p.Widths[x.Output])
		case model.PairSumPart:
			depends([]int{x.Input}, x.Output)
			other("sum of pairs", p.Widths[x.Input], 1)
		default:
			panic(fmt.Sprintf("model: a network with a %T, which has no price", part))
		}
	}
	return n
}

// layer returns the product of a layer, the i-th part of a program.
func layer(i int, x *model.LayerPart) Product {
	l := Product{Name: fmt.Sprintf("layer%d", i+1), In: x.In, Out: x.Out, Activated: x.ReLU}
	if x.Bias >= 0 {
		l.Bias = x.Out
	}
	if x.Norm {
		l.Bias += 2 * x.Out
	}
	return l
}
