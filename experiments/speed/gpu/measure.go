package gpu

import (
	"context"
	_ "embed" // of PyTorch's side
	"errors"
	"fmt"
	"runtime"
	"slices"

	"tandem/datasets"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/script"
	"tandem/experiments/internal/turns"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/engine"
)

//go:embed peer.py
var peerScript string

// machine is what a case was measured on.
type machine struct {
	GPU    string `json:"gpu"`
	Driver string `json:"driver_cuda"` // the version of CUDA that the driver supports
	// PyTorch is nil without it, for the reason NoPyTorch.
	PyTorch   *pytorch.About `json:"pytorch,omitempty"`
	NoPyTorch string         `json:"no_pytorch,omitempty"`
	// Numbers of roles of trainings.
	EmbeddingWorkers int `json:"embedding_workers"`
	EmbeddingPSs     int `json:"embedding_pss"`
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
	Machine machine `json:"machine,omitzero"` // zero in results of earlier versions
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
	// Shared is the same of trainings whose rows are on several GPUs together, by their number.
	Shared map[int][]float64 `json:"shared_training_samples_per_s,omitempty"`
	// Predicted has the predictions of the trainings, by the number of GPUs; nil without a profile of these.
	Predicted map[int]*prediction `json:"predicted,omitempty"`
	// Error says why the case was not measured, for example because it does not fit on the GPU.
	Error string `json:"error,omitempty"`
}

// measurement is the state of one measurement.
type measurement struct {
	*plan
	machine
	options   report.Options
	libraries cuda.Libraries
	device    *cuda.Device
	peer      *pytorch.Peer // nil without PyTorch
	meter     *report.Meter
	in        *inputs           // of the case in hand
	data      *datasets.Dataset // of trainings
}

// measure opens the GPU and PyTorch, and measures every case.
func (p *plan) measure(ctx context.Context, o report.Options, libraries cuda.Libraries, python *report.Python,
) ([]*result, error) {
	if err := missing(libraries); err != nil {
		return nil, err
	}
	driver, err := cuda.Open(libraries)
	if err != nil {
		return nil, err
	}
	device, err := driver.Open(p.ordinal)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	peer, absent, err := pytorch.Start(ctx, python, "PyTorch", peerScript, p.Device)
	if err != nil {
		return nil, err
	}
	m := &measurement{plan: p, options: o, libraries: libraries, device: device, peer: peer,
		machine: machine{GPU: device.Info().String(), Driver: driver.Version(), NoPyTorch: absent}}
	if peer != nil {
		defer peer.Close()
		m.PyTorch = &peer.About
	}
	return m.all(ctx)
}

// all measures every case. One that fails does not keep the others from running; it is an error if all fail.
func (m *measurement) all(ctx context.Context) ([]*result, error) {
	// Half of the cores go to embedding PSs, and a quarter to embedding workers.
	m.EmbeddingWorkers, m.EmbeddingPSs = max(1, runtime.NumCPU()/4), max(1, runtime.NumCPU()/2)
	m.meter = &report.Meter{Total: len(m.Cases), Unit: "cases", Report: m.options.Progress}
	var failed error
	results, err := report.MeasureCases(m.options, m.meter, m.Cases, testCase.String,
		func(c testCase) (*result, error) {
			r := &result{testCase: c, Machine: m.machine, Seconds: map[string][]float64{},
				Agreed: map[string]agreement{}, Failed: map[string]string{}}
			err := m.compare(ctx, r)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", c, err))
				r = &result{testCase: c, Machine: m.machine, Error: err.Error()}
			}
			return r, nil
		})
	if err == nil && len(measured(results)) == 0 {
		err = failed
	}
	return results, err
}

// measured returns the results without those of cases that were not measured.
func measured(results []*result) []*result {
	return slices.DeleteFunc(slices.Clone(results), func(r *result) bool { return r.Error != "" })
}

