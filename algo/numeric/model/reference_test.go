package model

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tandem/algo/numeric/batch"
)

// reference computes logits and loss sum in float64, directly from the formulas and the tensors' names: a
// second, plain form of every engine.
type reference struct {
	spec    Spec
	schema  *batch.Schema
	layout  *Layout
	params  []float64
	running []float64 // used if not training
	train   bool
	weights []float32 // of samples; nil: 1
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
	heads := max(len(r.spec.Heads), 1)
	switch r.spec.Kind {
	case LogisticRegression:
		for i := range embeddings {
			for h := range heads {
				logit := r.tensor("bias")[h] + dot(r.tensor("linear")[h*len(dense[i]):][:len(dense[i])],
					dense[i])
				at := h
				for _, slot := range r.schema.Slots {
					if slot.Pooling == batch.Sum {
						logit += embeddings[i][at]
						at += heads
						continue
					}
					for range slot.FixedSize {
						logit += embeddings[i][at]
						at += heads + 1 // the mask is no feature
					}
				}
				logits = append(logits, logit)
			}
		}
	case FactorizationMachine:
		for i := range embeddings {
			logit, _ := r.machine(embeddings[i], dense[i], r.spec.Factors)
			logits = append(logits, logit)
		}
	case DeepFM:
		logits = r.deepFM(embeddings, dense)
	case DLRM:
		logits = r.dlrm(embeddings, dense)
	case DCNv2:
		logits = r.crossNetwork(embeddings, dense)
	default:
		logits = r.feedForward(embeddings, dense)
	}
	for i, z := range logits {
		p := 1 / (1 + math.Exp(-z))
		weight := 1.0
		if len(r.spec.Heads) > 0 && r.spec.Heads[i%heads].Weight > 0 {
			weight = r.spec.Heads[i%heads].Weight
		}
		if r.weights != nil {
			weight *= float64(r.weights[i/heads])
		}
		if r.spec.Loss == SquaredLoss {
			head := Head{Scale: 1}
			if len(r.spec.Heads) > 0 {
				head = r.spec.Heads[i%heads]
			}
			off := (head.Center + head.Scale*z - labels[i]) / head.Scale
			sum += weight * off * off / 2
			continue
		}
		sum -= weight * (labels[i]*math.Log(p) + (1-labels[i])*math.Log(1-p))
	}
	return logits, sum
}

