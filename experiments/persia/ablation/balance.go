package ablation

import (
	"slices"
	"sync"

	"tandem/sim/model"
	"tandem/sim/popularity"
	"tandem/sim/predict"
)

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
