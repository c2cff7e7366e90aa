package route

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
)

// Merge writes the gradient sum of every distinct row of the part to sums.
//
//	g[u] = tree over groups of  Σ over occurrences of u in the group  grad
//
// where grad is the gradient of the sum that the row went into, scaled as Pool
// has scaled the sum, times the weight of the row's id; of a Max slot it is the gradient of those values that
// the row has won, and 0 of the others. Within a group, occurrences are added in the order of
// slots, samples, ids and rounds; a group in which u does not occur is no leaf of the tree. A row all of
// whose occurrences a Raw slot has dropped gets −0, which leaves every value as
// it is, sign of zero included, when Combine adds it.
//
// Shapes: grads is Samples × schema.EmbeddingWidth(), the gradients of what
// Pool wrote, fewer than 2³¹; sums is len(Signs) × dim. It panics if a length
// disagrees. Cost: one row added an occurrence of a row, and one
// for each (row, group).
func (r *Routed) Merge(sums []float32, schema *batch.Schema, grads []float32, dim int) {
	r.MergeOn(nil, sums, schema, grads, nil, dim)
}

// MergeOn is Merge, with the winners that PoolOn has written. A pool that is not nil shares the rows of a
// large batch over goroutines.
func (r *Routed) MergeOn(pool gemm.Pool, sums []float32, schema *batch.Schema, grads []float32,
	winners []int32, dim int) {
	r.MergeRange(pool, sums, schema, grads, winners, dim, 0, len(r.Signs))
}

// MergeRange is MergeOn of the rows from lo to below hi: sums is (hi−lo) × dim.
func (r *Routed) MergeRange(pool gemm.Pool, sums []float32, schema *batch.Schema, grads []float32,
	winners []int32, dim, lo, hi int) {
	mustMatch("sums", len(sums), (hi-lo)*dim)
	o := occurrencesPool.Get().(*Occurrences)
	defer occurrencesPool.Put(o)
	o.Pool = pool
	r.Order(o, schema, dim)
	r.Take(o, schema, grads, winners)
	rows, ranges := hi-lo, 1
	if pool != nil && o.ends[len(r.Signs)] >= sharedOccurrences {
		ranges = pool.Size()
	}
	each(pool, ranges, func(i int) {
		from, to := i*rows/ranges, (i+1)*rows/ranges
		o.Sum(sums[from*dim:to*dim], lo+from, lo+to)
	})
	o.Pool, o.grads = nil, nil // not to keep them
}

// each calls task for every index from 0 to tasks−1, by the pool if there are several.
func each(pool gemm.Pool, tasks int, task func(index int)) {
	if tasks == 1 {
		task(0)
		return
	}
	pool.ForEach(tasks, task)
}

// Take sets the gradients that o.Sum adds: those of what Pool wrote, Samples × schema.EmbeddingWidth(),
// with the winners that PoolOn has written. They must stay unchanged until the last sum. It panics if a
// length disagrees, or a winner is not of its bag: see CheckWinners.
func (r *Routed) Take(o *Occurrences, schema *batch.Schema, grads []float32, winners []int32) {
	mustMatch("grads", len(grads), o.values)
	o.grads = r.scaleGrads(o, schema, grads, o.dim)
	if o.apart > 0 {
		mustMatch("winners", len(winners), r.part.Samples*schema.Winners())
		r.giveApart(o, schema, winners)
	}
}

// CheckApart returns an error unless there is room for the gradients of rows that have their own, those of
// Max slots and of ids with weights, of all kinds of rows. Merge needs it.
func (r *Routed) CheckApart(schema *batch.Schema) error {
	if n := r.valuesApart(schema); n > apartMost {
		return fmt.Errorf("slots that take maxima, or have weights, have %d gradients of rows in a batch of "+
			"%d samples; at most %d: train with smaller batches", n, r.part.Samples, apartMost)
	}
	return nil
}

// CheckWinners returns an error unless each winner is an id of its bag, for winners that come from another
// process. It panics if the length disagrees. Cost: a pass over them.
func (r *Routed) CheckWinners(schema *batch.Schema, winners []int32) error {
	won, first := schema.Winners(), 0
	mustMatch("winners", len(winners), r.part.Samples*won)
	for s, slot := range schema.Slots {
		n := slot.Winners()
		for i := 0; n > 0 && i < r.part.Samples; i++ {
			ids := int(r.part.Slots[s].Offsets[i+1] - r.part.Slots[s].Offsets[i])
			for _, k := range winners[i*won+first:][:n] {
				if k < 0 || int(k) >= max(ids, 1) {
					return fmt.Errorf("slot %s: id %d of sample %d has a maximum, and there are %d",
						slot.Name, k, i, ids)
				}
			}
		}
		first += n
	}
	return nil
}

