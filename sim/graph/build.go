package graph

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/model"
)

// The parts of a step.
const (
	PartHost              = "host"
	PartInput             = "input distribution"
	PartCopy              = "host-accelerator copies"
	PartEmbeddingForward  = "embedding forward"
	PartEmbeddingBackward = "embedding backward and update"
	PartDenseForward      = "dense forward"
	PartDenseBackward     = "dense backward"
	PartAllToAll          = "all-to-all"
	PartAllReduce         = "all-reduce"
	PartOptimizer         = "optimizer"
)

// The resources of an accelerator, and of its server for rows that it fetches.
const (
	Peak         = "accelerator peak"
	DeviceMemory = "accelerator memory"
	DeviceLaunch = "accelerator launch"
	HostMemory   = "GPU server memory"
	Drives       = "GPU server SSD"
)

// builder makes the step of a job.
type builder struct {
	Step
	job     *Job
	network *model.Network
	net     *network
	plan    *plan
	placer  *placer
	local   float64 // samples of the rank with the most
	launch  float64 // host time of a launch, in nanoseconds
	err     error
}

// kernel returns the node of a kernel.
func (b *builder) kernel(name, part string, phase Phase, k device.Kernel) Node {
	a := b.job.Cluster.Accelerator
	n := Node{Name: name, Part: part, Stream: Compute, Kind: Kernel, Phase: phase, Time: a.Time(k)}
	n.Launch = unit.Tick(math.Round(float64(k.Launches) * b.launch))
	resource := DeviceMemory
	if compute := k; k.FLOPs > 0 {
		if compute.Bytes = 0; a.Time(compute) == n.Time {
			resource = Peak
		}
	}
	if n.Time > 0 {
		share := min(1, float64(unit.Tick(k.Launches)*a.Launch)/float64(n.Time))
		n.Needs = []Need{{DeviceLaunch, share}, {resource, 1 - share}}
	}
	return n
}

// stream returns a kernel that takes as long as a stream of some bytes.
func stream(launches int, bytes float64) device.Kernel {
	return device.Kernel{Launches: launches, Bytes: unit.Bytes(math.Ceil(bytes))}
}

// nanos rounds seconds up to a nanosecond.
func nanos(seconds float64) unit.Tick { return unit.Tick(math.Ceil(seconds * 1e9)) }

// collective returns the node of a collective.
func (b *builder) collective(name, part string, stream Stream, c cost, err error) Node {
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("graph: %s: %w", name, err)
	}
	return Node{Name: name, Part: part, Stream: stream, Kind: Collective, Time: c.time, Needs: c.needs,
		Launch: unit.Tick(math.Round(b.launch))}
}

// after returns a node with its dependencies.
func after(n Node, nodes ...int) Node {
	n.After = nodes
	return n
}

