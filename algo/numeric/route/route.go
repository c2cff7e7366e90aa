package route

import (
	"slices"
	"sync"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/distinct"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/shard"
)

// Routed is a rank's batch with the ids of its slots, or of those of one dimension, resolved to distinct
// signs. It is immutable.
type Routed struct {
	// Signs are the distinct signs, those of owner p (shard.Plan.Owner) at [Bounds[p], Bounds[p+1]).
	Signs  []uint64
	Bounds []int32
	// Index holds, by slot, the positions in Signs of the rows of every id
	// occurrence, in the order of the slot's ids: Slot.RowsPerID for each. Slots
	// of other dimensions have none.
	Index [][]int32
	part  batch.Part
	only  rowKind // of the slots whose ids are resolved
	// slots has where the signs of each slot end, preceded by a 0, if those of each follow
	// those of the slot before; else it is nil.
	slots []int32
}

// Route resolves a part's ids for the owners of a plan. The signs of an owner are in order of first
// occurrence, slot by slot. Cost: some 10 ns an occurrence of a row; allocates the
// result.
func Route(schema *batch.Schema, part batch.Part, plan shard.Plan) *Routed {
	return RouteOn(nil, schema, part, plan)
}

// RouteOn is Route. A pool that is not nil shares the slots over goroutines, if none of them
// may share rows with others.
func RouteOn(pool gemm.Pool, schema *batch.Schema, part batch.Part, plan shard.Plan) *Routed {
	return routeKind(pool, schema, part, plan, rowKind{})
}

// rowKind is the length and the class of rows; zero for those of all slots.
type rowKind struct{ dim, class int }

// routeKind is RouteOn for the slots whose rows are of one kind.
func routeKind(pool gemm.Pool, schema *batch.Schema, part batch.Part, plan shard.Plan, only rowKind) *Routed {
	owners := plan.Owners()
	r := &Routed{Bounds: make([]int32, owners+1), Index: make([][]int32, len(part.Slots)), part: part,
		only: only}
	occurrences, grouped := 0, 0 // grouped: in slots that may share rows with others
	for s, slot := range part.Slots {
		if r.skips(&schema.Slots[s]) {
			continue
		}
		n := len(slot.IDs) * schema.Slots[s].RowsPerID()
		occurrences += n
		if schema.Slots[s].Group != "" {
			grouped += n
		}
	}
	index := make([]int32, occurrences)
	for s, slot := range part.Slots {
		if r.skips(&schema.Slots[s]) {
			continue
		}
		n := len(slot.IDs) * schema.Slots[s].RowsPerID()
		r.Index[s], index = index[:n:n], index[n:]
	}
	scratch := routings.Get().(*routing)
	defer routings.Put(scratch)
	scratch.found = slices.Grow(scratch.found[:0], occurrences)
	if grouped == 0 {
		if occurrences < sharedOccurrences {
			pool = nil
		}
		scratch.found = r.routeSlots(pool, schema, scratch)
	} else {
		scratch.shared.Reset(grouped)
		for s := range part.Slots {
			scratch.found = scratch.slot(r, s, schema, scratch.found)
		}
	}
	r.Signs = slices.Clone(scratch.found)
	if owners > 1 {
		r.groupByOwner(scratch.found, plan)
		r.slots = nil
	}
	r.Bounds[owners] = int32(len(r.Signs))
	return r
}

// routeSlots resolves slots that have rows of their own. It returns their signs, in scratch.found, which has
// room.
func (r *Routed) routeSlots(pool gemm.Pool, schema *batch.Schema, scratch *routing) []uint64 {
	r.slots = make([]int32, len(r.Index)+1)
	found := scratch.found
	if pool == nil {
		for s := range r.Index {
			found = scratch.slot(r, s, schema, found)
			r.slots[s+1] = int32(len(found))
		}
		return found
	}
	// Every slot has room for as many signs as occurrences, from which they move up.
	all := found[:cap(found)]
	begins := make([]int, len(r.Index)+1)
	for s, index := range r.Index {
		begins[s+1] = begins[s] + len(index)
	}
	pool.ForEach(len(r.Index), func(s int) {
		scratch := routings.Get().(*routing)
		defer routings.Put(scratch)
		own := scratch.slot(r, s, schema, all[begins[s]:begins[s]:begins[s+1]])
		r.slots[s+1] = int32(len(own))
	})
	for s := range r.Index {
		own := all[begins[s]:][:r.slots[s+1]]
		r.slots[s+1] += r.slots[s]
		copy(all[r.slots[s]:], own)
	}
	pool.ForEach(len(r.Index), func(s int) {
		first := r.slots[s]
		for i := range r.Index[s] {
			r.Index[s][i] += first
		}
	})
	return all[:r.slots[len(r.Index)]]
}

// skips reports whether the ids of a slot are not resolved, because its rows are of another kind.
func (r *Routed) skips(slot *batch.Slot) bool {
	return r.only != rowKind{} && r.only != rowKind{slot.Dim, slot.Class}
}

// sharedOccurrences is the least number of occurrences whose work is shared: at some 10 ns each, they take
// ten times as long as waking a goroutine does.
const sharedOccurrences = 8192

// routing is the scratch of one goroutine.
type routing struct {
	own, shared  distinct.Table
	signs, found []uint64
}

var routings = sync.Pool{New: func() any { return new(routing) }}

// slot resolves the ids of a slot, and appends the signs that are new to found. The first sign of found has
// the number 0. A slot of another dimension has no ids to resolve.
func (scratch *routing) slot(r *Routed, s int, schema *batch.Schema, found []uint64) []uint64 {
	if r.skips(&schema.Slots[s]) {
		return found
	}
	scratch.signs = schema.Signer(s).AppendSigns(scratch.signs[:0], r.part.Slots[s].IDs)
	// Signs of different groups differ: a slot by itself has a small table to itself.
	table := &scratch.shared
	if schema.Slots[s].Group == "" {
		table = &scratch.own
		table.Reset(len(scratch.signs))
	}
	return table.Number(r.Index[s], scratch.signs, found)
}

// groupByOwner orders the signs by their owners, keeping their order otherwise, and renumbers the index.
func (r *Routed) groupByOwner(found []uint64, plan shard.Plan) {
	owner := make([]int32, len(found))
	for i, sign := range found {
		owner[i] = int32(plan.Owner(sign))
		r.Bounds[owner[i]+1]++
	}
	for p := range plan.Owners() {
		r.Bounds[p+1] += r.Bounds[p]
	}
	next := slices.Clone(r.Bounds)
	moved := make([]int32, len(found))
	for i, sign := range found {
		at := next[owner[i]]
		next[owner[i]]++
		moved[i] = at
		r.Signs[at] = sign
	}
	for _, index := range r.Index {
		for i, at := range index {
			index[i] = moved[at]
		}
	}
}

// ShardSigns returns the signs that owner p has. The result aliases r.
func (r *Routed) ShardSigns(p int) []uint64 { return r.Signs[r.Bounds[p]:r.Bounds[p+1]] }

// Samples returns the number of samples of the part.
func (r *Routed) Samples() int { return r.part.Samples }
