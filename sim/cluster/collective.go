package cluster

import (
	"tandem/algo/role"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/fabric"
)

// feed takes a bucket from a rank. When every rank has handed it over, its
// all-reduce begins, or queues behind that of the bucket before.
func (w *world) feed(o *role.Output) {
	number := int(o.Work.Step)*len(w.config.Buckets) + int(o.Bucket)
	w.fed[number]++
	if w.fed[number] < w.config.Ranks {
		return
	}
	i := w.open(task{kind: reducing, role: -1, work: o.Work, bucket: o.Bucket, bytes: o.Bytes})
	w.reduction = append(w.reduction, i)
	if len(w.reduction) == 1 {
		w.reducingSince = w.clock.Now()
		w.proceed(i)
	}
}

// reduce begins the present stage of an all-reduce and reports whether it was
// the last. The first takes what is inside the servers and all latencies, the
// second moves the bucket over the cards of all servers at once: every card
// sends and receives 2(s−1)/s of it, for s servers.
func (w *world) reduce(i int32) (ended bool) {
	t := &w.tasks[i]
	now := w.clock.Now()
	switch t.stage {
	case 0:
		if w.reduceRecorded(i) {
			return false
		}
		w.wait(i, now+w.reduceInside(t.bytes)+w.reduceLatency())
	case 1:
		if w.servers == 1 {
			return false
		}
		path := make([]fabric.Hop, 0, 2*w.servers)
		part := w.reducePart()
		for k := range w.hosts {
			if h := &w.hosts[k]; h.class == serverHosts {
				path = append(path, fabric.Hop{Link: h.up, Multiplicity: part}, fabric.Hop{Link: h.down, Multiplicity: part})
			}
		}
		w.transfer(i, t.bytes, path...)
	case 2:
		work, bucket := t.work, t.bucket
		w.close(i)
		if w.numbers != nil {
			w.numbers.Reduce(work.Step, bucket)
		}
		w.reduction = append(w.reduction[:0], w.reduction[1:]...)
		w.reduced += now - w.reducingSince
		if len(w.reduction) > 0 {
			w.reducingSince = now
			w.proceed(w.reduction[0])
		}
		for k := range w.ranks {
			work.Rank = int32(k)
			w.step(1+w.config.EmbeddingWorkers+w.config.ParameterServers+int32(k), role.Input{Kind: role.BucketReduced, Work: work, Bucket: bucket})
		}
		return true
	}
	return false
}

// The terms of device.HierarchicalAllReduce: what is inside the servers, and
// between them the latency of all steps and the part of the bytes that a card
// sends, and receives.
func (w *world) reduceInside(bytes unit.Bytes) unit.Tick {
	wire := w.prices.insideWire
	return device.ReduceScatter(w.perServer, bytes, wire) + device.AllGather(w.perServer, bytes, wire)
}

func (w *world) reduceLatency() unit.Tick {
	return unit.Tick(2*(w.servers-1)) * w.prices.netWire.Latency
}

func (w *world) reducePart() float64 { return 2 * float64(w.servers-1) / float64(w.servers) }
