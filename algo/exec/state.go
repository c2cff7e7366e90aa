package exec

import (
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
)

// State is the state of a training between two steps, as far as it is in this process: all that the training
// needs to continue. ModelState implements it for trainings with roles, and package reference for those
// without. No role may have work while it is read or changed.
type State interface {
	Schema() *batch.Schema
	Layout() *model.Layout
	// Plan says which embedding PS owns which row.
	Plan() shard.Plan
	// Table returns the rows of an embedding PS, or nil if they are in another process.
	Table(server int) *table.Table
	// ExportDense returns copies of what the roles of this process hold of the dense network.
	ExportDense() []dense.Part
	// ImportDense replaces what the roles of this process hold by their shares of the network that parts
	// make up.
	ImportDense(parts []dense.Part) error
}
