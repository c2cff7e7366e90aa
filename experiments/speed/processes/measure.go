package processes

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/runtime/memory"
	"tandem/runtime/process"
	"tandem/runtime/train"
)

// result has the measurements of a case, by way in the order of ways.
type result struct {
	testCase
	Cores int          `json:"cores,omitempty"` // of the machine
	Ways  []*wayResult `json:"ways"`
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
	node    func() (string, error) // finds the program that is a process of a run
	data    *datasets.Dataset
	meter   report.Meter
}

// measure trains every case in every way.
func (p *plan) measure(ctx context.Context, o report.Options) ([]*result, error) {
	data, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: &p.Rows}, "")
	if err != nil {
		return nil, err
	}
	m := &measurement{plan: p, options: o, data: data,
		node:  sync.OnceValues(func() (string, error) { return process.FindNode(ctx) }),
		meter: report.Meter{Total: len(p.Cases) * p.Rounds * len(ways()), Report: o.Progress}}
	return report.MeasureCases(o, &m.meter, p.Cases, testCase.String, func(c testCase) (*result, error) {
		return m.compare(ctx, c)
	})
}

// compare measures one case. All its trainings must agree with the first.
func (m *measurement) compare(ctx context.Context, c testCase) (*result, error) {
	r := &result{testCase: c, Cores: runtime.NumCPU()}
	for _, way := range ways() {
		r.Ways = append(r.Ways, &wayResult{Way: way})
	}
	var first *train.Result
	return r, turns.Rounds(m.Rounds, len(r.Ways), func(_, side int) error {
		w := r.Ways[side]
		trained, err := m.train(ctx, c, w)
		if err == nil && first == nil {
			first = trained
		}
		if err == nil {
			err = agree(c, first, trained)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.Way, err)
		}
		m.meter.Done++
		return nil
	})
}

// train runs one training and adds its measurements.
func (m *measurement) train(ctx context.Context, c testCase, w *wayResult) (*train.Result, error) {
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
	watch := &meter{read: func() turns.Load { return turns.CurrentLoad("/proc", os.Getpid()) }}
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
		trained, err = m.trainInProcesses(ctx, j, source, o)
	}
	if err != nil {
		return nil, err
	}
	w.SamplesPerSecond = append(w.SamplesPerSecond, float64(trained.Samples)/trained.Wall.Seconds())
	if step := watch.perStep(); !math.IsNaN(step.Switches) {
		w.Switches, w.CPU = append(w.Switches, step.Switches), append(w.CPU, 1e3*step.CPU)
	}
	return trained, nil
}

// trainInProcesses trains a job in processes, as its placement says.
func (m *measurement) trainInProcesses(ctx context.Context, j job.Job, source batch.Source, o train.Options,
) (*train.Result, error) {
	folder, err := os.MkdirTemp("", "tandem-job-")
	if err != nil {
		return nil, fmt.Errorf("cannot create a folder for the job: %w", err)
	}
	defer os.RemoveAll(folder)
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "job.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	if j, err = job.Load(file); err != nil {
		return nil, fmt.Errorf("the resolved job: %w", err)
	}
	fingerprint, err := j.Fingerprint()
	if err != nil {
		return nil, err
	}
	data, err := datasets.Fingerprint(j.Data, "")
	if err != nil {
		return nil, err
	}
	node, err := m.node()
	if err != nil {
		return nil, err
	}
	cluster := process.New(process.Options{
		Listen: "127.0.0.1:0", Job: j, Fingerprint: fingerprint, Data: data,
		Command: func(s process.Start) []string {
			return slices.Concat([]string{node}, s.Arguments(), []string{"--file", file})
		},
	})
	o.Cluster = cluster
	result, err := train.Run(ctx, j, source, m.data.Test, o)
	cluster.Close(err)
	return result, err
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