// machine sums over all pairs of fields, as Rendle's equation 1 does. It also
// returns the factor vectors, of f values each.
func (r *reference) machine(embedding, dense []float64, f int) (logit float64, vectors [][]float64) {
	logit = r.tensor("bias")[0] + dot(r.tensor("linear"), dense)
	for slot := range r.schema.Slots {
		row := embedding[slot*(f+1):][:f+1]
		logit += row[0]
		if !slices.Contains(r.spec.Wide, r.schema.Slots[slot].Name) {
			vectors = append(vectors, row[1:])
		}
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
	return logit, vectors
}

func (r *reference) deepFM(embeddings, dense [][]float64) (logits []float64) {
	input := make([][]float64, len(embeddings))
	for i := range embeddings {
		logit, vectors := r.machine(embeddings[i], dense[i], r.spec.EmbeddingDim)
		logits, input[i] = append(logits, logit), slices.Concat(vectors...)
	}
	for i, deep := range r.head(input, new(int)) {
		logits[i] += deep
	}
	return logits
}

// dlrm takes the bottom's output, if there is one, and every product of two
// different vectors once.
func (r *reference) dlrm(embeddings, dense [][]float64) (logits []float64) {
	offset, d := 0, r.spec.EmbeddingDim
	bottom := make([][]float64, len(dense))
	if len(r.schema.Dense) > 0 {
		bottom = r.stack("bottom", len(r.spec.Bottom)+1, false, dense, &offset)
	}
	input := make([][]float64, len(embeddings))
	for i := range embeddings {
		vectors := slices.Concat(bottom[i], embeddings[i])
		input[i] = slices.Clone(bottom[i])
		for a := 0; a < len(vectors); a += d {
			for b := 0; b < a; b += d {
				input[i] = append(input[i], dot(vectors[a:a+d], vectors[b:b+d]))
			}
		}
	}
	return r.head(input, &offset)
}

// crossNetwork multiplies the matrix of a cross layer out where it has a rank.
func (r *reference) crossNetwork(embeddings, dense [][]float64) (logits []float64) {
	input, crossed := make([][]float64, len(embeddings)), make([][]float64, len(embeddings))
	offset := 0
	for i := range embeddings {
		x0 := slices.Concat(embeddings[i], dense[i])
		x, width := x0, len(x0)
		for l := range r.spec.CrossLayers {
			next := slices.Clone(x)
			for row := range width {
				sum := 0.0
				for column := range width {
					sum += r.crossWeight(l, row, column, width) * x[column]
				}
				next[row] += x0[row] * (sum + r.crossBias(l)[row])
			}
			x = next
		}
		input[i], crossed[i] = x0, x
	}
	if r.spec.Structure == Stacked {
		return r.head(crossed, &offset)
	}
	deep := r.stack("top", len(r.spec.Top), r.spec.BatchNorm, input, &offset)
	for i := range deep {
		joint := slices.Concat(crossed[i], deep[i])
		input[i] = joint
	}
	return r.heads(input, &offset)
}

func (r *reference) crossWeight(layer, row, column, width int) (weight float64) {
	rank := r.spec.Rank
	if rank == 0 {
		return r.tensor(fmt.Sprintf("cross.%d.weight", layer))[row*width+column]
	}
	u, v := r.tensor(fmt.Sprintf("cross.%d.u.weight", layer)),
		r.tensor(fmt.Sprintf("cross.%d.v.weight", layer))
	for k := range rank {
		weight += u[row*rank+k] * v[k*width+column]
	}
	return weight
}

func (r *reference) crossBias(layer int) []float64 {
	if r.spec.Rank == 0 {
		return r.tensor(fmt.Sprintf("cross.%d.bias", layer))
	}
	return r.tensor(fmt.Sprintf("cross.%d.u.bias", layer))
}

// head computes the top layers and the heads.
func (r *reference) head(input [][]float64, offset *int) (logits []float64) {
	return r.heads(r.stack("top", len(r.spec.Top), r.spec.BatchNorm, input, offset), offset)
}

// heads are each head's own layers and the layer to its logit; sample by sample,
// head by head.
func (r *reference) heads(shared [][]float64, offset *int) []float64 {
	heads, prefix := r.spec.Heads, "output"
	if len(heads) == 0 {
		heads = make([]Head, 1)
	}
	logits := make([]float64, len(shared)*len(heads))
	for h, head := range heads {
		own := fmt.Sprintf("head.%d", h)
		if len(heads) > 1 {
			prefix = own + ".output"
		}
		for i, x := range r.stack(own, len(head.Layers), r.spec.BatchNorm, shared, offset) {
			logits[i*len(heads)+h] = dot(r.tensor(prefix+".weight"), x) + r.tensor(prefix + ".bias")[0]
		}
	}
	return logits
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
		joint[i] = slices.Concat(embeddings[i], dense[i])
	}
	return r.head(joint, &offset)
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

// fixture is one case of the tests: a kind, its data and random parameters.
type fixture struct {
	name   string
	spec   Spec
	schema *batch.Schema
}

// networks covers every kind and every way to wire it.
func networks() []fixture {
	schema := func(dim, dense, raw int) *batch.Schema {
		s := &batch.Schema{
			Slots:  []batch.Slot{{Name: "user", Dim: dim}, {Name: "item", Dim: dim}},
			Dense:  make([]string, dense),
			Labels: []string{"click"},
		}
		if raw > 0 {
			s.Slots = append(s.Slots, batch.Slot{Name: "history", Dim: dim, Pooling: batch.Raw,
				FixedSize: raw})
		}
		return s
	}
	forward := func(sparse, dense *Tower, top []int, activation string, norm bool) Spec {
		return Spec{Kind: FeedForward, EmbeddingDim: 3, SparseTower: sparse, DenseTower: dense, Top: top,
			Activation: activation, BatchNorm: norm}
	}
	cross := func(structure string, layers, rank int, top []int, norm bool) Spec {
		return Spec{Kind: DCNv2, EmbeddingDim: 3, CrossLayers: layers, Structure: structure, Rank: rank,
			Top: top, Activation: ReLU, BatchNorm: norm}
	}
	two := func(spec Spec, schema *batch.Schema, heads ...Head) fixture {
		spec.Heads, schema.Labels = heads, make([]string, len(heads))
		return fixture{fmt.Sprintf("%s with heads %v", spec.Kind, heads), spec, schema}
	}
	squared := func(spec Spec, schema *batch.Schema, heads ...Head) fixture {
		spec.Loss = SquaredLoss
		if len(heads) > 0 {
			return two(spec, schema, heads...)
		}
		return fixture{spec.Kind + " of numbers", spec, schema}
	}
	plain, normed := &Tower{Layers: []int{4}}, &Tower{Layers: []int{4, 5}, BatchNorm: true}
	return []fixture{
		squared(Spec{Kind: DeepFM, EmbeddingDim: 3, Top: []int{5}, Activation: ReLU}, schema(4, 2, 0)),
		squared(Spec{Kind: LogisticRegression}, schema(2, 1, 0), Head{Center: -0.5, Scale: 2},
			Head{Weight: 0.5, Scale: 0.25}),
		{"logistic regression", Spec{Kind: LogisticRegression}, schema(1, 3, 0)},
		{"logistic regression without numeric features", Spec{Kind: LogisticRegression}, schema(1, 0, 0)},
		{"logistic regression over a raw slot", Spec{Kind: LogisticRegression}, schema(1, 2, 3)},
		{"fm", Spec{Kind: FactorizationMachine, Factors: 4}, schema(5, 3, 0)},
		{"fm without numeric features", Spec{Kind: FactorizationMachine, Factors: 2}, schema(3, 0, 0)},
		{"deepfm", Spec{Kind: DeepFM, EmbeddingDim: 3, Top: []int{5, 4}, Activation: ReLU}, schema(4, 2, 0)},
		{"fm of one field and numbers", Spec{Kind: FactorizationMachine, Factors: 4, Wide: []string{"user"}},
			schema(5, 2, 0)},
		{"deepfm with a wide slot", Spec{Kind: DeepFM, EmbeddingDim: 3, Top: []int{5, 4}, Activation: ReLU,
			Wide: []string{"item"}}, schema(4, 2, 0)},
		{"deepfm with batch norm, no numeric features",
			Spec{Kind: DeepFM, EmbeddingDim: 3, Top: []int{5}, Activation: ReLU, BatchNorm: true},
			schema(4, 0, 0)},
		{"dlrm", Spec{Kind: DLRM, EmbeddingDim: 3, Bottom: []int{4}, Top: []int{5, 4}, Activation: ReLU},
			schema(3, 2, 0)},
		{"dlrm without numeric features", Spec{Kind: DLRM, EmbeddingDim: 3, Bottom: []int{4}, Top: []int{5},
			Activation: ReLU}, schema(3, 0, 0)},
		{"dlrm with batch norm, no hidden bottom",
			Spec{Kind: DLRM, EmbeddingDim: 3, Top: []int{5}, Activation: NoActivation, BatchNorm: true},
			schema(3, 2, 0)},
		{"dcn stacked", cross(Stacked, 3, 0, []int{5, 4}, false), schema(3, 2, 0)},
		{"dcn stacked of low rank over a raw slot", cross(Stacked, 2, 2, []int{5}, true), schema(3, 0, 2)},
		{"dcn parallel", cross(Parallel, 1, 0, []int{5, 4}, true), schema(3, 2, 0)},
		{"dcn parallel of low rank", cross(Parallel, 2, 2, []int{5}, false), schema(3, 2, 0)},
		{"dcn without hidden layers", cross(Parallel, 2, 0, nil, false), schema(3, 2, 0)},
		{"no towers", forward(nil, nil, []int{6, 4}, ReLU, false), schema(3, 2, 0)},
		{"raw slot, no numeric features", forward(nil, nil, []int{6}, ReLU, false), schema(3, 0, 2)},
		{"output layer alone", forward(nil, nil, nil, NoActivation, false), schema(3, 2, 0)},
		{"both towers with batch norm", forward(normed, normed, []int{6, 4}, NoActivation, false),
			schema(3, 2, 0)},
		{"batch norm everywhere", forward(normed, normed, []int{6, 4}, ReLU, true), schema(3, 2, 2)},
		{"sparse tower alone", forward(plain, nil, []int{5}, ReLU, false), schema(3, 2, 0)},
		{"dense tower alone", forward(nil, normed, []int{5}, ReLU, false), schema(3, 2, 0)},
		{"towers without top", forward(plain, plain, nil, ReLU, false), schema(3, 2, 0)},
		two(forward(nil, nil, []int{5}, ReLU, true), schema(3, 2, 2), Head{Layers: []int{4, 3}},
			Head{Layers: []int{3}, Weight: 0.25}),
		two(forward(nil, nil, nil, ReLU, false), schema(3, 2, 0), Head{}, Head{Weight: 3}, Head{}),
		two(forward(nil, nil, []int{4}, ReLU, true), schema(3, 2, 0), Head{Layers: []int{3}, Weight: 2}),
		two(Spec{Kind: DLRM, EmbeddingDim: 3, Top: []int{5}, Activation: ReLU}, schema(3, 2, 0),
			Head{Layers: []int{4}}, Head{Weight: 0.5}),
		two(cross(Parallel, 1, 0, []int{5}, false), schema(3, 2, 0), Head{Layers: []int{4}},
			Head{Weight: 0.5}),
		two(Spec{Kind: LogisticRegression}, schema(2, 3, 0), Head{}, Head{Weight: 0.5}),
		two(Spec{Kind: LogisticRegression}, schema(2, 1, 2), Head{}, Head{Weight: 2}),
	}
}

func (n fixture) engine(t *testing.T) Engine {
	t.Helper()
	engine, err := New(n.spec, n.schema, nil)
	if err != nil {
		t.Fatalf("%s: %v", n.name, err)
	}
	return engine
}
