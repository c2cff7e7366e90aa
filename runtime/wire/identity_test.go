package wire

import (
	"errors"
	"strings"
	"testing"
)

// A fence lets the announced incarnation pass, from the view in which it joined, and names what it refuses.
func TestFence(t *testing.T) {
	fence := Fence{Run: RunID{1}, Incarnation: 2, View: 5}
	for _, c := range []struct {
		id     Identity
		reason Reason // "" if it may pass
		field  string
	}{
		{Identity{RunID{1}, 2, 5}, "", ""},
		{Identity{RunID{1}, 2, 99}, "", ""},
		{Identity{RunID{2}, 2, 5}, OtherRun, "run: it belongs to run 02000000000000000000000000000000"},
		{Identity{RunID{1}, 1, 99}, Stale, "incarnation: 1 was replaced by 2"},
		{Identity{RunID{1}, 3, 5}, Unannounced, "incarnation: 3, but the host has announced 2"},
		{Identity{RunID{1}, 2, 4}, Stale, "view: 4, before view 5"},
	} {
		err := fence.Check(&c.id)
		if c.reason == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.id, err)
			}
			continue
		}
		refused := new(Refusal)
		if !errors.As(err, &refused) || refused.Reason != c.reason ||
			!strings.Contains(err.Error(), c.field) {
			t.Errorf("%+v: %v, want %s, %s", c.id, err, c.reason, c.field)
		}
	}
}
