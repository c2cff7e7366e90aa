package allreduce_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/exec"
	"tandem/algo/numeric/collective"
	"tandem/algo/protocol/msg"
	"tandem/runtime/allreduce"
	"tandem/runtime/transport"
	"tandem/runtime/wire"
)

// member is one process of a group: an endpoint, and the results of its all-reduces.
type member struct {
	node  *transport.Endpoint
	group *allreduce.Group
	fail  func(error)
	done  chan result
}

type result struct {
	step, bucket int32
	stats        [][]float32
}

func (m *member) Deliver(message msg.Message, payload exec.Payload, _ func()) {
	if err := m.group.Deliver(message, payload.(wire.Chunk)); err != nil {
		m.fail(err)
	}
}

func (m *member) Lost(_ string, err error) { m.fail(err) }

func (m *member) Dropped(_ string, _ []msg.Address, err error) { m.fail(err) }

// form makes a group of n processes over loopback, until the test ends.
func form(t testing.TB, n int) []*member {
	addresses := map[msg.Address]string{}
	var ranks []msg.Address
	members := make([]*member, n)
	for i := range members {
		rank := msg.Address{Role: msg.NNWorker, Index: int32(i)}
		ranks = append(ranks, rank)
		m := &member{fail: func(err error) { t.Error(err) }, done: make(chan result, 1000)}
		node, err := transport.Listen("127.0.0.1:0",
			transport.Options{Roles: []msg.Address{rank}, Handler: m})
		if err != nil {
			t.Fatal(err)
		}
		if err := node.Begin(wire.RunID{}, 0, 0); err != nil {
			t.Fatal(err)
		}
		m.node = node
		addresses[rank] = node.Address()
		members[i] = m
	}
	for i, m := range members {
		var err error
		m.group, err = allreduce.New(allreduce.Config{
			Members: ranks, Self: i, Send: m.node.SendAll, Buckets: 3, Values: 1 << 18, Stats: 2,
			Ahead: 4, Small: 1000,
			Done: func(step, bucket int32, stats [][]float32) { m.done <- result{step, bucket, stats} },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.node.Connect(t.Context(), addresses); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		var wait sync.WaitGroup
		for _, m := range members {
			wait.Go(func() {
				if err := m.node.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	})
	return members
}

// The invariant of this package: for any number of members and any length of a bucket, small or not, every
// member gets the bits of the tree over the members.
func TestSumsEqualTheTree(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 6, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			members := form(t, n)
			step := int32(0)
			rapid.Check(t, func(t *rapid.T) {
				step++
				lengths := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(900, 5000)), 1,
					3).Draw(t, "lengths")
				values := rapid.SliceOfN(rapid.Float32Range(-1e6, 1e6), 40, 40).Draw(t, "values")
				fed := feedAll(t, members, step, lengths, values)
				for bucket := range lengths {
					want := make([][]float32, n)
					for i := range want {
						want[i] = fill(lengths[bucket], i+bucket, values)
					}
					collective.Tree(want)
					for i := range members {
						if !slices.EqualFunc(fed[i][bucket], want[0], sameBits) {
							t.Fatalf("member %d of %d, bucket %d: other bits than the tree's", i, n, bucket)
						}
					}
				}
			})
		})
	}
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// fill returns n values that depend on a seed.
func fill(n, seed int, values []float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = values[(i*7+seed*13)%len(values)] * float32(seed+1)
	}
	return out
}

