package model

import (
	"math"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/opt"
)

// Vector is what ranks sum over each other: gradient sums by parameter with the batch-norm statistics of the
// groups that they come from, or the values of a replica. Vectors are summed bucket by bucket, the statistics
// with the last bucket.
type Vector struct {
	Values []float32 // as long as the parameters
	Stats  []float32
	Rows   []float32 // of hot embedding rows, if there are any
}

// NewVector returns a vector of zeros without statistics.
func NewVector(l *Layout) *Vector { return &Vector{Values: make([]float32, l.Params)} }

// Bucket returns the values of a bucket, which alias the vector.
func (v *Vector) Bucket(b Bucket) []float32 { return v.Values[b.Lo:b.Hi] }

// Replica is the network as a rank trains it: the weights, and what the passes and gradients of the rank's
// groups need. HostReplica is that of the host; a Trainer makes those of devices. Methods return the errors
// of a device; those of HostReplica that of its engine.
type Replica interface {
	Weights
	// Forward runs every group of a part. The next Backward writes the gradients of the pooled embeddings to
	// grads, which is as long as pooled. The part and pooled stay as they are until Backward has returned.
	Forward(part *batch.Part, pooled, grads []float32) error
	// Loss returns the sum of the losses of the samples of the latest Forward.
	Loss() float64
	// Backward runs every group of the part, bucket by bucket, and sums the gradients of the groups along the
	// tree: see Gradients. It calls done for every bucket that is final. It returns the gradients of the
	// pooled embeddings and, if the loss or a gradient is not finite, what Suspects.NotFinite names.
	Backward(done func(bucket int32)) (pooled []float32, notFinite string, err error)
	// Gradients returns the sums over the part's groups. A bucket is valid from the call of done in Backward
	// until the next Forward; the statistics are valid after Forward.
	Gradients() *Vector
}

// Trainer makes replicas that are not in the host's memory.
type Trainer interface {
	// NewReplica returns the replica of a rank. Ranks share no weights.
	NewReplica(c ReplicaConfig) (Replica, error)
}

// ReplicaConfig describes the replica of a rank.
type ReplicaConfig struct {
	Rank, Ranks int // Rank of Ranks
	Initial     Values
	// Optimizer is nil for a copy of weights that another role trains.
	Optimizer *opt.DenseSpec
	// Groups is the number of groups of a part, SamplesMax the most samples of a group.
	Groups, SamplesMax int
	// Summed says that gradients stay where the replica is, and are summed there with those of other ranks.
	// Gradients then returns no values, and StepSum ignores those of its argument.
	Summed bool
	// Rows asks for embedding rows beside the network; nil: PSs have them. They need a RowHolder, which is
	// Summed if it is the only rank.
	Rows *RowsConfig
}

// HostReplica is a Replica in the memory of the host, with a pass and gradient buckets for each group. Ranks
// in lock step may share their weights.
type HostReplica struct {
	*HostWeights
	passes []Pass
	grads  [][]float32 // by group
	sums   Vector      // over the groups; its values are those of group 0
	loss   float64
	part   *batch.Part
	input  []float32 // pooled embeddings of the part
	pooled []float32 // gradients of these
}

// NewHostReplica returns the replica of a rank on some weights, for parts of a number of groups, each of up
// to samplesMax samples.
func NewHostReplica(w *HostWeights, rank, groups, samplesMax int) *HostReplica {
	r, engine := &HostReplica{HostWeights: w}, w.engine
	if ranked, ok := engine.(Ranked); ok {
		engine = ranked.OfRank(rank)
	}
	for range groups {
		r.passes = append(r.passes, engine.NewPass(samplesMax))
		r.grads = append(r.grads, make([]float32, w.engine.Layout().Params))
	}
	r.sums.Values = r.grads[0]
	return r
}

// Forward implements Replica.
func (r *HostReplica) Forward(part *batch.Part, pooled, grads []float32) error {
	r.loss, r.part, r.input, r.pooled = 0, part, pooled, grads
	r.sums.Stats = r.sums.Stats[:0]
	width := r.engine.Layout().EmbeddingWidth
	for g, pass := range r.passes {
		in := GroupInput(part, pooled, width, g)
		in.EmbeddingGrad = r.groupGrads(g)
		_, loss := pass.Forward(r.state.Params, r.state.Running, in, true)
		r.loss += loss
		r.sums.Stats = append(r.sums.Stats, pass.Stats()...)
	}
	return r.engine.Err()
}

// Loss implements Replica.
func (r *HostReplica) Loss() float64 { return r.loss }

// groupGrads returns the gradients of one group's pooled embeddings.
func (r *HostReplica) groupGrads(g int) []float32 {
	width := r.engine.Layout().EmbeddingWidth
	return r.pooled[r.part.Bounds[g]*width : r.part.Bounds[g+1]*width]
}

// Backward implements Replica.
func (r *HostReplica) Backward(done func(bucket int32)) (pooled []float32, notFinite string, err error) {
	buckets := make([][]float32, len(r.passes))
	var gradients []float32 // of the first bucket that is not finite
	for b, bucket := range r.engine.Layout().Buckets {
		for g, pass := range r.passes {
			pass.Backward(r.state.Params, b, r.grads[g])
			buckets[g] = r.grads[g][bucket.Lo:bucket.Hi]
		}
		collective.Tree(buckets)
		// After done, other goroutines sum the bucket over ranks, in its place.
		if gradients == nil && !vec.Finite(buckets[0]) {
			gradients = make([]float32, len(r.sums.Values))
			copy(gradients[bucket.Lo:], buckets[0])
		}
		done(int32(b))
	}
	for g, pass := range r.passes {
		own, at := pass.EmbeddingGrad(), r.groupGrads(g)
		if len(own) > 0 && &own[0] != &at[0] { // an engine that had its own place
			copy(at, own)
		}
	}
	if err := r.engine.Err(); err != nil {
		return nil, "", err
	}
	if gradients != nil || !vec.Finite(r.pooled) || math.IsNaN(r.loss) || math.IsInf(r.loss, 0) {
		s := Suspects{r.state.Params, Input{Dense: r.part.Dense, Embeddings: r.input}, r.loss, gradients,
			r.pooled}
		notFinite = s.NotFinite(r.engine.Layout())
	}
	return r.pooled, notFinite, nil
}

// Gradients implements Replica.
func (r *HostReplica) Gradients() *Vector { return &r.sums }

// GroupInput returns group g of a part as the input of a network; width is the number of pooled embedding
// values of a sample.
func GroupInput(part *batch.Part, pooled []float32, width, g int) Input {
	lo, hi := part.Bounds[g], part.Bounds[g+1]
	dense, labels := 0, 0 // of a sample
	if part.Samples > 0 {
		dense, labels = len(part.Dense)/part.Samples, len(part.Labels)/part.Samples
	}
	in := Input{
		Samples: hi - lo, Embeddings: pooled[lo*width : hi*width],
		Dense: part.Dense[lo*dense : hi*dense], Labels: part.Labels[lo*labels : hi*labels],
	}
	if len(part.Weights) > 0 {
		in.Weights = part.Weights[lo:hi]
	}
	return in
}
