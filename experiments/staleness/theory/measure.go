package theory

import (
	"context"
	"fmt"
	"sync"

	"tandem/algo/exec/backend"
	"tandem/experiments/internal/report"
	"tandem/internal/parallel"
)

// probe is everything that decides one measurement.
type probe struct {
	Kind      string  `json:"kind"`           // threshold, excess or threads
	Mode      string  `json:"mode,omitempty"` // of threads
	Ids       int     `json:"ids"`
	Batch     int     `json:"batch"`
	Random    bool    `json:"random,omitempty"`
	Balanced  bool    `json:"balanced,omitempty"`
	Delay     int     `json:"delay"`               // imposed, or the τ of threads
	Precision float64 `json:"precision,omitempty"` // of a threshold
	Rate      float64 `json:"rate,omitempty"`      // of excess and threads
	Steps     int     `json:"steps,omitempty"`     // of excess and threads
	Seed      uint64  `json:"seed"`
}

// outcome is the result of a probe.
type outcome struct {
	Rate     float64 `json:"rate,omitempty"`        // of a threshold
	Excess   float64 `json:"excess_nats,omitempty"` // mean excess loss, of excess and threads
	Gradient float64 `json:"gradient_squared,omitempty"`
	Missed   float64 `json:"missed_updates,omitempty"` // mean over the gradients of rows
}

// String names a probe in progress and errors.
func (p probe) String() string {
	return fmt.Sprintf("%s, q = 1/%d, delay %d, seed %d", p.Kind, p.Ids, p.Delay, p.Seed)
}

// coins returns the samples of a probe.
func (p probe) coins() *coins {
	return &coins{Ids: p.Ids, Batch: p.Batch, Random: p.Random, Balanced: p.Balanced, Length: p.Steps,
		Seed: p.Seed}
}

// measure measures a probe.
func (p probe) measure(ctx context.Context, m backend.Backend) (outcome, error) {
	switch p.Kind {
	case "threshold":
		rate, err := threshold(ctx, p.coins(), p.Delay, p.Precision, m)
		return outcome{Rate: rate}, err
	case "excess":
		return measureExcess(ctx, p.coins(), p.Delay, p.Rate, p.Steps, m)
	default:
		return runThreads(ctx, p.coins(), p.Mode, threadRanks, p.Delay, p.Rate, m)
	}
}

// measure returns the outcomes of all probes of a plan. It measures those that the log in o.Folder does not
// have: deterministic ones side by side, then those on real threads one by one.
func (p *plan) measure(ctx context.Context, o report.Options) (results map[probe]outcome, err error) {
	log, err := openLog(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := log.journal.Close(); err == nil {
			err = closed
		}
	}()
	deterministic, threads := p.probes()
	deterministic, threads = log.missing(deterministic), log.missing(threads)
	meter := &report.Meter{Total: len(deterministic) + len(threads), Unit: "measurements", Report: o.Progress}
	meter.Start()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // of log and meter
	run := func(one probe) {
		if ctx.Err() != nil {
			return
		}
		result, err := one.measure(ctx, o.Backend)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			err = log.add(one, result)
		}
		if err != nil {
			cancel(fmt.Errorf("theory: %v, after %d of %d measurements: %w", one, meter.Done, meter.Total,
				err))
			return
		}
		meter.Done++
		meter.Show(0, 1, one.String())
	}
	parallel.ForEach(parallel.Cores(), len(deterministic), func(i int) { run(deterministic[i]) })
	for _, one := range threads {
		run(one)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return log.results, nil
}
