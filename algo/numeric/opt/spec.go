package opt

import (
	"fmt"
	"math"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/nn"
)

// Kinds of optimizers.
const (
	SGD            = "sgd"
	Adagrad        = "adagrad"
	RowwiseAdagrad = "rowwise-adagrad" // rows only
	Adam           = "adam"
	FTRL           = "ftrl" // rows only
)

// DenseSpec describes the optimizer of the dense parameters. Fields that the kind does
// not use are ignored, so that a job can change the kind alone.
type DenseSpec struct {
	Kind  string  `yaml:"kind"`  // sgd, adagrad or adam
	Rate  float64 `yaml:"rate"`  // learning rate, > 0; the highest, if a schedule changes it
	Order Order   `yaml:"order"` // adagrad: after or before
	// Epsilon keeps the divisor of adagrad and adam away from 0; > 0.
	Epsilon float64 `yaml:"epsilon"`
	// InitialAccumulator is the initial sum of squares of adagrad; ≥ 0.
	InitialAccumulator float64 `yaml:"initial-accumulator"`
	Beta1              float64 `yaml:"beta1"` // adam: decay of the mean gradient, in [0, 1)
	Beta2              float64 `yaml:"beta2"` // adam: decay of the mean square, in [0, 1)
	// Schedule changes the rate from step to step.
	Schedule Schedule `yaml:"schedule"`
	// ClipNorm is the largest Euclidean norm of a step's whole gradient, which is
	// scaled down to it; ≥ 0, and 0 means no bound.
	ClipNorm float64 `yaml:"clip-norm"`
}

// DefaultDense is Adam as its authors set it: rate 0.001, decays 0.9 and 0.999,
// epsilon 1e-8, a constant rate, no clipping. The fields of the other kinds are
// set too.
func DefaultDense() DenseSpec {
	return DenseSpec{
		Kind: Adam, Rate: 0.001, Order: After, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999,
		Schedule: Schedule{Decay: NoDecay},
	}
}

// Validate returns an error that names the first field that is out of range.
func (s DenseSpec) Validate() error {
	if err := s.Schedule.Validate(); err != nil {
		return fmt.Errorf("schedule.%w", err)
	}
	if err := checkNotNegative("clip-norm", s.ClipNorm); err != nil {
		return err
	}
	switch s.Kind {
	case SGD:
		return checkPositive("rate", s.Rate)
	case Adagrad:
		return checkAdagrad(s.Rate, s.Order, s.Epsilon, s.InitialAccumulator)
	case Adam:
		return checkAdam(s.Rate, s.Epsilon, s.Beta1, s.Beta2)
	}
	return fmt.Errorf("kind = %q, want %s, %s or %s", s.Kind, SGD, Adagrad, Adam)
}

// RowSpec describes the optimizer of the embedding rows. Fields that the kind does not
// use are ignored.
type RowSpec struct {
	Kind  string  `yaml:"kind"`  // sgd, adagrad, rowwise-adagrad, adam or ftrl
	Rate  float64 `yaml:"rate"`  // learning rate, > 0; the highest, if a schedule changes it
	Order Order   `yaml:"order"` // both adagrads: after or before
	// Epsilon keeps the divisor of both adagrads and of adam away from 0; > 0.
	Epsilon float64 `yaml:"epsilon"`
	// InitialAccumulator is the initial sum of squares of a new row under both
	// adagrads; ≥ 0.
	InitialAccumulator float64 `yaml:"initial-accumulator"`
	Beta1              float64 `yaml:"beta1"` // adam: decay of the mean gradient, in [0, 1)
	Beta2              float64 `yaml:"beta2"` // adam: decay of the mean square, in [0, 1)
	// Beta of ftrl makes the first steps smaller, the rate being rate/(beta + √n)
	// after squared gradients of sum n; > 0.
	Beta float64 `yaml:"beta"`
	L1   float64 `yaml:"l1"` // ftrl: weight of Σ|e|, which makes values exactly 0; ≥ 0
	L2   float64 `yaml:"l2"` // ftrl: weight of ½·Σe²; ≥ 0
	// Schedule changes the rate from training step to training step: a gradient is
	// applied at the rate of its step. Ftrl has none, since its state is valid for one
	// rate only.
	Schedule Schedule `yaml:"schedule"`
	// WeightBound is the largest magnitude of an embedding value: after an update each
	// value is clamped to [−WeightBound, WeightBound]. 0 or less means no bound.
	WeightBound float64 `yaml:"weight-bound"`
}

// DefaultRow is Persia's row optimizer with its settings: Adagrad, order before,
// constant rate 0.01, accumulators from 0.01, epsilon 1e-10, weights bounded by
// 10. The fields of the other kinds are set too: adam's decays to the values of its
// authors, ftrl's beta to 1 as McMahan and others do, l1 and l2 to 0.
//
// Source: Persia's repository, Adagrad's defaults and the hyperparameters of the
// embedding server.
func DefaultRow() RowSpec {
	return RowSpec{
		Kind: Adagrad, Rate: 0.01, Order: Before, Epsilon: 1e-10, InitialAccumulator: 0.01, WeightBound: 10,
		Beta1: 0.9, Beta2: 0.999, Beta: 1, Schedule: Schedule{Decay: NoDecay},
	}
}

