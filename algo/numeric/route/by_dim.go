package route

import (
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/shard"
)

// ByDim is a rank's batch with its ids resolved, a Routed for each kind of rows of the slots, in the order of
// batch.Dims. What travels to and from an owner has the signs, or the values of their rows, of one kind after
// the other. Where all slots have one kind of rows, that is the order of the Routed.
type ByDim struct {
	Routed []*Routed // at least one
	Dims   []int     // the length of the rows of each
}

// RouteByDim is RouteOn for slots that may differ in dimension. Without slots, the rows that no id names have
// one dimension, which is 0.
func RouteByDim(pool gemm.Pool, schema *batch.Schema, part batch.Part, plan shard.Plan) ByDim {
	kinds := schema.Dims()
	dims := kinds.Lengths()
	switch len(dims) {
	case 0:
		return ByDim{[]*Routed{RouteOn(pool, schema, part, plan)}, []int{0}}
	case 1:
		return ByDim{[]*Routed{RouteOn(pool, schema, part, plan)}, dims}
	}
	b := ByDim{Dims: dims}
	for place, dim := range dims {
		b.Routed = append(b.Routed, routeKind(pool, schema, part, plan, rowKind{dim, kinds.Classes()[place]}))
	}
	return b
}

// Samples returns the number of samples of the part.
func (b ByDim) Samples() int { return b.Routed[0].Samples() }

// CheckApart is Routed.CheckApart of all kinds of rows.
func (b ByDim) CheckApart(schema *batch.Schema) error { return b.Routed[0].CheckApart(schema) }

// Owners returns the number of owners.
func (b ByDim) Owners() int { return len(b.Routed[0].Bounds) - 1 }

// Signs returns the number of distinct signs.
func (b ByDim) Signs() (n int) {
	for _, r := range b.Routed {
		n += len(r.Signs)
	}
	return n
}

// Values returns the number of values of the rows of all signs.
func (b ByDim) Values() (n int) {
	for i, r := range b.Routed {
		n += len(r.Signs) * b.Dims[i]
	}
	return n
}

// ShardSigns returns the signs that owner p has. The result may alias b.
func (b ByDim) ShardSigns(p int) []uint64 {
	if len(b.Routed) == 1 {
		return b.Routed[0].ShardSigns(p)
	}
	var signs []uint64
	for _, r := range b.Routed {
		signs = append(signs, r.ShardSigns(p)...)
	}
	return signs
}

// ShardValues returns the number of values of the rows that owner p has.
func (b ByDim) ShardValues(p int) (n int) {
	for i := range b.Routed {
		n += b.shardValues(i, p)
	}
	return n
}

// shardValues is ShardValues of the rows of one dimension.
func (b ByDim) shardValues(i, p int) int {
	r := b.Routed[i]
	return int(r.Bounds[p+1]-r.Bounds[p]) * b.Dims[i]
}

// Pool writes the model input of every sample to dst: see Routed.Pool. Rows has the rows of every dimension:
// see Gather. Winners are as in Routed.PoolOn.
func (b ByDim) Pool(pool gemm.Pool, dst []float32, winners []int32, schema *batch.Schema, rows [][]float32) {
	for i, r := range b.Routed {
		r.PoolOn(pool, dst, winners, schema, rows[i], b.Dims[i])
	}
}

// Merge writes the gradient sum of every distinct row of each dimension to sums: see Routed.Merge.
func (b ByDim) Merge(pool gemm.Pool, sums [][]float32, schema *batch.Schema, grads []float32,
	winners []int32) {
	for i, r := range b.Routed {
		r.MergeOn(pool, sums[i], schema, grads, winners, b.Dims[i])
	}
}

// Gather returns the rows of every dimension, those of the owners one after the other, from the rows of all
// owners, one after the other as they travel. If it Gathers, it writes them to scratch, which is as long as
// rows; else the result aliases rows.
func (b ByDim) Gather(scratch, rows []float32) [][]float32 {
	if !b.Gathers() {
		return b.Cut(rows)
	}
	byDim := b.Cut(scratch)
	b.each(func(i, at, n, first int) { copy(byDim[i][at:at+n], rows[first:]) })
	return byDim
}

// Gathers reports whether Gather moves rows: whether several owners have rows of several dimensions.
func (b ByDim) Gathers() bool { return len(b.Routed) > 1 && b.Owners() > 1 }

// Scatter is the inverse of Gather. It writes the values of all owners, one after the other as they travel,
// to dst, from those of every dimension, which follow each other in values.
func (b ByDim) Scatter(dst, values []float32) {
	byDim := b.Cut(values)
	b.each(func(i, at, n, first int) { copy(dst[first:first+n], byDim[i][at:]) })
}

// each calls f for the rows of every dimension i that owner p has: n values, from at on among those of the
// dimension, and from first on as they travel.
func (b ByDim) each(f func(i, at, n, first int)) {
	at, first := make([]int, len(b.Routed)), 0
	for p := range b.Owners() {
		for i := range b.Routed {
			n := b.shardValues(i, p)
			f(i, at[i], n, first)
			at[i] += n
			first += n
		}
	}
}

// Cut cuts the values of the rows of all dimensions, one dimension after the other.
func (b ByDim) Cut(values []float32) [][]float32 {
	byDim := make([][]float32, len(b.Routed))
	for i, r := range b.Routed {
		n := len(r.Signs) * b.Dims[i]
		byDim[i], values = values[:n:n], values[n:]
	}
	return byDim
}
