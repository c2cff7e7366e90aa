package model

import "tandem/algo/kernel"

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

// addJoin adds a join; with one input it is a copy.
func (n *network) addJoin(inputs ...value) (output value) {
	j := &join{inputs: inputs}
	for _, v := range inputs {
		j.widths = append(j.widths, n.widths[v])
		j.width += n.widths[v]
	}
	j.output = n.newValue(j.width)
	n.add(j, n.layout.Params)
	return j.output
}

// addApart is addJoin for a value that layers alone take. They multiply its parts
// where they lie, one after the other, and nothing is copied.
func (n *network) addApart(inputs ...value) (output value) {
	output = n.addJoin(inputs...)
	if n.apart == nil {
		n.apart = map[value][]value{}
	}
	n.apart[output] = inputs
	return output
}

// cost is also that of a join whose parts stay apart: on an accelerator it is
// copied.
func (j *join) cost() (flops float64, values, kernels int) { return 0, 2 * j.width, 1 }

func (j *join) newPass(int) partPass { return j }

func (j *join) forward(p *pass) {
	if p.net.apart[j.output] != nil {
		return
	}
	first := 0
	for k, v := range j.inputs {
		kernel.CopyColumns(p.value(j.output), j.width, first, p.value(v), j.widths[k], 0, p.samples, j.widths[k])
		first += j.widths[k]
	}
}

func (j *join) backward(p *pass, _ []float32) {
	if p.net.apart[j.output] != nil {
		return
	}
	grad, first := p.grad(j.output), 0
	for k, v := range j.inputs {
		width := j.widths[k]
		switch inputGrad, fresh := p.flow(v); {
		case inputGrad == nil:
		case fresh:
			kernel.CopyColumns(inputGrad, width, 0, grad, j.width, first, p.samples, width)
		default:
			kernel.AddColumns(inputGrad, width, grad, j.width, first, p.samples)
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
		kernel.Add(out, p.value(v))
	}
}

func (s *sum) backward(p *pass, _ []float32) {
	for _, v := range s.inputs {
		kernel.Add(p.cleared(v), p.grad(s.output))
	}
}
