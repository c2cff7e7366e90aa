package graph

import (
	"math"

	"tandem/algo/unit"
	"tandem/sim/model"
)

// This file has what software adds to a step: kernels that a better one would not need, and waits that a
// better pipeline would hide. The prices are those of a system.Profile.

// multiple adds a kernel as often as a number says, which need not be whole.
func (b *builder) multiple(times float64, n Node) int {
	n.Time, n.Launch = nanos(times*n.Time.Seconds()), nanos(times*n.Launch.Seconds())
	return b.add(n)
}

// ofTables adds the kernels that the tables of the rank with the most tables have of their own; a half of
// them is forward, a half backward.
func (b *builder) ofTables(name, part string, phase Phase) {
	if each := float64(b.job.System.EmbeddingKernels.TableLaunches.Mid); each > 0 {
		b.multiple(each/2*b.plan.tables(b.net.ranks), b.kernel(name, part, phase, stream(1, 0)))
	}
}

// tables returns the number of tables of which the rank with the most has a part.
func (out *plan) tables(ranks int) float64 {
	count := make([]int, ranks)
	most := 0
	for _, x := range out.pieces {
		for i := range min(x.ranks, ranks) {
			rank := (x.rank + i) % ranks
			count[rank]++
			most = max(most, count[rank])
		}
	}
	return float64(most)
}

// pass adds the kernels that read and write some values of each sample beside a layer.
func (b *builder) pass(name, part string, phase Phase, values int) {
	if times := float64(b.job.System.DenseKernels.Passes.Mid); times > 0 {
		bytes := b.local * float64(values) * float64(b.job.Precisions.Activations.Bytes())
		b.multiple(times, b.kernel(name+" passes", part, phase, stream(1, bytes)))
	}
}

// cast adds the conversions of the two factors of a product: fp32 is read or written at one side, 16 bits at
// the other.
func (b *builder) cast(name, part string, phase Phase, values int) {
	times := float64(b.job.System.DenseKernels.Casts.Mid)
	if times > 0 && b.job.Precisions.Activations != model.Float32 {
		b.multiple(times, b.kernel(name+" casts", part, phase, stream(2, (4+2)*float64(values))))
	}
}

// tensors returns the number of tensors of the dense network: matrices and biases.
func (b *builder) tensors() (count int) {
	for _, layers := range [][]model.Product{b.network.Bottom, b.network.Cross, b.network.Top} {
		for _, p := range layers {
			if count++; p.Bias > 0 {
				count++
			}
		}
	}
	return count
}

// wait adds the time in which the accelerator waits for the program.
func (b *builder) wait() {
	if idle := b.job.System.Pipeline.IdleTime.Mid; idle > 0 {
		b.add(Node{Name: "idle", Part: PartHost, Stream: Compute, Time: idle, Needs: []Need{{HostThread, 1}}})
	}
}

// exposed takes from some nodes the share of their times that the system does not hide, and returns a node
// with it. The node is a collective, as most of them are.
func exposed(name, part string, stream Stream, hidden float64, nodes ...*Node) Node {
	rest := Node{Name: name, Part: part, Stream: stream, Kind: Collective}
	if hidden >= 1 {
		return rest
	}
	total := 0.0
	var needs []Need
	for _, n := range nodes {
		left := (1 - hidden) * float64(n.Time)
		n.Time = unit.Tick(math.Round(hidden * float64(n.Time)))
		total += left
		for _, need := range n.Needs {
			needs = append(needs, Need{need.Resource, left * need.Share})
		}
	}
	for i := range needs {
		needs[i].Share /= max(total, 1)
	}
	rest.Time, rest.Needs = unit.Tick(math.Round(total)), needs
	return rest
}
