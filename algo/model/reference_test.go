package model

import (
	"fmt"
	"math"
	"testing"

	"tandem/algo/batch"
)

// reference computes logits and loss sum in float64, straight from the formulas
// and from the tensors' names: a second, dumb form of every engine.
type reference struct {
	spec    Spec
	schema  *batch.Schema
	layout  *Layout
	params  []float64
	running []float64 // used if not training
	train   bool
}

func (r *reference) tensor(name string) []float64 {
	for _, t := range r.layout.Tensors {
		if t.Name == name {
			return r.params[t.Lo:t.Hi]
		}
	}
	panic("no tensor " + name)
}

func (r *reference) loss(embeddings, dense [][]float64, labels []float64) (logits []float64, sum float64) {
	switch r.spec.Kind {
	case LogisticRegression:
		for i := range labels {
			logits = append(logits, r.tensor("bias")[0]+total(embeddings[i])+dot(r.tensor("weight"), dense[i]))
		}
	case FactorizationMachine:
		for i := range labels {
			logits = append(logits, r.machine(embeddings[i], dense[i]))
		}
	default:
		logits = r.feedForward(embeddings, dense)
	}
	for i, z := range logits {
		p := 1 / (1 + math.Exp(-z))
		sum -= labels[i]*math.Log(p) + (1-labels[i])*math.Log(1-p)
	}
	return logits, sum
}

// machine sums over all pairs of fields, as Rendle's equation 1 does.
func (r *reference) machine(embedding, dense []float64) float64 {
	f := r.spec.Factors
	logit := r.tensor("bias")[0] + dot(r.tensor("linear"), dense)
	var vectors [][]float64
	for at := 0; at < len(embedding); at += f + 1 {
		logit += embedding[at]
		vectors = append(vectors, embedding[at+1:at+1+f])
	}
	for j, x := range dense {
		scaled := make([]float64, f)
		for k := range scaled {
			scaled[k] = r.tensor("factors")[j*f+k] * x
		}
		vectors = append(vectors, scaled)
	}
	for i := range vectors {
		for j := range i {
			logit += dot(vectors[i], vectors[j])
		}
	}
	return logit
}

func (r *reference) feedForward(embeddings, dense [][]float64) (logits []float64) {
	offset := 0 // in running
	if t := r.spec.SparseTower; t != nil {
		embeddings = r.stack("sparse-tower", len(t.Layers), t.BatchNorm, embeddings, &offset)
	}
	if t := r.spec.DenseTower; t != nil {
		dense = r.stack("dense-tower", len(t.Layers), t.BatchNorm, dense, &offset)
	}
	joint := make([][]float64, len(embeddings))
	for i := range joint {
		joint[i] = append(append([]float64(nil), embeddings[i]...), dense[i]...)
	}
	for _, x := range r.stack("top", len(r.spec.Top), r.spec.BatchNorm, joint, &offset) {
		logits = append(logits, dot(r.tensor("output.weight"), x)+r.tensor("output.bias")[0])
	}
	return logits
}

func (r *reference) stack(name string, layers int, norm bool, x [][]float64, offset *int) [][]float64 {
	for l := range layers {
		prefix := fmt.Sprintf("%s.%d", name, l)
		weight, bias := r.tensor(prefix+".weight"), r.tensor(prefix+".bias")
		y := make([][]float64, len(x))
		for i := range x {
			for j := range bias {
				y[i] = append(y[i], dot(weight[j*len(x[i]):][:len(x[i])], x[i])+bias[j])
			}
		}
		if norm {
			r.norm(prefix, y, offset)
		}
		for i := range y {
			for j := range y[i] {
				if r.spec.Activation == ReLU {
					y[i][j] = max(y[i][j], 0)
				}
			}
		}
		x = y
	}
	return x
}

func (r *reference) norm(prefix string, y [][]float64, offset *int) {
	gamma, beta := r.tensor(prefix+".norm.weight"), r.tensor(prefix+".norm.bias")
	for j := range gamma {
		var mean, variance float64
		if r.train {
			for i := range y {
				mean += y[i][j] / float64(len(y))
			}
			for i := range y {
				variance += (y[i][j] - mean) * (y[i][j] - mean) / float64(len(y))
			}
		} else {
			mean, variance = r.running[*offset+j], r.running[*offset+len(gamma)+j]
		}
		for i := range y {
			y[i][j] = gamma[j]*(y[i][j]-mean)/math.Sqrt(variance+1e-5) + beta[j]
		}
	}
	*offset += 2 * len(gamma)
}

func dot(x, y []float64) (sum float64) {
	if len(x) != len(y) {
		panic(fmt.Sprintf("dot of %d and %d", len(x), len(y)))
	}
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// rows cuts x into n rows that alias it.
func rows(x []float64, n, width int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = x[i*width : (i+1)*width]
	}
	return out
}

// network is one case of the tests: a kind, its data and random parameters.
type network struct {
	name   string
	spec   Spec
	schema *batch.Schema
}

// networks covers every kind and every way to wire a feed-forward network.
func networks() []network {
	schema := func(dim, dense, raw int) *batch.Schema {
		s := &batch.Schema{
			Slots:  []batch.Slot{{Name: "user", Dim: dim}, {Name: "item", Dim: dim}},
			Dense:  make([]string, dense),
			Labels: []string{"click"},
		}
		if raw > 0 {
			s.Slots = append(s.Slots, batch.Slot{Name: "history", Dim: dim, Pooling: batch.Raw, FixedSize: raw})
		}
		return s
	}
	forward := func(sparse, dense *Tower, top []int, activation string, norm bool) Spec {
		return Spec{Kind: FeedForward, EmbeddingDim: 3, SparseTower: sparse, DenseTower: dense, Top: top, Activation: activation, BatchNorm: norm}
	}
	plain, normed := &Tower{Layers: []int{4}}, &Tower{Layers: []int{4, 5}, BatchNorm: true}
	return []network{
		{"logistic regression", Spec{Kind: LogisticRegression}, schema(1, 3, 0)},
		{"logistic regression without numeric features", Spec{Kind: LogisticRegression}, schema(1, 0, 0)},
		{"fm", Spec{Kind: FactorizationMachine, Factors: 4}, schema(5, 3, 0)},
		{"fm without numeric features", Spec{Kind: FactorizationMachine, Factors: 2}, schema(3, 0, 0)},
		{"no towers", forward(nil, nil, []int{6, 4}, ReLU, false), schema(3, 2, 0)},
		{"raw slot, no numeric features", forward(nil, nil, []int{6}, ReLU, false), schema(3, 0, 2)},
		{"output layer alone", forward(nil, nil, nil, NoActivation, false), schema(3, 2, 0)},
		{"both towers with batch norm", forward(normed, normed, []int{6, 4}, NoActivation, false), schema(3, 2, 0)},
		{"batch norm everywhere", forward(normed, normed, []int{6, 4}, ReLU, true), schema(3, 2, 2)},
		{"sparse tower alone", forward(plain, nil, []int{5}, ReLU, false), schema(3, 2, 0)},
		{"dense tower alone", forward(nil, normed, []int{5}, ReLU, false), schema(3, 2, 0)},
		{"towers without top", forward(plain, plain, nil, ReLU, false), schema(3, 2, 0)},
	}
}

func (n network) engine(t *testing.T) Engine {
	t.Helper()
	engine, err := New(n.spec, n.schema)
	if err != nil {
		t.Fatalf("%s: %v", n.name, err)
	}
	return engine
}
