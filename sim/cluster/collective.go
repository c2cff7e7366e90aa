package cluster

import (
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/fabric"
)

// startReduction begins the all-reduce of a bucket that every rank has handed over, or queues it behind that
// of the bucket before.
func (w *simulation) startReduction(step, bucket int32, bytes unit.Bytes) {
	i := w.openTask(task{kind: reducing, role: -1, work: role.Work{Step: step}, bucket: bucket, bytes: bytes})
	if w.reductions.Push(w.clock.Now(), i) {
		w.proceed(i)
	}
}

// reduceStage begins the present stage of an all-reduce and reports whether it was the last. The first takes
// what is inside the servers and all latencies, the second moves the bucket over the cards of all servers at
// once: every card sends and receives 2(s−1)/s of it, for s servers.
func (w *simulation) reduceStage(i int32) (ended bool) {
	t := &w.tasks[i]
	now := w.clock.Now()
	switch t.stage {
	case 0:
		if w.chargeRecordedReduction(i) {
			return false
		}
		w.waitUntil(i, now+w.reduceInside(t.bytes)+w.reduceLatency())
	case 1:
		if w.gpuServers == 1 {
			return false
		}
		path := make([]fabric.Hop, 0, 2*w.gpuServers)
		part := w.reducePart()
		for k := range w.hosts {
			if h := &w.hosts[k]; h.class == serverHosts {
				path = append(path, fabric.Hop{Link: h.up, Multiplicity: part},
					fabric.Hop{Link: h.down, Multiplicity: part})
			}
		}
		w.transfer(i, t.bytes, path...)
	case 2:
		w.reduceDone(i)
		return true
	}
	return false
}

// reduceDone gives every rank the bucket and begins the next reduction.
func (w *simulation) reduceDone(i int32) {
	step, bucket, now := w.tasks[i].work.Step, w.tasks[i].bucket, w.clock.Now()
	w.closeTask(i)
	if w.numerics != nil {
		w.numerics.Reduce(step, bucket)
	}
	w.reductions.End(now, i)
	w.reductions.Leave()
	if next, ok := w.reductions.Next(now); ok {
		w.proceed(next)
	}
	for rank := range w.config.Ranks {
		to := w.roleIndex(msg.Address{Role: msg.NNWorker, Index: rank})
		w.handleInput(to,
			role.Input{Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: step}, Bucket: bucket})
	}
}

// reduceInside returns the time of the reduce-scatter and the all-gather inside a server. It, reduceLatency
// and reducePart are the terms of device.HierarchicalAllReduce: the latter two are the latency of all steps
// between servers, and the part of the bytes that each card sends and receives.
func (w *simulation) reduceInside(bytes unit.Bytes) unit.Tick {
	wire := w.prices.InsideWire
	return device.ReduceScatter(w.ranksPerServer, bytes, wire) + device.AllGather(w.ranksPerServer, bytes,
		wire)
}

func (w *simulation) reduceLatency() unit.Tick {
	return unit.Tick(2*(w.gpuServers-1)) * w.prices.NetworkWire.Latency
}

func (w *simulation) reducePart() float64 { return 2 * float64(w.gpuServers-1) / float64(w.gpuServers) }
