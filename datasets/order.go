package datasets

import (
	"sync"

	"tandem/algo/rng"
)

// order is a law by which the rows of an epoch follow each other. Several
// goroutines use it at once.
type order interface {
	// between returns the rows at the positions [lo, hi) of an epoch. The result is
	// never written again.
	between(epoch, lo, hi int) []int32
}

// kept remembers the last two things made, by number: loaders read ahead, so at
// a border two are in use.
type kept[T any] struct {
	mu    sync.Mutex
	made  [2]T
	which [2]int // number + 1; 0 for none
}

// of returns number n, made if need be.
func (k *kept[T]) of(n int, make func() T) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := n % len(k.made)
	if k.which[at] != n+1 {
		k.made[at], k.which[at] = make(), n+1
	}
	return k.made[at]
}

// fullShuffle draws every epoch from all orders of the rows alike.
type fullShuffle struct {
	rows   int
	seed   uint64
	epochs kept[[]int32]
}

func (f *fullShuffle) between(epoch, lo, hi int) []int32 {
	return f.epochs.of(epoch, func() []int32 {
		return permutation(f.rows, f.seed, "epoch order", uint64(epoch))
	})[lo:hi]
}

// blocksPerWindow is the number of places of the data that a window mixes.
const blocksPerWindow = 64

// windowShuffle mixes rows that lie in few places, for data that are read from
// disk or through small caches. The data are cut into blocks of neighbouring
// rows; an epoch takes the blocks in an order drawn from (seed, epoch), and so
// many of them at a time are a window, whose rows are drawn in any order.
type windowShuffle struct {
	rows, block int
	seed        uint64
	epochs      kept[blockOrder]
	windows     kept[[]int32]
}

// blockOrder is the order of the blocks in one epoch.
type blockOrder struct {
	blocks []int32
	last   int // position in blocks of the data's last block, which may be short
}

// newWindowShuffle shuffles in windows of so many rows, rounded up to whole
// blocks.
func newWindowShuffle(rows, window int, seed uint64) *windowShuffle {
	return &windowShuffle{rows: rows, block: (window-1)/blocksPerWindow + 1, seed: seed}
}

func (w *windowShuffle) between(epoch, lo, hi int) []int32 {
	blocks := w.epochs.of(epoch, func() blockOrder { return w.drawBlocks(epoch) })
	size := w.block * blocksPerWindow
	out := make([]int32, 0, hi-lo)
	for len(out) < hi-lo {
		at := lo + len(out)
		number := at / size
		if number < w.count()-1 && at >= w.start(blocks, number+1) { // behind the short block
			number++
		}
		first, rows := w.start(blocks, number), w.window(blocks, epoch, number)
		out = append(out, rows[at-first:min(hi-first, len(rows))]...)
	}
	return out
}

// count returns the number of windows of an epoch.
func (w *windowShuffle) count() int { return (w.blockCount()-1)/blocksPerWindow + 1 }

func (w *windowShuffle) blockCount() int { return (w.rows-1)/w.block + 1 }

// start returns the position of a window's first row.
func (w *windowShuffle) start(o blockOrder, window int) int {
	first := window * blocksPerWindow * w.block
	if window*blocksPerWindow > o.last {
		first -= w.blockCount()*w.block - w.rows // what the short block lacks
	}
	return first
}

func (w *windowShuffle) drawBlocks(epoch int) blockOrder {
	o := blockOrder{blocks: permutation(w.blockCount(), w.seed, "block order", uint64(epoch))}
	for at, block := range o.blocks {
		if int(block) == len(o.blocks)-1 {
			o.last = at
		}
	}
	return o
}

// window returns the rows of a window.
func (w *windowShuffle) window(o blockOrder, epoch, number int) []int32 {
	return w.windows.of(epoch*w.count()+number, func() []int32 {
		var rows []int32
		for _, block := range o.blocks[number*blocksPerWindow : min((number+1)*blocksPerWindow, len(o.blocks))] {
			first := int(block) * w.block
			for row := first; row < min(first+w.block, w.rows); row++ {
				rows = append(rows, int32(row))
			}
		}
		shuffle(rows, w.seed, "window order", uint64(epoch), uint64(number))
		return rows
	})
}

// permutation returns the numbers 0 to n−1 in an order drawn from the stream of
// the purpose and ids, by Fisher–Yates: all n! orders are equally likely.
func permutation(n int, seed uint64, purpose string, ids ...uint64) []int32 {
	order := counting(0, n)
	shuffle(order, seed, purpose, ids...)
	return order
}

// shuffle puts rows in an order drawn from the stream of the purpose and ids.
func shuffle(rows []int32, seed uint64, purpose string, ids ...uint64) {
	rng.New(seed, purpose, ids...).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
}
