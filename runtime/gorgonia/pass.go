package gorgonia

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tandem/algo/numeric/kernel/nn"
	"tandem/algo/numeric/model"
)

// shape is the shape of the groups of a program.
type shape struct {
	samples int
	train   bool
}

// pass is a model.Pass that keeps a program for every size of group: a data set has two
// or three.
type pass struct {
	*engine
	programs      map[shape]*program
	samples       int      // of the current group
	current       *program // nil for a group without samples
	logits        []float32
	embeddingGrad []float32
}

// Forward implements model.Pass. In training it also computes the gradients, since a
// graph computes everything together. It panics if the graph cannot be computed.
func (p *pass) Forward(params, _ []float32, in model.Input, train bool) (logits []float32, lossSum float64) {
	p.samples, p.current = in.Samples, nil
	if in.Samples == 0 {
		return nil, 0
	}
	at := shape{in.Samples, train}
	if p.programs[at] == nil {
		made, err := p.newProgram(in.Samples, train)
		if err != nil {
			panic(err.Error()) // New has built this graph for another size
		}
		p.programs[at] = made
	}
	one := p.programs[at]
	p.current = one
	copy(one.embeddings, in.Embeddings)
	copy(one.dense, in.Dense)
	copy(one.labels, in.Labels)
	for i, t := range p.layout.Tensors {
		copy(one.params[i], params[t.Lo:t.Hi])
	}
	if err := one.run(); err != nil {
		panic(fmt.Sprintf("gorgonia: the model's graph: %v", err))
	}
	p.logits = append(p.logits[:0], make([]float32, in.Samples*p.layout.Labels)...)
	read(p.logits, one.logits)
	if in.Labels != nil {
		lossSum = nn.CrossEntropy(nil, p.logits, in.Labels, p.weights())
	}
	return p.logits, lossSum
}

// weights returns the weights of the labels in the loss.
func (p *pass) weights() []float32 {
	if p.model.Weights != nil {
		return p.model.Weights
	}
	ones := make([]float32, p.layout.Labels)
	for i := range ones {
		ones[i] = 1
	}
	return ones
}

// Stats implements model.Pass. It returns nil.
func (p *pass) Stats() []float32 { return nil }

// Backward implements model.Pass for the one bucket.
func (p *pass) Backward(_ []float32, _ int, grad []float32) {
	if p.current == nil {
		clear(grad[:p.layout.Params])
		return
	}
	for i, t := range p.layout.Tensors {
		read(grad[t.Lo:t.Hi], p.current.grads[i])
	}
}

// EmbeddingGrad implements model.Pass.
func (p *pass) EmbeddingGrad() []float32 {
	grad := p.embeddingGrad[:p.samples*p.layout.EmbeddingWidth]
	if p.current != nil {
		read(grad, p.current.grads[len(p.layout.Tensors)])
	}
	return grad
}

// read copies the values of a result in row-major order. The values of a transposed
// result may be stored untransposed.
func read(dst []float32, v G.Value) {
	if dense, ok := v.(*tensor.Dense); ok && dense.RequiresIterator() {
		v = dense.Materialize().(*tensor.Dense)
	}
	switch values := v.Data().(type) {
	case []float32:
		if len(values) != len(dst) {
			panic(fmt.Sprintf("gorgonia: %d values in a result, want %d", len(values), len(dst)))
		}
		copy(dst, values)
	case float32:
		dst[0] = values
	default:
		panic(fmt.Sprintf("gorgonia: a result of %T, want float32", values))
	}
}