// compare measures one case: steps, then trainings.
func (m *measurement) compare(ctx context.Context, r *result) (err error) {
	if r.Tables > 0 {
		return m.compareTables(ctx, r)
	}
	m.meter.Show(0, 1, r.String())
	if m.in, err = newInputs(r.testCase, m.Seed); err != nil {
		return err
	}
	defer m.in.Files.Remove()
	if err := m.steps(ctx, r); err != nil {
		return err
	}
	return m.train(ctx, r)
}

// gpus opens the GPU for a precision.
func (m *measurement) gpus(precision string) (*engine.GPUs, error) {
	j := m.job(precision)
	return engine.Open(m.libraries, &j)
}

// steps measures the steps of a case.
func (m *measurement) steps(ctx context.Context, r *result) (err error) {
	g, err := m.gpus(r.Precision)
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
	ways, err := m.ways(ctx, r, ours)
	if err != nil {
		return err
	}
	sides := append([]*side{
		{Side: steps{stays, true}, name: stepSide}, {Side: steps{stays, false}, name: samplesSide},
		{Side: steps{travels, false}, name: hostSumsSide}, {Side: alone, name: productsSide},
	}, ways...)
	if err := m.rounds(ctx, r, sides); err != nil || m.peer == nil {
		return err
	}
	return m.peer.Request(ctx, "close", nil, &struct{}{})
}

// ways returns the ways of PyTorch whose first dense steps are those of Tandem.
func (m *measurement) ways(ctx context.Context, r *result, ours *first) ([]*side, error) {
	return m.waysOf(ctx, r, m.in.Files, func(w way) (agreement, error) {
		theirs, err := w.firstSteps(ctx, m.in)
		if err != nil {
			return agreement{}, err
		}
		return compare(ours, theirs, m.in.Engine.Layout(), r.Precision), nil
	})
}

// waysOf returns the ways of PyTorch whose first steps are those of Tandem, by a comparison of both. If its
// process fails, the case and all later ones are measured without it.
func (m *measurement) waysOf(ctx context.Context, r *result, files *pytorch.Files,
	compared func(way) (agreement, error)) (ways []*side, err error) {
	if m.peer == nil {
		return nil, nil
	}
	name := eager
	if err = m.peer.Request(ctx, "open", map[string]any{"case": r.testCase,
		"files": files.Paths}, &struct{}{}); err == nil {
		for _, name = range m.peer.About.Ways {
			w := way{m.peer, name}
			m.meter.Show(0, 1, r.String()+", PyTorch "+name)
			var within bool
			if within, err = check(r, w, compared); err != nil {
				break
			}
			if within {
				ways = append(ways, &side{Side: w, name: name})
			}
		}
	}
	if err == nil || ctx.Err() != nil {
		return ways, err
	}
	r.Failed[name], m.peer = err.Error(), nil
	return nil, nil
}

// check reports whether the first steps of a way are those of Tandem, and keeps why not.
func check(r *result, w way, compared func(way) (agreement, error)) (bool, error) {
	a, err := compared(w)
	if failure, ok := errors.AsType[*script.Failure](err); ok {
		r.Failed[w.name] = failure.Text
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.Agreed[w.name] = a
	return a.Within, nil
}

// side is one of the sides of a case.
type side struct {
	turns.Side
	name  string
	steps int // per round
}

// warmUps is the number of steps before the measurement: Tandem and torch.compile record graphs in the first
// ones.
const warmUps = 4

// rounds measures all sides in turns.
func (m *measurement) rounds(ctx context.Context, r *result, sides []*side) (err error) {
	for _, s := range sides {
		if _, err := s.Run(ctx, warmUps); err != nil {
			return err
		}
		if s.steps, err = turns.StepsOf(ctx, s, m.Window); err != nil {
			return err
		}
	}
	return turns.Rounds(m.Rounds, len(sides), func(round, i int) error {
		m.meter.Show(round, m.Rounds, r.String())
		runtime.GC()
		s := sides[i]
		took, err := s.Run(ctx, s.steps)
		r.Seconds[s.name] = append(r.Seconds[s.name], took.Seconds()/float64(s.steps))
		return err
	})
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
