package cost

import (
	"cmp"
	"math"
	"math/bits"

	"tandem/algo/job"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/system"
)

// HotRows describes the hot rows of a job (job.Rows.Hot), which every rank holds, and how they divide the
// data.
type HotRows struct {
	Rows   float64 // the number of hot rows; 0: no row is frequent enough
	Values float64 // of all of them
	// Batch returns how hot rows divide a number of samples. It may be called concurrently.
	Batch func(samples int) HotBatch
	// Skew is Workload.Skew of the rows that are not hot.
	Skew func(samples, servers int) float64
}

// HotBatch is how hot rows divide a batch. A bag is the ids of a sample in a slot, whose rows are pooled. The
// numbers are expectations.
type HotBatch struct {
	Rows        float64 // distinct hot rows
	Cold        float64 // distinct other rows that share a bag with hot ones
	Occurrences float64 // of hot rows
	Pooled      float64 // occurrences of rows in bags with a hot row, which the rank pools
	Bags        float64 // bags with a hot row
	ToRank      float64 // values that the EW pools: of bags without a hot row
	ToEW        float64 // gradients that the EW merges: of bags that are not wholly hot
}

// RowsNamed returns the number of rows that the ids of a sample name, each as often as it is named.
func (w *Workload) RowsNamed() float64 { return cmp.Or(w.RowOccurrences, w.Occurrences) }

// HasHotRows reports whether ranks hold rows.
func (w *Workload) HasHotRows() bool { return w.Hot != nil && w.Hot.Rows > 0 }

// HotBucket returns the size of the bucket of the all-reduce that hot rows add: the sum of the gradients of
// every row, and how many ranks have the row, in fp32. It is 0 without hot rows.
func (w *Workload) HotBucket() unit.Bytes {
	if !w.HasHotRows() {
		return 0
	}
	return bytesOf(valueBytes * (w.Hot.Values + w.Hot.Rows))
}

// psRows returns the number of rows on all PSs.
func (w *Workload) psRows() float64 {
	if w.HasHotRows() {
		return max(0, w.Rows-w.Hot.Rows)
	}
	return w.Rows
}

// psBytes returns the memory of the rows on all PSs.
func (w *Workload) psBytes() float64 { return w.psRows() * w.rowBytes(table.Overhead) }

// hotBytes returns the memory of hot rows on a rank: rows with their state, and the bucket.
func (w *Workload) hotBytes() unit.Bytes {
	return unit.Bytes(w.Hot.Rows*w.rowBytes(table.Overhead)) + w.HotBucket()
}

// pooledBytes returns the sizes of the messages Embeddings, without ids, and PutGradients of a batch, of
// which the EW sends a number of values for each sample. With hot rows, embeddings are those that the EW
// pools, rows that share a bag with hot ones, and 4 bytes for each hot row, for each row of a bag that the
// rank pools, and for each bag's end, as exec.MixedRows.Size counts them.
func (w *Workload) pooledBytes(t *job.Job, width int, samples int32, hot *HotBatch) (
	embeddings, gradients unit.Bytes) {
	if !w.HasHotRows() {
		all := unit.Bytes(t.Wire.Precision.Size(width*int(samples))) + w.winnerBytes(samples)
		return all, all
	}
	size := func(values float64) unit.Bytes {
		return unit.Bytes(t.Wire.Precision.Size(int(math.Round(values))))
	}
	const numberBytes = 4
	numbers := hot.Rows + hot.Pooled + float64(w.Slots)*(float64(samples)+1)
	winners := w.winnerBytes(samples)
	return size(hot.ToRank+hot.Cold*w.namedDim()) + bytesOf(numberBytes*numbers) + winners,
		size(hot.ToEW) + winners
}

// winnerBytes returns the size of the numbers that travel with maxima and their gradients.
func (w *Workload) winnerBytes(samples int32) unit.Bytes {
	return unit.Bytes(w.Winners) * unit.Bytes(samples) * winnerBytes
}

