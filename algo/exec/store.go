package exec

import (
	"fmt"
	"sync"

	"tandem/algo/protocol/role"
)

// Store holds the data of one role instance, by handle. It is safe for
// concurrent use: work of different lanes runs side by side.
type Store struct {
	mu   sync.Mutex
	data map[role.Handle]any
	sent map[role.Handle]bool // of data: what came with messages
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{data: map[role.Handle]any{}, sent: map[role.Handle]bool{}} }

// Release lets go of a handle. It panics if the store does not hold it: a
// handle is released exactly once.
func (s *Store) Release(h role.Handle) { s.remove(h) }

// remove is Release, and returns what was held, and whether it came with messages.
func (s *Store) remove(h role.Handle) (v any, sent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, held := s.data[h]
	if !held {
		panic(fmt.Sprintf("exec: %+v released, but not held", h))
	}
	sent = s.sent[h]
	delete(s.data, h)
	delete(s.sent, h)
	return v, sent
}

// Len returns the number of handles held.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.data)
}

func (s *Store) set(h role.Handle, v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[h] = v
	delete(s.sent, h)
}

// setReceived is put of what came with a message.
func (s *Store) setReceived(h role.Handle, v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[h], s.sent[h] = v, true
}

// get returns what a handle holds. It panics if that is missing or of another
// type, which is a bug of a role or driver.
func get[T any](s *Store, h role.Handle) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.data[h].(T)
	if !ok {
		panic(fmt.Sprintf("exec: %+v holds %T, want %T", h, s.data[h], v))
	}
	return v
}

// getAll returns what every one of some handles holds, as get does.
func getAll[T any](s *Store, handles []role.Handle) []T {
	all := make([]T, len(handles))
	for i, h := range handles {
		all[i] = get[T](s, h)
	}
	return all
}

// find returns what a handle holds, if the store holds it.
func find[T any](s *Store, h role.Handle) (v T, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, held = s.data[h].(T)
	return v, held
}

// setReceivedPart stores one PS's part, which came with a message, of a handle that
// collects one part per PS.
func setReceivedPart[T any](s *Store, h role.Handle, servers int, shard int32, part T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts, ok := s.data[h].([]T)
	if !ok {
		parts = make([]T, servers)
		s.data[h], s.sent[h] = parts, true
	}
	parts[shard] = part
}
