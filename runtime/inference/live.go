package inference

import (
	"errors"
	"fmt"
	"sync"

	"tandem/algo/job"
)

// Live is a model that requests use while it is replaced by a newer one.
type Live struct {
	limits  QueueLimits
	mu      sync.Mutex
	current *Lease
	closed  sync.WaitGroup // a count for each model that is not closed yet
	errs    []error        // of closing models
}

// Lease is a model in use. Its files stay mapped until Release.
type Lease struct {
	*Model
	Queue *Queue

	live  *Live
	users int // with one for being the current model; guarded by live.mu
}

// NewLive returns a Live that begins with a model, which it closes. It must be closed.
func NewLive(m *Model, limits QueueLimits) *Live {
	l := &Live{limits: limits}
	l.current = l.lease(m)
	return l
}

func (l *Live) lease(m *Model) *Lease {
	l.closed.Add(1)
	return &Lease{Model: m, Queue: NewQueue(m, l.limits), live: l, users: 1}
}

// Acquire returns the current model, or nil after Close. Every Lease must be released once.
func (l *Live) Acquire() *Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.users++
	}
	return l.current
}

// Release ends the use of a model. The last use of a model that has been replaced closes it.
func (u *Lease) Release() {
	u.live.mu.Lock()
	u.users--
	last := u.users == 0
	u.live.mu.Unlock()
	if !last {
		return
	}
	u.Queue.Close()
	err := u.Close()
	u.live.mu.Lock()
	u.live.errs = append(u.live.errs, err)
	u.live.mu.Unlock()
	u.live.closed.Done()
}

// Replace makes a model the current one. Requests under way end with the model that they began with, which is
// then closed. A model that clients would see as another one is refused, and not closed: the error names the
// first difference. Replace and Close must not be called at the same time.
func (l *Live) Replace(m *Model) error {
	now := l.Acquire()
	defer now.Release()
	if err := now.difference(m); err != nil {
		return err
	}
	next := l.lease(m)
	l.mu.Lock()
	l.current = next
	l.mu.Unlock()
	now.Release() // once more, because it is no longer the current model
	return nil
}

// Close closes the current model, after the requests under way.
func (l *Live) Close() error {
	l.mu.Lock()
	last := l.current
	l.current = nil
	l.mu.Unlock()
	last.Release()
	l.closed.Wait()
	return errors.Join(l.errs...)
}

// difference returns an error that names the first difference that clients of a model would see in another.
func (m *Model) difference(other *Model) error {
	if m.data.Kind != other.data.Kind {
		return fmt.Errorf("another schema: data of kind %s, where the served model has %s", other.data.Kind,
			m.data.Kind)
	}
	before, now := m.columns(), other.columns()
	for i := range max(len(before), len(now)) {
		a, b := "none", "none"
		if i < len(before) {
			a = before[i]
		}
		if i < len(now) {
			b = now[i]
		}
		if a != b {
			return fmt.Errorf("another schema: %s, where the served model has %s", b, a)
		}
	}
	return nil
}

// columns describes the columns that clients see, without slots and means that are derived from them.
func (m *Model) columns() (all []string) {
	table := m.data.Table()
	if table == nil {
		table = &job.Table{}
	}
	for i := range len(m.schema.Slots) - len(m.data.Derived) {
		text := fmt.Sprintf("id column %q", m.schema.Slots[i].Name)
		if i < len(table.Slots) {
			own := table.Slots[i]
			if own.Separator != "" {
				text += fmt.Sprintf(" with separator %q", own.Separator)
			}
			switch {
			case own.Weights != "":
				text += fmt.Sprintf(" with weights in column %q", own.Weights)
			case own.WeightSeparator != "":
				text += fmt.Sprintf(" with weights behind %q", own.WeightSeparator)
			}
		}
		all = append(all, text)
	}
	for _, name := range m.schema.Dense[:len(m.schema.Dense)-len(m.data.Means)] {
		all = append(all, fmt.Sprintf("numeric column %q", name))
	}
	for _, label := range m.schema.Labels {
		all = append(all, fmt.Sprintf("label %q", label))
	}
	return append(all, fmt.Sprintf("missing numbers: %t", len(table.Missing) > 0))
}
