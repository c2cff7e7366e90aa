package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/script"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/engine"
)

// machine is what a plan is measured on.
type machine struct {
	device    *cuda.Device
	libraries cuda.Libraries
	peer      *peer // nil without PyTorch
}

// side does steps of an open case.
type side interface {
	// run does a number of steps and returns their time.
	run(ctx context.Context, steps int) (time.Duration, error)
}

// Names of Tandem's sides.
const (
	stepSide     = "step"
	samplesSide  = "samples"
	hostSumsSide = "host sums"
	productsSide = "products"
)

// result holds the measurements of a case.
type result struct {
	testCase
	// Seconds are those of a step, by side and round. PyTorch's sides are absent without it, and where Agreed
	// or Failed say why.
	Seconds map[string][]float64 `json:"seconds"`
	// Agreed has, by way of PyTorch, how far its first steps are from Tandem's, and Failed what PyTorch says
	// about a way that failed.
	Agreed map[string]agreement `json:"agreed,omitempty"`
	Failed map[string]string    `json:"failed,omitempty"`
	// FLOP is the number of additions and multiplications in the products of a step.
	FLOP float64 `json:"flop"`
	// Training is samples per second of trainings, by round.
	Training []float64 `json:"training_samples_per_s"`
	// Error says why the case was not measured, for example because it does not fit on the GPU.
	Error string `json:"error,omitempty"`
}

// measurement is the state of one measurement.
type measurement struct {
	*plan
	machine
	log   *report.Log
	meter *report.Meter
	gpus  map[string]*engine.GPUs // by precision
	in    *inputs                 // of the case in hand
	data  *datasets.Dataset       // of trainings
	seed  uint64
}

// measure runs every case. One that fails does not keep the others from running; it is an error if all fail.
func (p *plan) measure(ctx context.Context, o report.Options, on machine) (results []*result, err error) {
	log, err := o.NewLog("gpu.csv", "network", "batch", "precision", "round", "side", "steps", "step_s")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m := measurement{plan: p, machine: on, log: log, gpus: map[string]*engine.GPUs{}, seed: o.Seed,
		meter: &report.Meter{Total: len(p.Cases), Report: o.Progress}}
	defer func() { m.release() }()
	measured, failed := false, error(nil)
	for i := range p.Cases {
		c := &p.Cases[i]
		if i == 0 || p.Cases[i-1].Network != c.Network || p.Cases[i-1].Batch != c.Batch {
			m.release()
			if m.in, err = newInputs(c.Network, c.Batch, o.Seed); err != nil {
				return nil, err
			}
		}
		r, err := m.compare(ctx, c, o)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", c, err))
			r = &result{testCase: *c, Error: err.Error()}
		default:
			measured = true
		}
		results = append(results, r)
		m.meter.Done++
	}
	if !measured {
		return nil, failed
	}
	return results, nil
}

// release deletes the values of the case in hand.
func (m *measurement) release() {
	if m.in != nil {
		m.in.remove()
	}
	m.in = nil
}

// gpu returns the engine of a precision.
func (m *measurement) gpu(precision string) (*engine.GPUs, error) {
	if g := m.gpus[precision]; g != nil {
		return g, nil
	}
	g, err := engine.Open(m.libraries, m.jobOf(precision))
	if err == nil {
		m.gpus[precision] = g
	}
	return g, err
}

// compare measures one case: steps, then trainings.
func (m *measurement) compare(ctx context.Context, c *testCase, o report.Options) (*result, error) {
	m.meter.Show(0, 1, c.String())
	r := &result{testCase: *c, Seconds: map[string][]float64{}, Agreed: map[string]agreement{},
		Failed: map[string]string{}}
	if err := m.steps(ctx, r); err != nil {
		return nil, err
	}
	return r, m.train(ctx, r, o)
}

// steps measures the steps of a case.
func (m *measurement) steps(ctx context.Context, r *result) (err error) {
	g, err := m.gpu(r.Precision)
	if err != nil {
		return err
	}
	stays, err := newReplica(g, m.in, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stays.Close()) }()
	travels, err := newReplica(g, m.in, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, travels.Close()) }()
	ours, err := travels.firstSteps()
	if err != nil {
		return err
	}
	if err := stays.step(); err != nil {
		return err
	}
	alone, err := newProducts(m.device, stays.Products(), m.Window)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.Close()) }()
	r.FLOP = float64(alone.flops)
	turns := []*turn{
		{side: steps{stays, true}, name: stepSide}, {side: steps{stays, false}, name: samplesSide},
		{side: steps{travels, false}, name: hostSumsSide}, {side: alone, name: productsSide},
	}
	ways, err := m.ways(ctx, r, ours)
	if err != nil {
		return err
	}
	if err := m.rounds(ctx, r, append(turns, ways...)); err != nil || m.peer == nil {
		return err
	}
	return m.peer.close(ctx)
}

