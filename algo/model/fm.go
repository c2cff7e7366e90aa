package model

import (
	"tandem/algo/batch"
	"tandem/algo/kernel"
	"tandem/algo/unit"
)

// factorDeviation is the standard deviation of fresh factor vectors of numeric
// features: small, so that training starts near logistic regression, but not 0,
// where all factors would stay equal.
const factorDeviation = 0.01

// factorization is the engine of a factorization machine of second order. Every slot
// is a field i whose pooled row holds a linear weight e_i and a factor vector
// v_i; every numeric feature x_j is one more field with the parameters w_j and
// u_j, whose vector is v = u_j·x_j:
//
//	logit = b + Σ_i e_i + Σ_j w_j·x_j + ½·Σ_f [(Σ_i v_if)² − Σ_i v_if²]
//
// where the last two sums over i run over all fields. The bracket counts every
// pair of different fields twice, which is how the double sum over pairs becomes
// linear in the number of fields.
//
// Source: Rendle, Factorization Machines, ICDM 2010, equations 1 and 5.
// Deviation: the ids of one slot are pooled first and do not interact.
type factorization struct {
	layout  Layout
	factors int
	fields  int // slots
	linear  int // w
	vectors int // u, DenseWidth × factors
	bias    int // b
}

func newFactorization(spec Spec, schema *batch.Schema) *factorization {
	f := &factorization{factors: spec.Factors, fields: len(schema.Slots)}
	l := &f.layout
	l.EmbeddingWidth, l.DenseWidth = schema.EmbeddingWidth(), len(schema.Dense)
	f.linear = l.addTensor("linear", l.DenseWidth)
	f.vectors = l.addTensor("factors", l.DenseWidth, f.factors)
	f.bias = l.addTensor("bias", 1)
	l.Buckets = []Bucket{{0, l.Params}}
	// A value of a factor vector is added, squared and added again; those of
	// numeric features are scaled first; each factor's sum is squared once.
	width := l.DenseWidth * (f.factors + 1)
	flops := unit.FLOPs(3*l.EmbeddingWidth + 4*width + 2*f.factors)
	l.Cost = Cost{
		ForwardFLOPs:    flops,
		BackwardFLOPs:   2 * flops,
		ActivationBytes: unit.Bytes(4 * (l.EmbeddingWidth + l.DenseWidth + f.factors + 1)),
		Kernels:         3, // the linear sums, the pairs, the loss
	}
	return f
}

func (f *factorization) Layout() *Layout { return &f.layout }

func (f *factorization) Init(seed uint64) (params, running []float32) {
	params = make([]float32, f.layout.Params)
	bell(params[f.vectors:][:f.layout.DenseWidth*f.factors], factorDeviation, seed, "factors")
	return params, nil
}

func (f *factorization) UpdateRunning(_, _ []float32) {}

func (f *factorization) NewPass(maxSamples int) Pass {
	return &factorizationPass{
		turn:          turn{buckets: 1, next: unready},
		net:           f,
		samplesMax:    maxSamples,
		logits:        make([]float32, maxSamples),
		logitGrad:     make([]float32, maxSamples),
		sums:          make([]float64, maxSamples*f.factors),
		embeddingGrad: make([]float32, maxSamples*f.layout.EmbeddingWidth),
	}
}

type factorizationPass struct {
	turn
	net           *factorization
	in            Input // the group in hand
	samplesMax    int
	logits        []float32
	logitGrad     []float32
	sums          []float64 // Σ_i v_if of every sample
	embeddingGrad []float32
}

func (p *factorizationPass) Forward(params, running []float32, in Input, train bool) (logits []float32, lossSum float64) {
	checkCall(&p.net.layout, p.samplesMax, params, running, in)
	p.in = in
	p.begin(in, train)
	logits = p.logits[:in.Samples]
	for i := range logits {
		logits[i] = float32(p.logit(params, i))
	}
	if in.Labels != nil {
		lossSum = kernel.CrossEntropy(p.logitGrad[:in.Samples], logits, in.Labels)
	}
	return logits, lossSum
}

// sample returns the embeddings, numeric features and factor sums of sample i.
func (p *factorizationPass) sample(i int) (embeddings, dense []float32, sums []float64) {
	l := &p.net.layout
	return p.in.Embeddings[i*l.EmbeddingWidth:][:l.EmbeddingWidth],
		p.in.Dense[i*l.DenseWidth:][:l.DenseWidth],
		p.sums[i*p.net.factors:][:p.net.factors]
}

// logit computes the logit of sample i in float64 and keeps its factor sums.
func (p *factorizationPass) logit(params []float32, i int) float64 {
	f := p.net
	embeddings, dense, sums := p.sample(i)
	clear(sums)
	logit, squares := float64(params[f.bias]), 0.0
	for field := range f.fields {
		row := embeddings[field*(f.factors+1):][:f.factors+1]
		logit += float64(row[0])
		for k, v := range row[1:] {
			sums[k] += float64(v)
			squares += float64(float64(v) * float64(v))
		}
	}
	for j, x := range dense {
		logit += float64(float64(params[f.linear+j]) * float64(x))
		for k, u := range params[f.vectors+j*f.factors:][:f.factors] {
			v := float64(u) * float64(x)
			sums[k] += v
			squares += float64(v * v)
		}
	}
	pairs := -squares
	for _, s := range sums {
		pairs += float64(s * s)
	}
	return logit + float64(pairs/2)
}

func (p *factorizationPass) Stats() []float32 { return nil }

// Backward uses ∂logit/∂v_if = Σ_i′ v_i′f − v_if, by the chain rule times x_j for
// the vector u_j of a numeric feature.
func (p *factorizationPass) Backward(params []float32, bucket int, grad []float32) {
	f, l := p.net, &p.net.layout
	checkLen("params", len(params), l.Params)
	checkLen("grad", len(grad), l.Params)
	p.take(bucket)
	clear(grad)
	for i, g := range p.logitGrad[:p.in.Samples] {
		embeddings, dense, sums := p.sample(i)
		grad[f.bias] += g
		gradRow := p.embeddingGrad[i*l.EmbeddingWidth:][:l.EmbeddingWidth]
		for field := range f.fields {
			row, out := embeddings[field*(f.factors+1):], gradRow[field*(f.factors+1):]
			out[0] = g
			for k, s := range sums {
				out[k+1] = float32(float64(g) * (s - float64(row[k+1])))
			}
		}
		for j, x := range dense {
			scaled := float64(g) * float64(x)
			grad[f.linear+j] += float32(scaled)
			at := f.vectors + j*f.factors
			for k, s := range sums {
				v := float64(float64(params[at+k]) * float64(x))
				grad[at+k] += float32(scaled * (s - v))
			}
		}
	}
}

func (p *factorizationPass) EmbeddingGrad() []float32 {
	p.end()
	return p.embeddingGrad[:p.in.Samples*p.net.layout.EmbeddingWidth]
}
