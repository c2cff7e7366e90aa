package modules

import (
	"context"
	_ "embed" // of PyTorch's side
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/datasets"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/runtime/memory"
	"tandem/runtime/torch"
	"tandem/runtime/train"
)

//go:embed peer.py
var peerScript string

// result has the measurements of a case.
type result struct {
	testCase
	Cores   int           `json:"cores"` // of the machine
	PyTorch pytorch.About `json:"pytorch"`
	Ways    []*wayResult  `json:"ways"` // in the order of the plan
	// A forward and a backward pass of the module: in the script's process, and by Tandem in another.
	PassAlone    passResult `json:"pass_alone"`
	PassOfTandem passResult `json:"pass_of_tandem"`
}

// passResult has the time of a pass, and that of all cores, by round: seconds.
type passResult struct {
	Wall []float64 `json:"wall_s"`
	CPU  []float64 `json:"cpu_s"`
}

// wayResult has the measurements of a training that runs in a way, by round.
type wayResult struct {
	Way              string    `json:"way"`
	SamplesPerSecond []float64 `json:"samples_per_s"`
	// CPU is microseconds of all cores a sample.
	CPU []float64 `json:"cpu_us_per_sample"`
}

// way is how a case is trained: by a script with threads, or with ranks.
type way struct {
	name           string
	threads, ranks int
}

// The ways.
const (
	script1 = "script, 1 thread"
	script2 = "script, 2 threads"
	rank1   = "Tandem, 1 rank"
	rank2   = "Tandem, 2 ranks"
)

func ways() []way { return []way{{script1, 1, 0}, {script2, 2, 0}, {rank1, 0, 1}, {rank2, 0, 2}} }

// waysOf returns the ways of the plan.
func (p *plan) waysOf() []way {
	return slices.DeleteFunc(ways(), func(w way) bool { return p.Quick && w.name == script2 })
}

// stand is one case with its rows and processes.
type stand struct {
	*plan
	testCase
	data    *datasets.Dataset
	peer    *pytorch.Peer
	modules *torch.Modules
	options report.Options
	loss    float64 // of the first training
}

// measure trains every case in every way.
func (p *plan) measure(ctx context.Context, o report.Options, python *report.Python) ([]*result, error) {
	interpreter, err := python.With(ctx, "torch, numpy")
	if err != nil {
		return nil, err
	}
	peer, _, err := pytorch.Start(ctx, python, "PyTorch", peerScript)
	if err != nil {
		return nil, err
	}
	defer peer.Close()
	meter := &report.Meter{Total: len(p.Cases) * p.Rounds * len(p.waysOf()), Report: o.Progress}
	return report.MeasureCases(o, meter, p.Cases, testCase.name, func(c testCase) (*result, error) {
		s := &stand{plan: p, testCase: c, peer: peer, options: o,
			modules: torch.FromEnvironment(os.Stderr)}
		s.modules.Python = interpreter
		defer s.modules.Close()
		return s.measure(ctx, meter)
	})
}

// measure measures the case.
func (s *stand) measure(ctx context.Context, meter *report.Meter) (*result, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	passes, err := s.newPasses()
	if err != nil {
		return nil, err
	}
	r := &result{testCase: s.testCase, Cores: runtime.NumCPU(), PyTorch: s.peer.About}
	for _, w := range s.waysOf() {
		meter.Show(0, 1, s.name()+", warm-up of "+w.name)
		if err := s.train(ctx, w, &wayResult{}); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		r.Ways = append(r.Ways, &wayResult{Way: w.name})
	}
	return r, turns.Rounds(s.Rounds, len(r.Ways), func(_, side int) error {
		w := s.waysOf()[side]
		meter.Show(0, 1, s.name()+", "+w.name)
		if err := s.train(ctx, w, r.Ways[side]); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		meter.Done++
		if w.name != rank1 {
			return nil
		}
		return s.measurePasses(ctx, passes, r)
	})
}

// open makes the rows, and gives them to the peer.
func (s *stand) open(ctx context.Context) (err error) {
	rows := s.Rows
	rows.TrainRows = s.Train
	if s.data, err = datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: &rows}, ""); err != nil {
		return err
	}
	values := map[string]any{}
	ids := pytorch.AddRows(values, s.data)
	files, err := pytorch.NewFiles(values)
	if err != nil {
		return err
	}
	defer files.Remove()
	slots := []string{}
	for _, slot := range s.schema().Slots {
		slots = append(slots, slot.Name)
	}
	return s.peer.Request(ctx, "open", map[string]any{"files": files.Paths, "case": map[string]any{
		"source": Source, "class": s.Class, "arguments": s.Arguments, "slots": slots, "dim": dim,
		"numbers": s.Rows.Numeric, "batch": s.Batch, "ids": ids}}, &struct{}{})
}

// schema returns the schema of the rows.
func (s *stand) schema() *batch.Schema {
	schema := datasets.WithDim(s.data.Schema, dim)
	return &schema
}

