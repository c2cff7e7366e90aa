package member

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
)

// trainingRun is a run that has begun to train, whose callbacks report what roles that come back say.
func trainingRun(t *testing.T, change func(*Plan)) (r *run, members map[msg.Address]*Member,
	redone chan string) {
	t.Helper()
	r, redone = hosted(t, change), make(chan string, 1)
	started, over := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancelCause(context.Background())
	r.stop = func() {
		cancel(errEnough)
		<-over
	}
	go func() {
		defer close(over)
		r.ended <- r.host.Train(ctx, Callbacks{
			Callbacks: driver.Callbacks{
				Started: func(func()) { close(started) },
				Redone:  func(took, of time.Duration) { redone <- fmt.Sprint(took, " of ", of) },
			},
			Gathering: func([]job.Process) {},
		})
	}()
	members = map[msg.Address]*Member{}
	for _, at := range []msg.Address{loader, server, trainer} {
		members[at] = r.join(at)
	}
	for _, m := range members {
		if _, err := m.Welcome(); err != nil {
			t.Fatal(err)
		}
		go func() { _, _, _ = m.Ready(modelReader{}) }()
	}
	<-started
	return r, members, redone
}

var errEnough = errors.New("enough")

// end ends a run, whose members do not stay until they are asked to leave.
func end(r *run, members map[msg.Address]*Member) {
	r.stop()
	for _, m := range members {
		m.conn.Close()
	}
	r.host.Close(errEnough)
}

// A process that was asked to end makes the run drain, if it may, and else ends it.
func TestLeavingDrainsTheRun(t *testing.T) {
	for _, drains := range []bool{true, false} {
		logged := make(chan string, 1)
		r, members, _ := trainingRun(t, func(p *Plan) {
			p.Drains, p.Log = drains, func(line string) { logged <- line }
		})
		if err := members[trainer].Leaving(); err != nil {
			t.Fatal(err)
		}
		const who = "nn-worker 0 at 127.0.0.1:1003 was asked to end"
		if !drains {
			if err := <-r.ended; err == nil || err.Error() != who {
				t.Errorf("the run ends with %v, want %s", err, who)
			}
			end(r, members)
			continue
		}
		select {
		case <-members[loader].Draining():
		case err := <-r.ended:
			t.Fatalf("the run ends: %v", err)
		}
		if got, want := <-logged, who+": the run drains"; got != want {
			t.Errorf("log %q, want %q", got, want)
		}
		select {
		case <-members[server].Draining():
			t.Error("the embedding PS drains, too")
		default:
		}
		end(r, members)
	}
}

// How long a process has taken to come back by its redo logs is passed on; times that cannot be are refused.
func TestRedoneIsReported(t *testing.T) {
	for _, c := range []struct {
		folder   string
		took, of time.Duration
		fits     bool
	}{
		{"redo", 2 * time.Second, time.Minute, true}, {"redo", 0, 1, true}, {"redo", -1, time.Minute, false},
		{"redo", time.Second, 0, false}, {"", time.Second, time.Minute, false},
	} {
		r, members, redone := trainingRun(t, func(p *Plan) { p.Redo = c.folder })
		if err := members[server].Redone(c.took, c.of); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-redone:
			if want := fmt.Sprint(c.took, " of ", c.of); !c.fits || got != want {
				t.Errorf("%+v: %s, want %s", c, got, want)
			}
		case err := <-r.ended:
			if c.fits || err == nil || !strings.Contains(err.Error(),
				"it says that it has handled the inputs") {
				t.Errorf("%+v: the run ends: %v", c, err)
			}
		}
		end(r, members)
	}
}

// When the host ends a run, its members learn the reason, are asked for nothing more, and leave with the
// reason of the host, also where something failed in them.
func TestMembersLeaveWithTheReasonOfTheHost(t *testing.T) {
	r := start(t, func(*Plan) {})
	members := map[msg.Address]*Member{}
	for _, at := range []msg.Address{loader, server, trainer} {
		members[at] = r.join(at)
	}
	for _, m := range members {
		if _, err := m.Welcome(); err != nil {
			t.Fatal(err)
		}
	}
	_ = members[loader].Leave(errors.New("the disk is full"))
	if err := <-r.ended; err == nil || err.Error() != "the disk is full" {
		t.Errorf("the run ends with %v", err)
	}
	for _, at := range []msg.Address{server, trainer} {
		if !members[at].ReadsEnd(time.Minute) {
			t.Errorf("%v may still be asked to read", at)
		}
		if err := members[at].Leave(errors.New("its own")); err == nil || err.Error() != "the disk is full" {
			t.Errorf("%v leaves with %v", at, err)
		}
	}
}
