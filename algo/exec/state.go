package exec

import (
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/msg"
)

// State is the state of a training between two steps, as far as it is in this process: all that the training
// needs to continue. ModelState.State returns that of a training with roles; package reference implements it
// for those without. No role may have work while it is read or changed.
type State interface {
	Schema() *batch.Schema
	Layout() *model.Layout
	// Plan says who owns which row.
	Plan() shard.Plan
	// Tables returns the rows of an owner, a table for each dimension, or nil if this process does not have
	// them. Every process with ranks has the hot rows. Of rows on a GPU it returns a copy, to which those of
	// an untrained state are added.
	Tables(owner int) []*table.Table
	// Exports reports whether this process saves the rows of an owner: those of its embedding PSs, and the
	// hot rows if it has rank 0. It has Tables of them.
	Exports(owner int) bool
	// ExportDense returns copies of what the roles of this process hold of the dense network, or the error of
	// a device, that of Tables before included.
	ExportDense() ([]dense.Part, error)
	// ImportDense replaces what the roles of this process hold by their shares of the network that parts
	// make up.
	ImportDense(parts []dense.Part) error
}

// roleState is the State of a training with roles.
type roleState struct{ *ModelState }

// Schema returns the schema of the batches.
func (r roleState) Schema() *batch.Schema { return r.numerics.schema }

// Plan returns which embedding PS owns which row.
func (r roleState) Plan() shard.Plan { return r.numerics.plan }

// Tables returns the rows of an owner, or nil if this process does not have them.
func (r roleState) Tables(owner int) []*table.Table {
	if owner < len(r.shards) {
		if s := r.shards[owner]; s != nil {
			return s.Tables()
		}
	} else if rows := rowsOnRanks(r.ModelState); rows != nil {
		return []*table.Table{rows}
	}
	return nil
}

// Exports reports whether this process saves the rows of an owner.
func (r roleState) Exports(owner int) bool {
	if owner == len(r.shards) {
		return r.onGPU != nil || r.hot.atRankZero()
	}
	return r.shards[owner] != nil
}

// ExportDense returns copies of the parts of the dense network that roles of this process hold.
func (r roleState) ExportDense() (parts []dense.Part, err error) {
	if err := r.onGPU.failed(); err != nil {
		return nil, err
	}
	for _, at := range r.DenseHolders() {
		if r.Weights(at) == nil {
			continue
		}
		part, err := r.dense.Export(at)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// ImportDense replaces what the roles of this process hold of the dense network by their shares of the
// network that parts make up.
func (r roleState) ImportDense(parts []dense.Part) error {
	if err := dense.CheckParts(parts, r.Layout()); err != nil {
		return err
	}
	roles := r.numerics.job.Roles
	for i := range roles.Ranks {
		if err := r.dense.Import(msg.Address{Role: msg.NNWorker, Index: int32(i)}, parts); err != nil {
			return err
		}
	}
	for i := range r.dense.ServerCount() {
		if err := r.dense.Import(msg.Address{Role: msg.DensePS, Index: int32(i)}, parts); err != nil {
			return err
		}
	}
	return nil
}