// hotPrices are what hot rows add to the prices of a batch.
//
// An EW finds the hot rows, and pools and merges the others. It still passes over all ids, with anything in
// place of hot rows, as algo/exec does, and copies the values that it sends to their places.
//
// A rank has its hot rows beside the dense network. On an accelerator, kernels read and write rows at random
// addresses of the device's memory (device.Accelerator.RowShare), as those of systems that keep whole tables
// there; the gradients of a row are sorted by radix, 8 bits a pass. On a measured machine, cores of the host
// do what EWs and PSs do elsewhere, at the same prices, in a table of the size of the hot rows. That
// accelerators have the kernels is an assumption: algo/exec has hot rows in the memory of the host.
type hotPrices struct {
	split, pool       device.HostCost
	notPooled         float64 // values that the EW does not send
	forward, backward unit.Tick
	launches          struct{ forward, backward int } // of kernels, for the host thread of the rank
}

// hotPrices returns what hot rows add to the prices of a batch: nothing if there are none.
func (p *Prices) hotPrices(a *device.Accelerator, s *BatchSize) (h hotPrices) {
	w, hot, ew := p.Workload, &s.Hot, &p.System.EmbeddingWorker
	if !w.HasHotRows() {
		return h
	}
	dim := w.namedDim()
	sent := hot.ToRank + hot.Cold*dim
	h.split = coreCost(p.EWHost, float64(ew.HotIDTime.Mid)*s.rowOccurrences)
	h.pool = memoryCost(p.EWHost, valueBytes*sent)
	h.notPooled = float64(p.Layout.EmbeddingWidth)*float64(s.Samples) - sent
	if p.Colocated() {
		read := p.hotRowWork(&p.System.EmbeddingPS.Read, hot.Rows, false)
		h.forward = read + coreCost(p.EWHost, float64(ew.PoolIDTime.Mid)*hot.Pooled+
			float64(ew.PoolValueTime.Mid)*dim*hot.Pooled).Core
		h.backward = coreCost(p.EWHost, float64(ew.MergeIDTime.Mid)*hot.Pooled+
			float64(ew.MergeValueTime.Mid)*dim*hot.Occurrences).Core
		return h
	}
	pool := p.hotKernels(a, hot.Pooled, hot.Rows+hot.Cold, hot.Bags)
	forward := a.Lookup(pool)
	forward.Bytes += bytesOf(2 * valueBytes * hot.ToRank) // to their places among all pooled values
	forward.Launches++
	merge := p.hotKernels(a, hot.Occurrences, hot.Rows, hot.Bags)
	sort, backward := a.SortIDs(merge), a.MergeRows(merge)
	backward.Bytes += bytesOf(2 * valueBytes * hot.ToEW)
	backward.Launches++
	h.forward, h.backward = a.Time(forward), a.Time(sort)+a.Time(backward)
	h.launches.forward = forward.Launches
	h.launches.backward = sort.Launches + backward.Launches + hotStepLaunches
	return h
}

// hotStepLaunches is the number of kernels of the optimizer of hot rows: one finds the rows that the step
// has, and one updates them.
const hotStepLaunches = 2

// HotUpdate returns the time of the optimizer step of the hot rows that a global batch has, on one of
// Devices; 0 without hot rows.
func (p *Prices) HotUpdate(on, samples int) unit.Tick {
	if !p.Workload.HasHotRows() {
		return 0
	}
	key := hotUpdate{on, samples}
	takes, known := p.hotUpdates[key]
	if !known {
		takes = p.newHotUpdate(on, p.Workload.Hot.Batch(samples).Rows)
		p.hotUpdates[key] = takes
	}
	return takes
}

// hotUpdate is an optimizer step of hot rows: on one of Devices, for a global batch of a size.
type hotUpdate struct{ on, samples int }

// newHotUpdate returns the time of the optimizer step of some hot rows.
func (p *Prices) newHotUpdate(on int, rows float64) unit.Tick {
	if p.Colocated() {
		return p.hotRowWork(&p.System.EmbeddingPS.Update, rows, true)
	}
	a := p.Devices[on]
	step := a.StepRows(p.hotKernels(a, rows, rows, rows))
	step.Bytes += bytesOf(valueBytes * p.Workload.Hot.Rows) // how many ranks have each row
	step.Launches = hotStepLaunches
	return a.Time(step)
}

