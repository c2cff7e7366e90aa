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

// ModelState gives access to the part of a run's model that is in this process: rows of PSs and weights of
// the dense network. During a run, a method that concerns a role is called in the role's lane, or while the
// role has no work.
type ModelState struct {
	numerics *numerics
	engine   model.Engine
	shards   []*embedding.Shard // by PS; nil if the PS is in another process
	hot      *hotRows           // of the ranks of this process; nil: none
	onGPU    *gpuRows           // of the rank, if it is in this process; nil: PSs have the rows
	dense    dense.Strategy
}

// Layout returns the layout of the dense network.
func (m *ModelState) Layout() *model.Layout { return m.engine.Layout() }

// Tables returns the tables of the embedding PSs of this process, in PS order, and there one for each
// dimension, and that of hot rows, or a copy of those on the GPU, if rank 0 is in this process.
func (m *ModelState) Tables() []*table.Table {
	var tables []*table.Table
	for _, s := range m.shards {
		if s != nil {
			tables = append(tables, s.Tables()...)
		}
	}
	if m.hot.atRankZero() {
		tables = append(tables, m.hot.table())
	}
	if m.onGPU != nil {
		tables = append(tables, m.onGPU.table())
	}
	return tables
}

// Missed returns a count for every row gradient applied: the updates of the row between the read that the
// gradient was computed from and the gradient's own. This is the part of staleness that matters, because ids
// meet. Hot is how many of the gradients were of hot rows.
func (m *ModelState) Missed() (all histogram.Histogram, hot uint64) {
	for _, s := range m.shards {
		if s != nil {
			missed := s.Missed()
			all.Merge(&missed)
		}
	}
	if m.hot != nil {
		missed := m.hot.rows.Missed()
		all.Merge(&missed)
		hot = missed.Count()
	}
	if m.onGPU != nil {
		missed := m.onGPU.missed()
		all.Merge(&missed)
		if m.onGPU.job.HasTiers() {
			hot = missed.Count()
		}
	}
	return all, hot
}

// ForgetMissed makes the Missed of a model count from here on. No role may have work.
func ForgetMissed(m *ModelState) {
	for _, s := range m.shards {
		if s != nil {
			s.ForgetMissed()
		}
	}
	if m.hot != nil {
		m.hot.rows.ForgetMissed()
	}
	if m.onGPU != nil {
		m.onGPU.earlier = m.onGPU.table().Outcomes().Applied
	}
}

// Weights returns the weights of the dense network that a role holds, or nil if the role holds none or is in
// another process: a dense PS holds its shard, an NN worker its replica, in modes with dense PSs as last
// pulled. In the lane of a rank, before a forward pass, they contain the optimizer steps before that pass and
// no other.
func (m *ModelState) Weights(at msg.Address) model.Weights { return m.dense.Weights(at) }

// Digest returns a fingerprint of the parameters that a role holds: the rows of an embedding PS, or the
// Weights of another role; 0 if it holds none, or on a device that has failed. That of the PS after the last
// is of the rows that the ranks of this process hold.
func (m *ModelState) Digest(at msg.Address) uint64 {
	if at.Role == msg.EmbeddingPS && int(at.Index) == len(m.shards) {
		if rows := rowsOnRanks(m); rows != nil {
			return rows.Digest()
		}
		return 0
	}
	if at.Role == msg.EmbeddingPS {
		digest := uint64(0)
		for _, t := range m.shards[at.Index].Tables() {
			digest += t.Digest()
		}
		return digest
	}
	w := m.Weights(at)
	if w == nil {
		return 0
	}
	state, err := w.Export()
	if err != nil {
		return 0
	}
	return state.Digest()
}

// rowsOnRanks returns the rows that the ranks of this process have, or nil.
func rowsOnRanks(m *ModelState) *table.Table {
	switch {
	case m.onGPU != nil:
		return m.onGPU.table()
	case m.hot != nil:
		return m.hot.table()
	}
	return nil
}

// RecordedDigest returns the digest with which the recording of a role ends: its Digest and, for an NN
// worker, that of the hot rows, which it holds too.
func RecordedDigest(m *ModelState, at msg.Address) uint64 {
	digest := m.Digest(at)
	if at.Role == msg.NNWorker {
		digest += m.Digest(msg.Address{Role: msg.EmbeddingPS, Index: int32(len(m.shards))})
	}
	return digest
}

// DenseDigest returns a fingerprint of the dense network, from the digests of its holders.
func (m *ModelState) DenseDigest() uint64 {
	var digests []uint64
	for _, at := range m.DenseHolders() {
		digests = append(digests, m.Digest(at))
	}
	return FoldDigests(digests)
}

// FoldDigests returns one digest for the digests of all DenseHolders, in order. The digest of one holder
// stays as it is.
func FoldDigests(digests []uint64) (folded uint64) {
	for _, d := range digests {
		folded = bits.RotateLeft64(folded, 1) ^ d
	}
	return folded
}

// DenseHolders returns the roles that together hold the dense network: rank 0, or the dense PSs, or all ranks
// if each has a replica of its own.
func (m *ModelState) DenseHolders() []msg.Address { return m.dense.HolderRoles() }

// JoinDense returns the network that the parts of all holders make up, in the order of DenseHolders: their
// concatenation, or the mean of replicas. It overwrites the parts.
func (m *ModelState) JoinDense(parts []model.Values) model.Values {
	return m.dense.Join(parts)
}

// ReadRows implements evaluation.State, for a PS of this process, or for its ranks if the server is
// shard.Plan.Servers.
func (m *ModelState) ReadRows(server int, signs []uint64, dst []float32) error {
	if server == len(m.shards) && m.onGPU != nil {
		return m.onGPU.readTrained(signs, dst)
	}
	if server == len(m.shards) {
		return m.hot.snapshot(signs, dst)
	}
	return m.shards[server].Snapshot(signs, dst)
}

// RowValues returns memory for the values of the rows of signs. It returns an error if ReadRows does for any
// server, because the signs are not in the order of batch.Dims.
func RowValues(m *ModelState, signs []uint64) ([]float32, error) {
	values, err := m.numerics.dims.Values(signs)
	return make([]float32, values), err
}

// ReadDense implements evaluation.State, if all holders are in this process.
func (m *ModelState) ReadDense() (model.Values, error) {
	var parts []model.Values
	for _, at := range m.DenseHolders() {
		part, err := m.Weights(at).Snapshot()
		if err != nil {
			return model.Values{}, err
		}
		parts = append(parts, part)
	}
	return m.JoinDense(parts), nil
}

// NewTestSet returns a test set of this run's model.
func (m *ModelState) NewTestSet(test *batch.Batch) *evaluation.TestSet {
	n := m.numerics
	return evaluation.NewTestSet(m.engine, n.schema, n.plan, test)
}

// State returns the state of the training, to keep it or to continue from it.
func (m *ModelState) State() State { return roleState{m} }
