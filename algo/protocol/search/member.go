package search

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"tandem/algo/protocol/role"
)

// member is one role of a State, with all that its driver keeps for it. Most actions change one or two
// members, so States share the others.
type member struct {
	role.Role
	lanes   role.LaneQueues[completion] // ends of work in flight
	held    []role.Handle               // sorted
	credit  *role.Credit
	crashes uint8
	hash    [16]byte     // of all of the above, if hashed
	log     []role.Input // of a role with a redo log: all inputs but Start; copies share the memory
	hashed  bool
}

// completion is the input that ends a piece of work, and the handles that the work makes.
type completion struct {
	input role.Input
	makes []role.Handle
}

// clone returns an independent copy.
func (m *member) clone() *member {
	c := *m
	c.Role = m.Role.Clone()
	for lane := range c.lanes {
		c.lanes[lane] = m.lanes[lane].Clone()
	}
	c.held = slices.Clone(m.held)
	c.credit = m.credit.Clone()
	c.log = slices.Clip(m.log)
	return &c
}

// updateHash computes the hash, unless the member has not changed since the last time. It returns buf for the
// next call.
func (m *member) updateHash(buf []byte) []byte {
	if m.hashed {
		return buf
	}
	buf = m.form(append(buf[:0], m.crashes))
	m.hash, m.hashed = hash(buf), true
	return buf
}

// form appends the state of the role and of what its driver keeps, but for what is of no importance to its
// future.
func (m *member) form(buf []byte) []byte {
	buf = m.AppendState(buf)
	for _, h := range m.held {
		buf = append(buf, byte(h.Kind), byte(h.Rank), byte(h.Step))
	}
	buf = m.credit.AppendState(append(buf, 0xff))
	for lane := range m.lanes {
		buf = append(buf, 0xff)
		for _, c := range m.lanes[lane].Items() {
			buf = appendInput(buf, &c.input)
		}
	}
	return buf
}

func appendInput(buf []byte, in *role.Input) []byte {
	return append(buf, byte(in.Kind), byte(in.Work.Kind), byte(in.Work.Rank), byte(in.Work.Step),
		byte(in.Bucket))
}

func hash(buf []byte) [16]byte {
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16])
}

// hold adds a handle to those that the member holds.
func (m *member) hold(h role.Handle) {
	if at, held := slices.BinarySearchFunc(m.held, h, compareHandles); !held {
		m.held = slices.Insert(m.held, at, h)
	}
}

func (m *member) holds(h role.Handle) bool {
	_, held := slices.BinarySearchFunc(m.held, h, compareHandles)
	return held
}

// release removes a handle from those that the member holds.
func (m *member) release(h role.Handle) error {
	at, held := slices.BinarySearchFunc(m.held, h, compareHandles)
	if !held {
		return fmt.Errorf("%v releases %+v, which it does not hold", m.Address(), h)
	}
	m.held = slices.Delete(m.held, at, at+1)
	return nil
}

func compareHandles(a, b role.Handle) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
}
