package fit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"tandem/algo/rng"
	"tandem/internal/parallel"
	"tandem/sim/param"
	"tandem/sim/predict"
)

// sampler evaluates points of the ranges of all measured steps.
type sampler struct {
	ctx     context.Context
	steps   []Measurement
	timers  []*predict.Timer
	options *Options
	vector  param.Vector // the unknown parameters of all jobs; its names are unique
	places  [][]int      // of each step: the position of each parameter of the vector in the job's, or −1
	sizes   []int        // of each step: the number of parameters of the job
	active  []int        // parameters on which a step depends
	middle  state
	seen    []state // all evaluated points that fit
	count   int     // simulations so far
}

// state is a point with the logarithms of predicted ÷ measured of all steps; nil where a job does not fit its
// memory.
type state struct {
	point  param.Point
	errors []float64
}

// loss returns the negative logarithm of the likelihood, but for a constant.
func (s *sampler) loss(x *state) float64 {
	if x.errors == nil {
		return math.Inf(1)
	}
	sum := 0.0
	for m, e := range x.errors {
		e /= s.sigma(m)
		sum += float64(e * e)
	}
	return sum / 2
}

// sigma returns the standard deviation of the error of a step.
func (s *sampler) sigma(step int) float64 {
	if own := s.steps[step].Sigma; own > 0 {
		return own
	}
	return s.options.Sigma
}

// newSampler places the tables of all jobs and collects their unknown parameters. Parameters of the same
// name, range and source are one: the jobs have the same part.
func newSampler(ctx context.Context, steps []Measurement, o *Options) (*sampler, error) {
	s := &sampler{ctx: ctx, steps: steps, options: o}
	found := map[string]int{}
	names := map[string]int{}
	for _, m := range steps {
		timer, err := m.timer(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("fit: %s: %w", m.Name, err)
		}
		s.timers = append(s.timers, timer)
		s.count++
		v := m.Job.Parameters()
		s.sizes = append(s.sizes, len(v))
		places := make([]int, len(s.vector), len(s.vector)+len(v))
		for i := range places {
			places[i] = -1
		}
		for i, e := range v {
			if e.Known() {
				continue
			}
			low, mid, high := e.Span()
			_, source, _ := e.Origin()
			key := fmt.Sprint(e.Name, " ", low, mid, high, source)
			at, ok := found[key]
			if !ok {
				at = len(s.vector)
				found[key] = at
				names[e.Name]++
				if n := names[e.Name]; n > 1 {
					e.Name += "#" + strconv.Itoa(n) // for random numbers of its own
				}
				s.vector = append(s.vector, e)
				places = append(places, -1)
			}
			places[at] = i
		}
		s.places = append(s.places, places)
	}
	for m := range s.places {
		for len(s.places[m]) < len(s.vector) {
			s.places[m] = append(s.places[m], -1)
		}
	}
	return s, nil
}

// timer returns what predicts the measurement.
func (m *Measurement) timer(ctx context.Context, o *Options) (*predict.Timer, error) {
	if m.Collective != "" {
		return predict.NewCollectiveTimer(m.Job, m.Collective, m.Bytes)
	}
	return predict.NewTimer(ctx, m.Job, o.Predict)
}

// name returns the name of a parameter of the vector as its job has it.
func (s *sampler) name(i int) string {
	name, _, _ := strings.Cut(s.vector[i].Name, "#")
	return name
}

// own returns a point of the vector as one of the parameters of a step's job.
func (s *sampler) own(step int, p param.Point) param.Point {
	own := make(param.Point, s.sizes[step])
	for i, at := range s.places[step] {
		if at >= 0 {
			own[at] = p[i]
		}
	}
	return own
}

// evaluate predicts all steps at points. It returns an error only if a job fails for another reason than
// memory.
func (s *sampler) evaluate(points []param.Point) ([]state, error) {
	states := make([]state, len(points))
	n := len(s.steps)
	errors, errs := make([]float64, n*len(points)), make([]error, n*len(points))
	parallel.ForEach(s.workers(), len(errs), func(task int) {
		m := task % n
		var seconds float64
		seconds, errs[task] = s.timers[m].Seconds(s.ctx, s.own(m, points[task/n]))
		errors[task] = math.Log(seconds / s.steps[m].Seconds)
	})
	for k := range points {
		states[k] = state{points[k], errors[k*n : (k+1)*n]}
		for m, err := range errs[k*n : (k+1)*n] {
			switch {
			case err == nil:
			case predict.DoesNotFit(err):
				states[k].errors = nil
			default:
				return nil, fmt.Errorf("fit: %s: %w", s.steps[m].Name, err)
			}
		}
		if states[k].errors != nil {
			s.seen = append(s.seen, states[k])
		}
	}
	s.count += len(errs)
	if s.options.Progress != nil {
		s.options.Progress(s.count)
	}
	return states, nil
}

// workers returns the number of simulations at once.
func (s *sampler) workers() int {
	if s.options.Workers > 0 {
		return s.options.Workers
	}
	return parallel.Cores()
}

// prior evaluates the Latin hypercube, and the middle and the ends of all ranges together.
func (s *sampler) prior() ([]state, error) {
	points := s.vector.Sample(s.options.Prior, s.options.Seed)
	ends, err := s.evaluate([]param.Point{s.vector.Everywhere(0), s.vector.Everywhere(-1),
		s.vector.Everywhere(1)})
	if err != nil {
		return nil, err
	}
	s.middle = ends[0]
	return s.evaluate(points)
}

// activeStarts is the number of points at which each parameter moves alone, and activeShare the share of
// sigma by which a step must change for its parameter to count.
const (
	activeStarts = 4
	activeShare  = 0.1
)

// chooseActive finds the parameters on which a step depends: at one of a few points, the step changes by more
// than a tenth of sigma if the parameter alone moves to its farther end.
func (s *sampler) chooseActive(prior []state) error {
	var starts []state
	for _, x := range prior {
		if x.errors != nil && len(starts) < activeStarts {
			starts = append(starts, x)
		}
	}
	var points []param.Point
	for i := range s.vector {
		for _, x := range starts {
			p := append(param.Point(nil), x.point...)
			p[i] = 1
			if x.point[i] > 0 {
				p[i] = -1
			}
			points = append(points, p)
		}
	}
	moved, err := s.evaluate(points)
	if err != nil {
		return err
	}
	for i := range s.vector {
		depends := false
		for k, x := range starts {
			to := moved[i*len(starts)+k]
			for m := range to.errors {
				if math.Abs(to.errors[m]-x.errors[m]) > activeShare*s.sigma(m) {
					depends = true
				}
			}
		}
		if depends {
			s.active = append(s.active, i)
		}
	}
	return nil
}

// random returns the random numbers of a purpose.
func (s *sampler) random(purpose string, ids ...uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.options.Seed, rng.Key(s.options.Seed, "sim/fit/"+purpose, ids...)))
}
