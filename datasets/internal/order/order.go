// Package order draws the order in which an epoch visits the rows of a data set.
package order

import (
	"sync"

	"tandem/algo/rng"
)

// Order is the order of the rows in every epoch of a run. It is safe for concurrent use.
type Order interface {
	// RowsBetween returns the rows at the positions [lo, hi) of an epoch. The result must
	// not be changed.
	RowsBetween(epoch, lo, hi int) []int32
}

// lastTwo remembers the last two numbered values. Sources read ahead, so at the border of
// two epochs both are in use.
type lastTwo[T any] struct {
	mu      sync.Mutex
	values  [2]T
	numbers [2]int // number + 1; 0 for none
}

// get returns value n, which compute makes unless it is remembered.
func (l *lastTwo[T]) get(n int, compute func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := n % len(l.values)
	if l.numbers[at] != n+1 {
		l.values[at], l.numbers[at] = compute(), n+1
	}
	return l.values[at]
}

// Full is a full shuffle: in every epoch all orders of the rows are equally likely.
type Full struct {
	rows   int
	seed   uint64
	epochs lastTwo[[]int32]
}

// NewFull returns a full shuffle of a number of rows.
func NewFull(rows int, seed uint64) *Full { return &Full{rows: rows, seed: seed} }

// RowsBetween implements Order.
func (f *Full) RowsBetween(epoch, lo, hi int) []int32 {
	return f.epochs.get(epoch, func() []int32 {
		return Permutation(f.rows, f.seed, "epoch order", uint64(epoch))
	})[lo:hi]
}

// blocksPerWindow is the number of blocks that a window mixes.
const blocksPerWindow = 64

// Windowed shuffles rows within windows, for data that are read from disk or through small
// caches. The rows are cut into blocks of neighbouring rows. An epoch draws an order of the
// blocks from (seed, epoch); every blocksPerWindow blocks in this order are a window, whose
// rows are shuffled.
type Windowed struct {
	rows, block int
	seed        uint64
	epochs      lastTwo[blockOrder]
	windows     lastTwo[[]int32]
}

// blockOrder is the order of the blocks in one epoch.
type blockOrder struct {
	blocks []int32
	last   int // position in blocks of the last block of the data, which can be short
}

// NewWindowed returns a shuffle within windows of a number of rows, rounded up to whole
// blocks.
func NewWindowed(rows, window int, seed uint64) *Windowed {
	return &Windowed{rows: rows, block: (window-1)/blocksPerWindow + 1, seed: seed}
}

// RowsBetween implements Order.
func (w *Windowed) RowsBetween(epoch, lo, hi int) []int32 {
	blocks := w.epochs.get(epoch, func() blockOrder { return w.drawBlocks(epoch) })
	size := w.block * blocksPerWindow
	out := make([]int32, 0, hi-lo)
	for len(out) < hi-lo {
		at := lo + len(out)
		number := at / size
		if number < w.windowCount()-1 && at >= w.windowStart(blocks, number+1) { // behind the short block
			number++
		}
		first, rows := w.windowStart(blocks, number), w.windowRows(blocks, epoch, number)
		out = append(out, rows[at-first:min(hi-first, len(rows))]...)
	}
	return out
}

// windowCount returns the number of windows of an epoch.
func (w *Windowed) windowCount() int { return (w.blockCount()-1)/blocksPerWindow + 1 }

func (w *Windowed) blockCount() int { return (w.rows-1)/w.block + 1 }

// windowStart returns the position of the first row of a window.
func (w *Windowed) windowStart(o blockOrder, window int) int {
	first := window * blocksPerWindow * w.block
	if window*blocksPerWindow > o.last {
		first -= w.blockCount()*w.block - w.rows // the rows that the short block lacks
	}
	return first
}

func (w *Windowed) drawBlocks(epoch int) blockOrder {
	o := blockOrder{blocks: Permutation(w.blockCount(), w.seed, "block order", uint64(epoch))}
	for at, block := range o.blocks {
		if int(block) == len(o.blocks)-1 {
			o.last = at
		}
	}
	return o
}

// windowRows returns the shuffled rows of a window.
func (w *Windowed) windowRows(o blockOrder, epoch, number int) []int32 {
	return w.windows.get(epoch*w.windowCount()+number, func() []int32 {
		var rows []int32
		for _, block := range o.blocks[number*blocksPerWindow : min((number+1)*blocksPerWindow,
			len(o.blocks))] {
			first := int(block) * w.block
			for row := first; row < min(first+w.block, w.rows); row++ {
				rows = append(rows, int32(row))
			}
		}
		shuffle(rows, w.seed, "window order", uint64(epoch), uint64(number))
		return rows
	})
}

// Permutation returns the numbers 0 to n−1 in an order drawn from the random stream of a
// purpose and ids, by Fisher–Yates: all n! orders are equally likely.
func Permutation(n int, seed uint64, purpose string, ids ...uint64) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	shuffle(rows, seed, purpose, ids...)
	return rows
}

// shuffle reorders rows by the random stream of a purpose and ids.
func shuffle(rows []int32, seed uint64, purpose string, ids ...uint64) {
	rng.New(seed, purpose, ids...).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
}
