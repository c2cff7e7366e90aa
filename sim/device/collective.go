package device

import (
	"fmt"

	"tandem/algo/unit"
)

// Wire is a link as a closed-form cost sees it: one direction, no one else on it.
type Wire struct {
	Bandwidth unit.BytesPerSec // reached, not nominal
	Latency   unit.Tick        // of one message
}

// Time returns the time of one message of some bytes.
func (w Wire) Time(bytes unit.Bytes) unit.Tick { return w.pass(1, float64(bytes)) }

// pass returns the time of a number of steps in which bytes in all go over the
// wire.
func (w Wire) pass(steps int, bytes float64) unit.Tick {
	return unit.Tick(steps)*w.Latency + ticks(bytes/float64(w.Bandwidth))
}

// ReduceScatter returns the time of a ring reduce-scatter among n ranks, each
// with a vector of so many bytes, of which each keeps 1/n summed:
//
//	(n−1) · latency + (n−1)/n · bytes / bandwidth
//
// A ring runs at the speed of its slowest link; wire is that one. It is 0 for
// n = 1. It panics if n < 1 or bytes < 0.
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005), without the cost of
// the additions; nccl-tests, PERFORMANCE.md.
func ReduceScatter(n int, bytes unit.Bytes, wire Wire) unit.Tick {
	check(n, "ranks", bytes)
	return wire.pass(n-1, float64(bytes)*float64(n-1)/float64(n))
}

// AllGather returns the time of a ring all-gather after which each of n ranks
// has bytes, of which each brought 1/n. It mirrors ReduceScatter and costs the
// same.
func AllGather(n int, bytes unit.Bytes, wire Wire) unit.Tick {
	return ReduceScatter(n, bytes, wire)
}

// AllReduce returns the time of a ring all-reduce, a reduce-scatter and an
// all-gather:
//
//	2(n−1) · latency + 2(n−1)/n · bytes / bandwidth
func AllReduce(n int, bytes unit.Bytes, wire Wire) unit.Tick {
	check(n, "ranks", bytes)
	return wire.pass(2*(n-1), 2*float64(bytes)*float64(n-1)/float64(n))
}

// HierarchicalAllReduce returns the time of an all-reduce among servers of
// perServer ranks each: reduce-scatter inside every server, an all-reduce among
// servers of every rank's part, all at once over the server's one network card,
// and all-gather inside.
//
//	ReduceScatter(perServer, bytes, inside) + AllReduce(servers, bytes, across) + AllGather(perServer, bytes, inside)
//
// The middle term carries all bytes and not bytes/perServer, because the
// perServer rings share across; with a card for every rank, give across the
// bandwidth of them all.
func HierarchicalAllReduce(servers, perServer int, bytes unit.Bytes, inside, across Wire) unit.Tick {
	check(servers, "servers", bytes)
	return ReduceScatter(perServer, bytes, inside) + AllReduce(servers, bytes, across) + AllGather(perServer, bytes, inside)
}

// check panics if a collective's arguments are out of range.
func check(n int, what string, bytes unit.Bytes) {
	if n < 1 || bytes < 0 {
		panic(fmt.Sprintf("device: collective of %d %s, %d bytes, want at least 1, 0", n, what, bytes))
	}
}
