package engine

import (
	"slices"

	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/runtime/cuda"
)

// weights are model.Weights on a device. The running statistics, which no training pass reads, are on the
// host.
type weights struct {
	*shared
	engine    model.Engine
	optimizer *opt.DenseSpec // nil: another role trains
	slots     []cuda.Address // optimizer state, each with one value a parameter
	// summed says that sum has the sum of the gradients of all ranks before an optimizer step.
	summed  bool
	sum     cuda.Address // the gradient of an optimizer step
	squares cuda.Address // doubles: partial sums of the squares of the mean gradient
	factor  cuda.Address // what the mean gradient is multiplied by
	running []float32
	steps   int
	staged  []float32   // as long as the parameters
	read    *cuda.Event // the device has read what is staged
}

// squareBlocks is the number of partial sums of squares.
const squareBlocks = 256

func (w *weights) allocate(m *memory, e model.Engine, c model.ReplicaConfig) {
	w.engine, w.summed, w.running = e, c.Summed, slices.Clone(c.Initial.Running)
	w.staged = m.host(w.program.Layout.Params)
	if !w.summed {
		w.sum = m.floats(w.places.length)
	}
	if c.Optimizer == nil {
		return
	}
	w.optimizer = c.Optimizer
	for range c.Optimizer.StateSize(1) {
		w.slots = append(w.slots, m.floats(w.places.length))
	}
	w.squares, w.factor = m.doubles(squareBlocks), m.floats(1)
}

// begin writes the initial parameters and optimizer state.
func (w *weights) begin(initial model.Values) error {
	w.clear(w.sum, w.places.length)
	for _, slot := range w.slots {
		w.clear(slot, w.places.length)
	}
	if w.optimizer != nil {
		w.write(w.factor, cuda.Bytes([]float32{1}))
	}
	return w.Restore(model.State{Values: initial})
}

// upload copies the values of the parameters from lo on to where they lie in a vector on the device. It does
// not wait for the copy.
func (w *weights) upload(to cuda.Address, lo int, values []float32) {
	if w.err != nil || len(values) == 0 {
		return
	}
	if w.err = w.read.Sync(); w.err != nil { // staged is free
		return
	}
	copyValues(w.staged, values)
	w.places.each(lo, lo+len(values), func(at, from, end int) {
		if w.err == nil {
			w.err = w.compute.CopyIn(to.Floats(at), cuda.Bytes(w.staged[from-lo:end-lo]))
		}
	})
	if w.err == nil {
		w.err = w.compute.Record(w.read)
	}
}

// download returns a copy of a vector on the device.
func (w *weights) download(from cuda.Address) []float32 {
	if w.err == nil {
		w.err = w.read.Sync()
	}
	w.places.each(0, len(w.staged), func(at, lo, hi int) {
		if w.err == nil {
			w.err = w.compute.CopyOut(cuda.Bytes(w.staged[lo:hi]), from.Floats(at))
		}
	})
	if w.err == nil {
		w.err = w.compute.Sync()
	}
	return slices.Clone(w.staged)
}

// Params implements model.Weights.
func (w *weights) Params() int { return w.program.Layout.Params }

// Steps implements model.Weights.
func (w *weights) Steps() int { return w.steps }

// StepSum implements model.Weights. It leaves the sum as it is, and does not wait for the step.
func (w *weights) StepSum(sum *model.Vector, samples, step int) error {
	if !w.summed {
		w.upload(w.sum, 0, sum.Values)
	}
	n := w.places.length
	if w.optimizer.ClipNorm != 0 {
		w.launch("squares_of_mean", cuda.Size{X: squareBlocks}, cuda.Size{X: eachThreads}, 0,
			cuda.Pointer(w.squares), cuda.Pointer(w.sum), cuda.Float(float32(samples)), cuda.Int(n))
		w.launch("clip_factor", cuda.Size{X: 1}, cuda.Size{X: 1}, 0, cuda.Pointer(w.factor),
			cuda.Pointer(w.squares), cuda.Int(squareBlocks), cuda.Double(w.optimizer.ClipNorm))
	}
	args := []cuda.Arg{cuda.Pointer(w.params)}
	for _, slot := range w.slots {
		args = append(args, cuda.Pointer(slot))
	}
	args = append(args, cuda.Pointer(w.sum), cuda.Float(float32(samples)), cuda.Pointer(w.factor))
	kernel, rates := w.rule(step)
	w.each(kernel, n, append(append(args, rates...), cuda.Int(n))...)
	w.narrowed = false
	w.steps++
	if len(w.running) > 0 {
		w.engine.UpdateRunning(w.running, sum.Stats)
	}
	return w.err
}