// train trains once and adds its measurements.
func (s *stand) train(ctx context.Context, w way, r *wayResult) error {
	runtime.GC()
	before := processorTime()
	seconds, loss, err := 0.0, 0.0, error(nil)
	if w.ranks > 0 {
		seconds, loss, err = s.trainRanks(ctx, w.ranks)
	} else {
		var answer struct{ Seconds, Loss float64 }
		err = s.peer.Request(ctx, "train", map[string]any{"threads": w.threads}, &answer)
		seconds, loss = answer.Seconds, answer.Loss
	}
	if err != nil {
		return err
	}
	used := processorTime() - before
	if s.loss == 0 {
		s.loss = loss
	}
	if !(math.Abs(loss-s.loss) <= lossTolerance*s.loss) {
		return fmt.Errorf("the loss on the test rows is %v, in the first training %v", loss, s.loss)
	}
	r.SamplesPerSecond = append(r.SamplesPerSecond, float64(s.Train)/seconds)
	r.CPU = append(r.CPU, 1e6*used/float64(s.Train))
	return nil
}

// processorTime returns the seconds that this process and its children have had of all cores. What a turn
// adds to it is that of its side, as the others are idle.
func processorTime() float64 { return turns.CurrentLoad("/proc", os.Getpid()).CPU }

// lossTolerance is the largest relative difference between losses of trainings, which begin with other rows
// and parameters and are short: one that learns nothing has 0.69, and trainings end between 0.5 and 0.65.
const lossTolerance = 0.1

// trainRanks trains with Tandem, and returns seconds and loss.
func (s *stand) trainRanks(ctx context.Context, ranks int) (seconds, loss float64, err error) {
	j := s.job(s.testCase, ranks)
	source, err := datasets.TrainingSource(s.data, &j)
	if err != nil {
		return 0, 0, err
	}
	var arena memory.Arena
	defer arena.Close()
	machine := backend.Backend{Products: s.options.Backend.Products, Arena: &arena, Torch: s.modules.Engine}
	trained, err := train.Run(ctx, j, source, s.data.Test, train.Options{Backend: machine})
	if err != nil {
		return 0, 0, err
	}
	return trained.Wall.Seconds(), trained.LogLoss, nil
}

// passes does forward and backward passes of the module over the same samples in the Python of a rank.
type passes struct {
	of     model.Pass
	engine model.Engine
	values model.Values
	input  model.Input
	grads  []float32
}

// newPasses returns passes of the module of a rank.
func (s *stand) newPasses() (*passes, error) {
	j := s.job(s.testCase, 1)
	engine, err := s.modules.Engine(&j, s.schema())
	if err != nil {
		return nil, err
	}
	p := &passes{engine: engine, of: engine.NewPass(s.Batch)}
	if p.values, err = model.InitialValues(engine, s.Seed); err != nil {
		return nil, err
	}
	l := engine.Layout()
	p.grads = make([]float32, l.Params)
	p.input = model.Input{Samples: s.Batch, Embeddings: make([]float32, s.Batch*l.EmbeddingWidth),
		Dense: make([]float32, s.Batch*l.DenseWidth), Labels: make([]float32, s.Batch),
		EmbeddingGrad: make([]float32, s.Batch*l.EmbeddingWidth)}
	for i := range p.input.Embeddings {
		p.input.Embeddings[i] = float32(i%17) / 17
	}
	for i := range p.input.Dense {
		p.input.Dense[i] = float32(i%13) / 13
	}
	return p, nil
}

// Run implements turns.Side.
func (p *passes) Run(ctx context.Context, steps int) (time.Duration, error) {
	return turns.Time(ctx, steps, func() error {
		p.of.Forward(p.values.Params, p.values.Running, p.input, true)
		for bucket := range p.engine.Layout().Buckets {
			p.of.Backward(p.values.Params, bucket, p.grads)
		}
		p.of.EmbeddingGrad()
		return p.engine.Err()
	})
}

// alone is the side of the same passes in the script's process.
type alone struct{ *pytorch.Peer }

// Run implements turns.Side.
func (a alone) Run(ctx context.Context, steps int) (time.Duration, error) {
	var answer struct{ Seconds float64 }
	err := a.Request(ctx, "pass", map[string]any{"threads": 1, "steps": steps}, &answer)
	return time.Duration(answer.Seconds * float64(time.Second)), err
}

// passParts is the number of parts of a window of passes, between which the sides alternate.
const passParts = 5

// measurePasses adds the seconds of a pass, alone and by Tandem.
func (s *stand) measurePasses(ctx context.Context, tandem *passes, r *result) error {
	steps, err := turns.StepsOf(ctx, tandem, s.Window/passParts)
	if err != nil {
		return err
	}
	var wall, cpu [2]float64
	for range passParts {
		for i, side := range []turns.Side{alone{s.peer}, tandem} {
			before := processorTime()
			took, err := side.Run(ctx, steps)
			if err != nil {
				return err
			}
			wall[i] += took.Seconds() / float64(passParts*steps)
			cpu[i] += (processorTime() - before) / float64(passParts*steps)
		}
	}
	for i, of := range []*passResult{&r.PassAlone, &r.PassOfTandem} {
		of.Wall, of.CPU = append(of.Wall, wall[i]), append(of.CPU, cpu[i])
	}
	return nil
}
