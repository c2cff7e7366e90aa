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
func (t *Table) lookupShared(parts int, signs []uint64, dst []float32, found []Found,
	admits func(sign uint64) bool) error {
	dim := t.config.Dim
	mustMatch("dst", len(dst), len(signs)*dim)
	mustMatch("found", len(found), len(signs))
	absent := make([][]int32, parts)
	t.config.Pool.ForEach(parts, func(i int) {
		lo, hi := share(len(signs), parts, i)
		absent[i] = t.lookupPresent(signs[lo:hi], dst[lo*dim:hi*dim], found[lo:hi])
	})
	for i := range absent {
		lo, _ := share(len(signs), parts, i)
		for _, behind := range absent[i] {
			at := lo + int(behind)
			row, out := -1, dst[at*dim:(at+1)*dim]
			if admits(signs[at]) {
				var err error
				if row, err = t.create(signs[at], rng.Mix(signs[at])); err != nil {
					return err
				}
				t.read(out, row)
			} else {
				clear(out)
			}
			found[at] = Found{row: int32(row)}
		}
	}
	return nil
}

// lookupPresent is lookup of the rows that exist. It returns the positions of the others, of which it writes
// nothing.
func (t *Table) lookupPresent(signs []uint64, dst []float32, found []Found) (absent []int32) {
	dim := t.config.Dim
	var c chunk
	for at := 0; at < len(signs); {
		n := t.advance(&c, signs, at, t.stateAt)
		part, out := signs[at:at+n], dst[at*dim:(at+n)*dim]
		for i := 0; i < n; i++ {
			lo := i
			i = t.confirm(&c, part, lo, mark)
			t.gather(out[lo*dim:i*dim], &c, lo, i)
			if i == n {
				break
			}
			row := t.find(part[i], rng.Mix(part[i]))
			if t.put(&c, i, row); row < 0 {
				absent = append(absent, int32(at+i))
				continue
			}
			t.header(row)[2] |= mark
			t.gather(out[i*dim:(i+1)*dim], &c, i, i+1)
		}
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
	for len(t.work) < parts {
		t.work = append(t.work, new(chunk))
	}
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
