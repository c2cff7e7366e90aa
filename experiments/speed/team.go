package speed

import "sync"

// team is so many goroutines, made anew for every computation. It implements
// kernel.Crew.
type team int

// Size implements kernel.Crew.
func (t team) Size() int { return int(t) }

// Do implements kernel.Crew. The last piece is done by the caller.
func (t team) Do(pieces int, work func(piece int)) {
	if t == 1 {
		for piece := range pieces {
			work(piece)
		}
		return
	}
	var others sync.WaitGroup
	for piece := range pieces - 1 {
		others.Go(func() { work(piece) })
	}
	work(pieces - 1)
	others.Wait()
}
