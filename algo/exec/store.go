package exec

import (
	"fmt"
	"sync"

	"tandem/algo/protocol/role"
)

// Store holds the data of one role by handle. It is safe for concurrent use, because items of different lanes
// are executed at the same time.
type Store struct {
	mu   sync.Mutex
	data map[role.Handle]any
	// leases are those of data that the role's own work has computed. free are called on release of data that
	// came with messages.
	leases map[role.Handle]*lease
	free   map[role.Handle][]func()
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{data: map[role.Handle]any{}, leases: map[role.Handle]*lease{},
		free: map[role.Handle][]func(){}}
}

// Release removes a handle and its data. It panics if the store does not hold the handle, because a handle is
// released exactly once. The memory of the data is used again when no other role and no message needs it: see
// Executor.Lend.
func (s *Store) Release(h role.Handle) {
	s.mu.Lock()
	if _, held := s.data[h]; !held {
		s.mu.Unlock()
		panic(fmt.Sprintf("exec: %+v released, but not held", h))
	}
	lease, free := s.leases[h], s.free[h]
	s.clear(h)
	s.mu.Unlock()
	lease.end()
	for _, f := range free {
		f()
	}
}

// clear removes what the store has under a handle. The caller holds s.mu.
func (s *Store) clear(h role.Handle) {
	delete(s.data, h)
	delete(s.leases, h)
	delete(s.free, h)
}

// freeOnRelease makes Release of a handle call free. It does nothing for kinds of data that other data may
// refer to.
func (s *Store) freeOnRelease(h role.Handle, free func()) {
	switch h.Kind {
	case role.ShardSigns, role.ShardRows, role.PooledRows, role.PooledGrads, role.ShardGrads:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free[h] = append(s.free[h], free)
	}
}

// Len returns the number of handles held.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.data)
}

// set stores data.
func (s *Store) set(h role.Handle, v any) { s.setLeased(h, v, nil) }

// setLeased is set for data in leased memory. The store becomes its holder.
func (s *Store) setLeased(h role.Handle, v any, l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear(h)
	s.data[h] = v
	if l != nil {
		s.leases[h] = l
	}
}

// hold adds a holder to the lease of a handle, and returns it; nil if there is none.
func (s *Store) hold(h role.Handle) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[h]
	l.hold()
	return l
}

// get returns the data of a handle. It panics if there are none, or of another type, which is a bug of a role
// or driver.
func get[T any](s *Store, h role.Handle) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.data[h].(T)
	if !ok {
		panic(fmt.Sprintf("exec: %+v holds %T, want %T", h, s.data[h], v))
	}
	return v
}

// getAll returns the data of several handles, as get does.
func getAll[T any](s *Store, handles []role.Handle) []T {
	all := make([]T, len(handles))
	for i, h := range handles {
		all[i] = get[T](s, h)
	}
	return all
}

// find returns the data of a handle, if the store holds it.
func find[T any](s *Store, h role.Handle) (v T, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, held = s.data[h].(T)
	return v, held
}

// setReceivedPart stores the part of one PS, which came with a message, under a handle that collects a part
// of each PS.
func setReceivedPart[T any](s *Store, h role.Handle, servers int, shard int32, part T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts, ok := s.data[h].([]T)
	if !ok {
		parts = make([]T, servers)
		s.clear(h)
		s.data[h] = parts
	}
	parts[shard] = part
}
