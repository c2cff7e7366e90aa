package processes

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/runtime/memory"
	"tandem/runtime/train"
)

// result has the measurements of a case, by way in the order of ways.
type result struct {
	testCase
	Ways []*wayResult `json:"ways"`
}

// wayResult has the measurements of a training that runs in a way, by round.
type wayResult struct {
	Way              string    `json:"processes"`
	SamplesPerSecond []float64 `json:"samples_per_s"`
	// Switches is the context switches of a step, CPU the milliseconds of all cores; empty on systems that do
	// not report them.
	Switches []float64 `json:"switches_per_step,omitempty"`
	CPU      []float64 `json:"cpu_ms_per_step,omitempty"`
}

// measurement is the state of one measurement.
type measurement struct {
	*plan
	options report.Options
	node    string
	data    *datasets.Dataset
	log     *report.Log
	meter   report.Meter
}

// compare measures one case. In each round, all ways take turns; the one that begins rotates.
func (m *measurement) compare(ctx context.Context, c testCase) (*result, error) {
	r := &result{testCase: c}
	for _, way := range ways() {
		r.Ways = append(r.Ways, &wayResult{Way: way})
	}
	var first *train.Result
	for round := range m.Rounds {
		for i := range r.Ways {
			w := r.Ways[(i+round)%len(r.Ways)]
			trained, err := m.train(ctx, c, w, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.Way, err)
			}
			if first == nil {
				first = trained
			}
			if err := agree(c, first, trained); err != nil {
				return nil, fmt.Errorf("%s: %w", w.Way, err)
			}
			m.meter.Done++
		}
	}
	return r, nil
}

// train runs one training and adds its measurements.
func (m *measurement) train(ctx context.Context, c testCase, w *wayResult, round int) (*train.Result, error) {
	j, err := m.job(c, w.Way)
	if err != nil {
		return nil, err
	}
	source, err := datasets.TrainingSource(m.data, &j)
	if err != nil {
		return nil, err
	}
	var arena memory.Arena
	defer arena.Close()
	watch := &meter{read: func() load { return currentLoad("/proc", os.Getpid()) }}
	o := train.Options{Backend: m.options.Backend, Progress: func(done, steps int) {
		watch.progress(done, steps)
		m.meter.Show(done, steps, fmt.Sprintf("%v, %s", c, w.Way))
	}}
	runtime.GC()
	var trained *train.Result
	if w.Way == inProcess {
		o.Backend.Arena = &arena
		trained, err = train.Run(ctx, j, source, m.data.Test, o)
	} else {
		trained, err = trainInProcesses(ctx, m.node, j, source, m.data.Test, o)
	}
	if err != nil {
		return nil, err
	}
	rate, step := float64(trained.Samples)/trained.Wall.Seconds(), watch.perStep()
	w.SamplesPerSecond = append(w.SamplesPerSecond, rate)
	if !math.IsNaN(step.switches) {
		w.Switches, w.CPU = append(w.Switches, step.switches), append(w.CPU, 1e3*step.cpu)
	}
	return trained, m.log.Add(c.Mode, strconv.Itoa(c.Ranks), strconv.Itoa(c.Batch), strconv.Itoa(round+1),
		w.Way, report.Number(rate), report.Number(step.switches), report.Number(1e3*step.cpu))
}

// lossTolerance is the largest relative difference between the losses of trainings whose rows may be late.
const lossTolerance = 0.05

// agree returns an error if two trainings of a case differ: in their bits if no row is ever late.
func agree(c testCase, a, b *train.Result) error {
	if c.Mode == job.Sync {
		if a.DenseDigest != b.DenseDigest || a.RowsDigest != b.RowsDigest {
			return fmt.Errorf("the trained bits differ: network %x and rows %x, in the first training %x "+
				"and %x", b.DenseDigest, b.RowsDigest, a.DenseDigest, a.RowsDigest)
		}
		return nil
	}
	if !(math.Abs(a.LogLoss-b.LogLoss) <= lossTolerance*a.LogLoss) {
		return fmt.Errorf("the loss on the test rows is %v, in the first training %v", b.LogLoss, a.LogLoss)
	}
	return nil
}