// build makes the step.
func (b *builder) build() error {
	most := &b.plan.most
	tables := float64(len(b.placer.tables))
	occurrences := 0.0
	for _, t := range b.placer.tables {
		occurrences += t.IDs
	}
	// Batch i+2: ids, lengths, numeric features, labels.
	copied := b.local * (idBytes*occurrences + lengthBytes*tables +
		4*float64(b.job.Model.Numeric+b.job.Model.Labels))
	wire := b.job.Cluster.HostLink
	host := &b.job.System.NNWorker
	b.add(Node{Name: "step", Part: PartHost, Stream: Host, Needs: []Need{{HostThread, 1}},
		Time: nanos((host.StepTime.Mid + unit.Tick(tables)*host.SlotTime.Mid).Seconds() /
			speed(b.job.Cluster.Server))})
	inputs := b.add(Node{Name: "copy of batch i+2", Part: PartCopy, Stream: Copies,
		Time: wire.Time(unit.Bytes(copied)), Launch: unit.Tick(math.Round(b.launch)),
		Needs: []Need{{HostLink, 1}}})
	fetched := -1
	if s, from := b.placer.fetchSeconds(most); s > 0 {
		fetched = b.add(Node{Name: "rows of batch i+1", Part: PartCopy, Stream: Copies, Time: nanos(s),
			Launch: unit.Tick(math.Round(b.launch)), Needs: []Need{{from, 1}}})
	}
	// Batch i+1: lengths now, ids once the host thread knows their number.
	var lengths, prepare, ids Node
	announced, distributed := -1, b.net.ranks > 1
	if distributed {
		c, err := b.net.allToAll(b.local * lengthBytes * tables)
		lengths = b.collective("lengths of batch i+1", PartInput, Inputs, c, err)
		lengths.AfterPrevious = []int{inputs}
		prepare = b.kernel("group ids by rank", PartInput, Even, stream(4, 4*b.local*idBytes*occurrences))
		prepare.Stream = Inputs
		c, err = b.net.allToAll(max(most.ids, b.local*idBytes*occurrences))
		ids = b.collective("ids of batch i+1", PartInput, Inputs, c, err)
		rest := exposed("ids of batch i", PartInput, Compute, b.job.System.Pipeline.Inputs.Mid, &lengths,
			&prepare, &ids)
		if rest.Time > 0 {
			b.add(rest)
		}
		announced = b.add(lengths)
	}
	lookup := b.lookup(fetched)
	top := b.forward(lookup)
	if distributed {
		b.add(Node{Name: "await lengths", Part: PartHost, Stream: Host, After: []int{announced}})
		b.add(prepare)
		b.Nodes[lookup].AfterPrevious = append(b.Nodes[lookup].AfterPrevious, b.add(ids))
	} else {
		b.Nodes[lookup].AfterPrevious = append(b.Nodes[lookup].AfterPrevious, inputs)
	}
	b.backward(top)
	b.wait()
	// The buffers of batch i−1 are free for batch i+2.
	b.Nodes[inputs].AfterPrevious = []int{len(b.Nodes) - 1}
	if b.err != nil {
		return b.err
	}
	if err := b.Validate(); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

// lookup adds the lookup of the rows.
func (b *builder) lookup(fetched int) int {
	b.ofTables("kernels of each table", PartEmbeddingForward, Forward)
	n := b.kernel("lookup", PartEmbeddingForward, Forward, stream(b.plan.layouts(), b.plan.most.lookup))
	if fetched >= 0 {
		n.AfterPrevious = []int{fetched}
	}
	return b.add(n)
}

// forward adds the rest of the forward pass, and returns its last node.
func (b *builder) forward(lookup int) int {
	most := &b.plan.most
	ready := []int{lookup}
	for _, x := range []struct {
		name  string
		price func() (cost, error)
		bytes float64
	}{
		{"partial sums in servers", func() (cost, error) {
			return b.net.reduceScatter(b.net.server,
				most.inside)
		},
			most.inside},
		{"pooled rows", func() (cost, error) { return b.net.allToAll(most.exchange) }, most.exchange},
		{"partial sums", func() (cost, error) { return b.net.reduceScatter(b.net.world, most.scatter) },
			most.scatter},
	} {
		if x.bytes > 0 && b.net.ranks > 1 {
			c, err := x.price()
			ready = []int{b.add(after(b.collective(x.name, PartAllToAll, Collectives, c, err), ready...))}
		}
	}
	for _, p := range b.network.Bottom {
		b.layerForward(p)
	}
	joined := b.join(PartDenseForward, Forward)
	b.Nodes[joined].After = ready
	if b.network.Pairs.Vectors > 0 {
		b.add(b.kernel("pairs", PartDenseForward, Forward, b.pairs().Forward()))
	}
	if b.network.Pooled > 0 {
		b.elementwise("means", PartDenseForward, Forward, b.network.Pooled)
	}
	for _, o := range b.network.Others {
		b.elementwise(o.Name, PartDenseForward, Forward, o.Values)
	}
	for i, p := range b.network.Cross {
		b.layerForward(p)
		if i%2 == 1 { // x0 ⊙ (…) + x: three read, one written
			b.fused("cross", PartDenseForward, Forward, 4*p.Out)
		}
	}
	for _, p := range b.network.Top {
		b.layerForward(p)
	}
	return b.elementwise("loss", PartDenseForward, Forward, 4*b.job.Model.Labels)
}

// elementwise adds a kernel that reads and writes values of each sample.
func (b *builder) elementwise(name, part string, phase Phase, values int) int {
	bytes := b.local * float64(values) * float64(b.job.Precisions.Activations.Bytes())
	return b.add(b.kernel(name, part, phase, stream(1, bytes)))
}

// fused adds an elementwise kernel beside a matrix product, as far as it is not part of it.
func (b *builder) fused(name, part string, phase Phase, values int) {
	at := b.elementwise(name, part, phase, values)
	left := 1 - min(1, b.job.System.DenseKernels.Fused.Mid)
	n := &b.Nodes[at]
	n.Time, n.Launch = nanos(left*n.Time.Seconds()), nanos(left*n.Launch.Seconds())
}

// multiply adds the product of an m×k and a k×n matrix of activations, weights or their gradients.
func (b *builder) multiply(name, part string, phase Phase, m, n, k int) int {
	b.cast(name, part, phase, m*k+k*n)
	node := b.kernel(name, part, phase, b.job.Cluster.Accelerator.MatMul(device.Product{
		Batch: 1, M: m, N: n, K: k, Value: b.job.Precisions.Activations.Bytes(),
		Precision: b.job.Precisions.Compute.Device(),
	}))
	node.Time = unit.Tick(math.Round(float64(b.job.System.DenseKernels.Products.Mid) * float64(node.Time)))
	return b.add(node)
}

// layerForward adds a layer: a product with the bias, and the activation function.
func (b *builder) layerForward(p model.Product) {
	b.multiply(p.Name, PartDenseForward, Forward, int(b.local), p.Out, p.In)
	b.pass(p.Name, PartDenseForward, Forward, 2*p.Out)
	if p.Activated {
		b.fused(p.Name+" activation", PartDenseForward, Forward, 2*p.Out)
	}
}

// layerBackward adds the backward pass of a layer: activation function, gradients of weights and input. It
// returns the last node.
func (b *builder) layerBackward(p model.Product) int {
	b.pass(p.Name, PartDenseBackward, Backward, 2*p.Out)
	if p.Activated {
		b.fused(p.Name+" activation back", PartDenseBackward, Backward, 3*p.Out)
	}
	at := b.multiply(p.Name+" weights back", PartDenseBackward, Backward, p.In, p.Out, int(b.local))
	if !p.First {
		at = b.multiply(p.Name+" input back", PartDenseBackward, Backward, int(b.local), p.In, p.Out)
	}
	return at
}

// join adds the kernel that puts pooled rows and numeric features side by side, or takes their gradients
// apart.
func (b *builder) join(part string, phase Phase) int {
	return b.elementwise("join", part, phase, 2*b.network.Joined)
}

// pairs returns the inner products of a sample's vectors.
func (b *builder) pairs() device.Interaction {
	return device.Interaction{Samples: int(b.local), Vectors: b.network.Pairs.Vectors,
		Dim: b.network.Pairs.Dim, Value: b.job.Precisions.Activations.Bytes(),
		Precision: b.job.Precisions.Compute.Device()}
}

// backward adds the backward pass, the all-reduces and the optimizers. Collectives start as soon as what they
// send is ready.
func (b *builder) backward(loss int) {
	most := &b.plan.most
	buckets := b.network.Buckets()
	at, hi := loss, b.network.Parameters()
	var reduced []int
	// layers goes back through some layers and starts the buckets that are complete.
	layers := func(products []model.Product) {
		for i := len(products) - 1; i >= 0; i-- {
			p := products[i]
			at = b.layerBackward(p)
			hi -= p.Parameters()
			for len(buckets) > 0 && buckets[0].Lo >= hi {
				if b.net.ranks > 1 {
					values := buckets[0].Hi - buckets[0].Lo
					c, err := b.net.allReduce(float64(values) * float64(b.job.Precisions.Gradients.Bytes()))
					reduced = append(reduced,
						b.add(after(b.collective("gradients", PartAllReduce, Collectives, c, err), at)))
				}
				buckets = buckets[1:]
			}
		}
	}
	layers(b.network.Top)
	for i := len(b.network.Cross) - 2; i >= 0; i -= 2 {
		b.fused("cross back", PartDenseBackward, Backward, 7*b.network.Cross[i].In)
		layers(b.network.Cross[i : i+2])
	}
	if b.network.Pairs.Vectors > 0 {
		b.add(b.kernel("pairs back", PartDenseBackward, Backward, b.pairs().Backward()))
	}
	if b.network.Pooled > 0 {
		b.elementwise("means back", PartDenseBackward, Backward, b.network.Pooled)
	}
	for _, o := range b.network.Others {
		b.elementwise(o.Name+" back", PartDenseBackward, Backward, 2*o.Values)
	}
	ready := b.scatterGradients(b.join(PartDenseBackward, Backward))
	layers(b.network.Bottom)
	passes := int(math.Ceil(float64(b.job.System.EmbeddingKernels.Passes.Mid)))
	b.add(b.kernel("sort of ids", PartEmbeddingBackward, Backward, stream(3+passes, most.sort)))
	b.ofTables("kernels of each table back", PartEmbeddingBackward, Backward)
	b.add(after(b.kernel("update of rows", PartEmbeddingBackward, Backward,
		stream(b.plan.layouts(), most.update)), ready))
	if most.reduce > 0 && b.net.ranks > 1 {
		c, err := b.net.allReduce(most.reduce)
		reduced = append(reduced,
			b.add(after(b.collective("gradients of replicas", PartAllReduce, Collectives, c, err),
				len(b.Nodes)-1)))
	}
	b.optimizer(reduced)
}

// scatterGradients adds the collectives that bring the gradients of pooled rows to the ranks of the rows, one
// after the other. It returns the last, or the node after which they start if there is none.
func (b *builder) scatterGradients(ready int) int {
	most := &b.plan.most
	for _, x := range []struct {
		name  string
		price func() (cost, error)
		bytes float64
	}{
		{"gradients of partial sums", func() (cost, error) {
			return b.net.allGather(b.net.world,
				most.scatter)
		},
			most.scatter},
		{"gradients of pooled rows", func() (cost, error) { return b.net.allToAll(most.exchange) },
			most.exchange},
		{"gradients in servers", func() (cost, error) { return b.net.allGather(b.net.server, most.inside) },
			most.inside},
	} {
		if x.bytes > 0 && b.net.ranks > 1 {
			c, err := x.price()
			ready = b.add(after(b.collective(x.name, PartAllToAll, Collectives, c, err), ready))
		}
	}
	return ready
}

// optimizer adds the update of the dense network and of replicated tables.
func (b *builder) optimizer(reduced []int) {
	parameters := b.network.Parameters()
	state := float64(b.job.Model.Optimizers.Dense.State(parameters))
	// Gradients and weights are fp32 in memory; kernels read a copy of the weights in their own format.
	bytes := float64(parameters)*(4+2*4) + 2*state
	if b.job.Precisions.Activations != model.Float32 {
		bytes += 2 * float64(parameters)
	}
	perTensor := float64(b.job.System.DenseKernels.TensorLaunches.Mid)
	launches := 2 + int(math.Round(perTensor*float64(b.tensors())))
	n := b.kernel("dense optimizer", PartOptimizer, Even, stream(launches, bytes+b.plan.most.dense))
	all := make([]*Node, len(reduced))
	for i, at := range reduced {
		all[i] = &b.Nodes[at]
	}
	rest := exposed("gradients", PartAllReduce, Collectives, b.job.System.Pipeline.Reductions.Mid, all...)
	if rest.Time > 0 {
		reduced = append(reduced, b.add(after(rest, len(b.Nodes)-1)))
	}
	b.add(after(n, slices.Clone(reduced)...))
}
