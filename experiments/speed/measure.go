package speed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"tandem/experiments/report"
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

// measure runs every case on both sides.
func (p *plan) measure(ctx context.Context, o report.Options, peer, fbgemm side,
) (results []*result, err error) {
	log, err := o.NewLog("speed.csv", "case", "batch", "threads", "round",
		"side", "steps", "step_s")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	m := measurement{p, peer, fbgemm, log, &report.Meter{Total: len(p.Cases), Report: o.Progress}}
	for _, c := range p.Cases {
		r, err := m.compare(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("%s, batch %d, threads %d: %w", &c, c.Batch, c.Threads, err)
		}
		results = append(results, r)
		m.meter.Done++
	}
	return results, nil
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
	r := &result{testCase: c}
	tandem := &local{}
	turns := []*turn{{side: tandem, name: "tandem", seconds: &r.Tandem}}
	if m.peer != nil && c.hasPeer() {
		turns = append(turns, &turn{side: m.peer, name: "PyTorch", seconds: &r.PyTorch})
	}
	if m.fbgemm != nil && c.hasFBGEMM() {
		turns = append(turns, &turn{side: m.fbgemm, name: "FBGEMM", seconds: &r.FBGEMM})
	}
	for _, t := range turns {
		if err := t.begin(ctx, p, m.Window); err != nil {
			return nil, err
		}
	}
	if err := agree(turns, &c); err != nil {
		return nil, err
	}
	limit, err := p.limit()
	if err != nil {
		return nil, err
	}
	if limit != nil {
		turns = append(turns, &turn{side: limit, name: "limit", seconds: &r.Limit, steps: turns[0].steps})
	}
	for round := range m.Rounds {
		m.meter.Show(round, m.Rounds, c.String())
		for i := range turns {
			t := turns[(i+round)%len(turns)]
			if err := m.measureTurn(ctx, t, &c, round); err != nil {
				return nil, err
			}
		}
	}
	if rows, ok := tandem.stepper.(*rowStep); ok {
		r.RowOverhead = rows.overhead
	}
	for _, t := range turns {
		if err := t.side.close(ctx); err != nil {
			return nil, err
		}
	}
	if c.Kind == kindTrain {
		if r.Share, err = p.share(ctx); err != nil {
			return nil, err
		}
	}
	debug.FreeOSMemory() // the other side needs the memory for the next case
	return r, nil
}

// turn is the part of one side in a case.
type turn struct {
	side
	name    string
	warm    warmState
	steps   int        // per round
	seconds *[]float64 // per step, by round
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
	return nil
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

// measureTurn measures the part of one side in a round.
func (m *measurement) measureTurn(ctx context.Context, t *turn, c *testCase, round int) error {
	runtime.GC()
	time.Sleep(settleTime)
	took, err := t.run(ctx, t.steps)
	if err != nil {
		return err
	}
	seconds := took.Seconds() / float64(t.steps)
	*t.seconds = append(*t.seconds, seconds)
	return m.log.Add(c.String(), strconv.Itoa(c.Batch), strconv.Itoa(c.Threads), strconv.Itoa(round+1),
		t.name, strconv.Itoa(t.steps), report.Number(seconds))
}
