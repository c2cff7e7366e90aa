package speed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"time"

	"tandem/experiments/internal/report"
	"tandem/runtime/train"
)

// side is Tandem or PyTorch, with one case open at a time.
type side interface {
	// open builds the work of a case and runs it until it is warm.
	open(ctx context.Context, p *prepared) (warmState, error)
	// run does a number of steps and returns their time.
	run(ctx context.Context, steps int) (time.Duration, error)
	// close releases the case.
	close(ctx context.Context) error
}

// warmState is what a side has computed when it is warm. It shows that both sides do the same work.
type warmState struct {
	// Check is a value that depends on all updates before: in a dense step the loss, in a sparse step the
	// mean size of the pooled values, in a training the loss on the test rows.
	Check float64 `json:"check"`
}

// result holds the measurements of a case.
type result struct {
	testCase
	// Tandem and PyTorch are seconds per step, by round. PyTorch is nil without a peer.
	Tandem  []float64 `json:"tandem_s"`
	PyTorch []float64 `json:"pytorch_s,omitempty"`
	// Limit is the time that the machine needs for the work at least, nil if unknown.
	// FBGEMM is seconds per step of the second peer, nil without it.
	FBGEMM []float64 `json:"fbgemm_s,omitempty"`
	Limit  []float64 `json:"limit_s,omitempty"`
	// Alone says that the rows of all sides did not fit in memory together: in each round, one side after
	// the other loaded them, was measured and freed them.
	Alone bool `json:"alone,omitempty"`
	// RowOverhead is the bytes per row in addition to embedding and state, of a lookup or update.
	RowOverhead float64 `json:"row_overhead_bytes,omitempty"`
	// Share compares a training with the least time that its pieces of work allow.
	Share *train.Share `json:"share,omitempty"`
}

// measurement is the state of one measurement.
type measurement struct {
	*plan
	peer   side // nil without a peer
	fbgemm side // nil without FBGEMM
	log    *report.Log
	meter  *report.Meter
}

// measure runs every case on both sides, except those that an interrupted run has measured.
func (p *plan) measure(ctx context.Context, o report.Options, peer, fbgemm side,
) (results []*result, err error) {
	log, err := o.NewLog("speed.csv", "case", "batch", "threads", "round",
		"side", "steps", "step_s")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m := measurement{p, peer, fbgemm, log,
		&report.Meter{Total: len(p.Cases), Unit: "cases", Report: o.Progress}}
	var names []string
	for _, c := range p.Cases {
		names = append(names, c.name())
	}
	return report.MeasureCases(o, log, m.meter, names, func(i int) (*result, error) {
		r, err := m.compare(ctx, p.Cases[i])
		m.meter.Done++
		return r, err
	})
}

// compare measures one case. In each round, all sides take turns; the side that begins rotates.
func (m *measurement) compare(ctx context.Context, c testCase) (*result, error) {
	p, err := newPrepared(c)
	if err != nil {
		return nil, err
	}
	defer p.remove()
	m.meter.Show(0, 1, c.String())
	if err := p.fill(); err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Threads))
	r, tandem := &result{testCase: c}, &local{}
	turns, err := m.turns(ctx, p, r, tandem)
	if err != nil {
		return nil, err
	}
	for round := range m.Rounds {
		m.meter.Show(round, m.Rounds, c.String())
		for i := range turns {
			if err := m.measureTurn(ctx, turns[(i+round)%len(turns)], p, round); err != nil {
				return nil, err
			}
		}
	}
	r.RowOverhead = tandem.overhead
	if !r.Alone {
		for _, t := range turns {
			if err := t.close(ctx); err != nil {
				return nil, err
			}
		}
	}
	if c.Kind == kindTrain {
		if r.Share, err = p.share(ctx); err != nil {
			return nil, err
		}
	}
	p.freeRows() // the other side needs the memory for the next case
	return r, nil
}

// turns returns the sides of a case, ready to be measured. Those that compute the same agree.
func (m *measurement) turns(ctx context.Context, p *prepared, r *result, tandem side) ([]*turn, error) {
	turns := []*turn{{side: tandem, name: "tandem", seconds: &r.Tandem}}
	if m.peer != nil && p.hasPeer() {
		turns = append(turns, &turn{side: m.peer, name: "PyTorch", seconds: &r.PyTorch})
	}
	if m.fbgemm != nil && p.hasFBGEMM() {
		turns = append(turns, &turn{side: m.fbgemm, name: "FBGEMM", seconds: &r.FBGEMM})
	}
	limit, err := p.limit()
	if err != nil {
		return nil, err
	}
	sides := len(turns)
	if limit != nil {
		sides++
	}
	r.Alone = !m.fits(&p.testCase, sides)
	for _, t := range turns {
		t.alone = r.Alone
		if err := t.begin(ctx, p, m.Window); err != nil {
			return nil, err
		}
	}
	if err := agree(turns, &p.testCase); err != nil || limit == nil {
		return turns, err
	}
	last := &turn{side: limit, name: "limit", seconds: &r.Limit, steps: turns[0].steps, alone: r.Alone}
	if !r.Alone {
		if _, err := last.open(ctx, p); err != nil {
			return nil, err
		}
	}
	return append(turns, last), nil
}

// turn is the part of one side in a case.
type turn struct {
	side
	name    string
	warm    warmState
	steps   int        // per window
	seconds *[]float64 // per step, by round
	alone   bool       // the side holds its rows only while it is measured
}

// begin opens the case and determines how many steps fill the window.
func (t *turn) begin(ctx context.Context, p *prepared, window time.Duration) error {
	var err error
	if t.warm, err = t.open(ctx, p); err != nil {
		return err
	}
	took, err := t.run(ctx, 1)
	if err != nil {
		return err
	}
	t.steps = int(math.Ceil(window.Seconds() / max(took.Seconds(), 1e-6)))
	if t.alone {
		return t.free(ctx, p)
	}
	return nil
}

// free closes the case, and gives the memory of its rows back to the system.
func (t *turn) free(ctx context.Context, p *prepared) error {
	err := t.close(ctx)
	p.freeRows()
	return err
}

// agree returns an error if the sides have computed different values.
func agree(turns []*turn, c *testCase) error {
	for _, t := range turns[1:] {
		ours, theirs := turns[0].warm.Check, t.warm.Check
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

// measureTurn measures the part of one side in a round.
func (m *measurement) measureTurn(ctx context.Context, t *turn, p *prepared, round int) error {
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
		took, err := t.run(ctx, t.steps)
		if err != nil {
			return err
		}
		seconds = append(seconds, took.Seconds()/float64(t.steps))
	}
	if t.alone {
		if err := t.free(ctx, p); err != nil {
			return err
		}
	}
	median := report.Median(seconds)
	*t.seconds = append(*t.seconds, median)
	return m.log.Add(p.String(), strconv.Itoa(p.Batch), strconv.Itoa(p.Threads), strconv.Itoa(round+1),
		t.name, strconv.Itoa(windows*t.steps), report.Number(median))
}
