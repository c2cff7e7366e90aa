package role

import (
	"encoding/binary"
	"slices"
)

// progress is the set of finished steps of one rank: all steps below floor, and the steps in done, which is
// sorted and has only steps above floor.
type progress struct {
	floor int32
	done  []int32
}

// has reports whether a step is finished.
func (p *progress) has(step int32) bool {
	if step < p.floor {
		return true
	}
	_, found := slices.BinarySearch(p.done, step)
	return found
}

// add adds a finished step.
func (p *progress) add(step int32) {
	if step < p.floor {
		return
	}
	if i, found := slices.BinarySearch(p.done, step); !found {
		p.done = slices.Insert(p.done, i, step)
	}
	p.raise(p.floor)
}

// raise adds all steps below floor.
func (p *progress) raise(floor int32) {
	p.floor = max(p.floor, floor)
	n := 0
	for n < len(p.done) && p.done[n] <= p.floor {
		if p.done[n] == p.floor {
			p.floor++
		}
		n++
	}
	p.done = slices.Delete(p.done, 0, n)
}

func (p progress) clone() progress { return progress{p.floor, slices.Clone(p.done)} }

func (p *progress) appendState(dst []byte) []byte {
	dst = appendInts(dst, p.floor, int32(len(p.done)))
	return appendInts(dst, p.done...)
}

func cloneAll(ps []progress) []progress {
	out := make([]progress, len(ps))
	for i, p := range ps {
		out[i] = p.clone()
	}
	return out
}

func appendInts(dst []byte, vs ...int32) []byte {
	for _, v := range vs {
		dst = binary.AppendVarint(dst, int64(v))
	}
	return dst
}

// appendFlags appends up to eight booleans as one byte.
func appendFlags(dst []byte, flags ...bool) []byte {
	b := byte(0)
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return append(dst, b)
}
