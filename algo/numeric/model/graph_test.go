package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The operators of a graph, as ONNX defines them, give the probabilities that the engine's logits stand for.
func TestGraphsPredictWhatTheirNetworksDo(t *testing.T) {
	for _, n := range networks() {
		engine := n.engine(t)
		l := engine.Layout()
		r := rand.New(rand.NewPCG(5, 6))
		v := Values{values(r, l.Params), values(r, l.Running)}
		for i, x := range v.Running {
			v.Running[i] = x*x + 0.1 // variances are above 0
		}
		graph, err := NewGraph(n.spec, n.schema, v)
		if err != nil {
			t.Fatal(n.name, err)
		}
		in := group(r, l, 3)
		logits, _ := engine.NewPass(3).Forward(v.Params, v.Running, in, false)
		got := evaluate(t, graph, map[string]tensor{
			EmbeddingsInput: {[]int{3, l.EmbeddingWidth}, wide(in.Embeddings)},
			NumbersInput:    {[]int{3, l.DenseWidth}, wide(in.Dense)},
		})
		if !slices.Equal(got.shape, []int{3, l.Labels}) {
			t.Fatalf("%s: an output of shape %v", n.name, got.shape)
		}
		for i, z := range logits {
			want := 1 / (1 + math.Exp(-float64(z)))
			if l.Units != nil {
				want = float64(l.Prediction(i%l.Labels, z))
			}
			if math.Abs(got.values[i]-want) > 1e-6 {
				t.Errorf("%s: output %d is %v, want %v", n.name, i, got.values[i], want)
			}
		}
	}
}

func TestGraphOfOtherValuesIsRefused(t *testing.T) {
	n := networks()[0]
	if _, err := NewGraph(n.spec, n.schema, Values{Params: []float32{1}}); err == nil {
		t.Error("a graph of too few parameters")
	}
}

// tensor is a row-major tensor.
type tensor struct {
	shape  []int
	values []float64
}

// evaluate runs a graph by the definitions of its operators.
func evaluate(t *testing.T, g *Graph, inputs map[string]tensor) tensor {
	known := inputs
	for _, c := range g.Constants {
		v := tensor{c.Shape, wide(c.Floats)}
		for _, i := range c.Ints {
			v.values = append(v.values, float64(i))
		}
		if _, twice := known[c.Name]; twice {
			t.Fatalf("two tensors are called %s", c.Name)
		}
		known[c.Name] = v
	}
	for _, node := range g.Nodes {
		var in []tensor
		for _, name := range node.Inputs {
			v, ok := known[name]
			if !ok || len(v.values) == 0 {
				t.Fatalf("%s of %v: %s is not known, or empty", node.Operator, node.Inputs, name)
			}
			in = append(in, v)
		}
		known[node.Output] = operate(t, node, in)
	}
	return known[g.Output]
}

func operate(t *testing.T, node Node, in []tensor) tensor {
	x := in[0]
	switch node.Operator {
	case "Sigmoid":
		return each(x, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })
	case "Relu":
		return each(x, func(v float64) float64 { return max(v, 0) })
	case "Add":
		return broadcast(t, x, in[1], func(a, b float64) float64 { return a + b })
	case "Sub":
		return broadcast(t, x, in[1], func(a, b float64) float64 { return a - b })
	case "Mul":
		return broadcast(t, x, in[1], func(a, b float64) float64 { return a * b })
	case "Gemm":
		return linearOf(in)
	case "BatchNormalization":
		return normalize(in, float64(node.Attributes[0].Value.(float32)))
	case "Reshape":
		return reshape(x, in[1].values)
	case "Concat":
		return concat(in)
	case "Gather":
		return gatherColumns(x, in[1].values)
	case "Transpose":
		return transposeLast(x)
	case "MatMul":
		return batchProduct(x, in[1])
	case "ReduceSum":
		return sumAxis(x, int(in[1].values[0]), node.Attributes[0].Value == 1)
	}
	t.Fatalf("no operator %s", node.Operator)
	return tensor{}
}

func each(x tensor, f func(float64) float64) tensor {
	out := tensor{x.shape, make([]float64, len(x.values))}
	for i, v := range x.values {
		out.values[i] = f(v)
	}
	return out
}

