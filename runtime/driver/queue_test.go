package driver

import (
	"sync"
	"testing"
	"testing/synctest"
)

func TestPopWaitsForPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string]()
		got := ""
		go func() { got, _ = q.pop() }()
		synctest.Wait()
		if got != "" {
			t.Fatal("nothing was pushed")
		}
		q.push("news")
		synctest.Wait()
		if got != "news" {
			t.Errorf("popped %q", got)
		}
	})
}

func TestCloseEndsEveryPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[int]()
		ended := make(chan bool, 3)
		for range cap(ended) {
			go func() {
				_, ok := q.pop()
				ended <- !ok
			}()
		}
		synctest.Wait()
		q.close()
		for range cap(ended) {
			if !<-ended {
				t.Error("popped something out of nothing")
			}
		}
	})
}

func TestCloseDropsItems(t *testing.T) {
	q := newQueue[int]()
	q.push(1)
	q.close()
	q.push(2)
	if got, ok := q.pop(); ok {
		t.Errorf("popped %d after close", got)
	}
	q.close() // closing again is allowed
}

func TestQueueLosesNothingBetweenGoroutines(t *testing.T) {
	const producers, each = 4, 500
	q := newQueue[int]()
	var wait sync.WaitGroup
	for p := range producers {
		wait.Go(func() {
			for i := range each {
				q.push(p*each + i)
			}
		})
	}
	latest := [producers]int{}
	for p := range latest {
		latest[p] = p*each - 1
	}
	for range producers * each {
		item, _ := q.pop()
		if p := item / each; item != latest[p]+1 {
			t.Fatalf("producer %d: %d after %d", p, item, latest[p])
		} else {
			latest[p] = item
		}
	}
	wait.Wait()
}

func BenchmarkQueue(b *testing.B) {
	q := newQueue[delivery]()
	b.ReportAllocs()
	for b.Loop() {
		q.push(delivery{})
		q.pop()
	}
}
