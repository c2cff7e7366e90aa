package exec

import (
	"tandem/algo/exec/dense"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// densePSWork is the work of dense PSs.
type densePSWork struct{ dense dense.Strategy }

func (d *densePSWork) byKind() map[role.WorkKind]workFunc {
	return map[role.WorkKind]workFunc{role.ReadDense: d.read, role.ApplyPush: d.apply}
}

// read copies a shard for a rank.
func (d *densePSWork) read(i item) (role.Result, error) {
	values, err := d.dense.ReadShard(i.at.Index)
	if err != nil {
		return role.Result{}, err
	}
	i.store.set(i.Makes[0], values)
	return role.Result{Bytes: unit.Bytes(4 * len(values))}, nil
}

// apply applies pushes to a shard.
func (d *densePSWork) apply(i item) (role.Result, error) {
	return role.Result{}, d.dense.ApplyPushes(i.at.Index, getAll[[]float32](i.store, i.Reads))
}