// broadcast aligns shapes at their ends, as NumPy does.
func broadcast(t *testing.T, a, b tensor, f func(a, b float64) float64) tensor {
	rank := max(len(a.shape), len(b.shape))
	pad := func(shape []int) []int { return append(slices.Repeat([]int{1}, rank-len(shape)), shape...) }
	sa, sb := pad(a.shape), pad(b.shape)
	out, size := tensor{shape: make([]int, rank)}, 1
	for i := range rank {
		if sa[i] != sb[i] && sa[i] != 1 && sb[i] != 1 {
			t.Fatalf("shapes %v and %v", a.shape, b.shape)
		}
		out.shape[i] = max(sa[i], sb[i])
		size *= out.shape[i]
	}
	at := func(shape []int, flat int) (place int) {
		stride := 1
		for i := rank - 1; i >= 0; i-- {
			if shape[i] > 1 {
				place += flat % out.shape[i] * stride
			}
			stride *= shape[i]
			flat /= out.shape[i]
		}
		return place
	}
	for i := range size {
		out.values = append(out.values, f(a.values[at(sa, i)], b.values[at(sb, i)]))
	}
	return out
}

// linearOf is x·Wᵀ + b.
func linearOf(in []tensor) tensor {
	x, w := in[0], in[1]
	rows, width, columns := x.shape[0], x.shape[1], w.shape[0]
	out := tensor{shape: []int{rows, columns}}
	for i := range rows {
		for j := range columns {
			sum := dot(x.values[i*width:][:width], w.values[j*width:][:width])
			if len(in) > 2 {
				sum += in[2].values[j]
			}
			out.values = append(out.values, sum)
		}
	}
	return out
}

func normalize(in []tensor, epsilon float64) tensor {
	out, width := tensor{in[0].shape, nil}, in[0].shape[1]
	for i, v := range in[0].values {
		j := i % width
		v = (v - in[3].values[j]) / math.Sqrt(in[4].values[j]+epsilon)
		out.values = append(out.values, v*in[1].values[j]+in[2].values[j])
	}
	return out
}

func reshape(x tensor, shape []float64) tensor {
	known := 1
	for _, n := range shape[1:] { // the first is −1
		known *= int(n)
	}
	out := tensor{[]int{len(x.values) / known}, x.values}
	for _, n := range shape[1:] {
		out.shape = append(out.shape, int(n))
	}
	return out
}

func concat(in []tensor) tensor {
	out := tensor{shape: []int{in[0].shape[0], 0}}
	for _, x := range in {
		out.shape[1] += x.shape[1]
	}
	for i := range out.shape[0] {
		for _, x := range in {
			out.values = append(out.values, x.values[i*x.shape[1]:][:x.shape[1]]...)
		}
	}
	return out
}

func gatherColumns(x tensor, columns []float64) tensor {
	out := tensor{shape: []int{x.shape[0], len(columns)}}
	for i := range x.shape[0] {
		for _, c := range columns {
			out.values = append(out.values, x.values[i*x.shape[1]+int(c)])
		}
	}
	return out
}

func transposeLast(x tensor) tensor {
	n, rows, columns := x.shape[0], x.shape[1], x.shape[2]
	out := tensor{shape: []int{n, columns, rows}}
	for i := range n {
		for c := range columns {
			for r := range rows {
				out.values = append(out.values, x.values[(i*rows+r)*columns+c])
			}
		}
	}
	return out
}

func batchProduct(a, b tensor) tensor {
	n, rows, inner, columns := a.shape[0], a.shape[1], a.shape[2], b.shape[2]
	out := tensor{shape: []int{n, rows, columns}}
	for i := range n {
		for r := range rows {
			for c := range columns {
				sum := 0.0
				for k := range inner {
					sum += a.values[(i*rows+r)*inner+k] * b.values[(i*inner+k)*columns+c]
				}
				out.values = append(out.values, sum)
			}
		}
	}
	return out
}

func sumAxis(x tensor, axis int, keep bool) tensor {
	outer, inner := 1, 1
	for i, n := range x.shape {
		if i < axis {
			outer *= n
		} else if i > axis {
			inner *= n
		}
	}
	out := tensor{slices.Clone(x.shape), make([]float64, outer*inner)}
	for i, v := range x.values {
		out.values[i/(inner*x.shape[axis])*inner+i%inner] += v
	}
	if out.shape[axis] = 1; !keep {
		out.shape = slices.Delete(out.shape, axis, axis+1)
	}
	return out
}
