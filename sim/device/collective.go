package device

import (
	"fmt"

	"tandem/algo/unit"
)

// Wire is a link for closed-form costs: one direction, without other traffic.
type Wire struct {
	Bandwidth unit.BytesPerSec // that transfers reach, not the nominal one
	Latency   unit.Tick        // of one message
}

// Time returns the time of one message of some bytes.
func (w Wire) Time(bytes unit.Bytes) unit.Tick { return w.pass(1, float64(bytes)) }

// pass returns the time of a number of steps that move bytes over the wire in all.
func (w Wire) pass(steps int, bytes float64) unit.Tick {
	return unit.Tick(steps)*w.Latency + ticks(bytes/float64(w.Bandwidth))
}

// ReduceScatter returns the time of a ring reduce-scatter among n ranks. Each rank has a vector of the given
// bytes, and keeps 1/n of the sum:
//
//	(n−1) · latency + (n−1)/n · bytes / bandwidth
//
// A ring runs at the speed of its slowest link, which is wire. The time is 0 for n = 1. ReduceScatter panics
// if n < 1 or bytes < 0.
//
// Source: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005), without the cost of the additions; nccl-tests,
// PERFORMANCE.md.
func ReduceScatter(n int, bytes unit.Bytes, wire Wire) unit.Tick {
	check(n, "ranks", bytes)
	return wire.pass(n-1, float64(bytes)*float64(n-1)/float64(n))
}

// AllGather returns the time of a ring all-gather: each of n ranks contributes 1/n of bytes and receives all
// of them. It mirrors ReduceScatter and costs the same.
func AllGather(n int, bytes unit.Bytes, wire Wire) unit.Tick {
	return ReduceScatter(n, bytes, wire)
}

// AllReduce returns the time of a ring all-reduce, which is a reduce-scatter and an all-gather:
//
//	2(n−1) · latency + 2(n−1)/n · bytes / bandwidth
func AllReduce(n int, bytes unit.Bytes, wire Wire) unit.Tick {
	check(n, "ranks", bytes)
	return wire.pass(2*(n-1), 2*float64(bytes)*float64(n-1)/float64(n))
}

// HierarchicalAllReduce returns the time of an all-reduce among servers of perServer ranks each: a
// reduce-scatter inside every server; an all-reduce of every rank's part among the servers, all parts at once
// over the one network card of each server; an all-gather inside every server.
//
//	ReduceScatter(perServer, bytes, inside) + AllReduce(servers, bytes, across) +
//	AllGather(perServer, bytes, inside)
//
// The middle term carries all bytes and not bytes/perServer, because the perServer rings share across. If
// every rank has a card, across has the bandwidth of all cards of a server together.
func HierarchicalAllReduce(servers, perServer int, bytes unit.Bytes, inside, across Wire) unit.Tick {
	check(servers, "servers", bytes)
	return ReduceScatter(perServer, bytes, inside) + AllReduce(servers, bytes, across) +
		AllGather(perServer, bytes, inside)
}

// check panics if an argument of a collective is out of range.
func check(n int, what string, bytes unit.Bytes) {
	if n < 1 || bytes < 0 {
		panic(fmt.Sprintf("device: collective of %d %s, %d bytes, want at least 1, 0", n, what, bytes))
	}
}
