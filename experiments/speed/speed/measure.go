package speed

import (
	"context"
	_ "embed" // of the peers
	"fmt"
	"math"
	"runtime"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/isa"
	"tandem/algo/unit"
	"tandem/experiments/internal/pytorch"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/turns"
	"tandem/runtime/probe"
	"tandem/runtime/train"
)

//go:embed peer.py
var peerScript string

// machine is what a case was measured on.
type machine struct {
	Engine  string `json:"engine"`  // multiplies Tandem's matrices
	Vectors string `json:"vectors"` // the vector instructions of the processor
	Cores   int    `json:"cores"`
	// Memory is what the rows of all sides may use together, 0 if unknown.
	Memory unit.Bytes `json:"memory"`
	// PyTorch is nil without it, for the reason NoPyTorch. FBGEMM and NoFBGEMM are the same of the peer of
	// sparse steps and of trainings with row-wise Adagrad.
	PyTorch   *pytorch.About `json:"pytorch,omitempty"`
	NoPyTorch string         `json:"no_pytorch,omitempty"`
	FBGEMM    *pytorch.About `json:"fbgemm,omitempty"`
	NoFBGEMM  string         `json:"no_fbgemm,omitempty"`
}

// memoryShare is the part of the available memory that the rows of all sides may take. The rest is for the
// index of rows, gradients, Python and other programs.
const memoryShare = 0.8

// fits reports whether the rows of a case fit in memory once for each of a number of sides.
func (m *machine) fits(c *testCase, sides int) bool {
	return m.Memory == 0 || unit.Bytes(sides)*c.bytes() <= m.Memory
}

// result holds the measurements of a case.
type result struct {
	testCase
	Machine machine `json:"machine,omitzero"` // zero in results of earlier versions
	// Tandem, PyTorch and FBGEMM are seconds per step, by round; nil without the peer.
	Tandem  []float64 `json:"tandem_s"`
	PyTorch []float64 `json:"pytorch_s,omitempty"`
	FBGEMM  []float64 `json:"fbgemm_s,omitempty"`
	// Limit is the time that the machine needs for the work at least, nil if unknown.
	Limit []float64 `json:"limit_s,omitempty"`
	// Alone says that the rows of all sides did not fit in memory together: in each round, one side after
	// the other loaded them, was measured and freed them. TooLarge says that those of one side did not fit.
	Alone    bool `json:"alone,omitempty"`
	TooLarge bool `json:"too_large,omitempty"`
	// RowOverhead is the bytes per row in addition to embedding and state, of a lookup or update.
	RowOverhead float64 `json:"row_overhead_bytes,omitempty"`
	// Share compares a training with the least time that its pieces of work allow.
	Share *train.Share `json:"share,omitempty"`
}

// measurement is the state of one measurement.
type measurement struct {
	*plan
	machine
	peers map[string]side // by the name of their comparison; those that are there
	meter *report.Meter
}

// measure starts the peers and measures every case.
func (p *plan) measure(ctx context.Context, o report.Options, python *report.Python) ([]*result, error) {
	m := &measurement{plan: p, peers: map[string]side{}, machine: machine{
		Engine: o.Backend.Multiplier(&job.Job{}).Name(), Vectors: isa.Best().String(),
		Cores: runtime.NumCPU(), Memory: unit.Bytes(memoryShare * float64(probe.Available())),
	}}
	start := func(name string, about **pytorch.About, python *report.Python, args ...string) (string, error) {
		started, absent, err := pytorch.Start(ctx, python, name, peerScript, args...)
		if started != nil {
			m.peers[name], *about = peer{started}, &started.About
		}
		return absent, err
	}
	defer func() {
		for _, one := range m.peers {
			one.(peer).Close()
		}
	}()
	var err error
	if m.NoPyTorch, err = start("PyTorch", &m.PyTorch, python); err != nil {
		return nil, err
	}
	m.NoFBGEMM = m.NoPyTorch
	if m.PyTorch != nil {
		// A Python without FBGEMM is no error, even if it was named for PyTorch.
		if m.NoFBGEMM, err = start("FBGEMM", &m.FBGEMM, python, "fbgemm"); err != nil {
			m.NoFBGEMM = err.Error()
		}
	}
	return m.all(ctx, o)
}

// all measures every case.
func (m *measurement) all(ctx context.Context, o report.Options) ([]*result, error) {
	m.meter = &report.Meter{Total: len(m.Cases), Unit: "cases", Report: o.Progress}
	return report.MeasureCases(o, m.meter, m.Cases, testCase.name, func(c testCase) (*result, error) {
		return m.compare(ctx, c)
	})
}

