package transport

import (
	"slices"
	"testing"
	"time"

	"tandem/algo/protocol/msg"
)

// Roles and the time of silence may be set before Begin, and not afterwards.
func TestOptionsAreSetBeforeBegin(t *testing.T) {
	n, roles := &Endpoint{}, []msg.Address{{Role: msg.NNWorker, Index: 3}}
	for range 2 { // neither keeps the other, or itself, waiting
		n.SetRoles(roles)
		n.SetSilence(time.Minute)
	}
	if !slices.Equal(n.options.Roles, roles) || n.options.Silence != time.Minute {
		t.Errorf("options %+v", n.options)
	}
	n.begun = true
	for name, set := range map[string]func(){"roles": func() { n.SetRoles(nil) },
		"silence": func() { n.SetSilence(0) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s are set after Begin", name)
				}
			}()
			set()
		}()
	}
}
