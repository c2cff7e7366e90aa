package graph

import (
	"fmt"

	"tandem/algo/unit"
	"tandem/sim/system"
)

// The collectives that CollectiveTime prices.
const (
	AllReduce     = "all-reduce"
	AllToAll      = "all-to-all"
	ReduceScatter = "reduce-scatter"
	AllGather     = "all-gather"
)

// CollectiveTime returns the time of one collective among some accelerators of a cluster, alone, with the
// prices of a system. Bytes are those of one rank before an all-reduce, a reduce-scatter or an all-to-all,
// its own part included, and after an all-gather: the sizes that nccl-tests prints. The error is about the
// name of the collective or the topology.
func (c *Cluster) CollectiveTime(p *system.Profile, gpus int, name string, bytes unit.Bytes) (unit.Tick,
	error) {
	n, err := newNetwork(c, p, gpus)
	if err != nil {
		return 0, fmt.Errorf("graph: %w", err)
	}
	var x cost
	switch name {
	case AllReduce:
		x, err = n.allReduce(float64(bytes))
	case AllToAll:
		x, err = n.allToAll(float64(bytes))
	case ReduceScatter:
		x, err = n.reduceScatter(n.world, float64(bytes))
	case AllGather:
		x, err = n.allGather(n.world, float64(bytes))
	default:
		err = fmt.Errorf("collective %q; want %s, %s, %s or %s", name, AllReduce, AllToAll, ReduceScatter,
			AllGather)
	}
	if err != nil {
		return 0, fmt.Errorf("graph: %w", err)
	}
	return x.time, nil
}
