package model

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/opt"
)

// Values are the parameters and running statistics from which a network computes its predictions.
type Values struct {
	Params  []float32
	Running []float32 // batch-norm statistics
}

// Clone returns a copy.
func (v Values) Clone() Values { return Values{slices.Clone(v.Params), slices.Clone(v.Running)} }

// State is everything in Weights that training changes.
type State struct {
	Values
	Optimizer []float32 // optimizer state
	Steps     int       // optimizer steps performed
}

// Weights are the parameters of a network, or of a contiguous part of a network, with their running
// batch-norm statistics and their optimizer, in the memory of the host or of a device. Methods return the
// errors of a device; those of HostWeights fail only as described here.
//
// A method that changes the weights must not run concurrently with any other method.
type Weights interface {
	// Params returns the number of parameters.
	Params() int
	// Steps returns the number of optimizer steps taken.
	Steps() int
	// StepSum takes the optimizer step of a training step. The mean gradient is the sum divided once by the
	// number of samples, which is at least 1. The statistics of the step's groups, in ascending group number,
	// are folded into the running statistics. StepSum may overwrite the sum, and does not read it after it
	// has returned.
	StepSum(sum *Vector, samples, step int) error
	// Shift adds mean − from to the parameters and running statistics, element by element, where mean is
	// sum / n. A variance that has fallen so far since from was copied that it would become negative is set
	// to the mean.
	Shift(from, sum *Vector, n int) error
	// Snapshot returns a copy of the values.
	Snapshot() (Values, error)
	// Export returns a copy of the whole state.
	Export() (State, error)
	// Import copies a state into the weights, its parameters to those from lo on. Parameters, running
	// statistics or optimizer state of length 0 in the state leave those of the weights unchanged; without
	// optimizer state, the number of steps is unchanged too. Import returns an error, and changes nothing, if
	// a length does not fit.
	Import(lo int, s State) error
	// Restore replaces the whole state by one that Export returned. Parameters without optimizer state or
	// steps begin with the optimizer state of new weights. Restore returns an error, and changes nothing, if
	// a length differs.
	Restore(s State) error
}

// HostWeights are Weights in the memory of the host.
type HostWeights struct {
	engine    Engine
	optimizer opt.Dense
	pool      gemm.Pool
	state     State
}

// NewHostWeights returns weights with initial values, which it takes over. The optimizer is nil for a copy of
// weights that another role trains. StepSum runs on the pool, or on the calling goroutine if the pool is nil.
func NewHostWeights(e Engine, v Values, optimizer opt.Dense, pool gemm.Pool) *HostWeights {
	w := &HostWeights{engine: e, optimizer: optimizer, pool: pool, state: State{Values: v}}
	if optimizer != nil {
		w.state.Optimizer = make([]float32, optimizer.StateSize(len(v.Params)))
		optimizer.Init(w.state.Optimizer)
	}
	return w
}

// InitialValues returns the values with which a training begins, or the error of the engine.
func InitialValues(e Engine, seed uint64) (Values, error) {
	params, running := e.Init(seed)
	return Values{params, running}, e.Err()
}

// Params implements Weights.
func (w *HostWeights) Params() int { return len(w.state.Params) }

// Steps implements Weights.
func (w *HostWeights) Steps() int { return w.state.Steps }

// StepSum implements Weights. It overwrites the sum, and returns the error of the engine, which may have the
// optimizer.
func (w *HostWeights) StepSum(sum *Vector, samples, step int) error {
	w.optimizer.StepSum(w.state.Params, w.state.Optimizer, sum.Values, samples, step, w.pool)
	w.state.Steps++
	w.FoldStats(sum.Stats)
	return w.engine.Err()
}

// Step takes an optimizer step with a mean gradient, at the learning rate for the number of steps taken so
// far. It may scale the gradient in place.
func (w *HostWeights) Step(grad []float32) {
	w.optimizer.Step(w.state.Params, w.state.Optimizer, grad, w.state.Steps)
	w.state.Steps++
}

// FoldStats folds the batch-norm statistics of groups into the running statistics, if the weights have any.
func (w *HostWeights) FoldStats(stats []float32) {
	if len(w.state.Running) > 0 {
		w.engine.UpdateRunning(w.state.Running, stats)
	}
}

