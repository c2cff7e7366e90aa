package model

import (
	"tandem/algo/batch"
	"tandem/algo/kernel"
	"tandem/algo/unit"
)

// logistic is the engine of logistic regression over pooled one-value rows e and
// numeric features x:
//
//	logit = Σ_j e_j + Σ_j w_j·x_j + b
//
// Everything starts at 0, the model being convex; so may the rows.
type logistic struct {
	layout Layout
	weight int // w
	bias   int // b
}

func newLogistic(schema *batch.Schema) *logistic {
	f := &logistic{}
	l := &f.layout
	l.EmbeddingWidth, l.DenseWidth = schema.EmbeddingWidth(), len(schema.Dense)
	f.weight = l.addTensor("weight", l.DenseWidth)
	f.bias = l.addTensor("bias", 1)
	l.Buckets = []Bucket{{0, l.Params}}
	flops := unit.FLOPs(l.EmbeddingWidth + 2*l.DenseWidth)
	l.Cost = Cost{
		ForwardFLOPs:    flops,
		BackwardFLOPs:   2 * flops,
		ActivationBytes: unit.Bytes(4 * (l.EmbeddingWidth + l.DenseWidth + 1)),
		Kernels:         2, // the sums and the loss
	}
	return f
}

func (f *logistic) Layout() *Layout { return &f.layout }

func (f *logistic) Init(uint64) (params, running []float32) {
	return make([]float32, f.layout.Params), nil
}

func (f *logistic) UpdateRunning(_, _ []float32) {}

func (f *logistic) NewPass(maxSamples int) Pass {
	return &logisticPass{
		turn:          turn{buckets: 1, next: unready},
		net:           f,
		samplesMax:    maxSamples,
		logits:        make([]float32, maxSamples),
		logitGrad:     make([]float32, maxSamples),
		embeddingGrad: make([]float32, maxSamples*f.layout.EmbeddingWidth),
	}
}

type logisticPass struct {
	turn
	net           *logistic
	in            Input // the group in hand
	samplesMax    int
	logits        []float32
	logitGrad     []float32
	embeddingGrad []float32
}

func (p *logisticPass) Forward(params, running []float32, in Input, train bool) (logits []float32, lossSum float64) {
	l := &p.net.layout
	checkCall(l, p.samplesMax, params, running, in)
	p.in = in
	p.begin(in, train)
	logits = p.logits[:in.Samples]
	weight := params[p.net.weight:][:l.DenseWidth]
	for i := range logits {
		sum := float64(params[p.net.bias])
		for _, e := range in.Embeddings[i*l.EmbeddingWidth:][:l.EmbeddingWidth] {
			sum += float64(e)
		}
		for j, x := range in.Dense[i*l.DenseWidth:][:l.DenseWidth] {
			sum += float64(weight[j]) * float64(x) // exact before the addition, fused or not
		}
		logits[i] = float32(sum)
	}
	if in.Labels != nil {
		lossSum = kernel.CrossEntropy(p.logitGrad[:in.Samples], logits, in.Labels)
	}
	return logits, lossSum
}

func (p *logisticPass) Stats() []float32 { return nil }

func (p *logisticPass) Backward(params []float32, bucket int, grad []float32) {
	l := &p.net.layout
	checkLen("params", len(params), l.Params)
	checkLen("grad", len(grad), l.Params)
	p.take(bucket)
	clear(grad)
	weightGrad := grad[p.net.weight:][:l.DenseWidth]
	for i, g := range p.logitGrad[:p.in.Samples] {
		grad[p.net.bias] += g
		kernel.Axpy(weightGrad, g, p.in.Dense[i*l.DenseWidth:][:l.DenseWidth])
		row := p.embeddingGrad[i*l.EmbeddingWidth:][:l.EmbeddingWidth]
		for j := range row {
			row[j] = g
		}
	}
}

func (p *logisticPass) EmbeddingGrad() []float32 {
	p.end()
	return p.embeddingGrad[:p.in.Samples*p.net.layout.EmbeddingWidth]
}
