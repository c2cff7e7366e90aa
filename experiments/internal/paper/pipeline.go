package paper

import (
	"tandem/algo/unit"
	"tandem/sim/predict"
)

// Pipeline returns when the last bucket of dense gradients is reduced, after the begin of BC. Shares are
// those of the buckets in the dense parameters. A bucket is ready when BC has computed its share of the
// gradients, and is reduced after the buckets before it.
func Pipeline(bc, ds unit.Tick, shares []float64) unit.Tick {
	ready, done := 0.0, 0.0
	for _, share := range shares {
		ready += share * float64(bc)
		done = max(done, ready) + share*float64(ds)
	}
	return unit.Tick(done)
}

// BucketShares returns the shares of the buckets of dense gradients in the dense parameters of a job.
func BucketShares(j *predict.Job) (shares []float64) {
	for _, b := range j.Layout.Buckets {
		shares = append(shares, float64(b.Hi-b.Lo)/float64(j.Layout.Params))
	}
	return shares
}
