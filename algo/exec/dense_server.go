package exec

import (
	"tandem/algo/exec/dense"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// denseTasks performs the work of dense PSs.
type denseTasks struct{ dense dense.Strategy }

func (d *denseTasks) tasks() map[role.WorkKind]task {
	return map[role.WorkKind]task{role.ReadDense: d.read, role.ApplyPush: d.apply}
}

// read copies a shard for a rank.
func (d *denseTasks) read(i item) (role.Result, error) {
	values, err := d.dense.ReadShard(i.at.Index)
	if err != nil {
		return role.Result{}, err
	}
	i.store.put(i.Makes[0], values)
	return role.Result{Bytes: unit.Bytes(4 * len(values))}, nil
}

// apply gives a shard the optimizer step of what ranks have pushed.
func (d *denseTasks) apply(i item) (role.Result, error) {
	return role.Result{}, d.dense.ApplyPushes(i.at.Index, getAll[[]float32](i.store, i.Reads))
}
