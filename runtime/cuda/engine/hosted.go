package engine

import (
	"tandem/algo/numeric/model"
	"tandem/runtime/cuda"
)

// hosted are the pooled embeddings of rows on PSs while others are on the device, and later their gradients.
// They travel without the columns of slots that have all rows on the device.
type hosted struct {
	columns   []int32 // of the model input; none: the rows of all slots are on the device
	columnsAt cuda.Address
	values    cuda.Address // of all samples of a part
}

// newHosted lays out what the host gives up to a number of samples.
func newHosted(m *memory, c *model.RowsConfig, samples int) hosted {
	h := hosted{columns: c.HostColumns()}
	h.columnsAt, h.values = m.floats(len(h.columns)), m.floats(samples*len(h.columns))
	return h
}

// hostWidth returns the number of pooled embedding values of a sample that come from the host.
func (r *replica) hostWidth() int {
	if r.rows != nil {
		return len(r.rows.hosted.columns)
	}
	return r.program.Layout.EmbeddingWidth
}

// copyPooled appends the copy of the pooled embeddings of a group that come from the host.
func (r *replica) copyPooled(g int, p *pass) {
	width := r.hostWidth()
	lo, n := r.part.Bounds[g]*width, p.samples*width
	from, to := r.staging.pooled[lo:lo+n], p.value(model.PooledValue)
	if r.rows == nil {
		r.copyIn(to, from)
		return
	}
	at := r.rows.hosted.values.Floats(lo)
	r.copyIn(at, from)
	r.columnsOfHost("spread_columns", to, at, n)
}

// sendPooledGradients appends the copy of the gradients of these embeddings to the host.
func (r *replica) sendPooledGradients(g int, p *pass, grad cuda.Address) {
	width := r.hostWidth()
	lo, n := r.part.Bounds[g]*width, p.samples*width
	if r.rows != nil {
		at := r.rows.hosted.values.Floats(lo)
		r.columnsOfHost("gather_columns", at, grad, n)
		grad = at
	}
	r.copyOut(r.compute, r.staging.pooledGradients[lo:lo+n], grad)
}

// columnsOfHost appends a kernel that moves n values of slots whose rows are on PSs.
func (r *replica) columnsOfHost(kernel string, to, from cuda.Address, n int) {
	r.each(kernel, n, cuda.Pointer(to), cuda.Pointer(from), cuda.Pointer(r.rows.hosted.columnsAt),
		cuda.Int(n), cuda.Int(r.hostWidth()), cuda.Int(r.program.Layout.EmbeddingWidth))
}
