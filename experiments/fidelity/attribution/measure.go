package attribution

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/internal/parallel"
	"tandem/sim/predict"
)

// results are the results of both tests.
type results struct {
	Jobs      []jobResult      `json:"jobs"`
	Intervals []intervalResult `json:"intervals"`
}

// jobResult is a random job with its bottlenecks and the gains of doubling each resource.
type jobResult struct {
	Name        string               `json:"job"`
	Throughput  float64              `json:"throughput_samples_per_s"`
	Bottlenecks []predict.Bottleneck `json:"bottlenecks"`
	Gains       []gain               `json:"gains"`
	Faults      []string             `json:"faults"` // empty: passed
}

// gain is the relative change of the throughput when a resource is doubled.
type gain struct {
	Resource string  `json:"resource"`
	Share    float64 `json:"share"`
	Gain     float64 `json:"gain"`
}

// intervalResult is the test of one interval.
type intervalResult struct {
	Name     string           `json:"name"`
	Mid      float64          `json:"middle"`
	Interval predict.Interval `json:"interval"`
	// CI95 is over seeds at the middle; absent for a ratio.
	CI95   *predict.Interval `json:"ci95,omitempty"`
	Range  predict.Interval  `json:"range"` // of the other points
	Truths []float64         `json:"truths"`
	Inside int               `json:"inside"`
}