// Effective returns the spec without what its kind ignores, so that specs with the same effect are equal. The
// spec must be valid.
func (s RowSpec) Effective() RowSpec {
	e := RowSpec{Kind: s.Kind, Rate: s.Rate, WeightBound: max(s.WeightBound, 0)}
	switch s.Kind {
	case Adagrad, RowwiseAdagrad:
		e.Order, e.Epsilon, e.InitialAccumulator = s.Order, s.Epsilon, s.InitialAccumulator
	case Adam:
		e.Epsilon, e.Beta1, e.Beta2 = s.Epsilon, s.Beta1, s.Beta2
	case FTRL:
		e.Beta, e.L1, e.L2 = s.Beta, s.L1, s.L2
	}
	if !s.Schedule.constant() {
		e.Schedule = s.Schedule
	}
	return e
}

// StateSize returns the number of state values of a row of dim values. The spec must be valid.
func (s RowSpec) StateSize(dim int) int { return newRowRule(s, isa.Portable).StateSize(dim) }

// AdamFactors returns what adam multiplies and divides by in the update of a row that it is the t-th of, at a
// learning rate.
func (s RowSpec) AdamFactors(rate float32, t float64) nn.AdamFactors {
	return newAdam(s.Epsilon, s.Beta1, s.Beta2).factors(rate, t)
}

// Validate returns an error that names the first field that is out of range.
func (s RowSpec) Validate() error {
	if !(math.Abs(s.WeightBound) <= math.MaxFloat32) {
		return fmt.Errorf("weight-bound = %v, want a finite number in single precision, 0 for no bound",
			s.WeightBound)
	}
	if err := s.Schedule.Validate(); err != nil {
		return fmt.Errorf("schedule.%w", err)
	}
	switch s.Kind {
	case SGD:
		return checkPositive("rate", s.Rate)
	case Adagrad, RowwiseAdagrad:
		return checkAdagrad(s.Rate, s.Order, s.Epsilon, s.InitialAccumulator)
	case Adam:
		return checkAdam(s.Rate, s.Epsilon, s.Beta1, s.Beta2)
	case FTRL:
		return s.checkFTRL()
	}
	return fmt.Errorf("kind = %q, want %s, %s, %s, %s or %s", s.Kind, SGD, Adagrad, RowwiseAdagrad, Adam,
		FTRL)
}

func (s RowSpec) checkFTRL() error {
	if err := checkPositive("rate", s.Rate); err != nil {
		return err
	}
	if err := checkPositive("beta", s.Beta); err != nil {
		return err
	}
	if err := checkNotNegative("l1", s.L1); err != nil {
		return err
	}
	if err := checkNotNegative("l2", s.L2); err != nil {
		return err
	}
	if !s.Schedule.constant() {
		return fmt.Errorf("schedule: %s keeps one rate, which its own sums lower: leave the schedule out, "+
			"or where rows.optimizer has one, set warm-up: 0 and decay: none", FTRL)
	}
	return nil
}

func checkAdam(rate, epsilon, beta1, beta2 float64) error {
	if err := checkPositive("rate", rate); err != nil {
		return err
	}
	if err := checkPositive("epsilon", epsilon); err != nil {
		return err
	}
	if err := checkDecay("beta1", beta1); err != nil {
		return err
	}
	return checkDecay("beta2", beta2)
}

func checkAdagrad(rate float64, order Order, epsilon, initial float64) error {
	if err := checkPositive("rate", rate); err != nil {
		return err
	}
	if order != After && order != Before {
		return fmt.Errorf("order = %q, want %s or %s", order, After, Before)
	}
	if err := checkPositive("epsilon", epsilon); err != nil {
		return err
	}
	return checkNotNegative("initial-accumulator", initial)
}

func checkNotNegative(name string, v float64) error {
	if x := float32(v); !(v >= 0 && x-x == 0) {
		return fmt.Errorf("%s = %v, want a finite number, at least 0", name, v)
	}
	return nil
}

// checkPositive tests the value as the float32 that the optimizers compute with,
// where 1e-50 would be 0.
func checkPositive(name string, v float64) error {
	if x := float32(v); !(x > 0 && x-x == 0) {
		return fmt.Errorf("%s = %v, want a finite number above 0 in single precision", name, v)
	}
	return nil
}

func checkDecay(name string, v float64) error {
	if !(v >= 0 && float32(v) < 1) {
		return fmt.Errorf("%s = %v, want at least 0 and below 1 in single precision", name, v)
	}
	return nil
}
