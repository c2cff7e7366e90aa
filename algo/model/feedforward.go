package model

import (
	"fmt"

	"tandem/algo/batch"
	"tandem/algo/unit"
)

// feedForward is the engine of feed-forward networks. Layers are kept, and lie in
// the parameter vector, in the order sparse tower, dense tower, top, output; the
// buckets are the layers in reverse.
type feedForward struct {
	layout Layout
	layers []layer
	sparse int // layers[:sparse] are the sparse tower
	dense  int // layers[sparse:dense] are the dense tower; layers[dense:] follow the join
	// sparseWidth of the inputs of layers[dense] come from the embeddings, the
	// others from the numeric features.
	sparseWidth int
}

func newFeedForward(spec Spec, schema *batch.Schema) (*feedForward, error) {
	f := &feedForward{}
	l := &f.layout
	l.EmbeddingWidth, l.DenseWidth = schema.EmbeddingWidth(), len(schema.Dense)
	if l.EmbeddingWidth+l.DenseWidth == 0 {
		return nil, fmt.Errorf("model: %w: there is neither a slot nor a numeric feature", ErrSchema)
	}
	relu := spec.Activation == ReLU
	var err error
	if f.sparseWidth, err = f.addTower("sparse-tower", l.EmbeddingWidth, spec.SparseTower, relu); err != nil {
		return nil, err
	}
	f.sparse = len(f.layers)
	denseWidth, err := f.addTower("dense-tower", l.DenseWidth, spec.DenseTower, relu)
	if err != nil {
		return nil, err
	}
	f.dense = len(f.layers)
	width := f.addStack("top", f.sparseWidth+denseWidth, spec.Top, spec.BatchNorm, relu)
	f.layers = append(f.layers, l.addLayer("output", width, 1, false, false))
	for i := len(f.layers) - 1; i >= 0; i-- {
		l.Buckets = append(l.Buckets, Bucket{f.layers[i].lo, f.layers[i].hi})
	}
	if l.Running > 0 {
		l.Stats = 1 + l.Running // the sample count, then as the running statistics
	}
	l.Cost = f.cost()
	return f, nil
}

// addTower adds the layers of a tower, if there is one, and returns the width of
// its output.
func (f *feedForward) addTower(name string, width int, tower *Tower, relu bool) (int, error) {
	if tower == nil || len(tower.Layers) == 0 {
		return width, nil
	}
	if width == 0 {
		return 0, fmt.Errorf("model: %w: %s has no input: leave it out", ErrSchema, name)
	}
	return f.addStack(name, width, tower.Layers, tower.BatchNorm, relu), nil
}

// addStack adds hidden layers and returns the width of the last.
func (f *feedForward) addStack(name string, width int, widths []int, norm, relu bool) int {
	for i, out := range widths {
		f.layers = append(f.layers, f.layout.addLayer(fmt.Sprintf("%s.%d", name, i), width, out, norm, relu))
		width = out
	}
	return width
}

// cost adds up the layers, the join (one kernel that reads and writes its width)
// and the loss (one kernel). Backward has two products where forward has one.
func (f *feedForward) cost() Cost {
	flops, values, kernels := 0.0, 2*f.layers[f.dense].in, 2
	for i := range f.layers {
		layerFLOPs, layerValues, layerKernels := f.layers[i].cost()
		flops, values, kernels = flops+layerFLOPs, values+layerValues, kernels+layerKernels
	}
	return Cost{
		ForwardFLOPs:    unit.FLOPs(flops),
		BackwardFLOPs:   unit.FLOPs(2 * flops),
		ActivationBytes: unit.Bytes(4 * values),
		Kernels:         kernels,
	}
}

func (f *feedForward) Layout() *Layout { return &f.layout }

func (f *feedForward) Init(seed uint64) (params, running []float32) {
	params, running = make([]float32, f.layout.Params), make([]float32, f.layout.Running)
	for i := range f.layers {
		f.layers[i].initialize(params, running, seed)
	}
	return params, running
}

// UpdateRunning folds as PyTorch does: r = 0.9·r + 0.1·s for mean and unbiased
// variance, once for all groups of a step, however many they are. The groups'
// statistics become those of the step's samples by
//
//	n = Σ n_g    mean = Σ n_g·mean_g / n
//	variance = Σ [(n_g − 1)·variance_g + n_g·(mean_g − mean)²] / (n − 1)
//
// A step of fewer than two samples has no variance and is skipped.
//
// Source: Chan, Golub, LeVeque, The American Statistician 37 (1983).
func (f *feedForward) UpdateRunning(running, stats []float32) {
	checkLen("running", len(running), f.layout.Running)
	size := f.layout.Stats
	if size == 0 {
		return
	}
	if len(stats)%size != 0 {
		panic(fmt.Sprintf("model: len(stats) = %d, want a multiple of %d", len(stats), size))
	}
	samples := 0.0
	for at := 0; at < len(stats); at += size {
		samples += float64(stats[at])
	}
	if samples < 2 {
		return
	}
	for i := range f.layers {
		if d := &f.layers[i]; d.norm {
			for j := range d.out {
				mean, variance := pooledMoments(stats, size, samples, d.running+j, d.running+d.out+j)
				fold(&running[d.running+j], mean)
				fold(&running[d.running+d.out+j], variance)
			}
		}
	}
}

// pooledMoments returns mean and unbiased variance of one feature over the
// samples of all groups; the feature's are at the places mean and variance of
// each group's running-shaped statistics.
func pooledMoments(stats []float32, size int, samples float64, meanAt, varianceAt int) (mean, variance float64) {
	for at := 0; at < len(stats); at += size {
		mean += float64(stats[at]) * float64(stats[at+1+meanAt])
	}
	mean /= samples
	for at := 0; at < len(stats); at += size {
		n := float64(stats[at])
		if n >= 2 {
			variance += (n - 1) * float64(stats[at+1+varianceAt])
		}
		if n >= 1 {
			off := float64(stats[at+1+meanAt]) - mean
			variance += float64(n*off) * off
		}
	}
	return mean, variance / (samples - 1)
}

// fold moves a running statistic towards that of a step.
func fold(running *float32, now float64) {
	*running = float32(float64((1-normMomentum)*float64(*running)) + float64(normMomentum*now))
}
