package exec_test

import (
	"fmt"
	"math"
	"slices"
)

// network is the oracle's own form of the network that the combinations train:
//
//	z = W·x + b    y = norm(z)    h = max(y, 0)    logit = v·h + c
//
// where norm, if there is one, has the mean and the variance of each group of samples. The numbers are the
// places of its tensors in one parameter vector.
type network struct {
	tensors                   []tensor // names and shapes
	inputs, hidden, params    int
	weight, bias, gamma, beta int
	outputWeight, outputBias  int
	norm                      bool
}

const (
	normEpsilon  = 1e-5 // added to a variance
	normMomentum = 0.1  // of running statistics
)

// newNetwork takes the form from the names and shapes of a run's tensors. It returns copies of their values.
func newNetwork(tensors []tensor) (n *network, params []float32, statistics *running) {
	n, statistics = &network{tensors: tensors}, &running{}
	for _, t := range tensors {
		at := len(params)
		switch t.name {
		case "top.0.weight":
			n.weight, n.hidden, n.inputs = at, t.shape[0], t.shape[1]
		case "top.0.bias":
			n.bias = at
		case "top.0.norm.weight":
			n.gamma, n.norm = at, true
		case "top.0.norm.bias":
			n.beta = at
		case "output.weight":
			n.outputWeight = at
		case "output.bias":
			n.outputBias = at
		case runningMean:
			statistics.mean = slices.Clone(t.values)
			continue
		case runningVariance:
			statistics.variance = slices.Clone(t.values)
			continue
		default:
			panic(fmt.Sprintf("the oracle knows no tensor %s", t.name))
		}
		params = append(params, t.values...)
	}
	n.params = len(params)
	return n, params, statistics
}

// named returns parameters and running statistics as tensors.
func (n *network) named(params, mean, variance []float32) []tensor {
	var all []tensor
	for _, t := range n.tensors {
		switch t.name {
		case runningMean:
			t.values = mean
		case runningVariance:
			t.values = variance
		default:
			t.values, params = params[:len(t.values)], params[len(t.values):]
		}
		all = append(all, t)
	}
	return all
}

// example is one sample as the network sees it.
type example struct {
	input []float64
	label float64
}

// gradients are sums over samples.
type gradients struct {
	params  []float64
	inputs  [][]float64 // by sample
	hidden  [][]float64 // z, by sample, which running statistics are made of
	nearest float64     // to 0 that a y has come
}

// gradients computes the gradient of the summed cross-entropy of several groups of samples.
func (n *network) gradients(params []float32, groups [][]example) gradients {
	g := gradients{params: make([]float64, n.params), nearest: math.Inf(1)}
	for _, group := range groups {
		n.group(&g, params, group)
	}
	return g
}

func (n *network) group(g *gradients, params []float32, group []example) {
	at := func(i int) float64 { return float64(params[i]) }
	z := make([][]float64, len(group))
	for s, e := range group {
		z[s] = make([]float64, n.hidden)
		for j := range z[s] {
			z[s][j] = at(n.bias + j)
			for i, x := range e.input {
				z[s][j] += at(n.weight+j*n.inputs+i) * x
			}
		}
	}
	g.hidden = append(g.hidden, z...)
	y, normalized, deviations := n.normalize(params, z)

	delta := make([][]float64, len(group)) // the gradient of y, then of z
	for s, e := range group {
		logit := at(n.outputBias)
		for j, v := range y[s] {
			g.nearest = min(g.nearest, math.Abs(v))
			logit += at(n.outputWeight+j) * max(v, 0)
		}
		error := 1/(1+math.Exp(-logit)) - e.label
		g.params[n.outputBias] += error
		delta[s] = make([]float64, n.hidden)
		for j, v := range y[s] {
			if v > 0 {
				g.params[n.outputWeight+j] += error * v
				delta[s][j] = error * at(n.outputWeight+j)
			}
		}
	}
	if n.norm {
		n.normalizeBackward(g, params, delta, normalized, deviations)
	}
	for s, e := range group {
		input := make([]float64, n.inputs)
		for j, d := range delta[s] {
			g.params[n.bias+j] += d
			for i, x := range e.input {
				g.params[n.weight+j*n.inputs+i] += d * x
				input[i] += d * at(n.weight+j*n.inputs+i)
			}
		}
		g.inputs = append(g.inputs, input)
	}
}

// normalize returns y, and if there is a norm, also z less its mean, divided by its standard deviation, and
// these deviations.
func (n *network) normalize(params []float32, z [][]float64) (
	y, normalized [][]float64, deviations []float64,
) {
	if !n.norm {
		return z, nil, nil
	}
	mean, variance := moments(z)
	for _, unbiased := range variance {
		biased := unbiased * float64(len(z)-1) / float64(len(z))
		deviations = append(deviations, math.Sqrt(biased+normEpsilon))
	}
	for s := range z {
		y, normalized = append(y, make([]float64, n.hidden)), append(normalized, make([]float64, n.hidden))
		for j := range z[s] {
			normalized[s][j] = (z[s][j] - mean[j]) / deviations[j]
			y[s][j] = float64(params[n.gamma+j])*normalized[s][j] + float64(params[n.beta+j])
		}
	}
	return y, normalized, deviations
}

