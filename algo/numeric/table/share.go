package table

import (
	"sync"

	"tandem/algo/rng"
)

const (
	// shareRows is the least number of rows in a share: at some 50 ns a row, they take ten times as long as
	// waking a goroutine does.
	shareRows = 1024
	// sharesEach is the most shares for each goroutine. With more than one, a goroutine that other work holds
	// up leaves its shares to the others.
	sharesEach = 4
)

// shares returns the number of shares into which a batch of distinct signs is divided.
func (t *Table) shares(signs int) int {
	if t.config.Pool == nil || t.config.Pool.Size() == 1 || t.config.Evict || t.frozen != nil {
		return 1
	}
	return max(min(signs/shareRows, sharesEach*t.config.Pool.Size()), 1)
}

// share returns the bounds of one of several shares, which begin with whole chunks.
func share(signs, parts, i int) (lo, hi int) {
	lo, hi = signs*i/parts&^(chunkSigns-1), signs
	if i < parts-1 {
		hi = signs * (i + 1) / parts &^ (chunkSigns - 1)
	}
	return lo, hi
}

// lookupShared is lookup of distinct signs, shared over the pool: first all rows that exist are read, then
// the others are created in their order, until one cannot be.
func (t *Table) lookupShared(parts int, signs []uint64, out output, found []Found,
	admits func(sign uint64) bool) error {
	dim := t.config.Dim
	t.addWork(parts)
	absent := make([][]int32, parts)
	t.config.Pool.ForEach(parts, func(i int) {
		lo, hi := share(len(signs), parts, i)
		absent[i] = t.lookupPresent(t.work[i], signs[lo:hi], lo, &out, found[lo:hi])
	})
	for i := range absent {
		for _, at := range absent[i] {
			at := int(at)
			hash, values := rng.Mix(signs[at]), out.room(t.work[0], at, at+1, dim)
			row := t.find(signs[at], hash) // there, if signs repeat, against the contract
			if row < 0 && admits(signs[at]) {
				var err error
				if row, err = t.create(signs[at], hash); err != nil {
					return err
				}
			}
			if row >= 0 {
				t.read(values, row)
			} else {
				clear(values)
			}
			out.written(values, at, at+1)
			found[at] = Found{row: int32(row)}
		}
	}
	return nil
}

// addWork makes chunks for a number of goroutines.
func (t *Table) addWork(parts int) {
	for len(t.work) < parts {
		t.work = append(t.work, new(chunk))
	}
}

// lookupPresent is lookup of the rows that exist, of a share of the signs that begins at a position. It
// returns the positions of the others, of which it writes nothing.
func (t *Table) lookupPresent(c *chunk, signs []uint64, first int, out *output,
	found []Found) (absent []int32) {
	dim := t.config.Dim
	c.found = nil
	for at := 0; at < len(signs); {
		n := t.advance(c, signs, at, t.stateAt)
		part, begin := signs[at:at+n], first+at
		rows := out.room(c, begin, begin+n, dim)
		done := 0 // the rows before are passed on, or absent
		for i := 0; i < n; i++ {
			lo := i
			i = t.confirm(c, part, lo, mark)
			t.gather(rows[lo*dim:i*dim], c, lo, i)
			if i == n {
				break
			}
			row := t.find(part[i], rng.Mix(part[i]))
			if t.put(c, i, row); row < 0 {
				absent = append(absent, int32(begin+i))
				out.written(rows[done*dim:i*dim], begin+done, begin+i)
				done = i + 1
				continue
			}
			t.header(row)[2] |= mark
			t.gather(rows[i*dim:(i+1)*dim], c, i, i+1)
		}
		out.written(rows[done*dim:], begin+done, begin+n)
		for i := range n {
			found[at+i] = Found{c.counts[i], c.rows[i]}
		}
		at += n
	}
	return absent
}

// applyShared is apply, shared over the pool.
func (t *Table) applyShared(parts int, signs []uint64, grads gradients, rate float32,
	read Read) (all Outcome) {
	t.addWork(parts)
	var mu sync.Mutex
	missed := read.Missed
	if missed != nil {
		read.Missed = func(updates uint32, gradients int) {
			mu.Lock()
			defer mu.Unlock()
			missed(updates, gradients)
		}
	}
	t.config.Pool.ForEach(parts, func(i int) {
		lo, hi := share(len(signs), parts, i)
		own := read
		own.Found = read.Found[lo:hi]
		outcome := t.applyShare(t.work[i], signs[lo:hi], lo, &grads, rate, &own)
		mu.Lock()
		defer mu.Unlock()
		all.Add(outcome)
	})
	return all
}
