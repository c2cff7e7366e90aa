package member

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
)

// Only a process that holds the end of the part before goes on without the model, and only if the next part
// begins there. Without a part before, nothing is held.
func TestOnlyTheEndOfThePartBeforeIsKept(t *testing.T) {
	for _, c := range []struct {
		origin driver.Origin
		before string
	}{{driver.Origin{Step: 5, Held: true}, "before"}, {driver.Origin{Step: 5}, "before"},
		{driver.Origin{Step: 5, Held: true}, ""}} {
		origin := c.origin
		r := start(t, func(p *Plan) { p.Origin, p.Before = origin, []byte(c.before) })
		members, of := map[msg.Address]*Member{}, map[msg.Address]string{server: "before", trainer: "another"}
		for _, at := range []msg.Address{loader, server, trainer} {
			hello := Hello{Process: job.Process{at}, Address: ":1", Job: ours, Held: []byte(of[at])}
			if at == loader {
				hello.Data = data
			}
			m, err := Join(t.Context(), r.address, hello, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			members[at] = m
		}
		for at, m := range members {
			w, err := m.Welcome()
			if err != nil {
				t.Fatal(err)
			}
			if w.Kept != (origin.Held && at == server && c.before != "") || w.Origin.Held != origin.Held {
				t.Errorf("%v, which holds %q: %+v", at, of[at], w)
			}
		}
		_ = members[loader].Leave(errors.New("enough"))
		if err := <-r.ended; err == nil || err.Error() != "enough" {
			t.Error(err)
		}
	}
}

// A process that dies before it has written its part of a model is lost, even if it could come back by a redo
// log.
func TestDeathBeforeAModelIsWritten(t *testing.T) {
	r := start(t, func(p *Plan) { p.Redo, p.DeathsMax = "redo", 1 })
	members := map[msg.Address]*Member{}
	for _, at := range []msg.Address{loader, server, trainer} {
		members[at] = r.join(at)
	}
	for at, m := range members { // none may be ready before
		if _, err := m.Welcome(); err != nil {
			t.Fatalf("%v: %v", at, err)
		}
	}
	left := make(chan error, len(members))
	for at, m := range members {
		go func() { left <- play(at, m) }()
	}
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	export, err := r.host.Export(t.Context(), t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	members[server].closeStream()
	err = r.host.AwaitExport(t.Context(), export)
	if !errors.As(err, new(*driver.LostError)) ||
		!strings.HasSuffix(err.Error(), "before its part of the model was written") {
		t.Errorf("error %v", err)
	}
	r.host.Close(err)
	for range members {
		<-left
	}
}