// compare measures one case.
func (m *measurement) compare(ctx context.Context, c testCase) (*result, error) {
	r := &result{testCase: c, Machine: m.machine}
	if !m.fits(&c, 1) {
		r.TooLarge = true
		return r, nil
	}
	m.meter.Show(0, 1, c.String())
	p, err := prepare(c)
	if err != nil {
		return nil, err
	}
	defer p.remove()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Threads))
	tandem := &local{}
	sides, err := m.sides(ctx, p, r, tandem)
	if err != nil {
		return nil, err
	}
	err = turns.Rounds(m.Rounds, len(sides), func(round, i int) error {
		m.meter.Show(round, m.Rounds, c.String())
		return sides[i].measure(ctx, p)
	})
	if err != nil {
		return nil, err
	}
	r.RowOverhead = tandem.overhead
	if !r.Alone {
		for _, s := range sides {
			if err := s.close(ctx); err != nil {
				return nil, err
			}
		}
	}
	if p.share != nil {
		if r.Share, err = p.share(ctx); err != nil {
			return nil, err
		}
	}
	p.freeRows() // the other side needs the memory for the next case
	return r, nil
}

// sides returns the sides of a case, ready to be measured. Those that compute the same agree.
func (m *measurement) sides(ctx context.Context, p *prepared, r *result, tandem side) ([]*turn, error) {
	sides := []*turn{{side: tandem, name: "Tandem", seconds: &r.Tandem}}
	for _, c := range comparisons() {
		if one := m.peers[c.name]; one != nil && c.has(&r.testCase) {
			sides = append(sides, &turn{side: one, name: c.name, seconds: c.seconds(r)})
		}
	}
	all := len(sides)
	if p.limit != nil {
		all++
	}
	r.Alone = !m.fits(&r.testCase, all)
	for _, t := range sides {
		t.alone = r.Alone
		if err := t.begin(ctx, p, m.Window); err != nil {
			return nil, err
		}
	}
	if err := agree(sides, &r.testCase); err != nil || p.limit == nil {
		return sides, err
	}
	limit := &turn{side: &local{limit: true}, name: "limit", seconds: &r.Limit, steps: sides[0].steps,
		alone: r.Alone}
	if !r.Alone {
		if _, err := limit.open(ctx, p); err != nil {
			return nil, err
		}
	}
	return append(sides, limit), nil
}

// turn is the part of one side in a case.
type turn struct {
	side
	name    string
	check   float64    // of the warm side
	steps   int        // per window
	seconds *[]float64 // per step, by round
	alone   bool       // the side holds its rows only while it is measured
}

// begin opens the case and determines how many steps fill the window.
func (t *turn) begin(ctx context.Context, p *prepared, window time.Duration) (err error) {
	if t.check, err = t.open(ctx, p); err != nil {
		return err
	}
	if t.steps, err = turns.StepsOf(ctx, t, window); err == nil && t.alone {
		err = t.free(ctx, p)
	}
	return err
}

// free closes the case, and gives the memory of its rows back to the system.
func (t *turn) free(ctx context.Context, p *prepared) error {
	err := t.close(ctx)
	p.freeRows()
	return err
}

// agree returns an error if the sides have computed different values.
func agree(sides []*turn, c *testCase) error {
	for _, t := range sides[1:] {
		ours, theirs := sides[0].check, t.check
		if !(math.Abs(ours-theirs) <= c.tolerance()*math.Abs(ours)) {
			return fmt.Errorf("the sides compute different values: after %d steps Tandem has %v, "+
				"%s has %v",
				c.warmUps(), ours, t.name, theirs)
		}
	}
	return nil
}

// settleTime is the time for goroutines, garbage collectors and spinning threads of the previous turn to
// settle.
const settleTime = 20 * time.Millisecond

// windowsAlone is the number of windows of a side that has loaded its rows for this round: loading takes much
// longer than a window. Their median counts.
const windowsAlone = 3

// measure measures the part of one side in a round.
func (t *turn) measure(ctx context.Context, p *prepared) error {
	windows := 1
	if t.alone {
		windows = windowsAlone
		if _, err := t.open(ctx, p); err != nil {
			return err
		}
	}
	runtime.GC()
	time.Sleep(settleTime)
	var seconds []float64
	for range windows {
		took, err := t.Run(ctx, t.steps)
		if err != nil {
			return err
		}
		seconds = append(seconds, took.Seconds()/float64(t.steps))
	}
	*t.seconds = append(*t.seconds, report.Median(seconds))
	if t.alone {
		return t.free(ctx, p)
	}
	return nil
}
