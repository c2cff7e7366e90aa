package model

// Program is a built-in network as a list of parts, for an engine that computes them elsewhere than on the
// processors of the host. Its parameters, initial values and buckets are those of the layout of the network.
type Program struct {
	Layout *Layout
	// Widths are the numbers of values of a sample, by value; a value is the result of a part, or an input of
	// the network: PooledValue or NumbersValue.
	Widths []int
	// Parts compute their Output from values that the parts before them computed.
	Parts []ProgramPart
	// Ends has, for every bucket, the first part that Backward of the bucket runs. It begins behind those of
	// the bucket before, and runs backwards.
	Ends   []int
	Output int // the value with the logits, one for each label
	// LossWeights are the weights of the labels' losses; PositiveWeights what a positive sample counts beside
	// them.
	LossWeights, PositiveWeights []float32
}

// The values that are inputs of a network.
const (
	PooledValue  = int(embeddings) // pooled embeddings
	NumbersValue = int(numeric)    // numeric features; they have no gradient
)

// NormEpsilon is added to the variances of batch norm.
const NormEpsilon = normEpsilon

// ProgramPart is a LayerPart, JoinPart, SumPart, GatePart, InteractionPart, LinearPart, FactorsPart or
// PairSumPart. Offsets of parameters count from the start of the parameter vector. A part that does not
// overwrite the gradient of an input adds to it: the first to run backwards finds zeros.
type ProgramPart interface{ programPart() }

// LayerPart is a fully connected layer of its joined inputs x, y = x·Wᵀ + b, then batch norm, then ReLU.
type LayerPart struct {
	Inputs     []int // values
	In, Out    int   // widths; In is that of all inputs together
	Output     int
	Weight     int // Out × In
	Bias       int // −1: none
	ReLU, Norm bool
	// Gamma and Beta are the parameters of batch norm, Running is where the means of its running statistics
	// begin, behind which are the variances. In the statistics of a group they are one place further, behind
	// the number of samples.
	Gamma, Beta, Running int
}

// JoinPart puts its inputs side by side.
type JoinPart struct {
	Inputs []int
	Output int
}

// SumPart adds its inputs, which have one value a sample.
type SumPart struct {
	Inputs []int
	Output int
}

// GatePart computes X·Y + Z, element by element.
type GatePart struct {
	X, Y, Z int
	Output  int
}

// InteractionPart computes the dot products of all pairs of Count vectors of Dim values: those of vector i
// with vectors 0 to i − 1, one i after the other.
type InteractionPart struct {
	Input      int
	Dim, Count int
	Output     int
}

// LinearPart computes, for each of Heads logits h, b_h, plus value h of each embedding row, plus the weighted
// numeric features.
type LinearPart struct {
	Rows   []int // where the rows of a sample begin among its pooled embeddings
	Heads  int
	Weight int // Heads × numeric features
	Bias   int
	Output int
}

// FactorsPart makes vectors of Dim values: all but the first value of some pooled rows, and the product of
// each numeric feature with its vector of parameters.
type FactorsPart struct {
	Dim     int
	Rows    []int // where these rows of a sample begin among its pooled embeddings
	Vectors int   // numeric features × Dim
	Output  int
}

// PairSumPart computes the sum of the dot products of all pairs of vectors of Dim values.
type PairSumPart struct {
	Input, Dim int
	Output     int
}

func (LayerPart) programPart()       {}
func (JoinPart) programPart()        {}
func (SumPart) programPart()         {}
func (GatePart) programPart()        {}
func (InteractionPart) programPart() {}
func (LinearPart) programPart()      {}
func (FactorsPart) programPart()     {}
func (PairSumPart) programPart()     {}

// NewProgram returns the program of an engine, or false if the engine is not a built-in network.
func NewProgram(e Engine) (*Program, bool) {
	n, ok := e.(*network)
	if !ok {
		return nil, false
	}
	p := &Program{Layout: &n.layout, Widths: n.widths, Ends: n.ends, Output: int(n.output),
		LossWeights: n.loss.weights, PositiveWeights: n.loss.positiveWeights}
	if p.PositiveWeights == nil {
		for range n.loss.weights {
			p.PositiveWeights = append(p.PositiveWeights, 1)
		}
	}
	for _, part := range n.parts {
		p.Parts = append(p.Parts, part.program())
	}
	return p, true
}

func (d *layer) program() ProgramPart {
	p := LayerPart{Inputs: numbers(d.inputs), In: d.in, Out: d.out, Output: int(d.output), Weight: d.weight,
		Bias: d.bias, ReLU: d.relu, Norm: d.norm, Gamma: d.gamma, Beta: d.beta, Running: d.running}
	if d.noBias {
		p.Bias = -1
	}
	return p
}

func (j *join) program() ProgramPart { return JoinPart{numbers(j.inputs), int(j.output)} }

func (s *sum) program() ProgramPart { return SumPart{numbers(s.inputs), int(s.output)} }

func (g *gate) program() ProgramPart { return GatePart{int(g.x), int(g.y), int(g.z), int(g.output)} }

func (t *interaction) program() ProgramPart {
	return InteractionPart{int(t.input), t.dim, t.count, int(t.output)}
}

func (f *linear) program() ProgramPart {
	return LinearPart{f.rows, f.heads, f.weight, f.bias, int(f.output)}
}

func (f *factors) program() ProgramPart {
	return FactorsPart{f.dim, f.rows, f.vectors, int(f.output)}
}

func (s *pairSum) program() ProgramPart { return PairSumPart{int(s.input), s.dim, int(s.output)} }

// numbers returns the numbers of values.
func numbers(values []value) []int {
	all := make([]int, len(values))
	for i, v := range values {
		all[i] = int(v)
	}
	return all
}
