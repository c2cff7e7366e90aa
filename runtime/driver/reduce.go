package driver

import (
	"time"

	"tandem/algo/exec/dense"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// reduction names buckets of a step, or of an averaging round, that are reduced together.
type reduction struct {
	step int32
	dense.Buckets
	again *instance // not nil: they are summed, and only this rank, which is back, receives them
}

// TogetherMost is how many bytes of small buckets are reduced together across processes. Up to here messages
// cost more than bytes (see package allreduce), so a small bucket waits for the next ones of its backward
// pass rather than travel alone.
const TogetherMost unit.Bytes = 128 << 10

// groupBuckets returns for each bucket the consecutive buckets that are reduced with it: as many as have at
// most that many bytes together, or the bucket alone. The buckets from number network on are those of hot
// rows, which are ready with the last of the network and are reduced with it. It depends on the job only, so
// all processes agree.
func groupBuckets(sizes []unit.Bytes, most unit.Bytes, network int) []dense.Buckets {
	groups := make([]dense.Buckets, len(sizes))
	for first := 0; first < len(sizes); {
		last, bytes := first, sizes[first]
		for last+1 < len(sizes) && (bytes+sizes[last+1] <= most || most > 0 && last+1 >= network) {
			last++
			bytes += sizes[last]
		}
		for b := first; b <= last; b++ {
			groups[b] = dense.Buckets{First: int32(first), Last: int32(last)}
		}
		first = last + 1
	}
	return groups
}

// hasAllRanks reports whether all ranks are in this process.
func (r *run) hasAllRanks() bool { return len(r.ranks) == int(r.cfg.Ranks) }

// Feed implements role.Driver.
func (n *instance) Feed(c role.Contribution) error {
	n.run.executor.Feed(n.store, c)
	return n.run.feed(n, c)
}

// feed notes that a rank has fed a bucket. Buckets are ready when the last rank of this process has fed the
// last of those that are reduced together.
func (r *run) feed(n *instance, c role.Contribution) error {
	r.fedMu.Lock()
	defer r.fedMu.Unlock()
	fed, err := r.fed.Feed(n.rank, c.Step, c.Bucket)
	switch b := r.together[c.Bucket]; {
	case fed == role.Complete && c.Bucket == b.Last:
		r.reducing++
		r.ready.push(reduction{c.Step, b, nil})
	case fed == role.Again:
		r.reducing++
		r.ready.push(reduction{c.Step, dense.Buckets{First: c.Bucket, Last: c.Bucket}, n})
	}
	return err
}

// reduce is the goroutine that sums buckets over the ranks.
func (r *run) reduce() {
	for {
		b, ok := r.ready.pop()
		if !ok {
			return
		}
		if err := r.reduceOne(b); err != nil {
			r.fail(err)
			return
		}
	}
}

// reduceOne sums buckets over the ranks, and reports it to the ranks of this process.
func (r *run) reduceOne(b reduction) error {
	to := r.ranks
	if b.again != nil {
		to = []*instance{b.again}
	} else if err := r.sum(b); err != nil {
		return err
	}
	for _, n := range to {
		for bucket := b.First; bucket <= b.Last; bucket++ {
			n.inbox.push(delivery{input: role.Input{
				Kind: role.BucketReduced, Work: role.Work{Rank: n.address.Index, Step: b.step},
				Bucket: bucket,
			}})
		}
	}
	r.fedMu.Lock()
	r.reducing--
	r.fedMu.Unlock()
	return nil
}

// sum sums buckets over the ranks of this and other processes.
func (r *run) sum(b reduction) error {
	if !r.hasAllRanks() {
		return r.remote.Reduce(r.ended, b.step, b.Buckets)
	}
	var err error
	for bucket := b.First; bucket <= b.Last && err == nil; bucket++ {
		r.timed(&brake{factor: 1}, func(func()) { err = r.executor.Reduce(b.step, bucket) },
			func(took time.Duration) { r.options.Stopwatch.Reduced(bucket, took) })
	}
	return err
}
