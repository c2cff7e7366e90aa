package gpu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/internal/cli"
	"tandem/runtime/cuda/engine"
)

// tablesSide names Tandem's step with tables. PyTorch's steps have the names of its ways.
const tablesSide = "tables"

// goalTables is the goal of Tandem's rate ÷ the higher rate of PyTorch's two compiled steps.
//
// Source: the goal that was set for this comparison before its first run.
const goalTables = 1.3

// tableBatches is the number of batches that a case with tables trains in turn.
const tableBatches = 4

// tableInputs are the batches of a case with tables. All rows exist, and begin with zeros.
type tableInputs struct {
	*pytorch.Inputs
	schema *batch.Schema
	parts  []batch.Part
}

// newTableInputs draws the batches of a case: one id for each slot, with a frequency of about 1 ÷ its number.
func newTableInputs(c testCase, seed uint64) (*tableInputs, error) {
	drawn, err := pytorch.Draw(c.Network, c.Batch, seed, nil)
	if err != nil {
		return nil, err
	}
	in := &tableInputs{Inputs: drawn, schema: c.Network.Schema()}
	random, rows := rng.New(seed, "gpu/tables"), float64(c.Tables)
	var ids []int64 // of rows in one table that has those of all slots, sample by sample
	for range tableBatches {
		b := &batch.Batch{Samples: c.Batch, Slots: make([]batch.Jagged, c.Network.Slots), Dense: in.Dense,
			Labels: in.Labels}
		for s := range b.Slots {
			b.Slots[s].Offsets = []int32{0}
		}
		for i := range c.Batch {
			for s := range b.Slots {
				id := min(uint64(math.Pow(rows, random.Float64())), uint64(c.Tables)) - 1
				b.Slots[s].IDs = append(b.Slots[s].IDs, id)
				b.Slots[s].Offsets = append(b.Slots[s].Offsets, int32(i+1))
				ids = append(ids, int64(s*c.Tables)+int64(id))
			}
		}
		in.parts = append(in.parts, batch.Part{Batch: b, Bounds: []int{0, c.Batch}})
	}
	if err := in.Files.Write("ids", ids); err != nil {
		in.Files.Remove()
		return nil, err
	}
	return in, nil
}

// rowOptimizer returns the optimizer of the tables, on both sides.
func rowOptimizer() opt.RowSpec {
	o := opt.DefaultRow()
	o.Kind, o.Order, o.Rate, o.Epsilon, o.InitialAccumulator = opt.RowwiseAdagrad, opt.After, 0.01, 1e-8, 0
	o.WeightBound = 0
	return o
}

// tableSteps is a side: Tandem's step with its tables on the GPU, whose ids come from the host.
type tableSteps struct {
	*engine.Measured
	in    *tableInputs
	steps int
}

// newTableSteps returns the side with all rows of all tables.
func newTableSteps(g *engine.GPUs, c testCase, in *tableInputs) (*tableSteps, error) {
	dense, rows := opt.DefaultDense(), rowOptimizer()
	m, err := g.NewMeasured(in.Engine, model.ReplicaConfig{Ranks: 1, Initial: in.Initial, Optimizer: &dense,
		Groups: 1, SamplesMax: c.Batch, Summed: true, Rows: &model.RowsConfig{Schema: in.schema,
			Dim: c.Network.Dim, Optimizer: rows, Capacity: c.Tables * c.Network.Slots}})
	if err != nil {
		return nil, err
	}
	n := c.Tables * c.Network.Slots
	all := &table.Columns{Updates: make([]uint32, n), Read: make([]uint8, n),
		Embeddings: make([]byte, 4*n*c.Network.Dim), States: make([]byte, 4*n)}
	for s := range in.schema.Slots {
		signer := in.schema.Signer(s)
		for id := range uint64(c.Tables) {
			all.Signs = append(all.Signs, signer.Sign(id, 0))
		}
	}
	if err := m.Rows().AddRows(all); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return &tableSteps{Measured: m, in: in}, nil
}

func (s *tableSteps) step() error {
	part := &s.in.parts[s.steps%tableBatches]
	rate := float32(rowOptimizer().Rate)
	if err := s.Rows().Forward(part, part.Slots, nil, nil, rate, part.Samples); err != nil {
		return err
	}
	_, notFinite, err := s.Backward(func(int32) {})
	if err != nil {
		return err
	}
	if notFinite != "" {
		return fmt.Errorf("not finite after %d steps: %s", s.steps, notFinite)
	}
	s.steps++
	return s.StepSum(s.Gradients(), s.in.Samples, s.steps-1)
}

// Run implements turns.Side.
func (s *tableSteps) Run(ctx context.Context, n int) (time.Duration, error) {
	begin := time.Now()
	if _, err := turns.Time(ctx, n, s.step); err != nil {
		return 0, err
	}
	err := s.Sync()
	return time.Since(begin), err
}

// compareTables measures a case with tables: steps of both sides, then trainings.
func (m *measurement) compareTables(ctx context.Context, r *result) (err error) {
	m.meter.Show(0, 1, r.String())
	in, err := newTableInputs(r.testCase, m.Seed)
	if err != nil {
		return err
	}
	defer in.Files.Remove()
	if err := m.tableSteps(ctx, r, in); err != nil {
		return err
	}
	return m.train(ctx, r)
}