// normalizeBackward turns the gradient of y into that of z. With m = z − mean(z), d the deviation and γ' the
// gradient of y times γ, by the chain rule through both mean and variance,
//
//	z'_i = (γ'_i − mean(γ') − normalized_i · mean(γ'·normalized)) / d
func (n *network) normalizeBackward(
	g *gradients, params []float32, delta, normalized [][]float64, deviations []float64,
) {
	count := float64(len(delta))
	for j := range n.hidden {
		scale, sum, dot := float64(params[n.gamma+j]), 0.0, 0.0
		for s := range delta {
			sum += delta[s][j]
			dot += delta[s][j] * normalized[s][j]
		}
		g.params[n.beta+j] += sum
		g.params[n.gamma+j] += dot
		for s := range delta {
			delta[s][j] = scale * (delta[s][j] - sum/count - normalized[s][j]*dot/count) / deviations[j]
		}
	}
}

// moments returns mean and unbiased variance of every column.
func moments(rows [][]float64) (mean, variance []float64) {
	mean, variance = make([]float64, len(rows[0])), make([]float64, len(rows[0]))
	for j := range mean {
		for _, row := range rows {
			mean[j] += row[j] / float64(len(rows))
		}
		for _, row := range rows {
			variance[j] += (row[j] - mean[j]) * (row[j] - mean[j]) / float64(len(rows)-1)
		}
	}
	return mean, variance
}

// running is the running statistics of the norm, and the sums that they will be moved by.
type running struct {
	mean, variance []float32
	pending        [][]float64
}

// fold moves the statistics towards those of all pending samples.
func (r *running) fold() {
	mean, variance := moments(r.pending)
	for j := range r.mean {
		r.mean[j] = float32((1-normMomentum)*float64(r.mean[j]) + normMomentum*mean[j])
		r.variance[j] = float32((1-normMomentum)*float64(r.variance[j]) + normMomentum*variance[j])
	}
	r.pending = nil
}

// rateAt returns the learning rate of a step, which counts from 0.
func (o *optimizerSetting) rateAt(step int) float64 {
	s := o.schedule
	if step < s.warmUp {
		return o.rate * float64(step+1) / float64(s.warmUp)
	}
	switch s.decay {
	case "linear":
		return o.rate * math.Max(0, float64(s.steps-step)/float64(s.steps-s.warmUp))
	case "inverse-sqrt":
		return o.rate * math.Sqrt(float64(s.warmUp)/float64(step+1))
	case "step":
		rate := o.rate
		for drop := s.warmUp + s.steps; drop <= step; drop += s.steps {
			rate *= s.factor
		}
		return rate
	}
	return o.rate
}

// optimizer updates one vector of values; what it keeps is float32, as the values are.
type optimizer struct {
	*optimizerSetting
	sums, squares []float32
	updates       int
}

func newOptimizer(s *optimizerSetting, values int) *optimizer {
	o := &optimizer{optimizerSetting: s, sums: make([]float32, values), squares: make([]float32, values)}
	for i := range o.squares {
		o.squares[i] = float32(s.initial)
	}
	return o
}

// apply takes one step along a gradient.
func (o *optimizer) apply(values []float32, gradient []float64, rate float64) {
	o.updates++
	meanSquare := 0.0
	for _, g := range gradient {
		meanSquare += g * g / float64(len(gradient))
	}
	for i, g := range gradient {
		step, square := g, float64(o.squares[i])
		switch o.kind {
		case "adagrad", "rowwise-adagrad":
			added := g * g
			if o.kind == "rowwise-adagrad" {
				added = meanSquare
			}
			if o.order == "before" {
				step = g / math.Sqrt(square+o.epsilon)
			} else {
				step = g / (math.Sqrt(square+added) + o.epsilon)
			}
			o.squares[i] = float32(square + added)
		case "adam":
			sum := o.mean*float64(o.sums[i]) + (1-o.mean)*g
			square = o.root*square + (1-o.root)*g*g
			corrected := sum / (1 - math.Pow(o.mean, float64(o.updates)))
			root := math.Sqrt(square / (1 - math.Pow(o.root, float64(o.updates))))
			step = corrected / (root + o.epsilon)
			o.sums[i], o.squares[i] = float32(sum), float32(square)
		}
		values[i] = float32(float64(values[i]) - rate*step)
	}
}

// clip scales a gradient to a Euclidean norm if it is longer; 0 leaves it.
func clip(gradient []float64, most float64) {
	squares := 0.0
	for _, g := range gradient {
		squares += g * g
	}
	if norm := math.Sqrt(squares); most > 0 && norm > most {
		for i := range gradient {
			gradient[i] *= most / norm
		}
	}
}
