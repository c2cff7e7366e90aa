package paired

import (
	"maps"
	"slices"
	"sync"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/runtime/probe"
	"tandem/sim/cost"
)

// Calibration is a stopwatch that collects how long the work of a sync run takes. The means predict the other
// modes: times add up, so a step takes the sum of means, of which interrupted pieces of work are a part.
type Calibration struct {
	mu      sync.Mutex
	work    map[workKey][]unit.Tick
	updates map[int32]unit.Tick // of the dense replica, by step, on any rank
	buckets map[int32][]unit.Tick
	total   unit.Tick // of all work
}

type workKey struct {
	kind    role.WorkKind
	samples int32
}

// NewCalibration returns an empty calibration, for one run.
func NewCalibration() *Calibration {
	return &Calibration{
		work: map[workKey][]unit.Tick{}, updates: map[int32]unit.Tick{}, buckets: map[int32][]unit.Tick{},
	}
}

// Worked implements driver.Stopwatch.
func (c *Calibration) Worked(w role.Work, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += unit.Tick(took)
	if w.Kind == role.DenseApply { // only one rank does it; the others return at once
		c.updates[w.Step] = max(c.updates[w.Step], unit.Tick(took))
		return
	}
	key := workKey{w.Kind, w.Samples}
	c.work[key] = append(c.work[key], unit.Tick(took))
}

// Reduced implements driver.Stopwatch.
func (c *Calibration) Reduced(bucket int32, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buckets[bucket] = append(c.buckets[bucket], unit.Tick(took))
}

// Recorded returns the means of a sync run of a job that merges gradients by rank. Two kinds of work do not
// occur in sync and follow from others. Applying one put takes 1/ranks of the time for the puts of a step.
// Updating one dense PS's part of the network takes its share of the time for the whole network.
func (c *Calibration) Recorded(t *job.Job) *cost.RecordedTimes {
	r := &cost.RecordedTimes{}
	for kind := role.Read; kind <= role.Average; kind++ {
		size, times := c.mostFrequent(kind)
		if len(times) == 0 {
			continue
		}
		r.Work = append(r.Work, cost.RecordedWork{Kind: kind, Samples: size, Time: mean(times)})
		if kind == role.ApplyStep {
			r.Work = append(r.Work, cost.RecordedWork{
				Kind: role.Apply, Samples: int32(t.Training.GlobalBatch / t.Roles.Ranks),
				Time: mean(times) / unit.Tick(t.Roles.Ranks),
			})
		}
	}
	update := mean(slices.Collect(maps.Values(c.updates)))
	r.Work = append(r.Work, cost.RecordedWork{Kind: role.DenseApply, Time: update},
		cost.RecordedWork{Kind: role.ApplyPush, Time: update / unit.Tick(t.Roles.DensePSs)})
	for bucket := range int32(len(c.buckets)) {
		r.Reduce = append(r.Reduce, mean(c.buckets[bucket]))
	}
	return r
}

// mostFrequent returns the most frequent size of a kind of work, the larger of two, and its times.
func (c *Calibration) mostFrequent(kind role.WorkKind) (samples int32, times []unit.Tick) {
	for key, all := range c.work {
		more := len(all) > len(times) || len(all) == len(times) && key.samples > samples
		if key.kind == kind && more {
			samples, times = key.samples, all
		}
	}
	return samples, times
}

// Overhead returns what cores work for a message of a real sync run beside the recorded work: handling the
// input of a role, recording events, waking goroutines, collecting garbage. messages are those of a step. It
// is 0 where the CPU time of the run is not known.
func (c *Calibration) Overhead(real *Run, messages int64) unit.Tick {
	if real.CPUSeconds == 0 || messages == 0 || len(c.updates) == 0 {
		return 0
	}
	work := seconds(c.total) / float64(len(c.updates))
	return max(0, unit.Tick((real.CPUSeconds-work)/float64(messages)*1e9))
}

// Cluster returns this machine as a cluster: Recorded has the times of work, and the probe those of
// messages and memory. overhead is what cores work for a message; 0: what the probe says.
func (c *Calibration) Cluster(t *job.Job, p *probe.Result, overhead unit.Tick) *cost.Hardware {
	return cost.ThisMachine(cost.MeasuredMachine{
		Cores: p.Cores, Memory: p.Memory, Multiply: p.Multiply, CopySpeed: p.Copy,
		RowTime: (p.Lookup + p.Update) / 2, MessageTime: p.Message, MessageWork: overhead,
		TimerLate: p.Timer, Date: p.Date,
		EmbeddingWorkers: t.Roles.EmbeddingWorkers, EmbeddingPSs: t.Roles.EmbeddingPSs,
		Recorded: c.Recorded(t),
	})
}

// mean returns the mean of values, or 0 without values.
func mean(values []unit.Tick) unit.Tick {
	if len(values) == 0 {
		return 0
	}
	var sum unit.Tick
	for _, v := range values {
		sum += v
	}
	return sum / unit.Tick(len(values))
}
