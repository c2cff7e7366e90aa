package model

import (
	"errors"

	"tandem/algo/numeric/kernel/nn"
	"tandem/algo/numeric/opt"
	"tandem/algo/unit"
)

// Tensor is a named part of the flat parameter vector.
type Tensor struct {
	Name  string
	Shape []int // row-major
	Lo    int   // the tensor is params[Lo:Hi)
	Hi    int
}

// Bucket is a contiguous part [Lo, Hi) of the flat parameter vector whose
// gradient becomes final at one moment of the backward pass.
type Bucket struct{ Lo, Hi int }

// Cost is the computation of a network per sample, for drivers that predict time instead of computing.
type Cost struct {
	ForwardFLOPs    unit.FLOPs // per sample
	BackwardFLOPs   unit.FLOPs // per sample
	ActivationBytes unit.Bytes // per sample, read and written by one forward pass
	// device kernels that one forward pass launches; backward launches twice as many
	Kernels int
}

// Layout is the shape of a network.
type Layout struct {
	EmbeddingWidth int // pooled embedding values of a sample
	DenseWidth     int // numeric features of a sample
	Labels         int // labels of a sample, and logits
	Tensors        []Tensor
	// Buckets cover the parameter vector once, in the order in which backward
	// finishes them: the last layer first.
	Buckets []Bucket
	Params  int // length of the parameter vector
	// Running is the length of the vector of running batch-norm statistics,
	// and Stats the length of the statistics of one group; both 0 without
	// batch norm.
	Running int
	Stats   int
	// Variances are the ranges of the running statistics that hold variances.
	Variances []Bucket
	// Units say how outputs become predictions of numbers, by label; nil: outputs are logits.
	Units []Unit
	Cost  Cost
}

// Unit makes predictions of the outputs of a network: Center + Scale·output.
type Unit struct{ Center, Scale float32 }

// Prediction returns the prediction of a label for an output: its probability or, with Units, a number.
func (l *Layout) Prediction(label int, output float32) float32 {
	if l.Units == nil {
		return nn.Sigmoid(output)
	}
	u := l.Units[label]
	return float32(u.Scale*output) + u.Center
}

// Input is one group of a batch as the network sees it.
type Input struct {
	Samples    int
	Embeddings []float32 // Samples × EmbeddingWidth
	Dense      []float32 // Samples × DenseWidth
	Labels     []float32 // Samples × Labels; nil when predicting
	Weights    []float32 // what each sample's losses count; nil: 1
	// EmbeddingGrad is memory, as long as Embeddings, into which the pass may write the gradient of
	// Embeddings, so that the gradient need not be copied. If it is nil, or the engine cannot use it, the
	// pass uses its own memory.
	EmbeddingGrad []float32
}

// Engine runs one network. Its methods may be called from several goroutines
// at once; a Pass may not.
type Engine interface {
	Layout() *Layout
	// Init returns fresh parameters and running statistics. The same seed
	// gives the same bits. After a failure they mean nothing: see Err.
	Init(seed uint64) (params, running []float32)
	// NewPass returns scratch for groups of up to maxSamples samples.
	NewPass(maxSamples int) Pass
	// UpdateRunning folds the batch-norm statistics of one step into the running statistics. Stats has the
	// statistics of all groups of the step, in ascending group number on every replica.
	UpdateRunning(running, stats []float32)
	// Err returns why the engine no longer computes, or nil as long as it does. An engine outside of this
	// process may fail at any time; its passes then go on without effect, and their results mean nothing.
	Err() error
}

// ErrLost is the error, by errors.Is, of an Engine outside of this process that has died, as of a lack of
// memory. Another one can go on in its place.
var ErrLost = errors.New("what computed the network has died")

// OwnOptimizer is an Engine that may have an optimizer of its own.
type OwnOptimizer interface {
	Engine
	// Optimizer returns the optimizer of the whole network, or nil if it is that of the job, which is the
	// spec. Of the spec, one of its own takes the schedule and clip-norm.
	Optimizer(spec opt.DenseSpec) opt.Dense
}

// OptimizerOf returns the optimizer of a network: that of its engine, if it has one, or that of the job.
func OptimizerOf(e Engine, spec opt.DenseSpec) (opt.Dense, error) {
	job, err := opt.NewDense(spec)
	if o, ok := e.(OwnOptimizer); ok && err == nil {
		if own := o.Optimizer(spec); own != nil {
			return own, nil
		}
	}
	return job, err
}

// Ranked is an Engine with a place for every rank to compute at.
type Ranked interface {
	Engine
	// OfRank returns the engine whose passes run at the place of a rank.
	OfRank(rank int) Engine
	// EndUnused ends what the engine keeps running for ranks that may come. If they do, it begins again.
	EndUnused()
}

// Pass is the forward and backward pass of one group.
//
// The order is Forward, then Backward for bucket 0, 1, … of the layout, then
// EmbeddingGrad. All results alias the pass and hold until the next Forward.
type Pass interface {
	// Forward returns the logits of the samples, Samples × Labels, and the sum of their losses, each label's
	// multiplied by the weights of its head and of its sample (0 without labels). In training, batch norm
	// uses the group's own statistics, otherwise running.
	Forward(params, running []float32, in Input, train bool) (logits []float32, lossSum float64)
	// Stats returns the group's batch-norm statistics after a training Forward;
	// length Layout.Stats, the sample count first.
	Stats() []float32
	// Backward writes the gradient sums over the group's samples of one bucket
	// into grad[bucket.Lo:bucket.Hi], overwriting what was there; grad has
	// length Layout.Params.
	Backward(params []float32, bucket int, grad []float32)
	// EmbeddingGrad returns the gradient of the loss sum with respect to the
	// pooled embeddings, Samples × EmbeddingWidth, after the last Backward.
	EmbeddingGrad() []float32
}
