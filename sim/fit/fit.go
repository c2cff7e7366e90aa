package fit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tandem/algo/unit"
	"tandem/sim/predict"
	"tandem/sim/system"
)

var (
	// ErrInput is wrapped by the error about measured steps that cannot be used together.
	ErrInput = errors.New("bad measured steps")
	// ErrUnexplained is wrapped by the error about a step that no point of the ranges explains.
	ErrUnexplained = errors.New("no value in the ranges explains a step")
	// ErrContradiction is wrapped by the error about steps that can be explained one by one, and not
	// together.
	ErrContradiction = errors.New("measured steps contradict each other")
)

// Measurement is a measured training step, or a collective measured alone.
type Measurement struct {
	Name    string // for messages, such as "8 A100, batch 65536"
	Job     *predict.Job
	Seconds float64 // of a step, above 0
	// Collective is, unless it is empty, the collective alone that was measured instead of a step, among the
	// accelerators of the job: a constant of package graph. Bytes is its size as nccl-tests prints it.
	Collective string
	Bytes      unit.Bytes
	// Sigma replaces that of the options for this measurement, unless it is 0.
	Sigma float64
}

// Options of Fit. Zero values choose the defaults.
type Options struct {
	// Sigma is the standard deviation of the logarithm of predicted ÷ measured, above 0; default 0.1:
	// published steps repeat within a few percent, and the model has errors of its own.
	Sigma float64
	// Points is the number of points of the result, at least 8; default 64.
	Points int
	// Prior is the number of points of the Latin hypercube at the start, at least Points; default 256.
	Prior int
	Seed  uint64 // of the points and of their moves
	// Workers is the number of simulations at once; 0: as many as there are cores. The result does not depend
	// on it.
	Workers int
	// Predict are options of every simulation: Steps, Seed and Cluster.
	Predict predict.Options
	// Progress is called, unless it is nil, with the number of simulations so far.
	Progress func(simulations int)
}

// Defaults of Options.
const (
	sigmaDefault  = 0.1
	pointsDefault = 64
	priorDefault  = 256
	pointsLeast   = 8
)

// unexplained is the number of standard deviations from which on a step counts as unexplained.
const unexplained = 3

// fill replaces zero values by defaults, and checks the others.
func (o *Options) fill() error {
	if o.Sigma == 0 {
		o.Sigma = sigmaDefault
	}
	if o.Points == 0 {
		o.Points = pointsDefault
	}
	if o.Prior == 0 {
		o.Prior = max(priorDefault, o.Points)
	}
	switch {
	case !(o.Sigma > 0) || math.IsInf(o.Sigma, 1):
		return fmt.Errorf("fit: sigma = %v; want more than 0", o.Sigma)
	case o.Points < pointsLeast || o.Prior < o.Points:
		return fmt.Errorf("fit: %d points from %d; want at least %d, and as many at the start", o.Points,
			o.Prior, pointsLeast)
	}
	return nil
}

// Fit returns what measured steps say about the system software of their jobs. All jobs must have the same
// software. The error wraps ErrInput, ErrUnexplained or ErrContradiction, or is that of a job that cannot be
// simulated at the middle of its ranges.
//
// The same measurements, options and seed give the same result. Cost: about 1500 to 2500 simulations of every
// step with the default options.
func Fit(ctx context.Context, steps []Measurement, o Options) (*Posterior, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	if err := check(steps); err != nil {
		return nil, err
	}
	s, err := newSampler(ctx, steps, &o)
	if err != nil {
		return nil, err
	}
	prior, err := s.prior()
	if err != nil {
		return nil, err
	}
	if err := s.explainEach(); err != nil {
		return nil, err
	}
	if err := s.chooseActive(prior); err != nil {
		return nil, err
	}
	states, err := s.temper(prior)
	if err != nil {
		return nil, err
	}
	if err := s.explainAll(); err != nil {
		return nil, err
	}
	return s.posterior(states)
}

// check reports measured steps that cannot be used together.
func check(steps []Measurement) error {
	if len(steps) == 0 {
		return fmt.Errorf("fit: %w: there are none; give at least one", ErrInput)
	}
	first := &steps[0].Job.Hardware.System
	for _, m := range steps {
		own := &m.Job.Hardware.System
		switch {
		case !(m.Sigma >= 0) || math.IsInf(m.Sigma, 1):
			return fmt.Errorf("fit: %w: sigma of %s is %v; want 0 or more", ErrInput, m.Name, m.Sigma)
		case !(m.Seconds > 0) || math.IsInf(m.Seconds, 1):
			return fmt.Errorf("fit: %w: %s takes %v s; want a time above 0", ErrInput, m.Name, m.Seconds)
		case own.Calibration != nil || own.Accuracy != nil:
			return fmt.Errorf("fit: %w: system %s is calibrated already; take its calibration and accuracy "+
				"out, or calibrate its base, with all measured steps", ErrInput, own.Name)
		case *own != *first:
			return fmt.Errorf("fit: %w: %s has system %s, %s has %s or other values of it; use one system",
				ErrInput, steps[0].Name, first.Name, m.Name, own.Name)
		}
	}
	return nil
}

// Posterior is what measured steps say about the quantities of a price list.
type Posterior struct {
	// Calibration has the points, without source and date, which the caller adds. It is nil if the steps
	// depend on no quantity of the system with a range.
	Calibration *system.Calibration `json:"calibration"`
	Quantities  []Quantity          `json:"quantities"` // in the order of the calibration's names
	// Confounded are pairs of quantities that the steps cannot tell apart, those of the hardware included,
	// the strongest correlation first.
	Confounded []Pair   `json:"confounded"`
	Steps      []Fitted `json:"steps"` // in the order of the measurements
}

// Quantity is a calibrated quantity, as text with units.
type Quantity struct {
	Name      string `json:"name"`
	PriorLow  string `json:"prior_low"`
	PriorMid  string `json:"prior_mid"`
	PriorHigh string `json:"prior_high"`
	// Low, Median and High are the 10th, 50th and 90th percentile over the points.
	Low    string `json:"low"`
	Median string `json:"median"`
	High   string `json:"high"`
	// Remains is the width from the 10th to the 90th percentile, as a share of that before.
	Remains float64 `json:"remains"`
}

// Pair is two quantities whose positions are correlated.
type Pair struct {
	A string `json:"a"`
	B string `json:"b"`
	// Correlation is that of the positions over the points. Positive means that the steps allow one to be
	// better where the other is better, too.
	Correlation float64 `json:"correlation"`
}

// Fitted is a measured step with its predictions, in seconds.
type Fitted struct {
	Name     string  `json:"name"`
	Measured float64 `json:"measured_s"`
	Before   float64 `json:"before_s"` // at the middle of the ranges
	// Low, After and High are the smallest, median and largest prediction at the points of the posterior.
	Low   float64 `json:"low_s"`
	After float64 `json:"after_s"`
	High  float64 `json:"high_s"`
}