// ways returns the ways of PyTorch whose first steps are those of Tandem. If its process fails, the case and
// all later ones are measured without it.
func (m *measurement) ways(ctx context.Context, r *result, ours *first) (turns []*turn, err error) {
	if m.peer == nil {
		return nil, nil
	}
	name := eager
	if err = m.peer.open(ctx, &r.testCase, m.in); err == nil {
		for _, name = range m.peer.about.Ways {
			w := way{m.peer, name}
			m.meter.Show(0, 1, r.String()+", PyTorch "+name)
			var within bool
			if within, err = m.check(ctx, r, w, ours); err != nil {
				break
			}
			if within {
				turns = append(turns, &turn{side: w, name: name})
			}
		}
	}
	if err == nil || ctx.Err() != nil {
		return turns, err
	}
	r.Failed[name], m.peer = err.Error(), nil
	return nil, nil
}

// check reports whether the first steps of a way are those of Tandem, and keeps why not.
func (m *measurement) check(ctx context.Context, r *result, w way, ours *first) (bool, error) {
	theirs, err := w.firstSteps(ctx, m.in)
	var failure *script.Failure
	if errors.As(err, &failure) {
		r.Failed[w.name] = failure.Text
		return false, nil
	}
	if err != nil {
		return false, err
	}
	a := compare(ours, theirs, m.in.engine.Layout(), r.Precision)
	r.Agreed[w.name] = a
	return a.Within, nil
}

// turn is the part of one side in a case.
type turn struct {
	side
	name  string
	steps int // per round
}

// warmUps is the number of steps before the measurement: Tandem and torch.compile record graphs in the first
// ones.
const warmUps = 4

// rounds measures all sides in turns. The side that begins rotates.
func (m *measurement) rounds(ctx context.Context, r *result, turns []*turn) error {
	for _, t := range turns {
		if _, err := t.run(ctx, warmUps); err != nil {
			return err
		}
		took, err := t.run(ctx, 1)
		if err != nil {
			return err
		}
		t.steps = int(math.Ceil(m.Window.Seconds() / max(took.Seconds(), 1e-6)))
	}
	for round := range m.Rounds {
		m.meter.Show(round, m.Rounds, r.String())
		for i := range turns {
			if err := m.turn(ctx, r, turns[(i+round)%len(turns)], round); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn measures the part of one side in a round.
func (m *measurement) turn(ctx context.Context, r *result, t *turn, round int) error {
	runtime.GC()
	took, err := t.run(ctx, t.steps)
	if err != nil {
		return err
	}
	seconds := took.Seconds() / float64(t.steps)
	r.Seconds[t.name] = append(r.Seconds[t.name], seconds)
	return m.add(r, round, t.name, t.steps, seconds)
}

// add adds a line to the log.
func (m *measurement) add(r *result, round int, side string, steps int, seconds float64) error {
	return m.log.Add(r.Network.Name, strconv.Itoa(r.Batch), r.Precision, strconv.Itoa(round+1), side,
		strconv.Itoa(steps), report.Number(seconds))
}

// fastestCompiled returns the seconds of the faster of the two ways of torch.compile, and its name, or nil.
func (r *result) fastestCompiled() (seconds []float64, name string) {
	for _, way := range []string{compiled, compiledGraphs} {
		if own := r.Seconds[way]; own != nil &&
			(seconds == nil || report.Median(own) < report.Median(seconds)) {
			seconds, name = own, way
		}
	}
	return seconds, name
}

// quartiles are the median of a value over rounds, and its quartiles.
type quartiles struct{ Low, Median, High float64 }

// quartilesOf returns the quartiles of one or more values, interpolated between neighbours.
func quartilesOf(values []float64) quartiles {
	sorted := slices.Sorted(slices.Values(values))
	at := func(share float64) float64 {
		position := share * float64(len(sorted)-1)
		below := int(position)
		above := min(below+1, len(sorted)-1)
		return sorted[below] + (position-float64(below))*(sorted[above]-sorted[below])
	}
	return quartiles{at(0.25), at(0.5), at(0.75)}
}

// ratios returns the quartiles of a ÷ b, by round. What slows both sides of a round cancels.
func ratios(a, b []float64) quartiles {
	of := make([]float64, len(a))
	for i := range of {
		of[i] = a[i] / b[i]
	}
	return quartilesOf(of)
}
