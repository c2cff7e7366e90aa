package role

import "tandem/algo/protocol/msg"

// Roster numbers the roles of a run from 0, in the order of New, so that drivers can use slices indexed by
// role.
type Roster struct {
	first [msg.RoleCount + 1]int32 // by role: the number of its first instance; last: the number of all roles
}

// Roster returns the roster of a run.
func (c *Config) Roster() Roster {
	var r Roster
	for i := range msg.RoleCount {
		r.first[i+1] = r.first[i] + c.Count(msg.Role(i))
	}
	return r
}

// Count returns the number of instances of a role.
func (c *Config) Count(r msg.Role) int32 {
	switch r {
	case msg.DataLoader:
		return 1
	case msg.EmbeddingWorker:
		return c.EmbeddingWorkers
	case msg.EmbeddingPS:
		return c.EmbeddingPSs
	case msg.NNWorker:
		return c.Ranks
	case msg.DensePS:
		return int32(len(c.DensePSs))
	case msg.Coordinator:
		if c.coordinated() {
			return 1
		}
	}
	return 0
}

// Len returns the number of roles.
func (r Roster) Len() int { return int(r.first[len(r.first)-1]) }

// Index returns the number of the role at an address; ok is false if the run has no such role.
func (r Roster) Index(a msg.Address) (i int, ok bool) {
	if !r.has(a) {
		return 0, false
	}
	return int(r.first[a.Role] + a.Index), true
}

// Address returns the address of the i-th role, 0 ≤ i < Len().
func (r Roster) Address(i int) msg.Address {
	for role := msg.RoleCount - 1; ; role-- {
		if first := r.first[role]; int32(i) >= first {
			return msg.Address{Role: msg.Role(role), Index: int32(i) - first}
		}
	}
}

func (r Roster) has(a msg.Address) bool {
	return a.Role.Known() && a.Index >= 0 && a.Index < r.first[a.Role+1]-r.first[a.Role]
}