// giveApart writes the gradients of rows that have their own behind those of the model input, where Order has
// placed them: each value of a Max slot to the row that has won it, and to a row of an id with a weight the
// gradient of the sum times the weight.
func (r *Routed) giveApart(o *Occurrences, schema *batch.Schema, winners []int32) {
	dim, width, won := o.dim, schema.EmbeddingWidth(), schema.Winners()
	if len(o.scaled) != len(o.grads) || len(o.grads) > 0 && &o.scaled[0] != &o.grads[0] {
		o.scaled = append(o.scaled[:0], o.grads...)
	}
	o.scaled = slices.Grow(o.scaled, o.apart)[:o.values+o.apart]
	own := o.scaled[o.values:]
	first, firstWon := 0, 0
	for s := range schema.Slots {
		slot := &schema.Slots[s]
		if r.eachApart(s, slot) {
			at, each := 0, slot.RowsPerID()
			for i := range r.part.Samples {
				n := len(r.occurrences(s, i, each))
				bag, grads := own[at*dim:(at+n)*dim], o.scaled[i*width+first:][:dim]
				at += n
				if slot.Pooling == batch.Max {
					giveToWinners(bag, grads, winners[i*won+firstWon:][:dim])
				} else {
					giveWeighted(bag, grads, r.part.Slots[s].SampleWeights(i), each)
				}
			}
			own = own[at*dim:]
		}
		first += slot.Width()
		firstWon += slot.Winners()
	}
	o.grads = o.scaled
}

// giveToWinners writes the gradients of maxima to those of the rows of a bag.
func giveToWinners(bag, grads []float32, winners []int32) {
	if clear(bag); len(bag) == 0 {
		return
	}
	for j, k := range winners {
		bag[int(k)*len(grads)+j] = grads[j]
	}
}

// giveWeighted writes the gradients of a sum, times the weights of ids, to those of the rows of a bag.
func giveWeighted(bag, grads, weights []float32, each int) {
	for k := 0; len(bag) > 0; k++ {
		weight := weights[k/each]
		for j, g := range grads {
			bag[j] = weight * g
		}
		bag = bag[len(grads):]
	}
}

// areApart reports whether the rows of a slot have gradients of their own, not that of their sum.
func (r *Routed) areApart(s int, slot *batch.Slot) bool {
	return slot.Pooling == batch.Max || r.part.Slots[s].Weights != nil
}

// eachApart is areApart of a slot whose ids are resolved, and false for others.
func (r *Routed) eachApart(s int, slot *batch.Slot) bool {
	return r.areApart(s, slot) && !r.skips(slot)
}

// Order finds for each row of the part, which has dim values, where it occurs in the model input. With it,
// rows are spread and their gradients are summed a few at a time, while they are in the first cache.
// Together, the sums equal Merge. O describes this part until the next Order. Cost: some 3 ns an occurrence
// of a row.
func (r *Routed) Order(o *Occurrences, schema *batch.Schema, dim int) {
	width := schema.EmbeddingWidth()
	o.start(len(r.Signs), r.part.Samples*width, r.apart(schema)*dim, dim)
	if r.slotBySlot(schema) {
		r.orderSlots(o, schema, width)
		return
	}
	sort := sortings.Get().(*sorting)
	defer sortings.Put(sort)
	for s := range schema.Slots {
		r.countSlot(o, s, &schema.Slots[s])
	}
	sort.reserve(o, 0, len(r.Signs), 0)
	for g := range r.part.Groups() {
		sort.group = int32(g)
		first, apart := 0, o.values
		for s := range schema.Slots {
			slot := &schema.Slots[s]
			r.placeSlot(sort, s, slot, g, first, apart, width)
			first += slot.Width()
			if r.eachApart(s, slot) {
				apart += len(r.Index[s]) * dim
			}
		}
	}
}

// apartMost bounds the gradients that Order places apart: 2 GiB, to which a message of some megabytes may
// amount.
const apartMost = 1 << 29

// valuesApart returns the number of gradients of rows that have their own, of all kinds of rows.
func (r *Routed) valuesApart(schema *batch.Schema) (n int) {
	for s, own := range r.part.Slots {
		if slot := &schema.Slots[s]; r.areApart(s, slot) {
			n += len(own.IDs) * slot.RowsPerID() * slot.Dim
		}
	}
	return n
}

// apart returns the number of occurrences in slots whose rows have gradients of their own.
func (r *Routed) apart(schema *batch.Schema) (n int) {
	for s := range schema.Slots {
		if r.eachApart(s, &schema.Slots[s]) {
			n += len(r.Index[s])
		}
	}
	return n
}

// Spreads reports whether the model input is a copy of a row for every occurrence and nothing else: whether
// every sample has one id in each slot, of one row, which is summed. Cost: a comparison for each occurrence.
func (r *Routed) Spreads(schema *batch.Schema) bool {
	for s := range schema.Slots {
		slot := &schema.Slots[s]
		if r.skips(slot) {
			continue
		}
		if slot.Pooling != batch.Sum || slot.RowsPerID() != 1 || r.part.Slots[s].Weights != nil ||
			!oneEach(r.part.Slots[s].Offsets) {
			return false
		}
	}
	return true
}

// slotBySlot reports whether the rows of each slot follow those of the slot before, so that what is known of
// a slot's rows stays in the first caches, and all of them have gradients.
func (r *Routed) slotBySlot(schema *batch.Schema) bool {
	return r.slots != nil && !slices.ContainsFunc(schema.Slots,
		func(s batch.Slot) bool { return s.Pooling == batch.Raw })
}

