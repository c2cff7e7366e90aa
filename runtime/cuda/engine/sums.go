package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tandem/algo/exec/dense"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/runtime/cuda"
)

// member is a rank of this process among all that sum their gradients on devices, or have rows together. Sums
// go to a stream of their own, so that a bucket is summed while the next is computed.
type member struct {
	*replica
	*link
}

// link is what connects a rank with the others. What frees the memory of a replica must not keep the replica,
// so it is apart.
type link struct {
	stream *cuda.Stream
	with   *cuda.Communicator // nil: it has met none yet
}

// Sums implements dense.Summer. The gradients of a single rank are the sum, and stay where they are.
func (t *trainer) Sums() bool { return t.ranks == 1 || t.sums != job.HostSums }

// SumBucket implements dense.Summer.
func (t *trainer) SumBucket(bucket int32, given []*model.Vector, c dense.Collective) error {
	if t.ranks == 1 {
		return nil
	}
	// Another part of a run has another collective, and may have other processes: one that waited for a
	// process that died between the parts would wait for ever.
	if t.members == nil || t.met != c {
		if err := t.meet(c); err != nil {
			return err
		}
	}
	return t.together(c.Done(), func(i int, m *member) error {
		return m.sum(int(bucket), given[i] != nil, t.sums == job.NCCLTreeSums, t.ranks)
	})
}

// together does the work of every member at the same time. If one fails, or another rank is lost, the others
// would wait for it in vain: they are aborted.
func (t *trainer) together(lost <-chan struct{}, do func(i int, m *member) error) error {
	defer exchanges.begin()()
	ended := make(chan error, len(t.members))
	for i, m := range t.members {
		go func() { ended <- do(i, m) }()
	}
	var first error
	for range t.members {
		select {
		case err := <-ended:
			if first == nil && err != nil {
				first = err
				t.abort()
			}
		case <-lost:
			t.abort()
			return errors.New("engine: the sum of gradients on GPUs is given up: a rank is lost")
		}
	}
	return first
}

// JoinRows implements model.RowsTrainer.
func (t *trainer) JoinRows() error {
	if err := t.meet(dense.Local{}); err != nil {
		return err
	}
	t.meeting = newMeeting(t.ranks)
	return t.together(nil, func(_ int, m *member) error {
		m.rows.exchange.with, m.rows.exchange.meeting = m.with, t.meeting
		return m.rows.exchange.rehearse()
	})
}

// UpdateRows implements model.RowsTrainer.
func (t *trainer) UpdateRows() error {
	return t.together(nil, func(_ int, m *member) error { return m.rows.exchange.update() })
}

// GiveUpRows implements model.RowsTrainer.
func (t *trainer) GiveUpRows() { t.abort() }

// meet connects the ranks, and ends the connection that they have: rank 0 names the communicator, and the
// ranks exchange the name over the host.
func (t *trainer) meet(c dense.Collective) error {
	t.abort()
	t.members = nil
	ranks := slices.Sorted(maps.Keys(t.replicas))
	if len(ranks) > len(t.devices) {
		return fmt.Errorf("wire.all-reduce = %s needs a GPU for each rank: %d ranks of this process share "+
			"%d; use %s", t.sums, len(ranks), len(t.devices), job.HostSums)
	}
	id, err := t.exchangeID(ranks, c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), meetLimit)
	defer cancel()
	members := make([]*member, len(ranks))
	ended := make(chan error, len(ranks))
	for i, rank := range ranks {
		go func() {
			var err error
			members[i], err = t.join(ctx, id, rank)
			ended <- err
		}()
	}
	for range ranks {
		err = errors.Join(err, <-ended)
	}
	if err == nil {
		t.members, t.met = members, c
	}
	return err
}

// meetLimit is the longest time that ranks wait for each other when they meet. All have exchanged the name
// just before, over hosts or within this process.
const meetLimit = time.Minute

// exchangeID returns the name that rank 0 has made. A number for each byte survives any form of the wire.
func (t *trainer) exchangeID(ranks []int, c dense.Collective) (id cuda.UniqueID, err error) {
	given := make([][]float32, len(ranks))
	for i, rank := range ranks {
		given[i] = make([]float32, len(id))
		if rank > 0 {
			continue
		}
		own, err := t.driver.UniqueID()
		if err != nil {
			return id, err
		}
		for k, b := range own {
			given[i][k] = float32(b)
		}
	}
	all, err := c.Gather(given)
	if err != nil {
		return id, err
	}
	if len(all) < len(id) {
		return id, errors.New("engine: rank 0 has not named the communicator of NCCL")
	}
	for k := range id {
		id[k] = byte(all[k])
	}
	return id, nil
}

// join connects a rank of this process with all others.
func (t *trainer) join(ctx context.Context, id cuda.UniqueID, rank int) (*member, error) {
	r := t.replicas[rank]
	if r.joined == nil {
		r.joined = &link{stream: r.memory.stream()}
		r.memory.closers = append(r.memory.closers, r.joined)
	}
	if r.memory.err != nil {
		return nil, r.memory.err
	}
	var err error
	r.joined.with, err = r.device.NewCommunicator(ctx, id, t.ranks, rank)
	return &member{r, r.joined}, err
}

// Close implements io.Closer: it frees the communicator without waiting for other ranks.
func (l *link) Close() error {
	if l.with == nil {
		return nil
	}
	return l.with.Abort()
}

// longestBucket returns the largest number of values that a bucket has on the device.
func (r *replica) longestBucket() (n int) {
	for _, b := range r.program.Layout.Buckets {
		lo, hi := r.places.span(b.Lo, b.Hi)
		n = max(n, hi-lo)
	}
	return n
}

// sum sums a bucket over all ranks, and waits for the sum. A rank that gives nothing adds zeros.
func (m *member) sum(bucket int, gives, tree bool, ranks int) error {
	b := m.program.Layout.Buckets[bucket]
	lo, hi := m.places.span(b.Lo, b.Hi)
	at, n := m.groups[0].gradients.Floats(lo), hi-lo
	if !gives {
		if err := m.stream.Clear(at, 4*n); err != nil {
			return err
		}
	}
	var err error
	if tree {
		err = m.sumTree(at, n, ranks)
	} else {
		err = m.with.AllReduce(m.stream, at, at, n, cuda.F32)
	}
	if err == nil {
		err = m.stream.Sync()
	}
	if err == nil {
		err = m.with.Err()
	}
	return err
}

// sumTree gathers the values of all ranks, and sums them along the tree over ranks.
func (m *member) sumTree(at cuda.Address, n, ranks int) error {
	if err := m.with.AllGather(m.stream, at, m.gathered, n, cuda.F32); err != nil {
		return err
	}
	grid := cuda.Size{X: min((n+eachThreads-1)/eachThreads, eachBlocks)}
	err := m.stream.Launch(m.device.functions["tree_sum"], grid, cuda.Size{X: eachThreads}, 0,
		cuda.Pointer(m.gathered), cuda.Int(n), cuda.Int(ranks), cuda.Int(n))
	if err != nil {
		return err
	}
	return m.stream.CopyDevice(at, m.gathered, 4*n)
}

// abort ends the sums and exchanges that wait for a rank that is lost.
func (t *trainer) abort() {
	if t.meeting != nil {
		t.meeting.giveUp()
	}
	for _, m := range t.members {
		_ = m.link.Close()
	}
}
