package role

import (
	"testing"

	"pgregory.net/rapid"
)

// However pushes and pops alternate, items come out in the order in which they went in, and the queue holds
// no memory of popped items.
func TestQueueKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[*int]
		var want []*int
		for _, push := range rapid.SliceOf(rapid.Bool()).Draw(t, "pushes") {
			if push || len(want) == 0 {
				item := new(int)
				q.Push(item)
				want = append(want, item)
				continue
			}
			if q.Front() != want[0] {
				t.Fatalf("the first item is %p, want %p", q.Front(), want[0])
			}
			if got := q.Pop(); got != want[0] {
				t.Fatalf("popped %p, want %p", got, want[0])
			}
			want = want[1:]
			held := 0
			for _, item := range q.items[:cap(q.items)] {
				if item != nil {
					held++
				}
			}
			if held != len(want) || q.Len() != len(want) {
				t.Fatalf("the queue holds %d items and has %d, want %d", held, q.Len(), len(want))
			}
			if len(q.items) > 2*len(want) {
				t.Fatalf("room for %d items, %d are there", len(q.items), len(want))
			}
		}
	})
}
