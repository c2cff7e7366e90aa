package model

import "tandem/algo/numeric/kernel/vec"

// stateless is the half of a part that is the same for all without parameters
// and scratch.
type stateless struct{}

func (stateless) initialize(_, _ []float32, _ uint64) {}

// join puts its inputs side by side.
type join struct {
	stateless
	inputs []value
	widths []int // of the inputs
	output value
	width  int // of the output
}

// width returns the width of values side by side.
func (n *network) width(values []value) (width int) {
	for _, v := range values {
		width += n.widths[v]
	}
	return width
}

// joined returns one value that holds others side by side, which is itself if
// there is one.
func (n *network) joined(values []value) value {
	if len(values) == 1 {
		return values[0]
	}
	return n.addJoin(values...)
}

// addJoin adds a join of several values.
func (n *network) addJoin(inputs ...value) (output value) {
	j := &join{inputs: inputs, width: n.width(inputs)}
	for _, v := range inputs {
		j.widths = append(j.widths, n.widths[v])
	}
	j.output = n.newValue(j.width)
	n.add(j, n.layout.Params)
	return j.output
}

func (j *join) cost() (flops float64, values, kernels int) { return 0, 2 * j.width, 1 }

func (j *join) newPass(int) partPass { return j }

func (j *join) forward(p *pass) {
	first := 0
	for k, v := range j.inputs {
		vec.CopyColumns(p.value(j.output), j.width, first, p.value(v), j.widths[k], 0, p.samples, j.widths[k])
		first += j.widths[k]
	}
}

func (j *join) backward(p *pass, _ []float32) {
	grad, first := p.grad(j.output), 0
	for k, v := range j.inputs {
		width := j.widths[k]
		switch inputGrad, fresh := p.flow(v); {
		case inputGrad == nil:
		case fresh:
			vec.CopyColumns(inputGrad, width, 0, grad, j.width, first, p.samples, width)
		default:
			vec.AddColumns(inputGrad, width, 0, grad, j.width, first, p.samples, width)
		}
		first += width
	}
}

// sum adds up inputs of one value a sample: the parts of a logit.
type sum struct {
	stateless
	inputs []value
	output value
}

func (n *network) addSum(inputs ...value) (output value) {
	s := &sum{inputs: inputs, output: n.newValue(1)}
	n.add(s, n.layout.Params)
	return s.output
}

func (s *sum) cost() (flops float64, values, kernels int) {
	return float64(len(s.inputs) - 1), len(s.inputs) + 1, 1
}

func (s *sum) newPass(int) partPass { return s }

func (s *sum) forward(p *pass) {
	out := p.value(s.output)
	clear(out)
	for _, v := range s.inputs {
		vec.Add(out, p.value(v))
	}
}

func (s *sum) backward(p *pass, _ []float32) {
	for _, v := range s.inputs {
		vec.Add(p.cleared(v), p.grad(s.output))
	}
}
