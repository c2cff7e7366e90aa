// Package pooltest has a gemm.Pool for tests of work that a pool shares.
package pooltest

import "sync"

// Pool runs tasks on goroutines of its own, the last task first, and counts the calls. The zero value is
// ready for use.
type Pool struct{ Calls int }

// Size returns 3.
func (*Pool) Size() int { return 3 }

// ForEach implements gemm.Pool. It must not be called by several goroutines at the same time.
func (p *Pool) ForEach(tasks int, task func(index int)) {
	p.Calls++
	var group sync.WaitGroup
	for i := tasks - 1; i >= 0; i-- {
		group.Go(func() { task(i) })
	}
	group.Wait()
}