// orderSlots is Order slot by slot.
func (r *Routed) orderSlots(o *Occurrences, schema *batch.Schema, width int) {
	type slot struct{ occurrences, input, apart int } // where those of a slot begin
	begin := make([]slot, len(schema.Slots)+1)
	begin[0].apart = o.values
	for s, index := range r.Index {
		begin[s+1] = slot{begin[s].occurrences + len(index), begin[s].input + schema.Slots[s].Width(),
			begin[s].apart}
		if r.eachApart(s, &schema.Slots[s]) {
			begin[s+1].apart += len(index) * o.dim
		}
	}
	occurrences := begin[len(r.Index)].occurrences
	o.at, o.joins = resized(o.at, occurrences), resized(o.joins, occurrences)
	order := func(s int) {
		sort := sortings.Get().(*sorting)
		defer sortings.Put(sort)
		o.count(r.Index[s])
		sort.reserve(o, int(r.slots[s]), int(r.slots[s+1]), int32(begin[s].occurrences))
		for g := range r.part.Groups() {
			sort.group = int32(g)
			r.placeSlot(sort, s, &schema.Slots[s], g, begin[s].input, begin[s].apart, width)
		}
	}
	if o.Pool != nil && occurrences >= sharedOccurrences {
		o.Pool.ForEach(len(r.Index), order)
		return
	}
	for s := range r.Index {
		order(s)
	}
}

// countSlot counts the occurrences of a slot that have a gradient. Further ids of a raw slot Pool has
// dropped: they have none, though they were read.
func (r *Routed) countSlot(o *Occurrences, s int, slot *batch.Slot) {
	if r.skips(slot) {
		return
	}
	if slot.Pooling != batch.Raw {
		o.count(r.Index[s])
		return
	}
	each := slot.RowsPerID()
	for i := range r.part.Samples {
		named := r.occurrences(s, i, each)
		o.count(named[:min(len(named), slot.FixedSize*each)])
	}
}

// placeSlot places the same occurrences of a group. The inputs of the slot begin at first, of a sample's
// width, and gradients that its rows have apart at apart.
func (r *Routed) placeSlot(sort *sorting, s int, slot *batch.Slot, group, first, apart, width int) {
	if r.skips(slot) {
		return
	}
	lo, hi, each := r.part.Bounds[group], r.part.Bounds[group+1], slot.RowsPerID()
	if r.areApart(s, slot) {
		offsets := r.part.Slots[s].Offsets
		begin, end := int(offsets[lo])*each, int(offsets[hi])*each
		sort.placeEach(r.Index[s][begin:end], int32(apart+begin*sort.dim), int32(sort.dim))
		return
	}
	if slot.Pooling == batch.Sum && each == 1 && oneEach(r.part.Slots[s].Offsets[lo:hi+1]) {
		begin := int(r.part.Slots[s].Offsets[lo])
		sort.placeEach(r.Index[s][begin:begin+hi-lo], int32(lo*width+first), int32(width))
		return
	}
	for i := lo; i < hi; i++ {
		named, at := r.occurrences(s, i, each), int32(i*width+first)
		if slot.Pooling == batch.Sum {
			sort.place(named, at)
			continue
		}
		for k := range min(len(named)/each, slot.FixedSize) {
			sort.place(named[k*each:][:each], at+int32(k*(slot.Dim+1)))
		}
	}
}

// oneEach reports whether offsets are those of samples with one id each.
func oneEach(offsets []int32) bool {
	for i, at := range offsets {
		if at != offsets[0]+int32(i) {
			return false
		}
	}
	return true
}

// scaleGrads returns the gradients of the sums before they are scaled: grads as they
// are, or with those of scaled sums replaced in a copy.
func (r *Routed) scaleGrads(o *Occurrences, schema *batch.Schema, grads []float32, dim int) []float32 {
	width, first, copied := schema.EmbeddingWidth(), 0, false
	for s := range schema.Slots {
		slot := &schema.Slots[s]
		each, inputs := slot.RowsPerID(), slot.Width()
		if slot.Scale != batch.Unscaled && !r.skips(slot) {
			if !copied {
				o.scaled = append(o.scaled[:0], grads...)
				grads, copied = o.scaled, true
			}
			for i := range r.part.Samples {
				named, own := len(r.occurrences(s, i, each)), grads[i*width+first:][:inputs]
				if weights := r.part.Slots[s].SampleWeights(i); weights != nil {
					if factor := slot.Scale.WeightedFactor(weights, each); factor != 1 {
						vec.Scale(own, factor)
					}
					continue
				}
				if slot.Pooling == batch.Sum {
					scaleGrad(slot.Scale, own, named)
					continue
				}
				for k := range min(named/each, slot.FixedSize) {
					scaleGrad(slot.Scale, own[k*(dim+1):][:dim], each)
				}
			}
		}
		first += inputs
	}
	return grads
}

// scaleGrad scales the gradient of a sum of n rows.
func scaleGrad(by batch.Scale, grad []float32, n int) {
	if n < 2 {
		return
	}
	vec.Scale(grad, by.Factor(n))
}