// measure makes both tests.
func (p *plan) measure(ctx context.Context, o report.Options) (*results, error) {
	r := &results{Jobs: make([]jobResult, p.Jobs)}
	meter := report.Meter{Total: p.Jobs + len(p.Cases), Unit: "jobs", Report: o.Progress}
	var mu sync.Mutex
	errs := make([]error, p.Jobs)
	parallel.ForEach(parallel.Cores(), p.Jobs, func(i int) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		r.Jobs[i], errs[i] = p.double(ctx, i)
		mu.Lock()
		defer mu.Unlock()
		meter.Done++
		meter.Show(0, 1, "random jobs")
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, c := range p.Cases {
		meter.Show(0, 1, c.Name)
		list, err := p.intervals(ctx, &c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		r.Intervals = append(r.Intervals, list...)
		meter.Done++
	}
	return r, nil
}

// double draws a job and doubles every resource of it.
func (p *plan) double(ctx context.Context, i int) (r jobResult, err error) {
	j, name, err := drawJob(ctx, p.Seed, i)
	if err != nil {
		return r, err
	}
	// Small jobs are cheap, and their throughput varies more.
	o := predict.Options{Steps: max(p.Steps, 8*p.Steps/j.Roles.Ranks), Workers: 1, Seed: p.Seed}
	base, err := predict.Run(ctx, j, o)
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	r = jobResult{Name: name, Throughput: base.Mid.Throughput, Bottlenecks: base.Mid.Bottlenecks}
	for _, group := range j.Parameters().Groups() {
		better, err := predict.Run(ctx, j.Improved(group, 2), o)
		if err != nil {
			return r, fmt.Errorf("%s, twice the %s: %w", name, group, err)
		}
		g := gain{Resource: group, Gain: better.Mid.Throughput/base.Mid.Throughput - 1}
		if at := place(r.Bottlenecks, group); at >= 0 {
			g.Share = r.Bottlenecks[at].Share
		}
		r.Gains = append(r.Gains, g)
	}
	r.Faults = faults(r.Bottlenecks, r.Gains)
	return r, nil
}

// place returns the position of a resource in a list of bottlenecks, or −1.
func place(list []predict.Bottleneck, name string) int {
	return slices.IndexFunc(list, func(b predict.Bottleneck) bool { return b.Resource == name })
}

// faults returns what a list of bottlenecks misjudges, in sentences.
func faults(list []predict.Bottleneck, gains []gain) (sentences []string) {
	first := fmt.Sprintf("%s is first (%s)", list[0].Resource, percent(list[0].Share))
	doubled, many := false, 0
	for _, g := range gains {
		if g.Gain > changeMost {
			many++
		}
		at := place(list, g.Resource)
		switch {
		case at == 0:
			doubled = true
			if g.Gain < gainLeast {
				sentences = append(sentences, fmt.Sprintf("%s and gains %s", first, percent(g.Gain)))
			}
		case (at < 0 || at >= named) && math.Abs(g.Gain) > changeMost:
			where := "is not in the list"
			if at >= 0 {
				where = fmt.Sprintf("is number %d (%s)", at+1, percent(g.Share))
			}
			sentences = append(sentences, fmt.Sprintf("%s %s and gains %s", g.Resource, where,
				percent(g.Gain)))
		}
	}
	if len(sentences) > 0 && many > named {
		sentences = append(sentences, fmt.Sprintf("%d resources gain more than %s, so no three hold them all",
			many, percent(changeMost)))
	}
	if !doubled {
		sentences = append(sentences, first+" and cannot be bought")
	}
	return sentences
}

// measured is a prediction, or the ratio of two, with the truths at points of its box.
type measured struct {
	prediction     *predict.Prediction
	mid            float64
	interval, ci95 *predict.Interval
	truths, others []float64
}

// intervalSteps is the number of measured steps of a simulation of the test of intervals.
const intervalSteps = 8

// Purposes of points of the box: their seeds differ from those of the samples of predictions.
const (
	truthSeed = 1 << 32
	otherSeed = 1 << 33
)

// intervals tests the intervals of one case: of the throughput and, where it is wanted, of hybrid/sync.
func (p *plan) intervals(ctx context.Context, c *box) ([]intervalResult, error) {
	m, err := p.interval(ctx, c.Choice)
	if err != nil {
		return nil, err
	}
	list := []intervalResult{m.result(c.Name)}
	if !c.Ratio {
		return list, nil
	}
	choice := c.Choice
	choice.Mode = job.Sync
	sync, err := p.interval(ctx, choice)
	if err != nil {
		return nil, err
	}
	for k := range m.truths {
		m.truths[k] /= sync.truths[k]
	}
	for k := range m.others {
		m.others[k] /= sync.others[k]
	}
	m.mid, m.interval, m.ci95 = m.mid/sync.mid, predict.Ratio(m.prediction, sync.prediction), nil
	return append(list, m.result(c.Name+": hybrid/sync")), nil
}

// interval predicts a job, and simulates it at the points that play the truth and at the others.
func (p *plan) interval(ctx context.Context, c predict.Choice) (*measured, error) {
	j, _, err := predict.New(c)
	if err != nil {
		return nil, err
	}
	prediction, err := predict.Run(ctx, j, predict.Options{Samples: p.Samples, Seeds: p.Seeds, Seed: p.Seed,
		Steps: intervalSteps})
	if err != nil {
		return nil, err
	}
	m := &measured{prediction: prediction, mid: prediction.Mid.Throughput, interval: prediction.Interval,
		ci95: prediction.CI95}
	// Jitter of the truth has seeds of its own.
	if m.truths, err = p.simulate(ctx, j, truthSeed, p.Seed+1000, p.Points); err != nil {
		return nil, err
	}
	m.others, err = p.simulate(ctx, j, otherSeed, p.Seed, p.Others)
	return m, err
}

// simulate returns the throughputs of a job at points of its box; NaN where it does not fit.
func (p *plan) simulate(ctx context.Context, j *predict.Job, purpose, seed uint64, n int) ([]float64, error) {
	values, errs := make([]float64, n), make([]error, n)
	parallel.ForEach(parallel.Cores(), n, func(i int) {
		at := j.At(j.Parameters().Sample(1, purpose+p.Seed*1e6+uint64(i))[0])
		run, err := predict.Run(ctx, at, predict.Options{Steps: intervalSteps, Workers: 1, Seed: seed})
		switch {
		case predict.DoesNotFit(err):
			values[i] = math.NaN()
		case err != nil:
			errs[i] = err
		default:
			values[i] = run.Mid.Throughput
		}
	})
	return values, errors.Join(errs...)
}

// result compares the interval with the truths.
func (m *measured) result(name string) intervalResult {
	others := slices.DeleteFunc(slices.Clone(m.others), math.IsNaN)
	truths := slices.DeleteFunc(slices.Clone(m.truths), math.IsNaN)
	r := intervalResult{Name: name, Mid: m.mid, Interval: *m.interval, CI95: m.ci95, Truths: truths,
		Range: predict.Interval{Low: slices.Min(others), High: slices.Max(others)}}
	for _, truth := range truths {
		if r.Interval.Contains(truth) {
			r.Inside++
		}
	}
	return r
}

// enough reports whether the interval contains as many truths as it should.
func (r *intervalResult) enough() bool {
	return float64(r.Inside) >= truthsGoal*float64(len(r.Truths))-1e-9
}

// narrow reports whether the interval is no wider than the range of the other points.
func (r *intervalResult) narrow() bool { return r.Interval.Width() <= r.Range.Width() }
