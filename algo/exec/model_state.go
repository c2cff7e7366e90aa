package exec

import (
	"math/bits"

	"tandem/algo/exec/dense"
	"tandem/algo/exec/embedding"
	"tandem/algo/exec/evaluation"
	"tandem/algo/histogram"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/msg"
)

// ModelState is the model that a run trains: those of its rows and network that are in this process. It belongs to
// the executor's roles until the run is over: a method that is about a role is called when the role is not at work,
// or in the role's lane.
type ModelState struct {
	numerics *numerics
	engine   model.Engine
	shards   []*embedding.Shard // by PS; nil where it is not here
	dense    dense.Strategy
}

// Layout returns the layout of the dense network.
func (m *ModelState) Layout() *model.Layout { return m.engine.Layout() }

// Tables returns the shards of the rows that are here, by PS.
func (m *ModelState) Tables() []*table.Table {
	var tables []*table.Table
	for _, s := range m.shards {
		if s != nil {
			tables = append(tables, s.Table())
		}
	}
	return tables
}

// Missed returns a count for every row gradient applied: the updates of the row between the read that the gradient
// was computed from and the gradient's own. It is what staleness comes to where ids meet.
func (m *ModelState) Missed() histogram.Histogram {
	var all histogram.Histogram
	for _, s := range m.shards {
		if s != nil {
			missed := s.Missed()
			all.Merge(&missed)
		}
	}
	return all
}

// Weights returns the weights of the dense network that a role holds: a dense PS its shard, an NN worker its
// replica, as last pulled if it has to; nil if the role has none, or is not here. In the lane of a rank, before a
// forward pass, they have taken the steps before that one, and no other.
func (m *ModelState) Weights(at msg.Address) *model.Weights { return m.dense.Weights(at) }

// Digest returns a fingerprint of the parameters that a role holds: a PS of its rows, others of their Weights, 0 if
// there are none.
func (m *ModelState) Digest(at msg.Address) uint64 {
	if at.Role == msg.EmbeddingPS {
		return m.shards[at.Index].Table().Digest()
	}
	if w := m.Weights(at); w != nil {
		return w.Digest()
	}
	return 0
}

// DenseDigest returns a fingerprint of the dense network: of what its holders have, folded.
func (m *ModelState) DenseDigest() uint64 {
	var digests []uint64
	for _, at := range m.DenseHolders() {
		digests = append(digests, m.Digest(at))
	}
	return FoldDigests(digests)
}

// FoldDigests returns one digest for those of all of DenseHolders, in order; of
// one, itself.
func FoldDigests(digests []uint64) (folded uint64) {
	for _, d := range digests {
		folded = bits.RotateLeft64(folded, 1) ^ d
	}
	return folded
}

// DenseHolders returns the roles that hold the dense network between them: rank 0,
// or the dense PSs, or all ranks if each has a replica of its own.
func (m *ModelState) DenseHolders() []msg.Address { return m.dense.HolderRoles() }

// JoinDense returns the network that the parts of all holders make, in order: one
// after the other, or the mean of replicas. The parts are scratch afterwards.
func (m *ModelState) JoinDense(parts []model.Values) model.Values {
	return m.dense.Join(parts)
}

// ReadRows implements State, for a PS that is here.
func (m *ModelState) ReadRows(server int, signs []uint64, dst []float32) error {
	m.shards[server].Snapshot(signs, dst)
	return nil
}

// ReadDense implements State, if all holders are here.
func (m *ModelState) ReadDense() (model.Values, error) {
	var parts []model.Values
	for _, at := range m.DenseHolders() {
		parts = append(parts, m.Weights(at).Snapshot())
	}
	return m.JoinDense(parts), nil
}

// NewTestSet prepares test rows for evaluation of this run.
func (m *ModelState) NewTestSet(test *batch.Batch) *evaluation.TestSet {
	n := m.numerics
	return evaluation.NewTestSet(m.engine, n.schema, n.dim, n.job.ShardPlan(), test)
}
