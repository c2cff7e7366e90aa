package member

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
)

// restarts allows three deaths, and stores what the host logs.
func restarts(logged chan string) func(*Plan) {
	return func(p *Plan) {
		p.DeathsMax, p.ReturnLimit = 3, 300*time.Millisecond
		p.Log = func(line string) { logged <- line }
	}
}

// begin has all members ready, and training.
func begin(t *testing.T, members map[msg.Address]*Member) {
	t.Helper()
	begun := make(chan error)
	for _, m := range members {
		go func() {
			_, _, err := m.Ready(modelReader{})
			begun <- err
		}()
	}
	for range members {
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
	}
}

// endAfterSent ends the stream of a member behind all that it has sent; closing its connection may drop it.
func (m *Member) endAfterSent() {
	m.sending.Lock()
	defer m.sending.Unlock()
	_ = m.stream.CloseSend()
}

// A process that can restart comes back as its next incarnation, in a new view, which all others learn. It
// trains on, and what arrived before its death counts.
func TestRoleComesBack(t *testing.T) {
	logged := make(chan string, 10)
	r := start(t, restarts(logged))
	members := r.all()
	begin(t, members)
	first := []event.Record{{At: 5, Kind: event.BatchRead, Step: 1, Role: loader, Rank: event.NoRank}}
	if err := members[loader].Records(first, 5); err != nil {
		t.Fatal(err)
	}
	members[loader].endAfterSent()
	const died = "data-loader 0 at 127.0.0.1:1000 has died: its connection broke"
	if got, want := <-logged, died+"; it may come back as incarnation 1 within 300ms"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	back, err := Join(t.Context(), r.address,
		Hello{Process: job.Process{loader}, Address: ":2000", Job: ours, Data: data}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	w, err := back.Welcome()
	if err != nil {
		t.Fatal(err)
	}
	if w.Incarnation != 1 || w.View != 1 || w.Run != r.host.Run() ||
		cmp.Diff(Peer{job.Process{server}, "127.0.0.1:1002", 0}, w.Peers[1]) != "" {
		t.Errorf("%+v", w)
	}
	for _, at := range []msg.Address{server, trainer} {
		want := Change{Peer{job.Process{loader}, "127.0.0.1:2000", 1}, 1}
		if diff := cmp.Diff(want, <-members[at].Changes()); diff != "" {
			t.Errorf("%v: %s", at, diff)
		}
	}
	members[loader] = back
	left := make(chan error, 3)
	for at, m := range members {
		go func() {
			if at == loader {
				left <- play(at, m)
				return
			}
			left <- finish(at, m)
		}()
	}
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	if line := <-logged; line != "data-loader 0 is back at 127.0.0.1:2000 as incarnation 1" {
		t.Error(line)
	}
	var loaded []string
	for _, record := range r.records {
		if record.Role == loader {
			loaded = append(loaded, record.String())
		}
	}
	if diff := cmp.Diff([]string{
		"data-loader 0: batch-read step 1", "data-loader 0: batch-read rank 0 step 1",
		"data-loader 0: batch-read rank 0 step 2",
	}, loaded); diff != "" {
		t.Error(diff)
	}
	r.host.Close(nil)
	for range members {
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
}

// The run ends if a process does not come back, dies too often, or cannot restart, and if any process dies
// before training.
func TestDeathsThatEndTheRun(t *testing.T) {
	const died = "data-loader 0 at 127.0.0.1:1000 has died: its connection broke"
	for _, c := range []struct {
		name string
		do   func(r *run, members map[msg.Address]*Member)
		want string
	}{
		{"no return", func(r *run, members map[msg.Address]*Member) { members[loader].conn.Close() },
			died + "; it has not come back within 300ms"},
		{"too often", func(r *run, members map[msg.Address]*Member) {
			members[loader].conn.Close()
			for range 3 {
				for {
					m := r.join(loader)
					if _, err := m.Welcome(); err == nil {
						m.conn.Close()
						break
					}
				}
			}
		}, died + "; it has died 4 times, and the limit is 3"},
		{"a PS", func(r *run, members map[msg.Address]*Member) { members[server].conn.Close() },
			"embedding-ps 0 at 127.0.0.1:1002 has died: its connection broke"},
		{"failure",
			func(r *run,
				members map[msg.Address]*Member) {
				_ = members[loader].Leave(errors.New("disk on fire"))
			},
			"disk on fire"},
		{"restarted process", func(r *run, members map[msg.Address]*Member) {
			members[loader].conn.Close()
			for n := range uint32(4) {
				r.host.Ended(job.Process{loader}, n, "exit status 3")
			}
		}, "data-loader 0 has died: exit status 3; it has died 4 times, and the limit is 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, restarts(make(chan string, 20)))
			members := r.all()
			begin(t, members)
			c.do(r, members)
			mustEnd(t, members[trainer], c.want)
			if err := <-r.ended; err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// If two processes that live lose their connection, the one that can restart is dropped.
func TestLostConnectionDropsTheProcessThatCanRestart(t *testing.T) {
	for _, c := range []struct{ by, of msg.Address }{{trainer, loader}, {loader, trainer}} {
		r := start(t, restarts(make(chan string, 20)))
		members := r.all()
		begin(t, members)
		if err := members[c.by].Lost(c.of, 0, errors.New("lost it")); err != nil {
			t.Fatal(err)
		}
		mustEnd(t, members[loader], "data-loader 0 was dropped: lost it")
		mustEnd(t, members[trainer],
			"data-loader 0 at 127.0.0.1:1000 was dropped: lost it; it has not come back within 300ms")
	}
}

// A member that is silent hangs, and learns this when it continues.
func TestHang(t *testing.T) {
	r := start(t, func(p *Plan) { p.HangLimit = time.Second })
	members := r.all()
	m := members[server]
	m.sending.Lock() // no more heartbeats
	mustEnd(t, members[trainer], "embedding-ps 0 at 127.0.0.1:1002 hangs: it has not answered for 1s")
	m.sending.Unlock()
	mustEnd(t, m, "embedding-ps 0 has not answered for 1s and was dropped")
}
