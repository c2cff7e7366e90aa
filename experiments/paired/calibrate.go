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
	"tandem/sim/cluster"
)

// Calibration is a stopwatch that collects how long the work of a sync run takes.
// From its medians the other modes are predicted.
type Calibration struct {
	mu      sync.Mutex
	work    map[kindAndSize][]unit.Tick
	updates map[int32]unit.Tick // by step: of the dense replica, whichever rank did it
	buckets map[int32][]unit.Tick
}

type kindAndSize struct {
	kind    role.WorkKind
	samples int32
}

// NewCalibration returns a calibration of one run.
func NewCalibration() *Calibration {
	return &Calibration{work: map[kindAndSize][]unit.Tick{}, updates: map[int32]unit.Tick{}, buckets: map[int32][]unit.Tick{}}
}

// Worked implements driver.Stopwatch.
func (c *Calibration) Worked(w role.Work, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Kind == role.DenseApply { // the other ranks find it done
		c.updates[w.Step] = max(c.updates[w.Step], unit.Tick(took))
		return
	}
	key := kindAndSize{w.Kind, w.Samples}
	c.work[key] = append(c.work[key], unit.Tick(took))
}

// Reduced implements driver.Stopwatch.
func (c *Calibration) Reduced(bucket int32, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buckets[bucket] = append(c.buckets[bucket], unit.Tick(took))
}

// Recorded returns the medians of the run of the training t, which was sync and
// merged gradients by rank. Two kinds of work follow from others, because sync has
// none of them: one put is applied in the part of the ranks' puts of a step, and a
// shard of the network is updated in its part of the whole.
func (c *Calibration) Recorded(t *job.Job) *cluster.RecordedTimes {
	r := &cluster.RecordedTimes{}
	for kind := role.Read; kind <= role.Average; kind++ {
		size, times := c.usual(kind)
		if len(times) == 0 {
			continue
		}
		r.Work = append(r.Work, cluster.RecordedWork{Kind: kind, Samples: size, Time: median(times)})
		if kind == role.ApplyStep {
			r.Work = append(r.Work, cluster.RecordedWork{
				Kind: role.Apply, Samples: int32(t.Training.GlobalBatch / t.Roles.Ranks), Time: median(times) / unit.Tick(t.Roles.Ranks),
			})
		}
	}
	update := median(slices.Collect(maps.Values(c.updates)))
	r.Work = append(r.Work, cluster.RecordedWork{Kind: role.DenseApply, Time: update},
		cluster.RecordedWork{Kind: role.ApplyPush, Time: update / unit.Tick(t.Roles.DensePSs)})
	for bucket := range int32(len(c.buckets)) {
		r.Reduce = append(r.Reduce, median(c.buckets[bucket]))
	}
	return r
}

// usual returns the size that work of a kind had most often, the larger of two,
// and its times.
func (c *Calibration) usual(kind role.WorkKind) (samples int32, times []unit.Tick) {
	for key, all := range c.work {
		more := len(all) > len(times) || len(all) == len(times) && key.samples > samples
		if key.kind == kind && more {
			samples, times = key.samples, all
		}
	}
	return samples, times
}

// Cluster returns this machine as a cluster on which work takes what Recorded
// says, and messages what the probe has measured.
func (c *Calibration) Cluster(t *job.Job, p *probe.Result) *cluster.Hardware {
	return cluster.ThisMachine(cluster.MeasuredMachine{
		Cores: p.Cores, Memory: p.Memory, Multiply: p.Multiply, CopySpeed: p.Copy, RowTime: (p.Lookup + p.Update) / 2,
		MessageTime: p.Message, Date: p.Date,
		EmbeddingWorkers: t.Roles.EmbeddingWorkers, ParameterServers: t.Roles.EmbeddingPSs, Recorded: c.Recorded(t),
	})
}
