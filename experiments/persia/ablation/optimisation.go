package ablation

import (
	"slices"
	"sync"

	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/shard"
	"tandem/algo/protocol/pace"
	"tandem/sim/cost"
	"tandem/sim/model"
	"tandem/sim/param"
	"tandem/sim/popularity"
	"tandem/sim/predict"
)

// optimisation is one of those that Persia's paper or code has.
type optimisation struct {
	ID   string `yaml:"id" json:"id"` // in the names of quantities
	Name string `yaml:"name" json:"name"`
	Off  string `yaml:"off" json:"off"` // what a cluster without it does
}

// The optimisations, as bits of switches.
const (
	async     switches = 1 << iota // rows asynchronous, network synchronous
	overlap                        // DS during BC
	ahead                          // several batches in flight
	halves                         // values in fp16 on the wire
	packedIDs                      // ids on the wire as distinct ids and positions
	uniqueIDs                      // each distinct row is read and updated once a batch
	hashing                        // rows spread over the PSs by a hash
	locks                          // a PS has many locks
	zeroCopy                       // messages are serialised in place
	end
)

// switches are optimisations that are on.
type switches uint

const everything = end - 1

func (s switches) has(one switches) bool { return s&one != 0 }

// The numbers of batches that a rank has in flight with and without batches ahead, and of the bytes of a
// position in a batch and of an id.
const (
	flightMost, flightLeast = 10, 1
	positionBytes, idBytes  = 2, 8
)

func optimisations() []optimisation {
	return []optimisation{
		{"async-rows", "asynchronous rows", "mode sync: lookups wait for all puts of the step before"},
		{"overlap", "DS during BC", "gradients are reduced after the backward pass"},
		{"batches-ahead", "batches ahead", "a rank has 1 batch in flight, instead of 10"},
		{"fp16-values", "fp16 values", "embeddings and their gradients travel in fp32, not converted"},
		{"packed-ids", "packed ids", "the data loader sends 8 bytes for each id of a sample, instead of " +
			"the distinct ids of a batch and positions of 2 bytes"},
		{"unique-rows", "unique rows", "a PS reads and updates a row for each of its occurrences in a batch"},
		{"hashed-rows", "hashed rows", "whole tables on PSs, one after the other, instead of rows spread " +
			"by a hash"},
		{"many-locks", "many locks", "a PS serves one request at a time, as with one lock"},
		{"zero-copy", "zero copy", "each end of a message copies the payload once more"},
	}
}

// names returns the names of the optimisations that are on, in those of quantities.
func (s switches) names(list []optimisation) (names []string) {
	for i, o := range list {
		if s.has(1 << i) {
			names = append(names, o.ID)
		}
	}
	return names
}

// at returns a job at a point of the box of unknown inputs with some optimisations on.
func (s switches) at(base *predict.Job, p param.Point) *predict.Job {
	j := base.At(p)
	s.schedule(j)
	w := &j.Workload
	tables := j.Model.Tables()
	if !s.has(uniqueIDs) {
		perSample := w.Occurrences
		w.Distinct = func(samples int) float64 { return perSample * float64(samples) }
		w.Skew = occurrenceSkew(tables)
		if !s.has(packedIDs) {
			j.Hardware.System.Loader.IDTime.Fix(0) // no distinct ids are looked for
		}
	}
	if !s.has(hashing) {
		w.Skew = tableSkew(tables, s.has(uniqueIDs))
	}
	if s.has(packedIDs) {
		j.Wire.Index = job.IndexCompressed
		w.Packed = packed(w, base.At(p).Workload.Distinct)
	}
	if !s.has(halves) {
		j.Wire.Precision = compress.FP32
		j.Hardware.System.EmbeddingWorker.ConvertTime.Fix(0)
	}
	if !s.has(locks) {
		j.Hardware.System.EmbeddingPS.Threads.Fix(1)
	}
	if !s.has(zeroCopy) {
		j.Hardware.System.Messages.ByteTime.Fix(copyingByteTime(j))
	}
	return j
}

// schedule sets mode, overlap and batches in flight.
func (s switches) schedule(j *predict.Job) {
	mode, overlaps := job.Sync, string(pace.OverlapIDs)
	switch {
	case s.has(async) && s.has(overlap):
		mode, overlaps = job.Hybrid, string(pace.HybridDS)
	case s.has(async):
		mode, overlaps = job.Hybrid, string(pace.HybridNaive)
	case s.has(overlap):
		overlaps = string(pace.OverlapIDsDS)
	}
	j.Job = j.InMode(mode)
	flight := flightLeast
	if s.has(ahead) {
		flight = flightMost
	}
	staleness := flight - 1
	j.Training.Overlap, j.Training.Staleness, j.Training.Prefetch = overlaps, &staleness, flight
}

// packed returns the sizes of ids with the distinct ones of a batch once, and of the signs of distinct rows,
// which PSs get in any case.
func packed(w *cost.Workload, distinct func(samples int) float64) *cost.PackedSizes {
	handled := w.Distinct
	return &cost.PackedSizes{
		IDs: func(samples int) float64 {
			return idBytes*distinct(samples) + positionBytes*w.Occurrences*float64(samples)
		},
		Signs: func(samples int, plan shard.Plan) float64 {
			return idBytes * handled(samples) / float64(plan.Servers())
		},
	}
}

// occurrenceSkew returns the load of the busiest PS ÷ the mean, if every occurrence of an id is work and rows
// are spread by a hash: all occurrences of an id are on one PS.
func occurrenceSkew(tables []model.Table) func(samples, servers int) float64 {
	mixed := sync.OnceValue(func() popularity.Popularity {
		var columns []popularity.Popularity
		var ids []float64
		for _, t := range tables {
			columns = append(columns, popularity.New(t.Rows, t.Frequencies.Share))
			ids = append(ids, t.IDs)
		}
		return popularity.Mix(columns, ids)
	})
	return func(_, servers int) float64 { return mixed().Skew(servers, 1) }
}

// tableSkew returns the load of the busiest PS ÷ the mean, if PSs hold whole tables, one after the other.
// Unique means that work is a distinct row of a batch, instead of an occurrence.
func tableSkew(tables []model.Table, unique bool) func(samples, servers int) float64 {
	return func(samples, servers int) float64 {
		loads, sum := make([]float64, servers), 0.0
		for i, t := range tables {
			rows := t.IDs * float64(samples)
			if unique {
				rows = t.Distinct(float64(samples))
			}
			loads[i%servers] += rows
			sum += rows
		}
		return slices.Max(loads) * float64(servers) / sum
	}
}

// copyingByteTime returns the time to serialise a byte, in ns of a core of speed 1, where the payload is
// copied once more. A copy has the speed of the hosts of embedding workers.
func copyingByteTime(j *predict.Job) float64 {
	host := &j.Hardware.EmbeddingWorkers.Host
	return float64(j.Hardware.System.Messages.ByteTime.Mid) +
		1e9/float64(host.CopySpeed.Mid)*host.CoreSpeed.Mid
}