// rule returns the kernel of the optimizer, and the numbers with which it takes a step.
func (w *weights) rule(step int) (kernel string, rates []cuda.Arg) {
	o := w.optimizer
	rate, epsilon := cuda.Float(o.RateOf(step)), cuda.Float(float32(o.Epsilon))
	switch o.Kind {
	case opt.SGD:
		return "sgd", []cuda.Arg{rate}
	case opt.Adagrad:
		if o.Order == opt.Before {
			return "adagrad_before", []cuda.Arg{rate, epsilon}
		}
		return "adagrad_after", []cuda.Arg{rate, epsilon}
	}
	f := o.AdamFactors(step)
	return "adam", []cuda.Arg{cuda.Float(f.Rate), cuda.Float(f.Root), cuda.Float(f.Epsilon),
		cuda.Float(f.Beta1), cuda.Float(f.Beta2), cuda.Float(f.Rest1), cuda.Float(f.Rest2)}
}

// Shift implements model.Weights.
func (w *weights) Shift(from, sum *model.Vector, n int) error {
	by := make([]float32, len(from.Values))
	for i := range by {
		by[i] = sum.Values[i]/float32(n) - from.Values[i]
	}
	w.upload(w.sum, 0, by)
	w.add(w.params, w.sum, w.places.length)
	w.narrowed = false
	w.program.Layout.ShiftRunning(w.running, from.Stats, sum.Stats, n)
	return w.err
}

// Snapshot implements model.Weights.
func (w *weights) Snapshot() (model.Values, error) {
	return model.Values{Params: w.download(w.params), Running: slices.Clone(w.running)}, w.err
}

// Export implements model.Weights.
func (w *weights) Export() (model.State, error) {
	values, _ := w.Snapshot()
	s := model.State{Values: values, Steps: w.steps}
	for _, slot := range w.slots {
		s.Optimizer = append(s.Optimizer, w.download(slot)...)
	}
	return s, w.err
}

// Import implements model.Weights.
func (w *weights) Import(lo int, s model.State) error {
	if err := w.lengths().CheckImport(lo, &s); err != nil {
		return err
	}
	w.upload(w.params, lo, s.Params)
	w.narrowed = false
	copy(w.running, s.Running)
	if len(s.Optimizer) > 0 {
		w.setOptimizer(s.Optimizer)
		w.steps = s.Steps
	}
	return w.err
}

// Restore implements model.Weights.
func (w *weights) Restore(s model.State) error {
	if len(s.Optimizer) == 0 && s.Steps == 0 && w.optimizer != nil {
		fresh, err := opt.NewDense(*w.optimizer)
		if err != nil {
			return err
		}
		s.Optimizer = make([]float32, w.lengths().Optimizer)
		fresh.Init(s.Optimizer)
	}
	if err := w.lengths().CheckRestore(&s); err != nil {
		return err
	}
	w.upload(w.params, 0, s.Params)
	w.narrowed = false
	copy(w.running, s.Running)
	w.setOptimizer(s.Optimizer)
	w.steps = s.Steps
	return w.err
}

func (w *weights) setOptimizer(state []float32) {
	for i, slot := range w.slots {
		w.upload(slot, 0, state[i*w.Params():(i+1)*w.Params()])
	}
}

func (w *weights) lengths() model.Lengths {
	return model.Lengths{Params: w.Params(), Running: len(w.running), Optimizer: len(w.slots) * w.Params()}
}