// Shift implements Weights. It returns nil.
func (w *HostWeights) Shift(from, sum *Vector, n int) error {
	shift(w.state.Params, from.Values, sum.Values, float32(n))
	w.engine.Layout().ShiftRunning(w.state.Running, from.Stats, sum.Stats, n)
	return nil
}

// ShiftRunning is Weights.Shift for running statistics.
func (l *Layout) ShiftRunning(running, from, sum []float32, n int) {
	shift(running, from, sum, float32(n))
	for _, variances := range l.Variances {
		for i := variances.Lo; i < variances.Hi; i++ {
			if running[i] < 0 {
				running[i] = sum[i] / float32(n)
			}
		}
	}
}

func shift(dst, from, sum []float32, n float32) {
	for i := range dst {
		dst[i] += sum[i]/n - from[i]
	}
}

// Host returns the values without copying them; they are valid until the next change of the weights.
func (w *HostWeights) Host() Values { return w.state.Values }

// Snapshot implements Weights. The error is nil.
func (w *HostWeights) Snapshot() (Values, error) { return w.state.Values.Clone(), nil }

// Export implements Weights. The error is nil.
func (w *HostWeights) Export() (State, error) {
	s := w.state
	s.Values, s.Optimizer = s.Clone(), slices.Clone(s.Optimizer)
	return s, nil
}

// Import implements Weights.
func (w *HostWeights) Import(lo int, s State) error {
	if err := w.lengths().CheckImport(lo, &s); err != nil {
		return err
	}
	copy(w.state.Params[lo:], s.Params)
	copy(w.state.Running, s.Running)
	if len(s.Optimizer) > 0 {
		copy(w.state.Optimizer, s.Optimizer)
		w.state.Steps = s.Steps
	}
	return nil
}

// Restore implements Weights.
func (w *HostWeights) Restore(s State) error {
	if len(s.Optimizer) == 0 && s.Steps == 0 && w.optimizer != nil {
		s.Optimizer = make([]float32, len(w.state.Optimizer))
		w.optimizer.Init(s.Optimizer)
	}
	if err := w.lengths().CheckRestore(&s); err != nil {
		return err
	}
	copy(w.state.Params, s.Params)
	copy(w.state.Running, s.Running)
	copy(w.state.Optimizer, s.Optimizer)
	w.state.Steps = s.Steps
	return nil
}

func (w *HostWeights) lengths() Lengths {
	return Lengths{len(w.state.Params), len(w.state.Running), len(w.state.Optimizer)}
}

// Lengths are those of the state of some weights.
type Lengths struct{ Params, Running, Optimizer int }

// CheckImport returns an error unless Weights.Import can take a state.
func (l Lengths) CheckImport(lo int, s *State) error {
	if lo < 0 || lo+len(s.Params) > l.Params {
		return fmt.Errorf("model: %d parameters from %d on; the weights have %d", len(s.Params), lo, l.Params)
	}
	if len(s.Running) > 0 && len(s.Running) != l.Running {
		return lengthError("running statistics", len(s.Running), l.Running)
	}
	if len(s.Optimizer) > 0 && len(s.Optimizer) != l.Optimizer {
		return lengthError("values of optimizer state", len(s.Optimizer), l.Optimizer)
	}
	return nil
}

// CheckRestore returns an error unless Weights.Restore can take a state that has optimizer state.
func (l Lengths) CheckRestore(s *State) error {
	switch {
	case len(s.Params) != l.Params:
		return lengthError("parameters", len(s.Params), l.Params)
	case len(s.Running) != l.Running:
		return lengthError("running statistics", len(s.Running), l.Running)
	case len(s.Optimizer) != l.Optimizer:
		return lengthError("values of optimizer state", len(s.Optimizer), l.Optimizer)
	}
	return nil
}

func lengthError(name string, got, have int) error {
	return fmt.Errorf("model: %d %s; the weights have %d", got, name, have)
}

// Digest returns the fingerprint of the state.
func (w *HostWeights) Digest() uint64 { return w.state.Digest() }

// Digest returns a fingerprint of parameters, running statistics and optimizer
// state: equal bits, equal digests.
func (s *State) Digest() uint64 {
	h := fnv.New64a()
	var b [4]byte
	for _, values := range [][]float32{s.Params, s.Running, s.Optimizer} {
		for _, v := range values {
			u := math.Float32bits(v)
			b = [4]byte{byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)}
			h.Write(b[:])
		}
	}
	return h.Sum64()
}
