package reference

import (
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/msg"
)

// Schema returns the schema of the batches.
func (q *Sequential) Schema() *batch.Schema { return q.source.Schema() }

// Layout returns the layout of the dense network.
func (q *Sequential) Layout() *model.Layout { return q.engine.Layout() }

// Plan returns the plan by which one table has all rows.
func (q *Sequential) Plan() shard.Plan { return oneTable }

// Tables returns the embedding rows; there is one owner.
func (q *Sequential) Tables(int) []*table.Table { return q.Rows() }

// Exports reports that all rows are saved from here.
func (q *Sequential) Exports(int) bool { return true }

// ExportDense returns a copy of the dense network, as exec.State.ExportDense does.
func (q *Sequential) ExportDense() ([]dense.Part, error) {
	state, err := q.dense.Export()
	return []dense.Part{{At: msg.Address{Role: msg.NNWorker}, State: state, PerStep: 1}}, err
}

// ImportDense replaces the dense network, as exec.State.ImportDense does.
func (q *Sequential) ImportDense(parts []dense.Part) error {
	if err := dense.CheckParts(parts, q.Layout()); err != nil {
		return err
	}
	joined := dense.Join(parts, q.Layout())
	if joined.PerStep != 1 {
		joined.Steps /= joined.PerStep
	}
	return q.dense.Restore(joined.State)
}