// hotKernels describes work on hot rows for kernels.
func (p *Prices) hotKernels(a *device.Accelerator, lookups, distinct, outputs float64) device.Embedding {
	stream := a.MemoryShare.At(math.Inf(1))
	e := device.Embedding{Lookups: lookups, Distinct: min(distinct, lookups), Outputs: outputs,
		Dim: int(math.Round(p.Workload.namedDim())), Value: valueBytes, Pooled: valueBytes,
		State:   p.hotState(),
		Forward: stream, Backward: stream}
	if precision := p.Job.Rows.Precision; precision != "" && precision != table.FP32.String() {
		e.Value = valueBytes / 2
	}
	const radixBits = 8
	e.Passes = math.Ceil(float64(bits.Len(uint(p.Workload.Hot.Rows))) / radixBits)
	return e
}

// hotState returns the optimizer state of a hot row, in the mean.
func (p *Prices) hotState() unit.Bytes {
	sum := 0.0
	for _, c := range p.Workload.named() {
		sum += c.share * float64(c.State)
	}
	return bytesOf(sum)
}

// hotRowWork returns the core time of a measured machine for hot rows in the memory of its host.
func (p *Prices) hotRowWork(w *system.RowWork, rows float64, write bool) unit.Tick {
	classes := p.Workload.named()
	waits := p.waitsOf(classes, 1, p.Workload.Hot.Rows)
	wait := waits.read
	if write {
		wait = waits.update
	}
	var cost device.HostCost
	for _, c := range classes {
		cost = cost.Add(p.rowWork(w, c.Dim, rows*c.share, wait, c.Bytes, write))
	}
	return cost.Core
}

// CountHotRows returns the time to count which rows are frequent in a number of samples, on one core of the
// loader's host: it reads them again, and resolves their ids as an EW does.
func (p *Prices) CountHotRows(samples int) unit.Tick {
	batch := p.Job.Training.GlobalBatch
	each := p.ReadBatch(batch).Core
	ids := p.Workload.RowsNamed() * float64(batch)
	each += coreCost(p.LoaderHost, float64(p.System.EmbeddingWorker.IDTime.Mid)*ids).Core
	return each.Scale(float64(samples) / float64(batch))
}

// MoveHotRows returns the time in which all hot rows get new owners, while nothing else happens: PSs read as
// many rows as there are hot ones and send them to every server, which copies them to its accelerators. One
// server sends the rows that are no longer hot, and PSs write them. On a measured machine the rows are copied
// in memory. It is 0 without hot rows.
func (p *Prices) MoveHotRows() unit.Tick {
	w := p.Workload
	if !w.HasHotRows() {
		return 0
	}
	hosts := float64(max(1, p.PSHostCount))
	bytes, samples := w.Hot.Rows*w.rowBytes(signBytes), int32(p.Job.Training.GlobalBatch)
	work := p.ReadRows(w.Hot.Rows/hosts, samples).Add(p.Apply(w.Hot.Rows/hosts, samples))
	onPS := max(work.Core.Scale(1/float64(max(1, p.PSHost.Cores))), work.Memory)
	if p.Colocated() {
		return onPS + p.PSHost.CopyCost(bytesOf(2*bytes)).Core
	}
	perServer := max(1, p.Cluster.AcceleratorsPerServer)
	servers := float64((p.Job.Roles.Ranks + perServer - 1) / perServer)
	// The slower end decides: a server gets all rows, and a PS sends its own to every server.
	share := float64(p.NetworkShare)
	server, ps := float64(p.ServerHost.Network)*share, float64(p.PSHost.Network)*share
	there := max(bytes/server, bytes/hosts*servers/ps)
	back := max(bytes/server, bytes/hosts/ps)
	wires := unit.Tick((there + back) * float64(unit.Second))
	return onPS + wires + 2*(p.NetworkWire.Latency+p.HostLinkWire.Time(bytesOf(bytes)))
}
