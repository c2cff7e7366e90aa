package allreduce_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/exec"
	"tandem/algo/numeric/collective"
	"tandem/runtime/allreduce"
	"tandem/runtime/wire"
)

// crashing is a group whose members feed one round after the other, over a network that delivers in any order
// between two members and in turn between others. Members crash and come back.
type crashing struct {
	steps, buckets int
	lengths        []int // of the buckets; 0: gathered
	members        []*crashingMember
	queues         map[[2]int][]exec.Letter // by sender and receiver
	up             map[[2]int]bool          // whether the sender reaches the receiver
}

type crashingMember struct {
	index  int
	group  *allreduce.Group
	away   bool
	round  int         // that it feeds next or waits for
	fed    bool        // it waits
	values []float32   // fed
	sums   [][]float32 // by round
}

func (c *crashing) rounds() int { return c.steps * c.buckets }

// given returns what a member gives to a round, again and again the same.
func (c *crashing) given(member, round int) []float32 {
	n := c.lengths[round%c.buckets]
	if n == 0 {
		n = 1 + member
	}
	return fill(n, member*c.rounds()+round, []float32{0.1, 3e7, -2.7, 1e-3, -1e7})
}

func (c *crashing) start(t *rapid.T, m *crashingMember, round int) {
	var addresses = make([]int32, len(c.members))
	config := allreduce.Config{Self: m.index, Buckets: c.buckets, Values: 64, Small: 8, Stats: 8,
		Ahead: 3 * c.buckets, Recovers: true,
		Send: func(letters []exec.Letter) error {
			for _, l := range letters {
				to := int(l.Message.To.Index)
				if c.up[[2]int{m.index, to}] {
					l.Payload = copied(l.Payload.(wire.Chunk))
					c.queues[[2]int{m.index, to}] = append(c.queues[[2]int{m.index, to}], l)
				}
			}
			return nil
		},
		Done: func(step, bucket int32, stats [][]float32) {
			if at := int(step)*c.buckets + int(bucket); at != m.round {
				t.Fatalf("member %d: round %d ends, want %d", m.index, at, m.round)
			}
			m.sums[m.round] = slices.Concat(append(stats, m.values)...)
			for i := range m.values { // they belong to the member again
				m.values[i] = -1
			}
			m.round, m.fed = m.round+1, false
		}}
	for i := range addresses {
		config.Members = append(config.Members, address(int32(i)))
	}
	group, err := allreduce.New(config)
	if err != nil {
		t.Fatal(err)
	}
	m.group, m.away, m.round, m.fed = group, false, round, false
}

// actions returns what may happen next.
func (c *crashing) actions(t *rapid.T, crashes *int) (names []string, do []func()) {
	add := func(name string, f func()) { names, do = append(names, name), append(do, f) }
	here := 0
	for _, m := range c.members {
		if !m.away {
			here++
		}
	}
	for _, m := range c.members {
		if m.away {
			add(fmt.Sprintf("member %d is back", m.index), func() { c.comeBack(t, m) })
			continue
		}
		if !m.fed && m.round < c.rounds() {
			add(fmt.Sprintf("member %d feeds", m.index), func() { c.feed(t, m) })
		}
		if here > 1 && *crashes > 0 {
			add(fmt.Sprintf("member %d crashes", m.index), func() { *crashes--; c.crash(t, m) })
		}
		for _, other := range c.members {
			link := [2]int{other.index, m.index}
			if len(c.queues[link]) > 0 {
				add(fmt.Sprintf("%v is delivered", link), func() {
					l := c.queues[link][0]
					c.queues[link] = c.queues[link][1:]
					if err := m.group.Deliver(l.Message, l.Payload.(wire.Chunk)); err != nil {
						t.Fatal(err)
					}
				})
			}
			if link := [2]int{m.index, other.index}; other != m && !other.away && !c.up[link] {
				add(fmt.Sprintf("%v is connected", link), func() {
					c.up[link] = true
					if err := m.group.Return(address(int32(other.index))); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
	return names, do
}

func (c *crashing) feed(t *rapid.T, m *crashingMember) {
	step, bucket := int32(m.round/c.buckets), int32(m.round%c.buckets)
	m.fed = true
	given, feed := c.given(m.index, m.round), m.group.Feed
	m.values = given
	if c.lengths[bucket] == 0 {
		m.values, feed = nil, m.group.Gather
	}
	if err := feed(step, bucket, given); err != nil {
		t.Fatal(err)
	}
}

// crash loses what a member has, what is on the way to it, and some of what it has sent.
func (c *crashing) crash(t *rapid.T, m *crashingMember) {
	m.away = true
	for i := range c.members {
		to, from := [2]int{m.index, i}, [2]int{i, m.index}
		c.up[to], c.up[from], c.queues[from] = false, false, nil
		c.queues[to] = c.queues[to][:rapid.IntRange(0, len(c.queues[to])).Draw(t, "arrive")]
	}
}

// comeBack starts a member again with the parameters of the one that has made the fewest steps. Nothing of
// before arrives from then on.
func (c *crashing) comeBack(t *rapid.T, m *crashingMember) {
	from := c.rounds()
	for i, other := range c.members {
		if !other.away {
			from = min(from, other.round/c.buckets*c.buckets)
		}
		c.queues[[2]int{m.index, i}] = nil
		c.up[[2]int{m.index, i}] = i != m.index && !other.away
	}
	c.start(t, m, from)
}

// Members crash at any time, also several, and come back with the parameters of any other: every member gets
// the bits of the tree for every round that it feeds, and all get to the end.
func TestAMemberThatIsBackGetsEverySum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &crashing{steps: rapid.IntRange(1, 5).Draw(t, "steps"), queues: map[[2]int][]exec.Letter{},
			lengths: rapid.SliceOfN(rapid.SampledFrom([]int{0, 5, 20, 30}), 1, 3).Draw(t, "lengths"),
			up:      map[[2]int]bool{}}
		c.buckets = len(c.lengths)
		c.members = make([]*crashingMember, rapid.IntRange(2, 4).Draw(t, "members"))
		for i := range c.members {
			c.members[i] = &crashingMember{index: i, sums: make([][]float32, c.rounds())}
		}
		for i, m := range c.members {
			c.start(t, m, 0)
			for j := range c.members {
				c.up[[2]int{i, j}] = i != j
			}
		}
		crashes := rapid.IntRange(0, 3).Draw(t, "crashes")
		for {
			names, do := c.actions(t, &crashes)
			if len(do) == 0 {
				break
			}
			i := rapid.IntRange(0, len(do)-1).Draw(t, "action")
			t.Log(names[i])
			do[i]()
		}
		for _, m := range c.members {
			if m.round < c.rounds() {
				t.Fatalf("member %d waits in round %d of %d, fed: %t", m.index, m.round, c.rounds(), m.fed)
			}
			for round, sum := range m.sums {
				want := make([][]float32, len(c.members))
				for i := range want {
					want[i] = c.given(i, round)
				}
				if c.lengths[round%c.buckets] == 0 {
					want = [][]float32{slices.Concat(want...)}
				} else {
					collective.Tree(want)
				}
				if sum != nil && !slices.EqualFunc(sum, want[0], sameBits) { // nil: a step before it was back
					t.Fatalf("member %d, round %d: %v, want %v", m.index, round, sum, want[0])
				}
			}
		}
	})
}
