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
	sent map[role.Handle]bool // handles whose data came with messages
	free map[role.Handle][]func()
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{data: map[role.Handle]any{}, sent: map[role.Handle]bool{}, free: map[role.Handle][]func(){}}
}

// Release removes a handle and its data. It panics if the store does not hold the handle, because a handle is
// released exactly once.
func (s *Store) Release(h role.Handle) { s.remove(h) }

// remove is Release. It returns the data, and whether they came with a message.
func (s *Store) remove(h role.Handle) (v any, sent bool) {
	s.mu.Lock()
	v, held := s.data[h]
	if !held {
		s.mu.Unlock()
		panic(fmt.Sprintf("exec: %+v released, but not held", h))
	}
	sent = s.sent[h]
	free := s.free[h]
	delete(s.data, h)
	delete(s.sent, h)
	delete(s.free, h)
	s.mu.Unlock()
	for _, f := range free {
		f()
	}
	return v, sent
}

// FreeOnRelease makes Release of a handle call free, after which the memory of a payload that was kept under
// the handle is reused for other payloads. So no work that reads the handle may be in flight when a role
// releases it. It does nothing for kinds of data that other data may refer to.
func (s *Store) FreeOnRelease(h role.Handle, free func()) {
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

// set stores data that the role's own work has computed.
func (s *Store) set(h role.Handle, v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[h] = v
	delete(s.sent, h)
	delete(s.free, h)
}

// setReceived stores data that came with a message.
func (s *Store) setReceived(h role.Handle, v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[h], s.sent[h] = v, true
	delete(s.free, h)
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
		s.data[h], s.sent[h] = parts, true
		delete(s.free, h)
	}
	parts[shard] = part
}