// tableSteps measures the steps of a case with tables.
func (m *measurement) tableSteps(ctx context.Context, r *result, in *tableInputs) (err error) {
	g, err := m.gpus(r.Precision)
	if err != nil {
		return err
	}
	ours, err := newTableSteps(g, r.testCase, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	f := &first{}
	for range checkSteps {
		if err := ours.step(); err != nil {
			return err
		}
		f.losses = append(f.losses, ours.Loss()/float64(in.Samples))
	}
	ways, err := m.waysOf(ctx, r, in.Files, func(w way) (agreement, error) {
		var got struct{ Losses []float64 }
		err := w.Request(ctx, "check", map[string]any{"way": w.name, "steps": checkSteps}, &got)
		if err == nil && len(got.Losses) != checkSteps {
			err = fmt.Errorf("PyTorch has written %d losses, want %d", len(got.Losses), checkSteps)
		}
		if err != nil {
			return agreement{}, err
		}
		return compareLosses(f.losses, got.Losses, r.Precision), nil
	})
	if err != nil {
		return err
	}
	if err := m.rounds(ctx, r, append([]*side{{Side: ours, name: tablesSide}}, ways...)); err != nil ||
		m.peer == nil {
		return err
	}
	return m.peer.Request(ctx, "close", nil, &struct{}{})
}

// compareLosses returns how far the losses of two sides with tables are from each other. Gradients of rows
// stay on the GPU, and PyTorch adds the squares of those of a repeated row one by one.
func compareLosses(ours, theirs []float64, precision string) (a agreement) {
	for i, loss := range ours {
		apart := math.Abs(loss-theirs[i]) / math.Abs(loss)
		if i == 0 {
			a.Forward = apart
		} else {
			a.Later = worse(a.Later, apart)
		}
	}
	t := tolerancesOf(precision)
	a.At, a.Within = "no layer", a.Forward <= t.Forward && a.Later <= t.Later
	return a
}

// placeRows makes the rows of a training's job those of a case with tables.
func (c testCase) placeRows(j *job.Job) {
	if c.Tables > 0 {
		j.Rows.Placement, j.Rows.Capacity = job.RowsOnGPU, c.Tables*c.Network.Slots
		j.Rows.Optimizer = rowOptimizer()
		j.Training.Mode, j.Roles.EmbeddingPSs = job.Sync, 1
	}
}

// tableReport has the steps with tables, beside PyTorch's, and the trainings.
func (p *plan) tableReport(results []*result) *report.Report {
	t := cli.Table{Header: []string{"network", "batch", "type", "k samples/s", "eager", "compiled",
		fmt.Sprintf("÷ compiled ≥ %g", goalTables), "training"}, Words: 1,
		Caption: fmt.Sprintf("Steps with a table of %s rows for each slot in GPU memory, in k samples/s, "+
			"and trainings; medians of %d rounds", report.Thousands(p.Tables), p.Rounds)}
	for _, r := range measured(results) {
		rate := func(seconds []float64) string {
			if seconds == nil {
				return "–"
			}
			return report.Three(float64(r.Batch) / report.Median(seconds) / 1e3)
		}
		fastest, _ := r.fastestCompiled()
		ratio := "–"
		if fastest != nil {
			s := turns.Quartiles(turns.Ratios(fastest, r.Seconds[tablesSide]))
			ratio = fmt.Sprintf("%.2f %.2f–%.2f", s.Median, s.Low, s.High)
		}
		t.Rows = append(t.Rows, []string{r.Network.Name, report.Thousands(r.Batch), r.Precision,
			rate(r.Seconds[tablesSide]), rate(r.Seconds[eager]), rate(fastest), ratio,
			report.Three(report.Median(r.Training) / 1e3)})
	}
	notes := []string{fmt.Sprintf("A step finds the rows of %d batches in turn, whose ids come from the "+
		"host; rows of all ids exist. Both sides have row-wise Adagrad, and Adam for the network. Before "+
		"PyTorch's time counts, its first %d losses are compared.", tableBatches, checkSteps)}
	tables := []cli.Table{t}
	if shared := sharedTable(results); len(shared.Rows) > 0 {
		tables = append(tables, shared)
	}
	predicted := predictedTrainings(results)
	if len(predicted) > 0 {
		tables = append(tables, predictedTable(predicted))
	}
	return &report.Report{Findings: append(judgePredictions(predicted), p.failures(results)...),
		Notes: append(notes, predictionNotes(results)...), Tables: tables}
}

// sharedTable has the trainings whose rows are on several GPUs together, beside those on one.
func sharedTable(results []*result) cli.Table {
	t := cli.Table{Header: []string{"network", "batch", "type", "GPUs", "k samples/s", "÷ one GPU"}, Words: 1,
		Caption: "Trainings with the rows of all tables on several GPUs, which sum by NCCL; the same batch " +
			"on all together"}
	for _, r := range measured(results) {
		for _, n := range slices.Sorted(maps.Keys(r.Shared)) {
			rate := report.Median(r.Shared[n])
			t.Rows = append(t.Rows, []string{r.Network.Name, report.Thousands(r.Batch), r.Precision,
				fmt.Sprint(n), report.Three(rate / 1e3), fmt.Sprintf("%.2f", rate/report.Median(r.Training))})
		}
	}
	return t
}