// feedAll feeds all buckets of a step on all members at once, waits until all
// are summed, and returns them by member and bucket.
func feedAll(t *rapid.T, members []*member, step int32, lengths []int, values []float32) [][][]float32 {
	fed := make([][][]float32, len(members))
	var wait sync.WaitGroup
	for i, m := range members {
		for bucket, n := range lengths {
			fed[i] = append(fed[i], fill(n, i+bucket, values))
		}
		wait.Go(func() {
			for bucket := range lengths {
				if err := m.group.Feed(step, int32(bucket), fed[i][bucket]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for i, m := range members {
		for range lengths {
			if r := <-m.done; r.step != step || r.stats != nil {
				t.Fatalf("member %d: step %d, statistics %v", i, r.step, r.stats)
			}
		}
	}
	return fed
}

// Every member gets the statistics of all members, of different numbers.
func TestStatisticsOfAllMembers(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		members := form(t, n)
		var wait sync.WaitGroup
		for i, m := range members {
			wait.Go(func() {
				if err := m.group.Gather(4, 2, []float32{float32(i), 7}[:1+i%2]); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for i, m := range members {
			r := <-m.done
			for from, s := range r.stats {
				if !slices.Equal(s, []float32{float32(from), 7}[:1+from%2]) {
					t.Errorf("member %d of %d has statistics %v of member %d", i, n, s, from)
				}
			}
			if r.step != 4 || r.bucket != 2 || len(r.stats) != n {
				t.Errorf("member %d of %d: %+v", i, n, r)
			}
		}
	}
}

// A small bucket takes 2(N−1) messages, a larger one 2N(N−1).
func TestMessagesOfABucket(t *testing.T) {
	const small = 10
	for _, n := range []int{2, 3, 4, 8} {
		few, many := 2*(n-1), 2*n*(n-1)
		for values, want := range map[int]int{1: few, small: few, small + 1: many} {
			if got := messagesOf(t, n, values, small); got != want {
				t.Errorf("%d values of %d members: %d messages, want %d", values, n, got, want)
			}
		}
	}
}

// messagesOf sums one bucket in a group of n members, and returns the number of messages.
func messagesOf(t *testing.T, n, values, small int) (messages int) {
	t.Helper()
	groups := make([]*allreduce.Group, n)
	var ranks []msg.Address
	for i := range groups {
		ranks = append(ranks, address(int32(i)))
	}
	ended := 0
	for i := range groups {
		var err error
		groups[i], err = allreduce.New(allreduce.Config{
			Members: ranks, Self: i, Buckets: 1, Values: values, Small: small, Ahead: 1,
			Send: each(func(m msg.Message, payload exec.Payload) error {
				messages++
				return groups[m.To.Index].Deliver(m, copied(payload.(wire.Chunk)))
			}),
			Done: func(int32, int32, [][]float32) { ended++ },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range groups {
		if err := g.Feed(0, 0, make([]float32, values)); err != nil {
			t.Fatal(err)
		}
	}
	if ended != n {
		t.Fatalf("%d of %d members have the sum", ended, n)
	}
	return messages
}

// The memory of a Feed may be reused as soon as Done is called, even if other members still wait for the sum.
func TestMemoryMayBeReused(t *testing.T) {
	members := form(t, 4)
	const n = 200_000
	var wait sync.WaitGroup
	for i, m := range members {
		wait.Go(func() {
			values := make([]float32, n)
			for step := range int32(20) {
				for k := range values {
					values[k] = float32(i) + float32(step)
				}
				if err := m.group.Feed(step, 0, values); err != nil {
					t.Error(err)
					return
				}
				<-m.done
				if want := 0 + 1 + 2 + 3 + 4*float32(step); slices.IndexFunc(values,
					func(v float32) bool { return v != want }) >= 0 {
					t.Errorf("member %d, step %d: not all sums are %v", i, step, want)
				}
				clear(values)
			}
		})
	}
	wait.Wait()
}

func address(i int32) msg.Address { return msg.Address{Role: msg.NNWorker, Index: i} }

// alone makes member 0 of two, whose messages are dropped.
func alone(t testing.TB) *allreduce.Group {
	g, err := allreduce.New(allreduce.Config{
		Members: []msg.Address{address(0), address(4)},
		Send:    func([]exec.Letter) error { return nil },
		Done:    func(int32, int32, [][]float32) {},
		Buckets: 4, Values: 8, Stats: 3, Ahead: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A false chunk of another member is refused, the error names the member and the field, and the round still
// succeeds.
func TestRefusalsAreNamed(t *testing.T) {
	in := msg.Message{From: address(4), Step: 7}
	chunk := func(bucket, values int) wire.Chunk {
		return wire.Chunk{Bucket: bucket, Values: make([]float32, values)}
	}
	sum := func(bucket, values int) wire.Chunk {
		c := chunk(bucket, values)
		c.Sum = true
		return c
	}
	for _, c := range []struct {
		before []wire.Chunk // from the same member, good
		m      msg.Message
		chunk  wire.Chunk
		want   string
	}{
		{nil, msg.Message{From: address(1)}, chunk(1, 2), "from: nn-worker 1 is not another member"},
		{nil, msg.Message{From: address(0)}, chunk(1, 2), "from: nn-worker 0 is not another member"},
		{nil, in, chunk(4, 2), "bucket: want 0 to 3"},
		{nil, in, chunk(-1, 2), "bucket: want 0 to 3"},
		{nil, in, chunk(1, 1),
			"chunk of bucket 1, step 7 from nn-worker 4: length: a part of 1 values, want 2"},
		{nil, in, chunk(2, 5), "length: a part of 5 values, want at most 4"},
		{nil, in, wire.Chunk{Bucket: 1, Values: make([]float32, 2), Stats: make([]float32, 4)},
			"length: 4 statistics, want at most 3"},
		{nil, in, sum(1, 0), "length: a sum of 0 values, want 2"},
		{nil, in, sum(2, 2), "step: a sum comes twice, or before its values were fed"},
		{[]wire.Chunk{sum(1, 2)}, in, sum(1, 2), "step: a sum comes twice"},
		{[]wire.Chunk{chunk(3, 2)}, in, chunk(3, 2), "step: a part comes twice"},
		{[]wire.Chunk{chunk(2, 2), chunk(3, 2)}, in, chunk(0, 2),
			"step: a part of 3 rounds ahead, want at most 2"},
		{[]wire.Chunk{chunk(1, 2), sum(1, 2)}, in, chunk(1, 2), "step: a part, but the round is over"},
		{nil, in, wire.Chunk{Bucket: 1, Values: make([]float32, 2), Stats: make([]float32, 1)},
			"length: 1 statistics, want a part"},
	} {
		g := alone(t)
		if err := g.Feed(7, 1, make([]float32, 4)); err != nil {
			t.Fatal(err)
		}
		for _, good := range c.before {
			if err := g.Deliver(in, good); err != nil {
				t.Fatal(err)
			}
		}
		err := g.Deliver(c.m, c.chunk)
		refused := new(allreduce.Refused)
		if !errors.As(err, &refused) || refused.From != c.m.From || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A part that arrived before its round was fed is refused when its length turns out to be wrong.
func TestEarlyPartOfWrongLength(t *testing.T) {
	g := alone(t)
	if err := g.Deliver(msg.Message{From: address(4), Step: 7},
		wire.Chunk{Values: make([]float32, 3)}); err != nil {
		t.Fatal(err)
	}
	err := g.Feed(7, 0, make([]float32, 4))
	refused := new(allreduce.Refused)
	if !errors.As(err, &refused) || refused.From != address(4) ||
		!strings.Contains(err.Error(), "length: a part of 3 values, want 2") {
		t.Error(err)
	}
}

// Of a small bucket, only its owner takes parts and sends a sum.
func TestOnlyTheOwnerSumsASmallBucket(t *testing.T) {
	in := msg.Message{From: address(4), Step: 7}
	part := wire.Chunk{Bucket: 1, Values: make([]float32, 4)}
	for _, early := range []bool{true, false} {
		g := alone(t)
		g.Small = 4
		refused := new(allreduce.Refused)
		var err error
		if early {
			err = g.Deliver(in, part)
		}
		if err = errors.Join(err, g.Feed(7, 1, make([]float32, 4))); !early {
			err = errors.Join(err, g.Deliver(in, part))
		}
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "to: nn-worker 0 owns none") {
			t.Errorf("early %t: %v", early, err)
		}
	}
}

// A round is either fed or gathered.
func TestPartsAndStatisticsDoNotMix(t *testing.T) {
	in := msg.Message{From: address(4), Step: 7}
	g := alone(t)
	if err := g.Gather(7, 1, []float32{1}); err != nil {
		t.Fatal(err)
	}
	err := g.Deliver(in, wire.Chunk{Bucket: 1, Values: make([]float32, 2)})
	if err == nil || !strings.Contains(err.Error(), "length: a part of 2 values, want statistics") {
		t.Error(err)
	}
	sum := wire.Chunk{Bucket: 1, Sum: true}
	if err = g.Deliver(in, sum); err == nil || !strings.Contains(err.Error(), "a sum of 0 values, want 0") {
		t.Error(err)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	g := alone(t)
	for _, want := range []string{"", "bucket 1 of step 7 is fed twice"} {
		if err := g.Feed(7, 1, make([]float32, 4)); want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for n, want := range map[int]string{0: "member 2 of 0", 2: "member 2 of 2"} {
		if _, err := allreduce.New(allreduce.Config{Members: make([]msg.Address, n), Self: 2}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A bucket of 1 MiB over 4 members of one process.
func BenchmarkAllReduce(b *testing.B) {
	members := form(b, 4)
	buckets := make([][]float32, len(members))
	for i := range buckets {
		buckets[i] = make([]float32, 1<<18)
	}
	b.SetBytes(1 << 20)
	step := int32(0)
	for b.Loop() {
		step++
		for i, m := range members {
			if err := m.group.Feed(step, 0, buckets[i]); err != nil {
				b.Fatal(err)
			}
		}
		for _, m := range members {
			<-m.done
		}
	}
}
